"""The tasks of users as a scenario lists them, so that a mix of operations needs no Python."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import Field

from keyheat.scenario.spec.part import Rate, ScenarioPart, TableName, numbered
from keyheat.scenario.spec.tables import IndexSpec, TableSpec

Weight = Annotated[float, Field(ge=0, le=1e12)]
Operation = Literal[
    "put",
    "put_if_absent",
    "update",
    "delete",
    "get",
    "query",
    "batch_write",
    "batch_get",
    "transact_write",
    "transact_get",
]
MIXED: Final = "operations"
"""The load test that sends what a scenario lists."""
OF_OPERATION: Final[Mapping[str, tuple[str, ...]]] = {
    "index": ("query",),
    "limit": ("query",),
    "consistent": ("get", "query"),
}
"""Fields that only some operations have."""
UNSAID: Final = "list [[tasks]], or set loadtest to a load test with its own tasks"
RATES: Final = ("requests_per_s", "write_units_per_s", "read_units_per_s")


class TaskSpec(ScenarioPart):
    """One operation of the users, and its rate or weight."""

    operation: Operation = Field(
        description="put: a new item; put_if_absent: half of the items exist; update: add one to a counter; "
        "get, update, delete: items that the user wrote; query: the first page of a key's items; batches "
        "have 25 items, transactions four"
    )
    weight: Weight | None = Field(
        None, description="frequency in proportion to the other tasks; absent: 1, or by per_s"
    )
    per_s: Rate | None = Field(
        None,
        description="requests per second; set it for every task or none; load.requests_per_s is then their "
        "sum, unless it is set",
    )
    index: TableName | None = Field(
        None, description="query: index to query, by partition keys that items have"
    )
    limit: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        None, description="query: most items to read; absent: 25"
    )
    consistent: bool = Field(
        False, description="get, query: strongly consistent, which costs twice as much; not of a global index"
    )

    @property
    def share(self) -> float:
        """Its weight among the tasks."""
        if self.per_s is not None:
            return self.per_s
        return 1.0 if self.weight is None else self.weight


def with_total_rate(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """The scenario; where its tasks say how often each is sent, and its load does not, with their sum."""
    load, total = raw.get("load", {}), _total_of_tasks(raw)
    if total is None or not isinstance(load, Mapping) or any(load.get(field) is not None for field in RATES):
        return raw
    return {**raw, "load": {**load, "requests_per_s": total}}


def without_total_rate(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The scenario without a total that is only the sum of its tasks: tasks that change have another one."""
    load, total = raw.get("load", {}), _total_of_tasks(raw)
    if total is None or load.get("requests_per_s") != total:
        return dict(raw)
    return {**raw, "load": {field: value for field, value in load.items() if field != "requests_per_s"}}


def _total_of_tasks(raw: Mapping[str, Any]) -> float | None:
    """Return the rate of all tasks together; None if a task has no rate, or without tasks."""
    tasks = raw.get("tasks")
    rates = [task.get("per_s") for task in tasks if isinstance(task, Mapping)] if tasks else []
    stated = [rate for rate in rates if isinstance(rate, int | float)]
    return sum(stated) if stated and len(stated) == len(rates) else None


def broken_tasks(tasks: Sequence[TaskSpec], loadtest: str, table: TableSpec | None) -> Iterator[str]:
    """Every disagreement about `[[tasks]]`, as `message @ $.path`."""
    if not tasks:
        if loadtest == MIXED:
            yield f"{UNSAID} @ $.tasks"
        return
    if loadtest != MIXED:
        yield f"{loadtest!r} has its own tasks; [[tasks]] are for {MIXED!r}, the default @ $.loadtest"
    listed = numbered(tasks, "$.tasks")
    with_rate = any(task.per_s is not None for _path, task in listed)
    if listed and not with_rate and all(task.weight == 0 for _path, task in listed):
        yield "at least one task needs a weight above 0 @ $.tasks"
    for path, task in listed:
        if with_rate and task.per_s is None:
            yield f"another task says per_s, so this one needs it, too @ {path}.per_s"
        elif with_rate and task.weight is not None:
            yield f"say weight or per_s, not both @ {path}.weight"
        yield from _fields(task, path, table.indexes if table is not None else ())


def _fields(task: TaskSpec, path: str, indexes: Sequence[IndexSpec]) -> Iterator[str]:
    for field, operations in OF_OPERATION.items():
        if (
            getattr(task, field)
            and task.operation in get_args(Operation)
            and task.operation not in operations
        ):
            yield f"only {' or '.join(operations)} has it, and this is a {task.operation} @ {path}.{field}"
    if task.operation != "query" or not isinstance(task.index, str):
        return
    local = {index.name: index.local for _path, index in numbered(indexes, "")}
    if task.index not in local:
        there = ", ".join(map(str, local)) or "none"
        yield f"the table has no index {task.index!r}; it has: {there} @ {path}.index"
    elif task.consistent and not local[task.index]:
        yield f"a global index is never read strongly consistent @ {path}.consistent"
