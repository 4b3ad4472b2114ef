"""The load of a scenario: its rate over time, and the sizes of its items."""

from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from keyheat.model import limits
from keyheat.scenario.shape import LoadShape, ShapeSpec
from keyheat.scenario.sizes import ItemBytes, ItemSize, mean_units, size_of
from keyheat.scenario.spec.part import Rate, ScenarioPart, Seconds

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
        return mean_units(self.item_size(), limits.WRITE_UNIT_BYTES)

    def mean_read_units(self, *, consistent: bool) -> float:
        """What reading one item by its key costs in the mean."""
        units = mean_units(self.item_size(), limits.READ_UNIT_BYTES)
        return units if consistent else units * limits.EVENTUAL_READ_FACTOR

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
