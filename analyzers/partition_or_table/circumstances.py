"""Events around a label that change what to do about it.

Capacity was raised too late, or lowered; a partition was split; an on-demand table has not grown yet.

Such a label keeps its constraint, grade and confidence, and gets the rule and the numbers of the event.

A new on-demand table absorbs 4,000 write and 12,000 read units/s at once and grows with its peaks. Above that
its partitions throttle although the keys are even; pre-warming or a ramp helps, sharding does not.
An index without counts of its own keys is left out: one value of its key may be hot.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from keyheat.analysis.heat import INDEX_NOT_COUNTED, RunHeat, key_spread
from keyheat.analysis.rules import NOT_GROWN, Thresholds
from keyheat.analysis.timeline import EvidenceTimeline
from keyheat.analysis.track import EvidenceTrack
from keyheat.numbers import clock, consumed_units, measured, percent, span, units, whole
from keyheat.runs.formats import Evidence, Label
from keyheat.words import Direction, index_of

from .bounds import LOWER

BEFORE: Final = 12  # published values (an hour) before a label that can show a reduction
HIGHER: Final = 1.05  # times the provisioned throughput when the throttles began
SOON_S: Final = 900  # seconds after a label in which a raise still responds to it
LASTED_S: Final = 150  # least seconds for which a partition throttles before DynamoDB splits it
AFTER: Final = 2  # cells after a label that show whether the demand continues
GOES_ON: Final = 0.95  # of the consumption during the label
SEEN_LATE_S: Final = 60  # seconds by which a split may be seen after the label that it ended


Event = tuple[str | None, str]
"""The rule of an event (None: the label's stays), and a sentence that has its numbers."""


def with_circumstances(
    labels: Sequence[Label],
    arranged: EvidenceTimeline,
    evidence: Evidence,
    heats: Sequence[RunHeat],
    numbers: Thresholds,
) -> list[Label]:
    """Give labels with such an event its rule and one more sentence."""
    seen = evidence.partitions.splits if evidence.partitions else None
    splits_s = [at.timestamp() for at in seen or ()]  # the table's own, from its stream
    recorded = {(t.index, t.direction): sorted(t.seconds or ()) for t in arranged.tracks}
    starts_s: defaultdict[tuple[str, Direction], list[float]] = defaultdict(list)
    for label in labels:  # in order of time
        starts_s[label.resource, label.direction].append(label.start.timestamp())
    result = []
    for label in labels:
        key = label.resource, label.direction
        track = arranged.track(index_of(label.resource), label.direction)
        assert track is not None, "labels are of tracks"
        events: tuple[Event | None, ...] = ()
        if label.constraint == "table":
            events = (_lowered(label, track) or _raised(label, track),)
        elif label.constraint == "partition":
            peak = _peak(label, track, recorded[track.index, track.direction])
            events = (
                _split(label, starts_s[key], track, splits_s),
                _not_grown(peak, track, evidence, heats, numbers),
            )
        for rule, because in filter(None, events):
            changes = {"rule": rule or label.rule, "because": (*label.because, because)}
            label = label.model_copy(update=changes)
        result.append(label)
    return result


def _lowered(label: Label, track: EvidenceTrack) -> Event | None:
    start_s, end_s = label.start.timestamp(), label.end.timestamp()
    past = bisect_right(track.provisioned.starts_s, start_s)
    published = max(track.provisioned.values[max(0, past - BEFORE) : past], default=None)
    lower = [(published, track.provisioned.at(end_s - 1))]
    if track.provisioned.readings:
        late, early = (way.at(end_s - 1) for way in track.provisioned.readings)
        lower.insert(0, (late, early))
    for before, now in lower:
        if before is not None and now is not None and now <= LOWER * before:
            from_to = f"from {whole(before)} to {units(now, track.direction)}"
            return "table-scaled-down", f"The provisioned throughput was lowered {from_to}."
    return None


def _raised(label: Label, track: EvidenceTrack) -> Event | None:
    start_s, end_s = label.start.timestamp(), label.end.timestamp()
    before = track.provisioned.at(start_s)
    first = bisect_right(track.provisioned.starts_s, start_s)
    past = bisect_right(track.provisioned.starts_s, end_s + SOON_S)
    later = zip(track.provisioned.starts_s[first:past], track.provisioned.values[first:past], strict=True)
    raised = [(at, value) for at, value in later if before and value >= HIGHER * before]
    if not raised:
        return None
    at, value = raised[0][0], max(value for _, value in raised)
    whole_at = next(at for at, rate in raised if rate == value)
    steps = f"seen from {clock(at)} on" if at == whole_at else f"seen from {clock(at)} to {clock(whole_at)}"
    when = f"up to {span(at - start_s)} after the throttles began"
    return "auto-scaling-late", (
        f"The provisioned throughput rose from {whole(before)} to {units(value, track.direction)}, {steps}, "
        f"{when if at < end_s else 'after the last of these throttles'}."
    )


def _split(
    label: Label, begun: Sequence[float], track: EvidenceTrack, splits_s: Sequence[float]
) -> Event | None:
    """A split, which the table's stream shows, or which ended throttles while the demand went on."""
    start_s, end_s = label.start.timestamp(), label.end.timestamp()
    seen = [at_s for at_s in splits_s if start_s <= at_s < end_s + SEEN_LATE_S and track.index is None]
    rates = _before_and_after(start_s, end_s, begun, track)
    at = f"A partition of the table was split at {clock(seen[-1])}, as its stream shows" if seen else ""
    if rates is None:
        return (None, f"{at}.") if seen else None
    mean, least = consumed_units(rates[0], track.direction), measured(rates[1])
    consumed = f"{mean} were consumed before, and at least {least} afterwards."
    if seen:
        return "key-range-split-seen", f"{at}, and the throttles ended. {consumed}"
    if end_s - start_s < LASTED_S:
        return None
    length = span(end_s - start_s)
    return "key-range-split", f"The throttles ended by themselves after {length}: a split. {consumed}"


def _before_and_after(
    start_s: float, end_s: float, begun: Sequence[float], track: EvidenceTrack
) -> tuple[float, float] | None:
    """Mean rate during a label and least rate after it; None if it began again or the demand ended."""
    last = track.cell_of(end_s - 1)
    over_s = last + (AFTER + 1) * track.step_s
    if bisect_right(begun, over_s) > bisect_right(begun, start_s):
        return None
    during = _rates(track, range(track.cell_of(start_s) + track.step_s, last, track.step_s))
    after = _rates(track, range(last + track.step_s, over_s, track.step_s))
    if not during or len(after) < AFTER:
        return None
    mean, least = sum(during) / len(during), min(after)
    return (mean, least) if mean and least >= GOES_ON * mean else None


def _rates(track: EvidenceTrack, cells: range) -> list[float]:
    return [rate for cell in cells if (rate := track.consumed_per_s(cell)) is not None]


def _not_grown(
    peak: float | None,
    track: EvidenceTrack,
    evidence: Evidence,
    heats: Sequence[RunHeat],
    numbers: Thresholds,
) -> Event | None:
    """An on-demand table that has not grown yet: no key is hot. Without a rule, why that is unknown."""
    if not track.on_demand or not track.warm:
        return None
    if peak is None or peak < numbers.inferred.warm_share * track.warm:
        return None
    heat = next((h for h in heats if (h.direction, h.index) == (track.direction, track.index)), None)
    hottest, keys = heat.per_s() if heat else None, "it reaches every partition"
    if hottest is not None and hottest >= numbers.inferred.at_limit * track.ceiling:
        return None
    if heat is not None and heat.pinned is not None:
        return None
    if heat is None and track.index is not None:
        spread = key_spread(evidence, track.index)
        if spread is None or spread.spread != "even":
            return (None, INDEX_NOT_COUNTED) if spread is None else None
        keys = "its throttles are spread over many keys"
    if hottest is not None:
        keys = f"the hottest key asked for {consumed_units(hottest, track.direction)} only"
    share = f"{percent(peak / track.warm)} of the warm throughput of {whole(track.warm)}"
    used = f"The load consumed {consumed_units(peak, track.direction)}, {share}"
    return NOT_GROWN, f"{used}, and {keys}: the table has not grown yet."


def _peak(label: Label, track: EvidenceTrack, seconds: Sequence[int]) -> float | None:
    """Highest units/s within the label's span, by second if the client recorded them."""
    start_s, end_s = label.start.timestamp(), label.end.timestamp()
    first, after = bisect_left(seconds, start_s), bisect_left(seconds, end_s)
    if track.seconds and first < after:
        return max(track.seconds[second].consumed for second in seconds[first:after])
    cells = range(track.cell_of(start_s), int(end_s), track.step_s)
    return max(_rates(track, cells), default=None)
