"""Candidates: throttled spans by the best grade of evidence, weighed against the other grades."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from keyheat.analysis.rules import WHOSE
from keyheat.analysis.track import EvidenceTrack
from keyheat.model.resources import CAUSE_OF_CONSTRAINT
from keyheat.numbers import some
from keyheat.runs.metrics import cause_events, constraint_of
from keyheat.words import LIMITS, Constraint, Grade, whose

from .consumption import Consumption
from .opinion import Opinion, Span, spans, undecided
from .seconds import OF_OTHERS, ThrottledSecond, by_seconds, smoothed
from .unconfirmed import accounts_for, is_unconfirmed, surplus, whose_words

DENIED: Final = 0.5  # factor: the cause's own metric is zero
NOTABLE: Final = 0.2  # least share of CloudWatch's counts at which another cause is mentioned


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelCandidate:
    """A throttled span with its grade's constraint, before the other grades are weighed."""

    span: Span
    constraint: Constraint
    grade: Grade
    words: Mapping[str, int] = field(default_factory=dict)  # DynamoDB's reasons, counted
    opinion: Opinion | None = None  # of the heaviest cell, for the inferred grade


def candidates(consumption: Consumption, *, explained: Callable[[int], bool]) -> tuple[LabelCandidate, ...]:
    """Return all throttled spans of one track, best grade first.

    `explained` tells whether a cell's throttles without a cause belong to another resource, as writes that an
    index throttled do.
    """
    track, numbers = consumption.track, consumption.numbers.spans
    stated, sampled = _apart(track, _by_reason(track, numbers.gap_s), numbers.gap_s)
    # Two clocks may disagree where CloudWatch counts as well; the client's own count has one.
    skew_s = numbers.skew_s if track.events is not None or track.causes else 0.0
    covered = _cells(track, (c.span for c in stated), skew_s)
    covered |= _cells(track, (c.span for c in sampled), 0.0)
    measured = [
        LabelCandidate(span=span, constraint=constraint, grade="cause_metric")
        for constraint, cells in track.causes.items()
        for span in spans(
            ((cell, round(count)) for cell, count in cells.items() if cell not in covered),
            width_s=track.step_s,
            gap_s=numbers.gap_s,
        )
    ]
    for candidate in measured:
        around = _cells(track, [candidate.span], numbers.skew_s)
        covered |= around if accounts_for(track, around) else set(cells_of(candidate, track))
    beyond = surplus(consumption)  # what an index, or something else, refused
    of_unknown = [
        _inferred(span, undecided(WHOSE, whose_words(consumption, track.cell_of(span.start_s))))
        for span in spans(beyond.items(), width_s=track.step_s, gap_s=numbers.gap_s)
    ]
    return (
        *stated,
        *sampled,
        *measured,
        *_by_inference(consumption, covered, explained, beyond),
        *of_unknown,
    )


def _by_reason(track: EvidenceTrack, gap_s: float) -> list[LabelCandidate]:
    reasons_of: defaultdict[Constraint, list[tuple[int, str, int]]] = defaultdict(list)
    for second, reasons in sorted(track.reasons.items()):
        for reason, count in reasons.items():
            if reason is not None and (constraint := constraint_of(reason)) is not None:
                reasons_of[constraint].append((second, reason, count))
    result = []
    for constraint, words in reasons_of.items():
        for span in spans(((second, count) for second, _, count in words), width_s=1, gap_s=gap_s):
            counts: Counter[str] = Counter()
            first = bisect_left(words, span.start_s, key=lambda word: word[0])
            after = bisect_left(words, span.end_s, key=lambda word: word[0])
            for _, reason, count in words[first:after]:
                counts[reason] += count
            result.append(LabelCandidate(span=span, constraint=constraint, grade="reason", words=counts))
    return result


def _apart(
    track: EvidenceTrack, stated: Sequence[LabelCandidate], gap_s: float
) -> tuple[list[LabelCandidate], list[LabelCandidate]]:
    """Split candidates into those that a client counted whole, and those of which its log holds a part.

    The latter get the cells in which CloudWatch counts more of their cause, with that count. A client that
    kept its seconds counts all of its requests.
    """
    if track.seconds is not None:
        return list(stated), []
    whole: list[LabelCandidate] = []
    result = []
    sampled: defaultdict[Constraint, list[LabelCandidate]] = defaultdict(list)
    for candidate in stated:
        events = track.causes.get(candidate.constraint, {})
        counted = sum(events.get(cell, 0.0) for cell in cells_of(candidate, track))
        (sampled[candidate.constraint] if counted > candidate.span.throttles else whole).append(candidate)
    for constraint, pieces in sampled.items():
        cells = {cell for piece in pieces for cell in cells_of(piece, track)}
        moments = [(cell, round(track.causes[constraint].get(cell, 0.0))) for cell in cells]
        for span in spans(moments, width_s=track.step_s, gap_s=gap_s):
            words = Counter[str]()
            for piece in pieces:
                if piece.span.start_s < span.end_s and span.start_s < piece.span.end_s:
                    words.update(piece.words)
            result.append(LabelCandidate(span=span, constraint=constraint, grade="reason", words=words))
    return whole, result


def _by_inference(
    consumption: Consumption, covered: set[int], explained: Callable[[int], bool], beyond: Collection[int]
) -> list[LabelCandidate]:
    """By second if the client's seconds represent the resource, else by cell."""
    track = consumption.track
    counts = Counter[int]()  # throttles by cell without a stated cause: of the client, requests, events
    for second, reasons in track.reasons.items():
        counts[track.cell_of(second)] += sum(n for word, n in reasons.items() if constraint_of(word) is None)
    for cell, events in (*consumption.unattributed.items(), *(track.events or {}).items()):
        if events:
            counts[cell] = round(events) or 1
    throttles = {
        cell: count for cell, count in counts.items() if cell not in covered and count and not explained(cell)
    }
    by_second = {
        cell: seconds
        for cell in throttles
        if cell not in beyond
        and not is_unconfirmed(consumption, cell)
        and (seconds := consumption.seconds(cell))
        and not _decided_by_minute(consumption, cell, seconds)
    }
    seconds = [second for cell in sorted(by_second) for second in by_second[cell]]
    whole = {cell: count for cell, count in throttles.items() if cell not in by_second}
    return [*_by_second(consumption, seconds), *_by_cell(consumption, whole)]


def _decided_by_minute(consumption: Consumption, cell: int, seconds: Sequence[ThrottledSecond]) -> bool:
    """Whether the minute decides, and others' consumption keeps the client's seconds from deciding."""
    opinion = by_seconds(smoothed(seconds), consumption.track, consumption.numbers)
    if opinion.rule not in OF_OTHERS or consumption.settled(opinion).constraint != "undetermined":
        return False
    return consumption.by_minute(cell).constraint != "undetermined"


def _by_second(consumption: Consumption, seconds: Sequence[ThrottledSecond]) -> list[LabelCandidate]:
    gap_s, result = consumption.numbers.spans.gap_s, []
    rated = smoothed(seconds)  # in order of time
    for constraint in dict.fromkeys(second.constraint for second in rated):
        agreeing = [second for second in rated if second.constraint == constraint]
        for span in spans(((s.second, s.throttles) for s in agreeing), width_s=1, gap_s=gap_s):
            first = bisect_left(agreeing, span.start_s, key=lambda second: second.second)
            after = bisect_left(agreeing, span.end_s, key=lambda second: second.second)
            result.append(_inferred(span, consumption.by_seconds(agreeing[first:after])))
    return result


def _by_cell(consumption: Consumption, throttles: Mapping[int, int]) -> list[LabelCandidate]:
    opinions = {cell: _opinion(consumption, cell) for cell in throttles}
    result = []
    for constraint in dict.fromkeys(opinion.constraint for opinion in opinions.values()):
        cells = {
            cell: throttles[cell] for cell, opinion in opinions.items() if opinion.constraint == constraint
        }
        width_s, gap_s = consumption.track.step_s, consumption.numbers.spans.gap_s
        ordered = sorted(cells)
        for span in spans(cells.items(), width_s=width_s, gap_s=gap_s):
            first, after = bisect_left(ordered, span.start_s), bisect_left(ordered, span.end_s)
            within = {cell: opinions[cell] for cell in ordered[first:after]}
            result.append(_inferred(span, _together(within, cells)))
    return result


def _opinion(consumption: Consumption, cell: int) -> Opinion:
    """Judge a cell by its average; weaker where the metric of that very cause is a measured zero."""
    if is_unconfirmed(consumption, cell):
        return undecided(WHOSE, whose_words(consumption, cell))
    track, opinion = consumption.track, consumption.by_minute(cell)
    if track.causes.get(opinion.constraint, {}).get(cell) != 0 or not track.throttled(cell):
        return opinion
    denied = f"But CloudWatch counts no {metric_of(track, opinion.constraint)} there."
    return opinion.weaker(DENIED, denied).decided(consumption.numbers.inferred.decide_at)


def _together(opinions: Mapping[int, Opinion], throttles: Mapping[int, int]) -> Opinion:
    """Merge the opinions of some cells: the rule with most throttles, the weighted confidence of all."""
    by_rule: Counter[str] = Counter()
    for cell, opinion in opinions.items():
        by_rule[opinion.rule] += throttles[cell]
    rule = by_rule.most_common(1)[0][0]
    cells = [cell for cell, opinion in opinions.items() if opinion.rule == rule]
    heaviest = opinions[max(cells, key=lambda cell: throttles[cell])]
    weighted = sum(opinions[cell].confidence * throttles[cell] for cell in opinions)
    return replace(heaviest, confidence=min(1.0, weighted / by_rule.total()))


def _inferred(span: Span, opinion: Opinion) -> LabelCandidate:
    grade: Grade = "none" if opinion.constraint == "undetermined" else "inferred"
    return LabelCandidate(span=span, constraint=opinion.constraint, grade=grade, opinion=opinion)


def _cells(track: EvidenceTrack, spans: Iterable[Span], skew_s: float) -> set[int]:
    """The cells that spans touch, widened by the skew between two clocks."""
    cells: set[int] = set()
    for span in spans:
        first = track.cell_of(span.start_s - skew_s)
        cells.update(range(first, int(span.end_s + skew_s), track.step_s))
    return cells


Others = Mapping[Constraint, Sequence[Span]]
"""The spans of each constraint on a track, in order and disjoint."""


def spans_of(candidates: Sequence[LabelCandidate]) -> Others:
    """Return the spans of a track's candidates by constraint."""
    by_constraint: defaultdict[Constraint, list[Span]] = defaultdict(list)
    for candidate in sorted(candidates, key=lambda candidate: candidate.span.start_s):
        by_constraint[candidate.constraint].append(candidate.span)
    return by_constraint


def weigh(candidate: LabelCandidate, others: Others, consumption: Consumption) -> tuple[float, list[str]]:
    """Return a candidate's confidence and reasons by all grades; `others` are of the same track."""
    if candidate.opinion is not None:
        return candidate.opinion.confidence, [candidate.opinion.because]
    confidence = consumption.numbers.confidence
    value = confidence.reason if candidate.grade == "reason" else confidence.cause_metric
    factors = [_against_metrics(candidate, others, consumption), _against_inference(candidate, consumption)]
    factors.append(_without_reason(candidate, consumption))
    for factor, _ in factors:
        value = min(value * factor, confidence.reason_confirmed)
    return value, [because for _, because in factors if because]


def cells_of(candidate: LabelCandidate, track: EvidenceTrack) -> range:
    """The cells that the candidate's span touches."""
    return range(track.cell_of(candidate.span.start_s), candidate.span.end_s, track.step_s)


def heaviest_cell(candidate: LabelCandidate, consumption: Consumption) -> int:
    """The cell of the span with most throttles, as the client counts them, else CloudWatch."""
    events = consumption.track.events or {}

    def throttles(cell: int) -> float:
        by_client = sum(count for _, count in consumption.throttled.get(cell, ()))
        return by_client or events.get(cell, 0.0)

    return max(cells_of(candidate, consumption.track), key=throttles)


def _against_metrics(
    candidate: LabelCandidate, others: Others, consumption: Consumption
) -> tuple[float, str]:
    """Compare the cause-specific metrics with a span whose reasons the client saw."""
    track, confidence = consumption.track, consumption.numbers.confidence
    cells = cells_of(candidate, track)
    if candidate.grade != "reason" or not track.causes:
        denied = candidate.grade == "reason" and all(track.known_zero(track.events, cell) for cell in cells)
        zero = f"CloudWatch counts no throttled {track.direction} on {whose(track.resource)} then."
        return 1.0, zero if denied else ""
    counts = {name: sum(counted.get(cell, 0.0) for cell in cells) for name, counted in track.causes.items()}
    total = sum(counts.values())
    if not total:
        published = track.consumed is not None and any(cell in track.consumed for cell in cells)
        silent = "CloudWatch's cause-specific metrics count no throttle in these minutes, or not yet."
        return (confidence.inferred_conflict, silent) if published else (1.0, "")

    def is_seen(constraint: Constraint) -> bool:
        seen = others.get(constraint, ())
        index = bisect_left(seen, candidate.span.end_s, key=lambda span: span.start_s)
        return index > 0 and seen[index - 1].end_s > candidate.span.start_s

    foreign = {
        name: count for name, count in counts.items() if count >= NOTABLE * total and not is_seen(name)
    }
    if foreign:
        message = " and ".join(f"{count:,.0f} {metric_of(track, name)}" for name, count in foreign.items())
        return (
            confidence.conflict,
            f"Conflict: CloudWatch counts {message} in these minutes, a cause that the client did not see.",
        )
    agreeing = counts.get(candidate.constraint, 0.0)
    message = f"CloudWatch counts {agreeing:,.0f} {metric_of(track, candidate.constraint)} in these minutes."
    return (confidence.reason_confirmed / confidence.reason if agreeing else 1.0), message


def _against_inference(candidate: LabelCandidate, consumption: Consumption) -> tuple[float, str]:
    """Compare the inference from consumption alone, in the heaviest cell of the span."""
    span = candidate.span
    opinion = consumption.opinion(heaviest_cell(candidate, consumption), span.start_s, span.end_s)
    if opinion.constraint == "undetermined":
        return 1.0, ""
    if opinion.constraint == candidate.constraint:
        return 1.0, f"Consumption points the same way. {opinion.because}"
    factor = consumption.numbers.confidence.inferred_conflict
    return factor, f"Conflict: consumption alone suggests {LIMITS[opinion.constraint]}. {opinion.because}"


def _without_reason(candidate: LabelCandidate, consumption: Consumption) -> tuple[float, str]:
    """Count throttles without a reason within a span of reasons, as partly throttled batches have."""
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


def metric_of(track: EvidenceTrack, constraint: Constraint) -> str:
    """Return the metric that counts throttles of one constraint."""
    return cause_events(track.direction, CAUSE_OF_CONSTRAINT[constraint])
