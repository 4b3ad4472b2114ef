"""What was asked for, against what was given: the measured numbers that a recommendation rests on."""

from dataclasses import dataclass

from analyzers.formats import Label
from analyzers.timeline import Track


@dataclass(frozen=True, slots=True)
class Demand:
    """Units per second asked of a resource while it throttled; `measured` says how that is known."""

    units_per_s: float
    measured: str

    def unscaled(self, scale: float) -> "Demand":
        """The same demand for a table at scale 1, said so."""
        if scale == 1:
            return self
        return Demand(
            self.units_per_s / scale, f"{self.measured} ({self.units_per_s:,.0f} at scale {scale:g})"
        )


def demand(track: Track, label: Label) -> Demand | None:
    """The demand within a label's span: the client's own, else CloudWatch's lower bound."""
    start_s, end_s = label.start.timestamp(), label.end.timestamp()
    own = _by_client(track, start_s, end_s)
    if own is not None:
        return Demand(own, "asked for by the client")
    cells = [cell for cell in track.consumed or {} if start_s - track.step_s < cell < end_s]
    if not cells or not track.consumed:
        return None
    events = track.events or {}
    most = max(track.consumed[cell] + events.get(cell, 0.0) for cell in cells)
    return Demand(most / track.step_s, "consumed, plus one unit for each throttle event, at least")


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
