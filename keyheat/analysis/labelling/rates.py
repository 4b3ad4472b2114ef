"""What a resource consumed second by second, as far as a client's record tells.

CloudWatch knows the minute's sum, the client knows its own seconds. What the client did not consume, others
did, nobody knows when within the minute: it is spread evenly, and kept as a doubt. Where the client holds too
little of the minute, its seconds do not speak for the resource.

    minute's sum, by CloudWatch    6,000      ___               the client's seconds
    the client's own               5,400     |   |
    somebody else's                  600   __|   |__________    10 units/s below all of them
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from keyheat.analysis.timeline import Timeline, Track
from keyheat.runs.formats import SecondCount

LEAST_SHARE = 1e-6  # of a client whose own consumption is next to nothing
NOTABLE = 0.01  # share of somebody else's consumption from which the client's idle seconds are not idle


@dataclass(frozen=True, slots=True)
class Rates:
    """Units by epoch second; by cell, the units of others; and the mean units of one accepted request."""

    by_second: Mapping[int, float] = field(default_factory=dict)
    others: Mapping[int, float] = field(default_factory=dict)
    item_units: float = 1.0

    def around(self, second: int, half_s: int, capacity: float | None = None) -> float:
        """Units/s in the mean of the seconds around one; of more where single requests are large."""
        if capacity:
            lumps_s = 5 * self.item_units / capacity
            half_s = max(half_s, min(20, int(lumps_s)))
        near = range(second - half_s, second + half_s + 1)
        known = [self.by_second[at] for at in near if at in self.by_second]
        return sum(known) / max(1, len(known))

    def most(self, second: int) -> float:
        """The most units of a second and of those before and after it."""
        return max(self.by_second.get(at, 0.0) for at in range(second - 1, second + 2))

    def flat(self, second: int, rate: float) -> bool:
        """Whether most of the seconds around one are at a rate, each by itself."""
        known = [self.by_second[at] for at in range(second - 2, second + 3) if at in self.by_second]
        return sum(abs(units - rate) <= 0.07 * rate for units in known) >= 0.6 * len(known)


def rates(timeline: Timeline, track: Track, share: float) -> Rates:
    """Consumption by second, in the cells of which the client's record holds at least `share`."""
    rows, parts = _rows(timeline, track)
    by_cell: defaultdict[int, list[int]] = defaultdict(list)
    for second in rows:
        by_cell[track.cell_of(second)].append(second)
    found: dict[int, float] = {}
    others: dict[int, float] = {}
    consumed, accepted = 0.0, 0
    own_share = _own_share(track, by_cell, rows)
    for cell, seconds in by_cell.items():
        part = parts.get(cell, 0.0) if parts is not None else 1.0
        own = {second: rows[second].consumed * part for second in seconds}
        held = sum(own.values())
        total = (track.consumed or {}).get(cell, held / own_share)
        if held < share * total:
            continue
        unseen = max(0.0, total - held)
        others[cell] = unseen
        consumed += held
        accepted += sum(max(0, rows[second].attempts - rows[second].throttled) for second in seconds)
        whole = unseen > NOTABLE * total
        for second in range(cell, cell + track.step_s) if whole else seconds:
            found[second] = own.get(second, 0.0) + unseen / track.step_s * whole
    return Rates(found, others, consumed / accepted if accepted else 1.0)


def _own_share(track: Track, by_cell: Mapping[int, list[int]], rows: Mapping[int, SecondCount]) -> float:
    """The client's part of all that is known to have been consumed: what it is taken to be in lost minutes.

    1 where CloudWatch says nothing at all, and for an index of which the client has no rows of its own.
    """
    known = {cell: total for cell, total in (track.consumed or {}).items() if total and cell in by_cell}
    if not known or not track.seconds:
        return 1.0
    own = sum(rows[second].consumed for cell in known for second in by_cell[cell])
    return min(1.0, max(LEAST_SHARE, own / sum(known.values())))


def _rows(timeline: Timeline, track: Track) -> tuple[Mapping[int, SecondCount], Mapping[int, float] | None]:
    """The client's rows of a resource; for an index that it has none of, the table's, and its part."""
    if track.seconds or track.index is None or track.direction == "read":
        return track.seconds or {}, None
    table = timeline.track(None, track.direction)
    if table is None or not table.seconds or not table.consumed or not track.consumed:
        return {}, None
    both = table.consumed.keys() & track.consumed.keys()
    return table.seconds, {
        cell: track.consumed[cell] / table.consumed[cell] for cell in both if table.consumed[cell]
    }
