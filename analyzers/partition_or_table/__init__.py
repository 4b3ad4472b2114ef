"""What constrained each resource in each direction, span by span: a partition, the table, or something else?

The ladder. The best grade that speaks of a moment decides; the others are heard:

    moments      throttled seconds or minutes of one resource in one direction
      |          reason        the client saw DynamoDB's own reason                       ladder.py
      |          cause_metric  a CloudWatch metric that counts one cause only             ladder.py
      |          inferred      consumption: consumption.py, which asks
      |                          the client's seconds                                     seconds.py
      |                          CloudWatch's minutes, of what is provisioned             minutes.py
      |                          CloudWatch's minutes, of an on-demand table              on_demand.py
    candidates   spans, each with one grade's word                                        opinion.py
      |          do the other grades agree?                                               agreement.py
    labels       with a rule, a confidence, and sentences that hold the numbers
      |          raised too late, lowered, split, not grown yet?                          circumstances.py
    findings

What a rule means is in `keyheat/analysis/rules.py`, and how sure it is in `configs/thresholds.toml`; the page
docs/rules.md has both.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from keyheat.analysis.heat import heats_of
from keyheat.analysis.thresholds import Thresholds
from keyheat.analysis.timeline import Timeline, Track, timeline
from keyheat.numbers import of_provisioned, some, span
from keyheat.runs.formats import Finding, Label
from keyheat.runs.run import Run
from keyheat.words import Constraint

from .agreement import Others, cells_of, metric_of, weigh
from .circumstances import with_circumstances
from .consumption import Consumption, consumption
from .index_writes import attributed, refused_by_index
from .ladder import Candidate, candidates

RULE_WORDS: Final[dict[Constraint, str]] = {
    "partition": "key-range",
    "table": "provisioned",
    "max_on_demand": "max-on-demand",
    "account": "account",
}
LATEST_S: Final = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()


def analyze(run: Run, numbers: Thresholds) -> list[Finding]:
    """A finding for each throttled span, in order of time. No throttles: no findings."""
    arranged = attributed(timeline(run.evidence))
    made = [label for track in arranged.tracks for label in _of_track(arranged, track, numbers)]
    made.sort(key=lambda one: (one.start, one.end, one.resource, one.direction, one.constraint))
    heats = heats_of(run.evidence, run.client)
    return [_finding(one) for one in with_circumstances(made, arranged, run.evidence, heats, numbers)]


def _of_track(arranged: Timeline, track: Track, numbers: Thresholds) -> Iterator[Label]:
    ready = consumption(arranged, track, numbers)
    found = candidates(ready, explained=refused_by_index(arranged, track, numbers))
    others = Others.of(found)
    return (_label(candidate, others, ready) for candidate in found)


def _label(candidate: Candidate, others: Others, ready: Consumption) -> Label:
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


def _finding(label: Label) -> Finding:
    said = label.model_dump(exclude={"constraint", "throttles"})
    return Finding(label=label.constraint, numbers={"throttles": (label.throttles, "attempts")}, **said)
