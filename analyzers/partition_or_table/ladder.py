"""Candidates: throttled spans of one resource and direction, by the best grade that speaks of each moment.

reason        the client saw DynamoDB's ThrottlingReasons               by second
cause_metric  a cause-specific CloudWatch metric, where no reason was   by cell
inferred      consumption, where neither was                            by cell
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from keyheat.analysis.timeline import Track
from keyheat.runs.metrics import CAUSE_OF_CONSTRAINT, cause_events, constraint_of
from keyheat.words import WRITE, Constraint, Grade

from .consumption import Consumption
from .opinion import Opinion, Span, decided, spans, undecided
from .seconds import Second, by_seconds, smoothed

DENIED: Final = 0.5  # factor: the cause's own metric says that there were none


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A throttled span with the constraint that its grade says, not yet weighed against the other grades."""

    span: Span
    constraint: Constraint
    grade: Grade
    words: Mapping[str, int] = field(default_factory=dict)  # DynamoDB's reasons or CloudWatch's counts
    opinion: Opinion | None = None  # of the heaviest cell, for the inferred grade


def candidates(consumption: Consumption, *, explained: Callable[[int], bool]) -> tuple[Candidate, ...]:
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


def _by_reason(track: Track, gap_s: float) -> list[Candidate]:
    moments: defaultdict[Constraint, list[tuple[int, int]]] = defaultdict(list)
    words: defaultdict[Constraint, list[tuple[int, str, int]]] = defaultdict(list)
    for second, reasons in sorted(track.reasons.items()):
        for reason, count in reasons.items():
            constraint = constraint_of(reason)
            if constraint is not None and reason is not None:
                moments[constraint].append((second, count))
                words[constraint].append((second, reason, count))
    return [
        Candidate(span=span, constraint=constraint, grade="reason", words=_counted(words[constraint], span))
        for constraint, found in moments.items()
        for span in spans(found, width_s=1, gap_s=gap_s)
    ]


def _counted(words: Sequence[tuple[int, str, int]], span: Span) -> Mapping[str, int]:
    """Reasons within the span; `words` are in order of their seconds."""
    counts: Counter[str] = Counter()
    first = bisect_left(words, span.start_s, key=lambda word: word[0])
    after = bisect_left(words, span.end_s, key=lambda word: word[0])
    for _, reason, count in words[first:after]:
        counts[reason] += count
    return counts


def _by_metric(track: Track, covered: set[int], gap_s: float) -> list[Candidate]:
    return [
        Candidate(span=span, constraint=constraint, grade="cause_metric")
        for constraint, cells in track.causes.items()
        for span in spans(
            ((cell, round(count)) for cell, count in cells.items() if cell not in covered),
            width_s=track.step_s,
            gap_s=gap_s,
        )
    ]


def _by_inference(
    consumption: Consumption, covered: set[int], explained: Callable[[int], bool]
) -> list[Candidate]:
    """By second where the client's seconds speak for the resource, else by cell."""
    throttles = {
        cell: count
        for cell, count in _unexplained(consumption.track).items()
        if cell not in covered and count and not explained(cell)
    }
    by_second = {
        cell: seconds
        for cell in throttles
        if not _of_unasked_index(consumption, cell) and (seconds := consumption.seconds(cell))
    }
    seconds = [second for cell in sorted(by_second) for second in by_second[cell]]
    whole = {cell: count for cell, count in throttles.items() if cell not in by_second}
    return [*_by_second(consumption, seconds), *_by_cell(consumption, whole)]


def _by_second(consumption: Consumption, seconds: Sequence[Second]) -> list[Candidate]:
    numbers, found = consumption.numbers, []
    said = smoothed(seconds)
    for constraint in dict.fromkeys(second.constraint for second in said):
        own = [second for second in said if second.constraint == constraint]
        for span in spans(((s.second, s.throttles) for s in own), width_s=1, gap_s=numbers.spans.gap_s):
            within = _within(own, span)
            opinion = consumption.settled(by_seconds(within, consumption.track.direction, numbers))
            found.append(_inferred(span, opinion))
    return found


def _within(seconds: Sequence[Second], span: Span) -> Sequence[Second]:
    """The seconds of a span; all are in order of time."""
    first = bisect_left(seconds, span.start_s, key=lambda second: second.second)
    after = bisect_left(seconds, span.end_s, key=lambda second: second.second)
    return seconds[first:after]


def _by_cell(consumption: Consumption, throttles: Mapping[int, int]) -> list[Candidate]:
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


def _inferred(span: Span, opinion: Opinion) -> Candidate:
    grade: Grade = "none" if opinion.constraint == "undetermined" else "inferred"
    return Candidate(span=span, constraint=opinion.constraint, grade=grade, opinion=opinion)


def _unexplained(track: Track) -> dict[int, int]:
    """Throttles by cell that no cause was stated for: CloudWatch's count, else the client's."""
    found: Counter[int] = Counter()
    for second, reasons in track.reasons.items():
        found[track.cell_of(second)] += sum(
            n for reason, n in reasons.items() if constraint_of(reason) is None
        )
    for cell, count in (track.events or {}).items():
        if count:
            found[cell] = round(count) or 1
    return dict(found)


def _of_unasked_index(consumption: Consumption, cell: int) -> bool:
    """Whether CloudWatch counts no throttled write on the table, and was not asked about all its indexes."""
    track = consumption.track
    if track.index is not None or track.direction != "write" or not track.known_zero(track.events, cell):
        return False
    return any(index.events is None for index in consumption.timeline.indexes(WRITE))


def _opinion(consumption: Consumption, cell: int) -> Opinion:
    track = consumption.track
    seen_zero = track.known_zero(track.events, cell)
    indexes = consumption.timeline.indexes(track.direction)
    if seen_zero and track.index is None and track.direction == "write" and indexes:
        because = "CloudWatch counts no throttled write on the table itself: perhaps an index refused them."
        return undecided("undetermined-resource", because)
    return consumption.opinion(cell)


def _unless_denied(consumption: Consumption, cell: int, opinion: Opinion) -> Opinion:
    """The opinion; undecided where CloudWatch's metric of that very cause says zero, more than nothing."""
    track, constraint = consumption.track, opinion.constraint
    if track.causes.get(constraint, {}).get(cell) != 0 or not track.throttled(cell):
        return opinion
    metric = cause_events(track.direction, CAUSE_OF_CONSTRAINT[constraint])
    denied = f"But CloudWatch counts no {metric} there."
    return decided(opinion.weaker(DENIED, denied), consumption.numbers.inferred.decide_at)


def _cells(track: Track, taken: Iterable[Span], skew_s: float) -> set[int]:
    """The cells that spans touch, with the skew between two clocks allowed for."""
    found: set[int] = set()
    for span in taken:
        first = track.cell_of(span.start_s - skew_s)
        found.update(range(first, int(span.end_s + skew_s), track.step_s))
    return found
