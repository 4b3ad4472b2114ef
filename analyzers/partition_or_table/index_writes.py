"""Writes that an index refused: throttles that CloudWatch, or the client, counts under the table.

`WriteAccountLimitThrottleEvents` has no index dimension: what an index refused for the account's quota is
counted under the table. The index's own `WriteThrottleEvents` of no other cause tell how many those were.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from keyheat.analysis.thresholds import Thresholds
from keyheat.analysis.timeline import Timeline, Track
from keyheat.words import WRITE

MANY: Final = 10  # throttles from which two counts are not the same by chance


def attributed(arranged: Timeline) -> Timeline:
    """The evidence, with account-limit events of writes at the index whose entries were refused."""
    table = next(t for t in arranged.tracks if t.index is None and t.direction == WRITE)
    counted = table.causes.get("account")
    if not counted:
        return arranged
    left = dict(counted)
    found = []
    for track in arranged.tracks:
        if track.index is None or track.direction == "read" or not track.events or not track.causes:
            found.append(track)
            continue
        causes = [cells for cause, cells in track.causes.items() if cause != "account"]
        own: dict[int, float] = {}
        for cell, events in track.events.items():
            part = min(left.get(cell, 0.0), events - sum(cells.get(cell, 0.0) for cells in causes))
            if part > 0:
                own[cell] = part
                left[cell] -= part
        found.append(replace(track, causes={**track.causes, "account": own}))
    rest = replace(table, causes={**table.causes, "account": left})
    return replace(arranged, tracks=tuple(rest if track is table else track for track in found))


def refused_by_index(arranged: Timeline, track: Track, numbers: Thresholds) -> Callable[[int], bool]:
    """Whether the writes throttled in a cell were refused for an index that could not keep up.

    The signature of index back-pressure: throttle events on the index, none on the table itself; or just as
    many on a table that has room as on an index that has none, where theirs are counted at the table as well.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/gsi-throttling.html
    """
    indexes = arranged.indexes(WRITE) if track.index is None and track.direction == WRITE else ()

    def refused(cell: int) -> bool:
        of_indexes = sum((index.events or {}).get(cell, 0.0) for index in indexes)
        if (track.events or {}).get(cell) == of_indexes >= MANY:
            full = numbers.inferred.at_provisioned_low
            used = [_share_used(index, cell) for index in indexes if index.throttled(cell)]
            return 0 < _share_used(track, cell) < full <= max(used)
        return of_indexes > 0 and track.known_zero(track.events, cell)

    return refused


def _share_used(track: Track, cell: int) -> float:
    """Consumed against provisioned; 0 where either is not known, or nothing is provisioned."""
    rate, capacity = track.consumed_per_s(cell), track.provisioned.at(cell)
    return rate / capacity if rate and capacity and not track.on_demand_at(cell) else 0.0
