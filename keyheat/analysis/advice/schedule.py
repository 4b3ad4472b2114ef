"""A scenario's demand against its limits, which burst or a write buffer may hide for minutes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from keyheat.model import limits
from keyheat.model.behaviour import DEFAULT
from keyheat.runs.formats import Demand
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.tables import IndexSpec, ScalingSpec, TableSpec
from keyheat.words import TABLE, WRITE, Constraint, Direction, label_of

Limit = tuple[Constraint, str, Direction]
"""A limit: the constraint, the resource as labels name it, and the direction."""
SCALED_S: Final = (
    (limits.SCALE_OUT_MINUTES + 1) * limits.MINUTE_S + DEFAULT.alarm_delay_s[1] + DEFAULT.update_s[1]
)
"""Seconds after which auto scaling has certainly followed a sudden load: its alarm's minutes, the
alarm's delay, and the update."""


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A load's peak demand on one side, and the side's limits, units/s of an unscaled table."""

    per_s: float
    partition_per_s: float  # one partition's ceiling for such requests
    partitions: int
    mean_per_s: float
    hottest_per_s: float  # of the hottest partition
    key_per_s: float  # of the most used key of the hottest partition; 0 if keys are too many to name
    buffer_full_s: float | None  # when the write buffer before a partition of an index is full; None: never

    def carried_s(self, has: float, saved_units: float) -> float:
        """Seconds for which saved units serve the demand beyond a limit; infinity: for ever."""
        return saved_units / (self.mean_per_s - has) if self.mean_per_s > has else inf


Schedule = Mapping[tuple[str, Direction], Scheduled]


def owners_of(scenario: Scenario) -> Mapping[str, TableSpec | IndexSpec]:
    """Return the table and its indexes by their names in labels."""
    return {TABLE: scenario.table, **{label_of(index.name): index for index in scenario.table.indexes}}


def is_buffered(resource: str, direction: Direction) -> bool:
    """Whether entries may wait in the write buffer of an index."""
    return resource != TABLE and direction == WRITE


def policy_of(owner: TableSpec | IndexSpec | None, direction: Direction) -> ScalingSpec | None:
    """Return the auto scaling of a table or an index; None if it is off."""
    return getattr(owner.auto_scaling, direction, None) if owner else None


def provisioned_in_time(owner: TableSpec | IndexSpec, direction: Direction, per_s: float) -> float | None:
    """Return the capacity when a constant demand has spent the burst: auto scaling may be too late."""
    has: int | None = getattr(owner.provisioned, direction, None)
    policy = policy_of(owner, direction)
    if not has or policy is None:
        return has
    saved = DEFAULT.saved_units(has, index_writes=isinstance(owner, IndexSpec) and direction == WRITE)
    return max(has, policy.max) if saved > SCALED_S * (per_s - has) else has


@dataclass(frozen=True, slots=True)
class Excess:
    """A limit that a constant load exceeds, while burst or an index's write buffer serves the rest."""

    limit: Limit
    share: float  # demand over the limit
    carried_s: float  # until the burst is used up; infinity: only the peak exceeds the limit


def on_burst(scenario: Scenario, demands: Schedule) -> tuple[Excess, ...]:
    """Return the limits that a constant load exceeds, though it may not throttle for minutes.

    The limit that is exceeded the furthest comes first.
    """
    if scenario.is_changing:
        return ()
    excesses = [excess for excess in _saving(scenario, demands) if excess.share > 1]
    return tuple(sorted(excesses, key=lambda excess: -excess.share))


def _saving(scenario: Scenario, demands: Schedule) -> Iterator[Excess]:
    """Yield the limits with burst or a write buffer, with the demand on them."""
    owners, on_demand = owners_of(scenario), scenario.table.billing_mode == "PAY_PER_REQUEST"
    for (resource, direction), needs in demands.items():
        owner, buffered = owners[resource], is_buffered(resource, direction)
        if not on_demand and (has := provisioned_in_time(owner, direction, needs.per_s)):
            saved = DEFAULT.saved_units(has, index_writes=buffered)
            yield Excess(("table", resource, direction), needs.per_s / has, needs.carried_s(has, saved))
        if buffered:
            full_s = needs.buffer_full_s
            # Keys that share a partition may be parted before its buffer is full; one key cannot be.
            per_s = needs.key_per_s if full_s is None else max(needs.key_per_s, needs.hottest_per_s)
            lasts_s = inf if full_s is None else full_s
            yield Excess(("partition", resource, direction), per_s / needs.partition_per_s, lasts_s)
        if buffered and on_demand and owner.max_on_demand and (most := owner.max_on_demand.write):
            saved = DEFAULT.saved_units(most, index_writes=True, on_demand=True)
            carried_s = needs.carried_s(most, saved)
            yield Excess(("max_on_demand", resource, direction), needs.per_s / most, carried_s)


def stated_demands(demands: Schedule, scale: float, carried: Sequence[Excess]) -> Iterator[Demand]:
    """Yield the demand on each side, as a diagnosis states it."""
    for side, needs in demands.items():
        lasts_s = min((excess.carried_s for excess in carried if excess.limit[1:] == side), default=inf)
        yield Demand(
            resource=side[0],
            direction=side[1],
            units_per_s=needs.per_s * scale,
            partition_per_s=needs.partition_per_s * scale,
            carried_s=None if lasts_s == inf else lasts_s,
        )
