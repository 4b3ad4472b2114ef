"""What was asked for, against what was given: the measured numbers that a recommendation rests on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from keyheat.analysis.timeline import Track
from keyheat.numbers import units, whole
from keyheat.runs.formats import Label
from keyheat.words import Direction


@dataclass(frozen=True, slots=True)
class Demand:
    """Units per second asked of a resource while it throttled.

    `by_client`: the client's own count; else a lower bound from CloudWatch, one unit for each throttle event.
    """

    units_per_s: float
    by_client: bool = True
    together: bool = False  # of a table and its indexes
    scale: float = 1.0  # of the local table at which it was measured

    def unscaled(self, scale: float) -> "Demand":
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


def demand(track: Track, label: Label) -> Demand | None:
    """The demand within a label's span: the client's own, else CloudWatch's lower bound."""
    start_s, end_s = label.start.timestamp(), label.end.timestamp()
    own = _by_client(track, start_s, end_s)
    if own is not None:
        return Demand(own)
    cells = [cell for cell in track.consumed or {} if start_s - track.step_s < cell < end_s]
    if not cells or not track.consumed:
        return None
    most = max(track.consumed[cell] + refused(track, cell) for cell in cells)
    return Demand(most / track.step_s, by_client=False)


def demand_of_all(tracks: Sequence[Track], label: Label) -> Demand | None:
    """The demand of a table and its indexes together, which share the account's quota; a lower bound."""
    known = [found for track in tracks if (found := demand(track, label)) is not None]
    if len(known) == 1:
        return known[0]
    total = sum(found.units_per_s for found in known)
    return Demand(total, by_client=False, together=True) if known else None


def refused(track: Track, cell: int) -> float:
    """Throttles in a cell: CloudWatch's count, by cause where nothing else counts them, or the client's."""
    events = (track.events or {}).get(cell, 0.0)
    by_cause = sum(found.get(cell, 0.0) for found in track.causes.values())
    seconds = range(cell, cell + track.step_s) if track.reasons else ()
    by_client = sum(sum(track.reasons.get(second, {}).values()) for second in seconds)
    return max(events, by_cause, float(by_client))


def _by_client(track: Track, start_s: float, end_s: float) -> float | None:
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
