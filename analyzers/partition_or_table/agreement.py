"""Weighing a candidate against the grades not used: agreement confirms it, conflict is said aloud."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from keyheat.analysis.timeline import Track
from keyheat.analysis.words import LIMITS
from keyheat.numbers import some
from keyheat.runs import metrics
from keyheat.words import Constraint

from .consumption import Consumption
from .ladder import Candidate
from .opinion import Span

NOTABLE: Final = 0.2  # share of CloudWatch's counts from which another cause is worth a word


@dataclass(frozen=True, slots=True)
class Weight:
    """How sure a candidate is after all grades were heard, and what they said."""

    confidence: float
    because: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Others:
    """When each constraint was seen on a track: its spans, in order and apart from each other."""

    spans: Mapping[Constraint, Sequence[Span]]

    @classmethod
    def of(cls, candidates: Sequence[Candidate]) -> "Others":
        """The spans of a track's candidates."""
        found: defaultdict[Constraint, list[Span]] = defaultdict(list)
        for candidate in candidates:
            found[candidate.constraint].append(candidate.span)
        ordered = {name: sorted(spans, key=lambda span: span.start_s) for name, spans in found.items()}
        return cls(ordered)

    def seen(self, constraint: Constraint, span: Span) -> bool:
        """Whether a constraint was seen at some moment of a span."""
        spans = self.spans.get(constraint, ())
        place = bisect_left(spans, span.end_s, key=lambda one: one.start_s)
        return place > 0 and spans[place - 1].overlaps(span.start_s, span.end_s)


def weigh(candidate: Candidate, others: Others, consumption: Consumption) -> Weight:
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


def cells_of(candidate: Candidate, track: Track) -> range:
    """The cells that the candidate's span touches."""
    return range(track.cell_of(candidate.span.start_s), candidate.span.end_s, track.step_s)


def _against_metrics(candidate: Candidate, others: Others, consumption: Consumption) -> tuple[float, str]:
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


def _against_inference(candidate: Candidate, consumption: Consumption) -> tuple[float, str]:
    """What consumption alone would have said of the heaviest cell of the span."""
    track = consumption.track
    cells = cells_of(candidate, track)
    heaviest = max(cells, key=lambda cell: _throttles(consumption, cell))
    span = candidate.span
    opinion = consumption.opinion(heaviest, span.start_s, span.end_s)
    if opinion.constraint == "undetermined":
        return 1.0, ""
    if opinion.constraint == candidate.constraint:
        return 1.0, f"Consumption points the same way. {opinion.because}"
    factor = consumption.numbers.confidence.inferred_conflict
    return factor, f"Conflict: consumption alone suggests {LIMITS[opinion.constraint]}. {opinion.because}"


def _without_reason(candidate: Candidate, consumption: Consumption) -> tuple[float, str]:
    """Throttles within a span of reasons that came without one, as those of partly refused batches do."""
    if candidate.grade != "reason":
        return 1.0, ""
    span, reasons = candidate.span, consumption.track.reasons
    bare = sum(
        count
        for second in range(span.start_s, span.end_s)
        for reason, count in reasons.get(second, {}).items()
        if metrics.constraint_of(reason) is None
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


def metric_of(track: Track, constraint: Constraint) -> str:
    """The metric that counts throttles of one constraint."""
    return metrics.cause_events(track.direction, metrics.CAUSE_OF_CONSTRAINT[constraint])
