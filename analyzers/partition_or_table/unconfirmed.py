"""Throttles that the resource's own throttle events do not confirm: what they may be instead."""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import product

from keyheat.analysis.timeline import EvidenceTimeline, far_exceeds
from keyheat.analysis.track import EvidenceTrack
from keyheat.numbers import some
from keyheat.runs.metrics import constraint_of
from keyheat.words import WRITE, Direction, whose

from .consumption import Consumption


def is_unconfirmed(consumption: Consumption, cell: int) -> bool:
    """Whether no throttle event names this resource: measured zero, or counted by requests only.

    Throttles within the client's clock skew of another cell may be counted there.
    """
    track, skew_s = consumption.track, consumption.numbers.spans.skew_s
    if not track.published(cell) and consumption.unattributed.get(cell):
        return True
    seconds = [second for second, _ in consumption.throttled.get(cell, ())]
    beside = {track.cell_of(second + by_s) for second in seconds for by_s in (-skew_s, skew_s)}
    near = any(map(track.throttled, beside)) and accounts_for(track, {cell, *beside})
    return track.known_zero(track.events, cell) and not near


def accounts_for(track: EvidenceTrack, cells: set[int]) -> bool:
    """Whether CloudWatch's events in some cells can be what a client counts in them."""
    logged, published = (sum(map(count, cells)) for count in (track.logged, track.published))
    return not far_exceeds(logged, published, of_items=track.seconds is not None)


def surplus(consumption: Consumption) -> dict[int, int]:
    """Throttles by cell beyond the events that CloudWatch counts there: of requests, or of the client.

    Those events are the resource's; it is not known what refused the others.
    """
    track, beyond = consumption.track, dict(consumption.unattributed)
    for cell, bare in _without_reason(track).items():
        around = (cell - track.step_s, cell, cell + track.step_s)
        of_all = consumption.timeline.published(track.direction, around)
        if track.events is not None and far_exceeds(bare, of_all, of_items=track.seconds is not None):
            beyond[cell] = max(beyond.get(cell, 0.0), bare - track.published(cell))
    return {cell: round(count) for cell, count in beyond.items() if track.published(cell)}


def _without_reason(track: EvidenceTrack) -> Mapping[int, int]:
    """The client's throttles in the cells in which none has a reason, as parts of batches have none."""
    counts, stated = Counter[int](), set[int]()
    for second, reasons in track.reasons.items():
        cell = track.cell_of(second)
        counts[cell] += sum(reasons.values())
        if any(constraint_of(reason) for reason in reasons):
            stated.add(cell)
    return {cell: count for cell, count in counts.items() if cell not in stated}


def whose_words(consumption: Consumption, cell: int) -> str:
    """Explain why the throttled resource is unknown, and which resources are possible."""
    track = consumption.track
    counted, in_all = round(track.published(cell)), round(sum((track.events or {}).values()))
    then = ""
    if in_all:
        then = f" then ({in_all - counted:,} in other minutes)" if in_all > counted else " then"
    throttled = f"throttled {track.direction}"
    refused = f"only {some(counted, throttled)}" if counted else f"no {throttled}"
    no_events = f"CloudWatch counts {refused} on {whose(track.resource)} itself{then}"
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
