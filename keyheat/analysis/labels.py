"""Labels: what constrained each resource in each direction, span by span, with the evidence for it.

The ladder: moments -> spans -> `Candidate` (one grade's word) -> `Label` (all grades heard). The best grade
that speaks of a moment decides; what the others say is kept in `because`. Rules: docs/rules.md.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from keyheat.analysis.labelling.attribution import attributed
from keyheat.analysis.labelling.candidates import Candidate, candidates
from keyheat.analysis.labelling.inferred import Inference, inference
from keyheat.analysis.labelling.stories import with_stories
from keyheat.analysis.labelling.weighing import Others, cells_of, metric_of, weigh
from keyheat.analysis.thresholds import Thresholds
from keyheat.analysis.timeline import Timeline, Track, timeline
from keyheat.numbers import of_provisioned, some, span
from keyheat.runs.formats import Evidence, Label
from keyheat.words import WRITE, Constraint, Direction

RULE_WORDS: Final[dict[Constraint, str]] = {
    "partition": "key-range",
    "table": "provisioned",
    "max_on_demand": "max-on-demand",
    "account": "account",
}
MANY: Final = 10  # throttles from which two counts are not the same by chance
LATEST_S: Final = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()


def label(evidence: Evidence, numbers: Thresholds) -> tuple[Label, ...]:
    """A label for each throttled span, in order of time. No throttles: no labels."""
    arranged = attributed(timeline(evidence))
    made = [
        made
        for direction in Direction
        for track in arranged.tracks
        if track.direction == direction
        for made in _of_track(arranged, track, numbers)
    ]
    made.sort(key=lambda one: (one.start, one.end, one.resource, one.direction, one.constraint))
    seen = evidence.partitions.splits if evidence.partitions else None
    return with_stories(made, arranged, [at.timestamp() for at in seen or () if at is not None])


def _of_track(arranged: Timeline, track: Track, numbers: Thresholds) -> list[Label]:
    ready = inference(arranged, track, numbers)
    found = candidates(ready, explained=_refused_by_index(arranged, track, numbers))
    others = Others.of(found)
    return [_label(candidate, others, ready) for candidate in found]


def _refused_by_index(arranged: Timeline, track: Track, numbers: Thresholds) -> Callable[[int], bool]:
    """Whether the writes throttled in a cell were refused for an index that could not keep up.

    The signature of index back-pressure: throttle events on the index, none on the table itself; or just as
    many on a table that has room as on an index that has none, where theirs are counted at the table as well.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/gsi-throttling.html
    """
    indexes = arranged.indexes(WRITE) if track.index is None and track.direction == "write" else ()

    def refused(cell: int) -> bool:
        of_indexes = sum((index.events or {}).get(cell, 0.0) for index in indexes)
        if (track.events or {}).get(cell) == of_indexes >= MANY:
            full = numbers.inferred.at_provisioned_low
            used = [_share_used(index, cell) for index in indexes if index.throttled(cell)]
            return 0 < _share_used(track, cell) < full <= max(used)
        return of_indexes > 0 and track.known_zero(track.events, cell)

    return refused


def _share_used(track: Track, cell: int) -> float:
    """Consumed against provisioned; 0 where either is not known, or nothing is provisioned."""
    rate, capacity = track.consumed_per_s(cell), track.provisioned.at(cell)
    return rate / capacity if rate and capacity and not track.on_demand_at(cell) else 0.0


def _label(candidate: Candidate, others: Others, ready: Inference) -> Label:
    weight = weigh(candidate, others, ready)
    when, track = candidate.span, ready.track
    return Label(
        start=_moment(when.start_s),
        end=_moment(when.end_s),
        resource=track.resource,
        direction=track.direction,
        constraint=candidate.constraint,
        throttles=when.throttles,
        grade=candidate.grade,
        confidence=max(0.0, min(1.0, round(weight.confidence, 3))),
        because=tuple(
            filter(
                None,
                (_said(candidate, track), _room(candidate, track), *weight.because, _back_pressure(track)),
            )
        ),
        rule=_rule(candidate),
    )


def _rule(candidate: Candidate) -> str:
    if candidate.opinion is not None:
        return candidate.opinion.rule
    return f"{'reason' if candidate.grade == 'reason' else 'metric'}-{RULE_WORDS[candidate.constraint]}"


def _said(candidate: Candidate, track: Track) -> str:
    """What the grade itself says, with its count and length."""
    throttles, length = candidate.span.throttles, span(candidate.span.end_s - candidate.span.start_s)
    if candidate.grade == "reason":
        words = " and ".join(f"{word} for {count:,}" for word, count in candidate.words.items())
        return f"DynamoDB gave the reason {words} throttled attempts within {length}."
    if candidate.grade == "cause_metric":
        return f"CloudWatch counts {throttles:,} {metric_of(track, candidate.constraint)} within {length}."
    return f"{some(throttles, 'throttle')} within {length} came without a stated cause."


def _room(candidate: Candidate, track: Track) -> str:
    """Consumed against capacity over the span, as far as both are known."""
    if candidate.opinion is not None:
        return ""
    cells = cells_of(candidate, track)
    rates = [rate for cell in cells if (rate := track.consumed_per_s(cell)) is not None]
    capacity = track.provisioned.at(candidate.span.start_s)
    if not rates or track.on_demand or capacity is None:
        return ""
    return f"The busiest {track.cell_name} consumed {of_provisioned(max(rates), capacity, track.direction)}."


def _back_pressure(track: Track) -> str:
    if track.index is None or track.direction != "write":
        return ""
    return (
        f"This is index back-pressure: writes to the table were refused because index {track.index} "
        "could not keep up."
    )


def _moment(second: float) -> datetime:
    return datetime.fromtimestamp(min(second, LATEST_S), UTC)
