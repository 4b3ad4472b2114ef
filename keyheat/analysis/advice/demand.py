"""The demand on a resource: as measured while it throttled, and as a scenario states it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, Literal

from keyheat.analysis.track import EvidenceTrack, Span
from keyheat.model import limits
from keyheat.model.behaviour import DEFAULT, exhaustion_s
from keyheat.numbers import consumed_units, whole
from keyheat.runs.formats import Label
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


DEMANDS: Final = {
    # what the scenario's load asks for at its peak, without the retries that throttles make of it
    "schedule": "The demand is {}",
    # what it counted, retries among them
    "client": "The client's demand was {}",
    # what was consumed and the units of what was throttled, at least one for each
    "cloudwatch": "The demand was {}, by consumption and throttle events, retries among them",
    "at_least": "The demand was at least {}, by consumption and throttle events, retries among them",
    "together": "The demand on the table and its indexes was at least {}",
    # what the other steps of a cure make of it
    "cure": "With the other steps of the cure {} are consumed",
}
"""How a demand is known, as the beginning of a sentence."""


@dataclass(frozen=True, slots=True)
class MeasuredDemand:
    """Demand on a resource while it throttled, units/s."""

    units_per_s: float
    by: Literal["schedule", "client", "cloudwatch", "at_least", "together", "cure"] = "client"
    scale: float = 1.0  # of the local table at which it was measured

    def in_words(self, direction: Direction) -> str:
        """The demand as the beginning of a sentence."""
        return DEMANDS[self.by].format(with_scale(self.units_per_s, direction, self.scale))


def with_scale(units_per_s: float, direction: Direction, scale: float) -> str:
    """Units per second of an unscaled table in words, with what they are at the scale of a local one."""
    per_s = consumed_units(units_per_s, direction)
    return per_s if scale == 1 else f"{per_s} ({whole(units_per_s * scale)} at scale {scale:g})"


def demand(track: EvidenceTrack, labels: Sequence[Label]) -> MeasuredDemand | None:
    """Return the demand within the spans of labels: the client's, else CloudWatch's lower bound."""
    spans = _spans(labels)
    client_per_s = _by_client(track, spans)
    if client_per_s is not None:
        return MeasuredDemand(client_per_s)
    cells = track.consumed_cells(spans)
    cloudwatch_per_s = track.asked_per_s(cells)
    if cloudwatch_per_s is None:
        return None
    return MeasuredDemand(cloudwatch_per_s, "at_least" if track.asked_at_least(cells) else "cloudwatch")


def demand_of_all(tracks: Sequence[EvidenceTrack], labels: Sequence[Label]) -> MeasuredDemand | None:
    """Return the demand on a table with its indexes, which share the account's quota; a lower bound."""
    demands = [measured for track in tracks if (measured := demand(track, labels)) is not None]
    if len(demands) == 1:
        return demands[0]
    total = sum(measured.units_per_s for measured in demands)
    return MeasuredDemand(total, "together") if demands else None


def _by_client(track: EvidenceTrack, spans: Sequence[tuple[float, float]]) -> float | None:
    """Return the 90th percentile of demand by second: attempts times the units of an accepted one."""
    rows = [
        row for second, row in (track.seconds or {}).items()
        if row.attempts and any(start_s <= second < end_s for start_s, end_s in spans)
    ]  # fmt: skip
    accepted = sum(max(0, row.attempts - row.throttled) for row in rows)
    if not accepted:
        return None
    units = sum(row.consumed for row in rows) / accepted
    rates = sorted(row.attempts * units for row in rows)
    return rates[int(0.9 * (len(rates) - 1))]


def one_key_per_s(track: EvidenceTrack, label: Label) -> tuple[float, float] | None:
    """Return what one key would ask for that throttled a partition as in a label, and what all keys did.

    Units/s of the cell that throttled most. The key has what its partition served and what was refused. An
    index's full partition holds back every write alike, so a key of it has its part of what was refused.
    """
    cells = range(track.cell_of(label.start.timestamp()), int(label.end.timestamp()), track.step_s)
    worst = max(cells, key=track.refused)
    used, refused = track.consumed_per_s(worst), track.refused_units(worst) / track.step_s
    if used is None or not used + refused:
        return None
    served = min(used, track.ceiling)
    of_index = track.index is not None and track.direction is Direction.WRITE and used > 0
    return served + refused * (served / used if of_index else 1.0), used + refused


def _spans(labels: Sequence[Label]) -> list[Span]:
    return [(label.start.timestamp(), label.end.timestamp()) for label in labels]


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A load's peak demand on one side, and the side's limits, units/s of an unscaled table."""

    per_s: float
    partition_per_s: float  # one partition's ceiling for such requests
    partitions: int
    by_second: Sequence[float]

    def carried_s(self, has: float, saved_units: float) -> float:
        """Seconds for which saved units serve the demand beyond a limit, as in a plan; infinity: for ever."""
        seconds = len(self.by_second)
        at_s = exhaustion_s(self.by_second, [has] * seconds, [saved_units] * seconds)
        return inf if at_s is None else at_s


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
