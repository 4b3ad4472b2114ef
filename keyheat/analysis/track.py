"""The evidence on one resource in one direction, by cell and by second.

A cell is the period of the consumption and throttle series: a minute, or longer for old windows. Missing data
stays missing: a lookup returns None if CloudWatch was not queried or had no data.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from statistics import median
from typing import Final

from keyheat.evidence.settings import Steps
from keyheat.model import limits
from keyheat.model.behaviour import DEFAULT
from keyheat.model.resources import partition_ceiling
from keyheat.numbers import span
from keyheat.runs.formats import SecondCount
from keyheat.words import READ, WRITE, Constraint, Direction, label_of

LEAST_CALM: Final = 3
"""Least cells in which the index was free that show its share."""
NEAR: Final = 0.03
"""Largest relative difference of two rates that are taken for the same."""

Cells = Mapping[int, float]
Span = tuple[float, float]
"""From an epoch second up to another one."""


def within(start_s: float, lasts_s: float, spans: Iterable[Span]) -> bool:
    """Whether a period has a part in one of the spans."""
    return any(begin_s - lasts_s < start_s < end_s for begin_s, end_s in spans)


@dataclass(frozen=True, kw_only=True)
class EvidenceTrack:
    """The evidence on one resource in one direction."""

    index: str | None
    direction: Direction
    step_s: int
    reasons: Mapping[int, Mapping[str | None, int]]  # by epoch second: the client's throttles by reason
    seconds: Mapping[int, SecondCount] | None  # by epoch second: the client's requests and responses
    consumed: Cells | None  # units by cell
    events: Cells | None  # throttle events by cell, whatever the cause
    causes: Mapping[Constraint, Cells]  # throttle events by cell, for each collected cause
    provisioned: Steps
    maximum: Steps
    maximum_asked: bool  # whether it was collected: if so, no data means no maximum
    warm: float | None
    on_demand: bool | None
    described: bool = False  # by DescribeTable: it has no maximum and no index but those that are named
    units_per_request: float | None = None  # mean of the accepted ones, by CloudWatch
    alone: tuple[str, ...] = ()  # the counted operations, where it is assumed that no other was sent
    units_per_refused: float | None = None  # of an index: by its share of the table's writes
    # Units that an index was asked for and did not consume yet; below zero where it catches up after a raise.
    buffered: Cells = field(default_factory=dict)
    scans: Cells = field(default_factory=dict)  # accepted ones of the table and its indexes, for reads
    throttled_request_units: Cells = field(default_factory=dict)
    """Units by cell of all throttled requests, where transactions, throttled as a whole, are among them."""
    scale: float = 1.0  # of a local table
    on_demand_since_s: float | None = None  # if it was switched, epoch seconds

    @property
    def resource(self) -> str:
        """Its name in labels: `table`, or the name of the index."""
        return label_of(self.index)

    @property
    def ceiling(self) -> float:
        """Units/s of one partition."""
        return partition_ceiling(self.direction, self.scale)

    @property
    def in_chunks_below(self) -> float:
        """Units/s below which a table gets its capacity in chunks."""
        return DEFAULT.nodes_below_units_per_s * self.scale

    @property
    def cell_name(self) -> str:
        """The name of a cell in sentences: `minute`, or `period of 5 min`."""
        return "minute" if self.step_s == limits.MINUTE_S else f"period of {span(self.step_s)}"

    def on_demand_at(self, second: float) -> bool | None:
        """Whether it was on-demand then; a switch is described, or shows in the published metrics."""
        if self.on_demand_since_s is not None:
            return second >= self.on_demand_since_s
        if self.on_demand and self.provisioned.starts_s:
            return not self.provisioned.published(second)
        if self.on_demand is False and self.provisioned.begins_late(second):
            return None
        return self.on_demand

    def throttled(self, cell: int) -> bool:
        """Whether CloudWatch counts throttle events in a cell."""
        return bool(self.events and self.events.get(cell))

    def cell_of(self, second: float) -> int:
        """Start of the cell that contains an epoch second."""
        return int(second // self.step_s) * self.step_s

    def known_zero(self, cells: Cells | None, cell: int) -> bool:
        """Whether a series is a measured zero: collected, without a point where consumption has one."""
        return (
            cells is not None and not cells.get(cell) and self.consumed is not None and cell in self.consumed
        )

    def refused(self, cell: int) -> float:
        """Throttles in a cell: the largest of events, events by cause, and the client's count."""
        return max(self.published(cell), float(self.logged(cell)))

    def published(self, cell: int) -> float:
        """CloudWatch's throttle events in a cell: all of them, or those by cause if those are more."""
        by_cause = sum(cells.get(cell, 0.0) for cells in self.causes.values())
        return max((self.events or {}).get(cell, 0.0), by_cause)

    def logged(self, cell: int) -> int:
        """The client's throttles in a cell."""
        seconds = range(cell, cell + self.step_s) if self.reasons else ()
        return sum(sum(self.reasons.get(second, {}).values()) for second in seconds)

    def unpublished(self, start_s: float, end_s: float) -> list[Span]:
        """The time between two epoch seconds in which neither CloudWatch nor the client tells of it.

        Empty where nothing was published at all, or where the client counted each second.
        """
        if not self.consumed or self.seconds is not None:
            return []
        cells = set(self.consumed).union(
            self.events or (), *self.causes.values(), map(self.cell_of, self.reasons)
        )
        ends = [self.cell_of(start_s), *(cell + self.step_s for cell in sorted(cells))]
        starts = [*sorted(cells), self.cell_of(end_s - 1) + self.step_s]
        return [(end, start) for end, start in zip(ends, starts, strict=True) if end < start]

    @property
    def published_throttles(self) -> int:
        """Throttles that CloudWatch counts: the larger of all events and of those by cause."""
        by_cause = sum(sum(cells.values()) for cells in self.causes.values())
        return round(max(sum((self.events or {}).values()), by_cause))

    @property
    def counted_apart(self) -> tuple[int, int] | None:
        """The client's throttles and CloudWatch's, where a cell lies between all of them."""
        reasons = {second: sum(counts.values()) for second, counts in self.reasons.items()}
        logged = {self.cell_of(second) for second in reasons}
        published = {cell for cell in self.consumed or () if self.throttled(cell)}
        beside = {cell + by_s for cell in logged for by_s in (-self.step_s, 0, self.step_s)}
        if not logged or not published or published & beside:
            return None
        if not all(self.known_zero(self.events, cell) for cell in logged):
            return None
        return sum(reasons.values()), self.published_throttles

    @property
    def units_of_refused(self) -> float:
        """Units of a throttled request: the mean of accepted ones; of the smallest if unknown.

        A write that an index refused takes as much as its share of the table's writes shows, if that is more.
        """
        least = limits.EVENTUAL_READ_FACTOR if self.direction == READ else 1.0
        return max(self.units_per_request or least, self.units_per_refused or 0.0)

    def refused_units(self, cell: int) -> float:
        """Throttled units in a cell; a transaction's are those of all its parts."""
        throttles = self.refused(cell)
        of_requests = self.throttled_request_units.get(cell, 0.0) if throttles else 0.0
        return max(throttles * self.units_of_refused, of_requests)

    def consumed_cells(self, spans: Sequence[Span]) -> list[int]:
        """The cells with a point of consumption that have a part in the spans, in order."""
        return [cell for cell in sorted(self.consumed or ()) if within(cell, self.step_s, spans)]

    def asked_per_s(self, cells: Iterable[int]) -> float | None:
        """Units/s consumed or throttled: in the busiest cell if any throttled, else in the median one.

        The median of an incident would include the cells in which it began and ended. None without a cell.
        """
        cells = list(cells)
        if (busiest := self.busiest(cells)) is not None:
            return self._demand_units(busiest) / self.step_s
        return median(map(self._demand_units, cells)) / self.step_s if cells else None

    def busiest(self, cells: Sequence[int]) -> int | None:
        """The cell with most units consumed or throttled; None if none throttled.

        It may be right before the throttles, where burst served all that was asked, beyond the capacity.
        """
        throttled = [cell for cell in cells if self.refused(cell)]
        if not throttled:
            return None
        before = range(min(throttled) - self.step_s, min(self.consumed or throttled) - 1, -self.step_s)
        on_burst = takewhile(lambda cell: self.share_used(cell) > 1 and not self.refused(cell), before)
        return max((*cells, *on_burst), key=self._demand_units)

    def asked_at_least(self, cells: Sequence[int]) -> bool:
        """Whether `asked_per_s` is a lower bound: of a peak, or of throttled requests of unknown units."""
        busiest = self.busiest(cells)
        return self.units_per_request is None or (busiest is not None and self.peak_ratio(busiest) > 1)

    def peak_ratio(self, cell: int) -> float:
        """The demand while it throttled over the cell's mean, at least; 1.0 if a partition may be the limit.

        While a whole resource throttles, it serves its limit or more. So all that a cell consumed was served
        in at most consumed / limit seconds, and what was throttled came within them.
        """
        causes = {constraint for constraint, cells in self.causes.items() if cells.get(cell)}
        of_all = {"table": self.provisioned, "max_on_demand": self.maximum}
        used = (self.consumed or {}).get(cell)
        if len(causes) != 1 or not causes <= of_all.keys() or not used:
            return 1.0
        setting, ends = of_all[causes.pop()], (cell, cell + self.step_s - 1)
        limit = min(each.at(second) or 0.0 for each in (setting, *setting.readings) for second in ends)
        return max(1.0, limit * self.step_s / used)

    def _demand_units(self, cell: int) -> float:
        of_cell = (self.consumed or {})[cell] + self.buffered.get(cell, 0.0) + self.refused_units(cell)
        return of_cell * self.peak_ratio(cell)

    @cached_property
    def client_alone(self) -> bool:
        """Whether only the client counts throttles, without reasons: no events were collected."""
        return self.events is None and any(None in reasons for reasons in self.reasons.values())

    @cached_property
    def busiest_throttled_per_s(self) -> float | None:
        """Highest consumption of a throttled cell, units/s; None if unknown."""
        cells = (cell for cell, events in (self.events or {}).items() if events)
        return max((rate for cell in cells if (rate := self.consumed_per_s(cell)) is not None), default=None)

    def consumed_per_s(self, cell: int) -> float | None:
        """Mean units/s over a cell; None if CloudWatch has no point."""
        if self.consumed is None or cell not in self.consumed:
            return None
        return self.consumed[cell] / self.step_s

    def share_used(self, cell: int) -> float:
        """Consumed over provisioned; 0 if either is unknown or nothing is provisioned."""
        rate, capacity = self.consumed_per_s(cell), self.provisioned.at(cell)
        return rate / capacity if rate and capacity else 0.0


def with_writes_asked(tracks: Sequence[EvidenceTrack]) -> tuple[EvidenceTrack, ...]:
    """Add to the write tracks of indexes what the table's writes asked of them, as far as that shows.

    CloudWatch counts the refusals of an index, not their units, and not what waits in its write buffer.
    But an index takes a steady share of its table's writes: what it consumed of each unit of the table, while
    it was free, shows what it was asked for later. A refused write may cost more than an accepted one, since
    writes that do not touch the index are not refused.
    """
    table = next((track for track in tracks if track.index is None and track.direction == WRITE), None)
    indexes = [track for track in tracks if track.index is not None and track.direction == WRITE]
    if table is None or not indexes:
        return tuple(tracks)
    cells = [cell for cell, units in (table.consumed or {}).items() if units and not table.refused(cell)]
    refused = {cell: max(each.refused(cell) for each in indexes) for cell in cells}
    return tuple(
        _with_share(track, table, refused) if track.index is not None and track.direction == WRITE else track
        for track in tracks
    )


def _with_share(index: EvidenceTrack, table: EvidenceTrack, refused: Cells) -> EvidenceTrack:
    """Add what was asked of an index; `refused`: by any index, in cells in which the table refused none."""
    consumed, of_table = index.consumed or {}, table.consumed or {}
    cells = [cell for cell in consumed if cell in refused]
    quiet = [cell for cell in cells if not refused[cell]]
    # An index that consumed exactly its capacity is held: the rest waits in its write buffer.
    free = [cell for cell in quiet if consumed[cell] and abs(index.share_used(cell) - 1) > NEAR]
    if len(free) < LEAST_CALM:
        return index
    share = median(consumed[cell] / of_table[cell] for cell in free)
    asked_units = {cell: share * (of_table[cell] + refused[cell] * table.units_of_refused) for cell in cells}
    throttled = [cell for cell in cells if index.refused(cell)]
    lacking = sum(asked_units[cell] - consumed[cell] for cell in throttled)
    index = replace(
        index, units_per_refused=lacking / sum(map(index.refused, throttled)) if throttled else None
    )
    waiting = {
        cell: asked_units[cell] - consumed[cell]
        for cell in quiet
        if index.share_used(cell) >= 1 - NEAR and asked_units[cell] > (1 + NEAR) * consumed[cell]
    }
    at = index.provisioned.at
    changes = ((cell, at(cell - index.step_s), at(cell)) for cell in cells)
    raised = [cell for cell, before, now in changes if before is not None and now and now > before]
    caught_up = {
        cell: asked_units[cell] - consumed[cell] - index.refused_units(cell)
        for cell in raised
        if consumed[cell] > (1 + NEAR) * asked_units[cell]
    }
    return replace(index, buffered=waiting | caught_up)
