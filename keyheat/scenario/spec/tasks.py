"""The load of a scenario: its rate over time, its items, the tasks of users, which need no Python, and
the client whose retries it has."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from keyheat.model import limits
from keyheat.model.retries import Mode, RetryPolicy, Sdk, modes_of, policy_of
from keyheat.scenario.shape import LoadShape, ShapeSpec
from keyheat.scenario.sizes import ItemBytes, ItemSize, size_of, unit_cost
from keyheat.scenario.spec.part import Mistake, Rate, ScenarioPart, Seconds, TableName

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
RATES: Final[tuple[str, ...]] = ("requests_per_s", "write_units_per_s", "read_units_per_s")


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

    def broken(self) -> Iterator[Mistake]:
        for field, operations in OF_OPERATION.items():
            if getattr(self, field) and self.operation not in operations:
                yield f"only {' or '.join(operations)} has it, and this is a {self.operation}", field
        if self.per_s is not None and self.weight is not None:
            yield "say weight or per_s, not both", "weight"

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


TargetUnit = Literal["requests", "WCU", "RCU"]
DURATION_S = 60.0
SPAWNED_AT_ONCE = 100  # Locust warns of more


class LoadSpec(ScenarioPart):
    """How much is sent.

    In a closed loop (`arrivals = "closed"`) users wait for their answer before they send again. In an open
    loop requests arrive at their own times, whatever the answers do; users are then only how many requests
    can be under way at once.
    """

    users: Annotated[int, Field(ge=1, le=100_000)] = 50
    spawn_per_s: Annotated[float, Field(gt=0)] = Field(
        50.0, description="users started per second; an open loop starts up to 100 of them at once"
    )
    duration_s: Seconds = DURATION_S
    requests_per_s: Rate = Field(1_000.0, description="of all users together; each user sends an even share")
    item_bytes: ItemBytes = Field(
        1_000,
        description="size of one written item as DynamoDB counts it, names and keys included: a number, or "
        "a distribution",
    )
    arrivals: Literal["closed", "constant", "poisson", "trace"] = Field(
        "closed",
        description="closed: users wait for answers; constant, poisson: an open loop; trace: a trace's times",
    )
    write_units_per_s: Rate | None = Field(
        None, description="open loop: target in WCU/s, steered by the answers, in place of requests_per_s"
    )
    read_units_per_s: Rate | None = Field(
        None, description="open loop: target in RCU/s, steered by the answers, in place of requests_per_s"
    )
    shape: ShapeSpec | None = Field(
        None, description="rate over time, in the target's unit; absent: constant"
    )

    def broken(self) -> Iterator[Mistake]:
        targets = [field for field in RATES if field in self.stated]
        for field in targets[1:]:
            yield f"set only one of {', '.join(RATES)}; {targets[0]} is set", field
        if self.arrivals == "closed":
            for name in sorted({*targets} - {"requests_per_s"}):
                yield 'a target in units needs arrivals = "constant" or "poisson"', name
        if self.arrivals == "trace":
            for name in (*RATES, "shape"):
                if name in self.stated:
                    yield "no meaning with arrivals = 'trace', which says when", name
        if self.shape is not None:
            for message, *path in self.shape.broken_by(self.duration_s):
                yield message, "shape", *path

    def item_size(self) -> ItemSize:
        """How large the items are."""
        return size_of(self.item_bytes)

    @property
    def mean_item_bytes(self) -> float:
        """The size of one written item in the mean."""
        return self.item_size().mean_bytes

    @property
    def mean_write_units(self) -> float:
        """What writing one new item costs in the mean: of the units, each rounded up by itself."""
        return unit_cost(self.item_size(), limits.WRITE_UNIT_BYTES).units

    @property
    def open_loop(self) -> bool:
        """Whether requests arrive at their own times, whatever the answers do."""
        return self.arrivals != "closed"

    @property
    def target_unit(self) -> TargetUnit:
        """The unit of the target and of every rate of the shape."""
        if self.write_units_per_s is not None:
            return "WCU"
        return "RCU" if self.read_units_per_s is not None else "requests"

    @property
    def target_per_s(self) -> float:
        """The load's own rate, in the target's unit."""
        return self.write_units_per_s or self.read_units_per_s or self.requests_per_s

    @property
    def spawn_rate(self) -> float:
        """Users started per second: those of an open loop do nothing until something arrives."""
        return max(self.spawn_per_s, min(self.users, SPAWNED_AT_ONCE)) if self.open_loop else self.spawn_per_s

    def rate_shape(self) -> LoadShape:
        """Return the rate at each moment of the run, in the target's unit."""
        return (self.shape or ShapeSpec(kind="constant")).over(self.target_per_s, self.duration_s)

    @model_serializer(mode="wrap")
    def _one_target(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Plain values, without the default of a target that is not this load's: a load has only one."""
        dumped: dict[str, Any] = dump(self)
        if self.target_unit != "requests" or self.arrivals == "trace":
            dumped.pop("requests_per_s", None)
        return dumped


class ClientSpec(ScenarioPart):
    """How the application's SDK retries throttles and errors: how often, after which pause.

    Without it every request is sent once, so that no throttle is hidden.
    """

    sdk: Sdk = Field("none", description="SDK whose published retry policy applies; none: no retries")
    mode: Mode | None = Field(None, description="absent: the SDK's default")
    attempts: Annotated[int, Field(ge=1, le=100)] | None = Field(
        None, description="per request, the first one included; absent: the SDK's default"
    )
    quota_tokens: Annotated[float, Field(ge=0, le=1_000_000)] | None = Field(
        None, description="retry tokens of one client; 0: no quota; absent: the SDK's default"
    )
    clients: Annotated[int, Field(ge=1, le=10_000)] = Field(
        1,
        description="SDK clients that share the load, usually processes, each with its own retry quota; "
        "each worker has at least one",
    )

    def broken(self) -> Iterator[Mistake]:
        if self.sdk == "none":
            for name in ("mode", "attempts", "quota_tokens"):
                if getattr(self, name) is not None:
                    yield f"whose {name} is that? say which sdk", name
        elif self.mode is not None and self.mode not in modes_of(self.sdk):
            modes = ", ".join(modes_of(self.sdk))
            yield f"{self.sdk} has no mode {self.mode!r}; it has {modes}", "mode"
        elif self.quota_tokens is not None and not policy_of(self.sdk, mode=self.mode).quota_tokens > 0:
            yield f"{self.sdk} has no retry quota in legacy mode", "quota_tokens"

    @property
    def policy(self) -> RetryPolicy:
        """What becomes of a throttled request."""
        return policy_of(self.sdk, mode=self.mode, attempts=self.attempts, quota_tokens=self.quota_tokens)

    @property
    def retries(self) -> RetryPolicy | None:
        """The policy, if it sends any request again."""
        return self.policy if self.policy.attempts > 1 else None
