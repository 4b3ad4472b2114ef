"""What was asked for, against what was given: the measured numbers that a recommendation rests on."""

from dataclasses import dataclass, replace

from analyzers.formats import Direction, Label
from analyzers.numbers import units, whole
from analyzers.timeline import Track


@dataclass(frozen=True, slots=True)
class Demand:
    """Units per second asked of a resource while it throttled.

    `by_client`: the client's own count; else a lower bound from CloudWatch, one unit for each throttle event.
    """

    units_per_s: float
    by_client: bool = True
    scale: float = 1.0  # of the local table at which it was measured

    def unscaled(self, scale: float) -> "Demand":
        """The same demand for a table at scale 1."""
        return replace(self, units_per_s=self.units_per_s / scale, scale=scale)

    def said(self, direction: Direction) -> str:
        """The demand as the beginning of a sentence."""
        per_s = units(self.units_per_s, direction)
        if self.scale != 1:
            per_s += f" ({whole(self.units_per_s * self.scale)} at scale {self.scale:g})"
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
    events = track.events or {}
    most = max(track.consumed[cell] + events.get(cell, 0.0) for cell in cells)
    return Demand(most / track.step_s, by_client=False)


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
