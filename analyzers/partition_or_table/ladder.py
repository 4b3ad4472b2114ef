"""Candidates: throttled spans by the best grade of evidence, weighed against the grades not used."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from keyheat.analysis.rules import WHOSE
from keyheat.analysis.timeline import EvidenceTrack
from keyheat.model.resources import CAUSE_OF_CONSTRAINT
from keyheat.numbers import some
from keyheat.runs.metrics import cause_events, constraint_of
from keyheat.words import LIMITS, WRITE, Constraint, Grade, whose

from .consumption import Consumption
from .opinion import Opinion, OpinionSpan, decided, spans, undecided
from .seconds import OF_OTHERS, ThrottledSecond, by_seconds, smoothed

LATE: Final = 0.2  # of a minute's events: so many may be counted in the next one
DENIED: Final = 0.5  # factor: the cause's own metric says that there were none


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelCandidate:
    """A throttled span with the constraint that its grade says, not yet weighed against the other grades."""

    span: OpinionSpan
    constraint: Constraint
    grade: Grade
    words: Mapping[str, int] = field(default_factory=dict)  # DynamoDB's reasons or CloudWatch's counts
    opinion: Opinion | None = None  # of the heaviest cell, for the inferred grade


def candidates(consumption: Consumption, *, explained: Callable[[int], bool]) -> tuple[LabelCandidate, ...]:
    """All throttled spans of one track, best grade first.

    `explained` says whether a cell's throttles without any cause belong to another resource: writes that an
    index refused.
    """
    track, numbers = consumption.track, consumption.numbers.spans
    said = _by_reason(track, numbers.gap_s)
    covered = _cells(track, (c.span for c in said), numbers.skew_s)
    measured = _by_metric(track, covered, numbers.gap_s)
    covered |= _cells(track, (c.span for c in measured), numbers.skew_s)
    return (*said, *measured, *_by_inference(consumption, covered, explained))


def _by_reason(track: EvidenceTrack, gap_s: float) -> list[LabelCandidate]:
    moments: defaultdict[Constraint, list[tuple[int, int]]] = defaultdict(list)
    words: defaultdict[Constraint, list[tuple[int, str, int]]] = defaultdict(list)
    for second, reasons in sorted(track.reasons.items()):
        for reason, count in reasons.items():
            constraint = constraint_of(reason)
            if constraint is not None and reason is not None:
                moments[constraint].append((second, count))
                words[constraint].append((second, reason, count))
    return [
        LabelCandidate(
            span=span, constraint=constraint, grade="reason", words=_counted(words[constraint], span)
        )
        for constraint, found in moments.items()
        for span in spans(found, width_s=1, gap_s=gap_s)
    ]


def _counted(words: Sequence[tuple[int, str, int]], span: OpinionSpan) -> Mapping[str, int]:
    """Reasons within the span; `words` are in order of their seconds."""
    counts: Counter[str] = Counter()
    first = bisect_left(words, span.start_s, key=lambda word: word[0])
    after = bisect_left(words, span.end_s, key=lambda word: word[0])
    for _, reason, count in words[first:after]:
        counts[reason] += count
    return counts


def _by_metric(track: EvidenceTrack, covered: set[int], gap_s: float) -> list[LabelCandidate]:
    return [
        LabelCandidate(span=span, constraint=constraint, grade="cause_metric")
        for constraint, cells in track.causes.items()
        for span in spans(
            ((cell, round(count)) for cell, count in cells.items() if cell not in covered),
            width_s=track.step_s,
            gap_s=gap_s,
        )
    ]


def _by_inference(
    consumption: Consumption, covered: set[int], explained: Callable[[int], bool]
) -> list[LabelCandidate]:
    """By second where the client's seconds speak for the resource, else by cell."""
    throttles = {
        cell: count
        for cell, count in _unexplained(consumption).items()
        if cell not in covered and count and not explained(cell) and not _counted_late(consumption, cell)
    }
    by_second = {
        cell: seconds
        for cell in throttles
        if not _unconfirmed(consumption, cell)
        and (seconds := consumption.seconds(cell))
        and not _told_by_its_minute(consumption, cell, seconds)
    }
    seconds = [second for cell in sorted(by_second) for second in by_second[cell]]
    whole = {cell: count for cell, count in throttles.items() if cell not in by_second}
    return [*_by_second(consumption, seconds), *_by_cell(consumption, whole)]


def _told_by_its_minute(consumption: Consumption, cell: int, seconds: Sequence[ThrottledSecond]) -> bool:
    """Whether the client's seconds do not decide, for what others consumed, and the minute does."""
    of_seconds = by_seconds(smoothed(seconds), consumption.track.direction, consumption.numbers)
    if of_seconds.rule not in OF_OTHERS or consumption.settled(of_seconds).constraint != "undetermined":
        return False
    return consumption.by_minute(cell).constraint != "undetermined"


def _counted_late(consumption: Consumption, cell: int) -> bool:
    """Whether CloudWatch's few events are of the minute before, since the client saw none in this one."""
    track, own = consumption.track, consumption.throttled
    before = cell - track.step_s
    seen = any(at in consumption.rates.own for at in range(cell, cell + track.step_s))
    if cell in own or before not in own or not seen:
        return False
    events = track.events or {}
    return events.get(cell, 0.0) <= LATE * events.get(before, 0.0)


def _by_second(consumption: Consumption, seconds: Sequence[ThrottledSecond]) -> list[LabelCandidate]:
    numbers, found = consumption.numbers, []
    said = smoothed(seconds)
    for constraint in dict.fromkeys(second.constraint for second in said):
        own = [second for second in said if second.constraint == constraint]
        for span in spans(((s.second, s.throttles) for s in own), width_s=1, gap_s=numbers.spans.gap_s):
            within = _within(own, span)
            opinion = consumption.settled(by_seconds(within, consumption.track.direction, numbers))
            found.append(_inferred(span, opinion))
    return found


def _within(seconds: Sequence[ThrottledSecond], span: OpinionSpan) -> Sequence[ThrottledSecond]:
    """The seconds of a span; all are in order of time."""
    first = bisect_left(seconds, span.start_s, key=lambda second: second.second)
    after = bisect_left(seconds, span.end_s, key=lambda second: second.second)
    return seconds[first:after]


def _by_cell(consumption: Consumption, throttles: Mapping[int, int]) -> list[LabelCandidate]:
    opinions = {cell: _unless_denied(consumption, cell, _opinion(consumption, cell)) for cell in throttles}
    found = []
    for constraint in dict.fromkeys(opinion.constraint for opinion in opinions.values()):
        cells = {cell: throttles[cell] for cell, held in opinions.items() if held.constraint == constraint}
        width_s, gap_s = consumption.track.step_s, consumption.numbers.spans.gap_s
        ordered = sorted(cells)
        for span in spans(cells.items(), width_s=width_s, gap_s=gap_s):
            first, after = bisect_left(ordered, span.start_s), bisect_left(ordered, span.end_s)
            within = {cell: opinions[cell] for cell in ordered[first:after]}
            found.append(_inferred(span, _together(within, cells)))
    return found


def _together(opinions: Mapping[int, Opinion], throttles: Mapping[int, int]) -> Opinion:
    """One opinion of some cells: the words of the rule with most throttles, the confidence of them all."""
    by_rule: Counter[str] = Counter()
    for cell, opinion in opinions.items():
        by_rule[opinion.rule] += throttles[cell]
    rule = by_rule.most_common(1)[0][0]
    own = [cell for cell, opinion in opinions.items() if opinion.rule == rule]
    heaviest = opinions[max(own, key=lambda cell: throttles[cell])]
    weighted = sum(opinions[cell].confidence * throttles[cell] for cell in opinions)
    return replace(heaviest, confidence=min(1.0, weighted / by_rule.total()))


def _inferred(span: OpinionSpan, opinion: Opinion) -> LabelCandidate:
    grade: Grade = "none" if opinion.constraint == "undetermined" else "inferred"
    return LabelCandidate(span=span, constraint=opinion.constraint, grade=grade, opinion=opinion)


def _unexplained(consumption: Consumption) -> dict[int, int]:
    """Throttles by cell without a stated cause: CloudWatch's events, the client's, or requests."""
    track, found = consumption.track, Counter[int]()
    for second, reasons in track.reasons.items():
        found[track.cell_of(second)] += sum(
            n for reason, n in reasons.items() if constraint_of(reason) is None
        )
    requests = consumption.timeline.unattributed.get(track.direction, {}) if track.index is None else {}
    for cell, count in (*requests.items(), *(track.events or {}).items()):
        if count:
            found[cell] = round(count) or 1
    return dict(found)


def _unconfirmed(consumption: Consumption, cell: int) -> bool:
    """Whether no throttle event says that this resource refused: measured zero, or by requests alone.

    What the client saw within its clock's skew of another cell may be counted there.
    """
    track, skew_s = consumption.track, consumption.numbers.spans.skew_s
    if track.index is None and cell in consumption.timeline.unattributed.get(track.direction, {}):
        return True
    seconds = [second for second, _ in consumption.throttled.get(cell, ())]
    beside = {track.cell_of(second + by_s) for second in seconds for by_s in (-skew_s, skew_s)}
    return track.known_zero(track.events, cell) and not any(map(track.throttled, beside))


def _opinion(consumption: Consumption, cell: int) -> Opinion:
    if _unconfirmed(consumption, cell):
        return undecided(WHOSE, _whose(consumption, cell))
    return consumption.by_minute(cell)


def _whose(consumption: Consumption, cell: int) -> str:
    """Why nobody knows whose throttles these are, and whose they may be."""
    track = consumption.track
    none = f"CloudWatch counts no throttled {track.direction} on {whose(track.resource)} itself"
    if cell not in consumption.throttled:
        if track.events is None:
            none = "CloudWatch was not asked for throttle events"
        return f"ThrottledRequests counts them, but {none}: most likely an index refused them."
    index = ""
    if track.index is None and (track.direction == WRITE or consumption.timeline.indexes(track.direction)):
        index = "an index may have refused them, or "
    return (
        f"The client counts them, but {none}: {index}another service threw the exceptions (Streams, Kinesis, "
        "KMS and the control plane throttle as well, and an SDK gives up when its retry quota is empty), or "
        "one of the two counts is of another table, Region or account."
    )


def _unless_denied(consumption: Consumption, cell: int, opinion: Opinion) -> Opinion:
    """The opinion; undecided where CloudWatch's metric of that very cause says zero, more than nothing."""
    track, constraint = consumption.track, opinion.constraint
    if track.causes.get(constraint, {}).get(cell) != 0 or not track.throttled(cell):
        return opinion
    metric = metric_of(track, constraint)
    denied = f"But CloudWatch counts no {metric} there."
    return decided(opinion.weaker(DENIED, denied), consumption.numbers.inferred.decide_at)


def _cells(track: EvidenceTrack, taken: Iterable[OpinionSpan], skew_s: float) -> set[int]:
    """The cells that spans touch, with the skew between two clocks allowed for."""
    found: set[int] = set()
    for span in taken:
        first = track.cell_of(span.start_s - skew_s)
        found.update(range(first, int(span.end_s + skew_s), track.step_s))
    return found


NOTABLE: Final = 0.2  # share of CloudWatch's counts from which another cause is worth a word


@dataclass(frozen=True, slots=True)
class Weight:
    """How sure a candidate is after all grades were heard, and what they said."""

    confidence: float
    because: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Others:
    """When each constraint was seen on a track: its spans, in order and apart from each other."""

    spans: Mapping[Constraint, Sequence[OpinionSpan]]

    @classmethod
    def of(cls, candidates: Sequence[LabelCandidate]) -> "Others":
        """The spans of a track's candidates."""
        found: defaultdict[Constraint, list[OpinionSpan]] = defaultdict(list)
        for candidate in candidates:
            found[candidate.constraint].append(candidate.span)
        ordered = {name: sorted(spans, key=lambda span: span.start_s) for name, spans in found.items()}
        return cls(ordered)

    def seen(self, constraint: Constraint, span: OpinionSpan) -> bool:
        """Whether a constraint was seen at some moment of a span."""
        spans = self.spans.get(constraint, ())
        place = bisect_left(spans, span.end_s, key=lambda one: one.start_s)
        return place > 0 and spans[place - 1].overlaps(span.start_s, span.end_s)


def weigh(candidate: LabelCandidate, others: Others, consumption: Consumption) -> Weight:
    """Confidence and reasons of a candidate; `others` are those of the same track."""
    if candidate.opinion is not None:
        return Weight(candidate.opinion.confidence, (candidate.opinion.because,))
    confidence = consumption.numbers.confidence
    start = confidence.reason if candidate.grade == "reason" else confidence.cause_metric
    heard = [_against_metrics(candidate, others, consumption), _against_inference(candidate, consumption)]
    heard.append(_without_reason(candidate, consumption))
    for factor, _ in heard:
        start = min(start * factor, confidence.reason_confirmed)
    return Weight(start, tuple(because for _, because in heard if because))


def cells_of(candidate: LabelCandidate, track: EvidenceTrack) -> range:
    """The cells that the candidate's span touches."""
    return range(track.cell_of(candidate.span.start_s), candidate.span.end_s, track.step_s)


def heaviest_cell(candidate: LabelCandidate, consumption: Consumption) -> int:
    """The cell of the span with most throttles."""
    cells = cells_of(candidate, consumption.track)
    return max(cells, key=lambda cell: _throttles(consumption, cell))


def _against_metrics(
    candidate: LabelCandidate, others: Others, consumption: Consumption
) -> tuple[float, str]:
    """What the cause-specific metrics say of a span whose reasons the client saw."""
    track, confidence = consumption.track, consumption.numbers.confidence
    if candidate.grade != "reason" or not track.causes:
        return 1.0, ""
    cells = cells_of(candidate, track)
    counts = {name: sum(found.get(cell, 0.0) for cell in cells) for name, found in track.causes.items()}
    total = sum(counts.values())
    if not total:
        published = track.consumed is not None and any(cell in track.consumed for cell in cells)
        silent = "CloudWatch's cause-specific metrics count no throttle in these minutes, or not yet."
        return (confidence.inferred_conflict, silent) if published else (1.0, "")
    foreign = {n: c for n, c in counts.items() if c >= NOTABLE * total and not others.seen(n, candidate.span)}
    if foreign:
        said = " and ".join(f"{count:,.0f} {metric_of(track, name)}" for name, count in foreign.items())
        return (
            confidence.conflict,
            f"Conflict: CloudWatch counts {said} in these minutes, a cause that the client did not see.",
        )
    own = counts.get(candidate.constraint, 0.0)
    said = f"CloudWatch counts {own:,.0f} {metric_of(track, candidate.constraint)} in these minutes."
    return (confidence.reason_confirmed / confidence.reason if own else 1.0), said


def _against_inference(candidate: LabelCandidate, consumption: Consumption) -> tuple[float, str]:
    """What consumption alone would have said of the heaviest cell of the span."""
    span = candidate.span
    opinion = consumption.opinion(heaviest_cell(candidate, consumption), span.start_s, span.end_s)
    if opinion.constraint == "undetermined":
        return 1.0, ""
    if opinion.constraint == candidate.constraint:
        return 1.0, f"Consumption points the same way. {opinion.because}"
    factor = consumption.numbers.confidence.inferred_conflict
    return factor, f"Conflict: consumption alone suggests {LIMITS[opinion.constraint]}. {opinion.because}"


def _without_reason(candidate: LabelCandidate, consumption: Consumption) -> tuple[float, str]:
    """Throttles within a span of reasons that came without one, as those of partly refused batches do."""
    if candidate.grade != "reason":
        return 1.0, ""
    span, reasons = candidate.span, consumption.track.reasons
    bare = sum(
        count
        for second in range(span.start_s, span.end_s)
        for reason, count in reasons.get(second, {}).items()
        if constraint_of(reason) is None
    )
    if not bare:
        return 1.0, ""
    share = bare / (bare + span.throttles)
    factor = 1 - share * (1 - consumption.numbers.confidence.unreasoned)
    more = f"{some(bare, 'more throttle')} in this span came without a known reason"
    return factor, f"{more} and {'is' if bare == 1 else 'are'} not counted here."


def _throttles(consumption: Consumption, cell: int) -> float:
    own = sum(count for _, count in consumption.throttled.get(cell, ()))
    return own or (consumption.track.events or {}).get(cell, 0.0)


def metric_of(track: EvidenceTrack, constraint: Constraint) -> str:
    """The metric that counts throttles of one constraint."""
    return cause_events(track.direction, CAUSE_OF_CONSTRAINT[constraint])
