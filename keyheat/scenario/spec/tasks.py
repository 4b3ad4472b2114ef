"""The tasks of users as a scenario lists them, so that a mix of operations needs no Python."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import Field

from keyheat.scenario.spec.part import (
    Rate,
    ScenarioPart,
    TableName,
    is_number,
    listed,
    part_of,
)

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
    load, total = part_of(raw, "load"), _total_of_tasks(raw)
    if total is None or any(load.get(field) is not None for field in RATES):
        return raw
    return {**raw, "load": {**load, "requests_per_s": total}}


def without_total_rate(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The scenario without a total that is only the sum of its tasks: tasks that change have another one."""
    load, total = part_of(raw, "load"), _total_of_tasks(raw)
    if total is None or load.get("requests_per_s") != total:
        return dict(raw)
    return {**raw, "load": {field: value for field, value in load.items() if field != "requests_per_s"}}


def _total_of_tasks(raw: Mapping[str, Any]) -> float | None:
    """Return the rate of all tasks together; None if a task has no rate, or without tasks."""
    rates = [task.get("per_s") for _number, task in listed(raw, "tasks")]
    stated = [rate for rate in rates if is_number(rate)]
    return sum(stated) if stated and len(stated) == len(rates) else None


def broken_tasks(raw: Mapping[str, Any]) -> Iterator[str]:
    """Every disagreement about `[[tasks]]`, as `message @ $.path`."""
    tasks, loadtest = [task for _number, task in listed(raw, "tasks")], raw.get("loadtest", MIXED)
    if not tasks:
        if loadtest == MIXED and not raw.get("tasks"):
            yield f"{UNSAID} @ $.tasks"
        return
    if loadtest != MIXED:
        yield f"{loadtest!r} has its own tasks; [[tasks]] are for {MIXED!r}, the default @ $.loadtest"
    with_rate = [task for task in tasks if task.get("per_s") is not None]
    if not with_rate and all(task.get("weight") == 0 for task in tasks):
        yield "at least one task needs a weight above 0 @ $.tasks"
    for number, task in listed(raw, "tasks"):
        path = f"$.tasks[{number}]"
        yield from _rates(task, path, rates=bool(with_rate))
        yield from _fields(task, path, part_of(raw, "table"))


def _rates(task: Mapping[str, Any], path: str, *, rates: bool) -> Iterator[str]:
    if rates and task.get("per_s") is None:
        yield f"another task says per_s, so this one needs it, too @ {path}.per_s"
    elif rates and task.get("weight") is not None:
        yield f"say weight or per_s, not both @ {path}.weight"


def _fields(task: Mapping[str, Any], path: str, table: Mapping[str, Any]) -> Iterator[str]:
    operation = task.get("operation")
    for field, operations in OF_OPERATION.items():
        if task.get(field) and operation in get_args(Operation) and operation not in operations:
            yield f"only {' or '.join(operations)} has it, and this is a {operation} @ {path}.{field}"
    named = task.get("index")
    if not isinstance(named, str) or operation != "query":
        return
    indexes = [candidate for _number, candidate in listed(table, "indexes")]
    index = next((candidate for candidate in indexes if candidate.get("name") == named), None)
    if index is None:
        there = ", ".join(str(candidate.get("name")) for candidate in indexes) or "none"
        yield f"the table has no index {named!r}; it has: {there} @ {path}.index"
    elif task.get("consistent") and not index.get("local"):
        yield f"a global index is never read strongly consistent @ {path}.consistent"
