"""Throttles that the resource's own throttle events do not confirm: what they may be instead."""

from collections.abc import Iterable
from itertools import product
from typing import Final

from keyheat.analysis.timeline import EvidenceTimeline
from keyheat.analysis.track import EvidenceTrack
from keyheat.words import WRITE, Direction, whose

from .consumption import Consumption

MANY_MORE: Final = 2.0  # times CloudWatch's events: a log with more has throttles of something else


def is_unconfirmed(consumption: Consumption, cell: int) -> bool:
    """Whether no throttle event names this resource: measured zero, or counted by requests only.

    Throttles within the client's clock skew of another cell may be counted there.
    """
    track, skew_s = consumption.track, consumption.numbers.spans.skew_s
    if track.index is None and cell in consumption.timeline.unattributed.get(track.direction, {}):
        return True
    seconds = [second for second, _ in consumption.throttled.get(cell, ())]
    beside = {track.cell_of(second + by_s) for second in seconds for by_s in (-skew_s, skew_s)}
    near = any(map(track.throttled, beside)) and accounts_for(track, {cell, *beside})
    return track.known_zero(track.events, cell) and not near


def accounts_for(track: EvidenceTrack, cells: set[int]) -> bool:
    """Whether CloudWatch's events in some cells can be what a log holds of them.

    An SDK's retries are events too, so that a log holds fewer than there were.
    """
    if track.seconds is not None:  # a client of ours, whose every attempt counts
        return True
    return sum(map(track.logged, cells)) <= MANY_MORE * sum(map(track.published, cells))


def whose_words(consumption: Consumption, cell: int) -> str:
    """Explain why the throttled resource is unknown, and which resources are possible."""
    track = consumption.track
    then = " then" if any((track.events or {}).values()) else ""
    no_events = f"CloudWatch counts no throttled {track.direction} on {whose(track.resource)} itself{then}"
    calm = indexes_are_calm(consumption.timeline, track.direction, (cell,))
    if cell not in consumption.throttled:
        if track.events is None:
            events = "CloudWatch's throttle events were not collected"
            return f"ThrottledRequests counts them, but {events}: the table or an index of it refused them."
        of_index = ": most likely an index throttled them"
        if calm:
            of_index = ", nor on an index" if consumption.timeline.indexes(track.direction) else ""
        return f"ThrottledRequests counts them, but {no_events}{of_index}."
    index = ""
    may_be = track.direction == WRITE or consumption.timeline.indexes(track.direction)
    if track.index is None and may_be and not calm:
        index = "an index may have throttled them, or "
    return (
        f"The client counts them, but {no_events}: {index}another service threw the exceptions (Streams, "
        "Kinesis, KMS and the control plane throttle as well, and an SDK gives up when its retry quota is "
        "empty), or one of the two counts is of another table, Region or account."
    )


def indexes_are_calm(timeline: EvidenceTimeline, direction: Direction, cells: Iterable[int]) -> bool:
    """Whether the throttle events of each index are a measured zero in these cells.

    Without an index, only a description of the table shows that it has no index.
    """
    table, indexes = timeline.track(None, direction), timeline.indexes(direction)
    return bool(indexes or (table and table.described)) and all(
        index.known_zero(index.events, cell) for index, cell in product(indexes, cells)
    )
