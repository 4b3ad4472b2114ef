"""A constraint with everything that was measured about it: what was asked for, what was given, which keys."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, prod

from keyheat.analysis.heat import RunHeat
from keyheat.analysis.thresholds import Recommend
from keyheat.analysis.timeline import EvidenceTrack
from keyheat.numbers import units, whole
from keyheat.plan.forecast import shards_needed
from keyheat.runs.formats import HotKey, Label
from keyheat.words import Constraint, Direction, whose


@dataclass(frozen=True, slots=True)
class MeasuredDemand:
    """Units per second asked of a resource while it throttled.

    `by_client`: the client's own count; else a lower bound from CloudWatch, one unit for each throttle event.
    """

    units_per_s: float
    by_client: bool = True
    together: bool = False  # of a table and its indexes
    scale: float = 1.0  # of the local table at which it was measured

    def unscaled(self, scale: float) -> "MeasuredDemand":
        """The same demand for a table at scale 1."""
        return replace(self, units_per_s=self.units_per_s / scale, scale=scale)

    def said(self, direction: Direction) -> str:
        """The demand as the beginning of a sentence."""
        per_s = units(self.units_per_s, direction)
        if self.scale != 1:
            per_s += f" ({whole(self.units_per_s * self.scale)} at scale {self.scale:g})"
        if self.together:
            return f"At least {per_s} were asked for of the table and its indexes"
        if self.by_client:
            return f"The client asked for {per_s}"
        return f"At least {per_s} were asked for, by consumption and throttle events"


def demand(track: EvidenceTrack, label: Label) -> MeasuredDemand | None:
    """The demand within a label's span: the client's own, else CloudWatch's lower bound."""
    start_s, end_s = label.start.timestamp(), label.end.timestamp()
    own = _by_client(track, start_s, end_s)
    if own is not None:
        return MeasuredDemand(own)
    cells = [cell for cell in track.consumed or {} if start_s - track.step_s < cell < end_s]
    if not cells or not track.consumed:
        return None
    most = max(track.consumed[cell] + refused(track, cell) for cell in cells)
    return MeasuredDemand(most / track.step_s, by_client=False)


def demand_of_all(tracks: Sequence[EvidenceTrack], label: Label) -> MeasuredDemand | None:
    """The demand of a table and its indexes together, which share the account's quota; a lower bound."""
    known = [found for track in tracks if (found := demand(track, label)) is not None]
    if len(known) == 1:
        return known[0]
    total = sum(found.units_per_s for found in known)
    return MeasuredDemand(total, by_client=False, together=True) if known else None


def refused(track: EvidenceTrack, cell: int) -> float:
    """Throttles in a cell: CloudWatch's count, by cause where nothing else counts them, or the client's."""
    events = (track.events or {}).get(cell, 0.0)
    by_cause = sum(found.get(cell, 0.0) for found in track.causes.values())
    seconds = range(cell, cell + track.step_s) if track.reasons else ()
    by_client = sum(sum(track.reasons.get(second, {}).values()) for second in seconds)
    return max(events, by_cause, float(by_client))


def _by_client(track: EvidenceTrack, start_s: float, end_s: float) -> float | None:
    """The demand that nine in ten seconds stay below: attempts times the units of an accepted one."""
    rows = [
        row for second, row in (track.seconds or {}).items() if start_s <= second < end_s and row.attempts
    ]
    accepted = sum(max(0, row.attempts - row.throttled) for row in rows)
    if not accepted:
        return None
    units = sum(row.consumed for row in rows) / accepted
    asked = sorted(row.attempts * units for row in rows)
    return asked[int(0.9 * (len(asked) - 1))]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceCase:
    """One constraint of one resource and direction, in units per second of an unscaled table."""

    constraint: Constraint
    resource: str
    direction: Direction
    rule: str | None
    demand: MeasuredDemand | None
    limit: float | None  # what the constraint allows: what is provisioned, a maximum, a quota
    warm: float | None
    heat: RunHeat | None
    ceiling: float  # what one partition sustains
    numbers: Recommend
    scaled: bool = False  # whether auto scaling is known to be on
    index_key: str | None = None  # the attribute that the index is keyed by, where the scenario says it
    counted: bool = True  # whether anything says how an index's keys share its load

    @property
    def whose(self) -> str:
        """The resource in words."""
        return whose(self.resource)

    @property
    def hottest(self) -> HotKey | None:
        """The key that is hot enough to be named: one of the table's own keys with a notable demand."""
        keys = self.heat.hottest if self.heat and self.resource == "table" else ()
        named = [key for key in keys if key.share >= self.numbers.hot_share or key.units_per_s > self.ceiling]
        return max(named, key=lambda key: key.units_per_s, default=None)

    @property
    def asked(self) -> str:
        """The demand as the beginning of a sentence."""
        if self.demand is None:
            return "How much was asked for is not known"
        return self.demand.said(self.direction)

    @property
    def sustained(self) -> str:
        """What one partition sustains, in words."""
        return units(self.ceiling, self.direction)

    @property
    def with_headroom(self) -> float | None:
        """Capacity of which the demand uses the target utilisation.

        The limit was reached, so at least as much was asked for, even if the demand is known only from below.
        """
        if self.demand is None:
            return None
        asked = max(self.demand.units_per_s, self.limit or 0.0)
        return float(ceil(asked / self.numbers.target_utilisation))

    def shards(self, units_per_s: float, margin: float | None = None) -> int:
        """How many keys share a demand so that each, times the margin, stays below a partition's ceiling.

        The demand is rounded to whole units/s, as it is shown.
        """
        factor = self.numbers.shard_margin if margin is None else margin
        return shards_needed(units_per_s, self.ceiling, factor)

    @property
    def partitions(self) -> int | None:
        """About how many partitions there are: warm throughput is the best public lower bound."""
        return max(1, round(self.warm / self.ceiling)) if self.warm else None


def meeting_chance(count: int, partitions: int) -> float:
    """The chance that at least two of `count` keys fall on one of so many equal partitions."""
    if count > partitions:
        return 1.0
    return 1.0 - prod((partitions - n) / partitions for n in range(count))
