"""The demand that evidence shows, as a load that can be sent once more: to a table that nobody else knows.

Requests of a second are those that the client counted; else what CloudWatch's minute shows of it, one request
for each consumed unit and each throttle event. Keys are those known to be hot, and even ones beside them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from keyheat.analysis.advising.demand import refused
from keyheat.analysis.heat import Heat
from keyheat.analysis.timeline import Timeline, Track
from keyheat.simulator.flow import Flow, FlowAnswer, IndexFlow
from keyheat.simulator.masses import Masses, even_masses, masses_of_shares
from keyheat.words import READ, WRITE, Direction

OPERATIONS: dict[Direction, str] = {READ: "Query", WRITE: "PutItem"}


@dataclass(frozen=True, slots=True)
class Demanded:
    """A load that was seen, second by second. What becomes of it changes nothing about it."""

    seconds: Sequence[Sequence[Flow]]

    def second(self, at_s: float) -> Sequence[Flow]:
        number = int(at_s)
        return self.seconds[number] if number < len(self.seconds) else ()

    def answered(self, at_s: float, answers: Sequence[FlowAnswer]) -> None:
        return None


def demanded(arranged: Timeline, heats: Sequence[Heat], first_s: int, seconds: int) -> Demanded:
    """What was asked of the table and its indexes in so many seconds from `first_s` on."""
    kinds = [
        (track, _keys(track, heats), _entries(arranged, track))
        for track in arranged.tracks
        if track.index is None or track.direction == "read"
    ]
    return Demanded(
        [
            [flow for kind in kinds if (flow := _flow(*kind, second)) is not None]
            for second in range(first_s, first_s + seconds)
        ]
    )


def _flow(track: Track, keys: Masses, entries: tuple[IndexFlow, ...], second: int) -> Flow | None:
    requests, units = _asked(track, second)
    if not requests:
        return None
    return Flow(
        operation=OPERATIONS[track.direction],
        direction=track.direction,
        requests=requests,
        units=units,
        keys=keys,
        index=track.index,
        index_writes=entries,
    )


def _asked(track: Track, second: int) -> tuple[float, float]:
    """Requests within a second, and the units of each."""
    row = (track.seconds or {}).get(second)
    if track.seconds:
        if row is None:
            return 0.0, 1.0
        accepted = max(0, row.attempts - row.throttled)
        return float(row.attempts), row.consumed / accepted if accepted and row.consumed else 1.0
    cell = track.cell_of(second)
    units = (track.consumed or {}).get(cell, 0.0) + refused(track, cell)
    return units / track.step_s, 1.0


def _keys(track: Track, heats: Sequence[Heat]) -> Masses:
    """The hottest keys with their shares of the table's requests; index keys are not known."""
    heat = next((one for one in heats if one.direction == track.direction), None)
    shares = {key.key: key.share for key in heat.hottest if key.share > 0} if heat else {}
    if track.index is not None or not shares:
        return even_masses()
    named = sum(shares.values())
    return masses_of_shares(shares, even=max(0.0, 1.0 - named), within="random")


def _entries(arranged: Timeline, track: Track) -> tuple[IndexFlow, ...]:
    """What the table's writes put into each index: its units for each of theirs, over all that is known."""
    own = sum((track.consumed or {}).values())
    if track.index is not None or track.direction != "write" or not own:
        return ()
    found = []
    for index in arranged.indexes(WRITE):
        units = sum((index.consumed or {}).values()) / own
        if index.index is not None and units > 0:
            found.append(IndexFlow(index=index.index, units=units, keys=even_masses()))
    return tuple(found)
