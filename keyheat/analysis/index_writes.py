"""What a table's writes ask of an index that does not take them all.

CloudWatch counts the refusals of an index, not their units, and nothing of what waits in its write buffer. An
index takes a steady share of its table's writes, though: what it consumed of each unit of the table, while it
was free, shows what it was asked for later. A refused write may cost more than an accepted one, since writes
that do not touch the index are not refused.
"""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Final

from keyheat.analysis.track import EvidenceTrack
from keyheat.words import WRITE

LEAST_CALM: Final = 3
"""Least cells in which the index was free that show its share."""
NEAR: Final = 0.03
"""Largest relative difference of two rates that are taken for the same."""


def with_writes_asked(tracks: Sequence[EvidenceTrack]) -> tuple[EvidenceTrack, ...]:
    """Add to the write tracks of indexes what the table's writes asked of them, as far as that shows."""
    table = next((track for track in tracks if track.index is None and track.direction == WRITE), None)
    indexes = [track for track in tracks if track.index is not None and track.direction == WRITE]
    if table is None:
        return tuple(tracks)
    return tuple(_with_share(track, table, indexes) if track in indexes else track for track in tracks)


def _with_share(
    index: EvidenceTrack, table: EvidenceTrack, indexes: Sequence[EvidenceTrack]
) -> EvidenceTrack:
    consumed, of_table = index.consumed or {}, table.consumed or {}
    cells = [cell for cell in consumed if of_table.get(cell) and not table.refused(cell)]
    refused = {cell: max(each.refused(cell) for each in indexes) for cell in cells}
    quiet = [cell for cell in cells if not refused[cell]]
    free = [cell for cell in quiet if consumed[cell] and not _is_held(index, cell)]
    if len(free) < LEAST_CALM:
        return index
    share = median(consumed[cell] / of_table[cell] for cell in free)
    asked = {cell: share * (of_table[cell] + refused[cell] * table.units_of_refused) for cell in cells}
    throttled = [cell for cell in cells if index.refused(cell)]
    lacking = sum(asked[cell] - consumed[cell] for cell in throttled)
    return replace(
        index,
        units_per_refused=lacking / sum(map(index.refused, throttled)) if throttled else None,
        buffered={
            cell: asked[cell] - consumed[cell]
            for cell in quiet
            if _share_used(index, cell) >= 1 - NEAR and asked[cell] > (1 + NEAR) * consumed[cell]
        },
    )


def _is_held(index: EvidenceTrack, cell: int) -> bool:
    """Whether an index consumed exactly its capacity: the rest waits in its write buffer."""
    return abs(_share_used(index, cell) - 1) <= NEAR


def _share_used(index: EvidenceTrack, cell: int) -> float:
    """Consumed over provisioned; 0 where either is unknown."""
    rate, capacity = index.consumed_per_s(cell), index.provisioned.at(cell)
    return rate / capacity if rate and capacity else 0.0
