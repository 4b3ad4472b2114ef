"""What a refused write would have cost the index that refused it.

CloudWatch counts refusals, not their units. But an index takes a steady share of its table's writes: what it
consumed of each unit of the table, while nothing was refused, shows what it was asked for later. A refused
write may cost more than an accepted one, since writes that do not touch the index are not refused.
"""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Final

from keyheat.analysis.track import EvidenceTrack
from keyheat.words import WRITE, Direction

LEAST_CALM: Final = 3
"""Least cells without a refusal that show the share."""


def with_refused_writes(tracks: Sequence[EvidenceTrack]) -> tuple[EvidenceTrack, ...]:
    """Add the units of a refused write to the indexes, as far as calm cells show them."""
    table = next((track for track in tracks if track.index is None and track.direction == WRITE), None)
    indexes = [track for track in tracks if _writes_of_index(track.index, track.direction)]
    return tuple(
        replace(track, units_per_refused=_units_per_refused(track, table, indexes))
        if table is not None and _writes_of_index(track.index, track.direction)
        else track
        for track in tracks
    )


def _writes_of_index(index: str | None, direction: Direction) -> bool:
    return index is not None and direction == WRITE


def _units_per_refused(
    index: EvidenceTrack, table: EvidenceTrack, indexes: Sequence[EvidenceTrack]
) -> float | None:
    consumed, of_table = index.consumed or {}, table.consumed or {}
    cells = [cell for cell in consumed if of_table.get(cell) and not table.refused(cell)]
    refused = {cell: max(each.refused(cell) for each in indexes) for cell in cells}
    calm = [consumed[cell] / of_table[cell] for cell in cells if consumed[cell] and not refused[cell]]
    held = [cell for cell in cells if index.refused(cell)]
    if len(calm) < LEAST_CALM or not held:
        return None
    asked = sum(of_table[cell] + refused[cell] * table.units_of_refused for cell in held)
    lacking = median(calm) * asked - sum(consumed[cell] for cell in held)
    return lacking / sum(map(index.refused, held))
