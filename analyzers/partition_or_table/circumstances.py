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
from dataclasses import dataclass
from typing import Final

from keyheat.analysis.heat import INDEX_NOT_COUNTED, RunHeat, key_spread
from keyheat.analysis.rules import NOT_GROWN, Thresholds
from keyheat.analysis.timeline import EvidenceTimeline
from keyheat.analysis.track import EvidenceTrack
from keyheat.numbers import clock, consumed_units, measured, percent, span, units, whole
from keyheat.runs.formats import Evidence, Label
from keyheat.words import Direction, index_of

from .bounds import LOWER

ResourceKey = tuple[str, Direction]

BEFORE: Final = 12  # published values (an hour) before a label that can show a reduction
HIGHER: Final = 1.05  # times the provisioned throughput when the throttles began
SOON_S: Final = 900  # seconds after a label in which a raise still responds to it
LASTED_S: Final = 150  # least seconds for which a partition throttles before DynamoDB splits it
AFTER: Final = 2  # cells after a label that show whether the demand continues
GOES_ON: Final = 0.95  # of the consumption during the label
SEEN_LATE_S: Final = 60  # seconds by which a split may be seen after the label that it ended


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
    starts: defaultdict[ResourceKey, list[float]] = defaultdict(list)
    for label in labels:
        starts[label.resource, label.direction].append(label.start.timestamp())
    starts_s = {key: sorted(times) for key, times in starts.items()}
    recorded = {(t.index, t.direction): sorted(t.seconds or ()) for t in arranged.tracks}
    result = []
    for label in labels:
        key = label.resource, label.direction
        track = arranged.track(index_of(label.resource), label.direction)
        if track is not None:
            label = _with_event(label, starts_s[key], track, splits_s)
            seconds = recorded[track.index, track.direction]
            spread = _spread(evidence, track, heats)
            label = _not_grown(label, track, seconds, spread, numbers)
        result.append(label)
    return result


def _with_event(
    label: Label, starts: Sequence[float], track: EvidenceTrack, splits_s: Sequence[float]
) -> Label:
    event = None
    if label.constraint == "table":
        event = _lowered(label, track) or _raised(label, track)
    elif label.constraint == "partition":
        event = _split_in_stream(label, starts, track, splits_s) or _split_inferred(label, starts, track)
    return label if event is None else _with_rule(label, *event)


def _with_rule(label: Label, rule: str, because: str) -> Label:
    return label.model_copy(update={"rule": rule, "because": (*label.because, because)})


def _lowered(label: Label, track: EvidenceTrack) -> tuple[str, str] | None:
    start_s, end_s = label.start.timestamp(), label.end.timestamp()
    now = track.provisioned.at(end_s - 1)
    if track.provisioned.readings:
        late, early = (way.at(end_s - 1) for way in track.provisioned.readings)
        if late is not None and early is not None and early <= LOWER * late:
            return _lowered_from(late, early, track)
    past = bisect_right(track.provisioned.starts_s, start_s)
    before = max(track.provisioned.values[max(0, past - BEFORE) : past], default=None)
    if now is None or before is None or now > LOWER * before:
        return None
    return _lowered_from(before, now, track)


def _lowered_from(before: float, now: float, track: EvidenceTrack) -> tuple[str, str]:
    return "table-scaled-down", (
        f"The provisioned throughput was lowered from {whole(before)} to {units(now, track.direction)}."
    )


def _raised(label: Label, track: EvidenceTrack) -> tuple[str, str] | None:
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


def _split_in_stream(
    label: Label, begun: Sequence[float], track: EvidenceTrack, splits_s: Sequence[float]
) -> tuple[str, str] | None:
    """Name a split in the stream: it ended the throttles if the demand continued without them."""
    start_s, end_s = label.start.timestamp(), label.end.timestamp()
    seen = [at_s for at_s in splits_s if start_s <= at_s < end_s + SEEN_LATE_S]
    if track.index is not None or not seen:
        return None
    at = f"A partition of the table was split at {clock(seen[-1])}, as its stream shows"
    rates = _before_and_after(label, begun, track)
    if rates is None:
        return label.rule or "key-range-split-seen", f"{at}."
    mean, least = rates
    return "key-range-split-seen", (
        f"{at}, and the throttles ended. {consumed_units(mean, track.direction)} were consumed before, "
        f"and at least {measured(least)} afterwards."
    )


def _split_inferred(label: Label, begun: Sequence[float], track: EvidenceTrack) -> tuple[str, str] | None:
    length_s = (label.end - label.start).total_seconds()
    rates = _before_and_after(label, begun, track)
    if length_s < LASTED_S or rates is None:
        return None
    mean, least = rates
    return "key-range-split", (
        f"The throttles ended by themselves after {span(length_s)}: a split. "
        f"{consumed_units(mean, track.direction)} were consumed before, and at least {measured(least)} "
        "afterwards."
    )


def _before_and_after(
    label: Label, begun: Sequence[float], track: EvidenceTrack
) -> tuple[float, float] | None:
    """Mean rate during a label and least rate after it; None if it began again or the demand ended."""
    start_s, end_s = label.start.timestamp(), label.end.timestamp()
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


@dataclass(frozen=True, slots=True)
class KeySharing:
    """How a resource's keys share the load; `words` if no rate shows it."""

    even: bool
    words: str = "it reaches every partition"
    hottest_per_s: float | None = None


def _spread(evidence: Evidence, track: EvidenceTrack, heats: Sequence[RunHeat]) -> KeySharing:
    heat = next(
        (
            run_heat
            for run_heat in heats
            if (run_heat.direction, run_heat.index) == (track.direction, track.index)
        ),
        None,
    )
    if heat is not None or track.index is None:
        if heat is not None and heat.pinned is not None:
            return KeySharing(even=False, words="", hottest_per_s=heat.per_s())
        return KeySharing(even=True, hottest_per_s=heat.per_s() if heat else None)
    seen = key_spread(evidence, track.index)
    if seen is None:
        return KeySharing(even=False, words=INDEX_NOT_COUNTED)
    even = seen.spread == "even"
    return KeySharing(even, words="its throttles are spread over many keys" if even else "")


def _not_grown(
    label: Label,
    track: EvidenceTrack,
    seconds: Sequence[int],
    spread: KeySharing,
    numbers: Thresholds,
) -> Label:
    """Change the label's rule if the table has not grown yet and no key is hot."""
    if label.constraint != "partition" or not track.on_demand or not track.warm:
        return label
    peak = _peak(label, track, seconds)
    hottest = spread.hottest_per_s
    if peak is None or peak < numbers.inferred.warm_share * track.warm:
        return label
    if hottest is not None and hottest >= numbers.inferred.at_limit * track.ceiling:
        return label
    if not spread.even:
        return label.model_copy(update={"because": (*label.because, spread.words)}) if spread.words else label
    share = percent(peak / track.warm)
    used = f"The load consumed {consumed_units(peak, label.direction)}, {share} of the warm throughput of "
    keys = spread.words
    if hottest is not None:
        keys = f"the hottest key asked for {consumed_units(hottest, label.direction)} only"
    return _with_rule(
        label, NOT_GROWN, f"{used}{whole(track.warm)}, and {keys}: the table has not grown yet."
    )


def _peak(label: Label, track: EvidenceTrack, seconds: Sequence[int]) -> float | None:
    """Highest units/s within the label's span, by second if the client recorded them."""
    start_s, end_s = label.start.timestamp(), label.end.timestamp()
    first, after = bisect_left(seconds, start_s), bisect_left(seconds, end_s)
    if track.seconds and first < after:
        return max(track.seconds[second].consumed for second in seconds[first:after])
    cells = range(track.cell_of(start_s), int(end_s), track.step_s)
    return max(_rates(track, cells), default=None)
