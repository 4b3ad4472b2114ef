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
      |          do the other grades agree?                                               ladder.py
    labels       with a rule, a confidence, and sentences that hold the numbers
      |          raised too late, lowered, split, not grown yet?                          circumstances.py
    findings

When a rule speaks is in `keyheat/analysis/rules.py`, and how sure it is in `configs/thresholds.toml`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from keyheat.analysis.heat import heats_of, index_heats_of
from keyheat.analysis.rules import WHOSE
from keyheat.analysis.thresholds import Thresholds
from keyheat.analysis.timeline import EvidenceTimeline, EvidenceTrack, timeline
from keyheat.numbers import of_provisioned, some, span
from keyheat.runs.formats import Evidence, Finding, Label
from keyheat.runs.run import Run
from keyheat.words import SPEAKERS, WRITE, Constraint, Source, capital

from .circumstances import with_circumstances
from .consumption import Consumption, consumption
from .ladder import LabelCandidate, Others, candidates, cells_of, metric_of, weigh
from .rivals import rivals, settled_by

MANY: Final = 10  # throttles from which two counts are not the same by chance


def attributed(arranged: EvidenceTimeline) -> EvidenceTimeline:
    """The evidence, with account-limit events of writes at the index whose entries were refused."""
    table = next(t for t in arranged.tracks if t.index is None and t.direction == WRITE)
    counted = table.causes.get("account")
    if not counted:
        return arranged
    left = dict(counted)
    found = []
    for track in arranged.tracks:
        if track.index is None or track.direction == "read" or not track.events or not track.causes:
            found.append(track)
            continue
        causes = [cells for cause, cells in track.causes.items() if cause != "account"]
        own: dict[int, float] = {}
        for cell, events in track.events.items():
            part = min(left.get(cell, 0.0), events - sum(cells.get(cell, 0.0) for cells in causes))
            if part > 0:
                own[cell] = part
                left[cell] -= part
        found.append(replace(track, causes={**track.causes, "account": own}))
    rest = replace(table, causes={**table.causes, "account": left})
    return replace(arranged, tracks=tuple(rest if track is table else track for track in found))


def refused_by_index(
    arranged: EvidenceTimeline, track: EvidenceTrack, numbers: Thresholds
) -> Callable[[int], bool]:
    """Whether the writes throttled in a cell were refused for an index that could not keep up.

    The signature of index back-pressure: throttle events on the index, none on the table itself; or just as
    many on a table that has room as on its indexes, where theirs are counted at the table as well.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/gsi-throttling.html
    """
    indexes = arranged.indexes(track.direction) if track.index is None else ()

    def refused(cell: int) -> bool:
        if track.consumed is not None and cell not in track.consumed:  # CloudWatch lacks it: as beside it
            beside = [near for near in (cell - track.step_s, cell + track.step_s) if near in track.consumed]
            return bool(beside) and all(refused(near) for near in beside)
        of_indexes = sum((index.events or {}).get(cell, 0.0) for index in indexes)
        if track.direction == WRITE and (track.events or {}).get(cell) == of_indexes >= MANY:
            return 0 < _share_used(track, cell) < numbers.inferred.at_provisioned_low
        return of_indexes > 0 and track.known_zero(track.events, cell)

    return refused


def _share_used(track: EvidenceTrack, cell: int) -> float:
    """Consumed against provisioned; 0 where either is not known, or nothing is provisioned."""
    rate, capacity = track.consumed_per_s(cell), track.provisioned.at(cell)
    return rate / capacity if rate and capacity and not track.on_demand_at(cell) else 0.0


RULE_WORDS: Final[dict[Constraint, str]] = {
    "partition": "key-range",
    "table": "provisioned",
    "max_on_demand": "max-on-demand",
    "account": "account",
}
EARLIEST_S: Final = datetime(1, 1, 1, tzinfo=UTC).timestamp()
LATEST_S: Final = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()


def analyze(run: Run, numbers: Thresholds) -> list[Finding]:
    """A finding for each throttled span, in order of time. No throttles: no findings."""
    arranged = attributed(timeline(run.evidence))
    made = [label for track in arranged.tracks for label in _of_track(arranged, track, run.evidence, numbers)]
    made.sort(key=lambda one: (one.start, one.end, one.resource, one.direction, one.constraint))
    heats = (*heats_of(run.evidence, run.client), *index_heats_of(run.evidence, run.client))
    return [_finding(one) for one in with_circumstances(made, arranged, run.evidence, heats, numbers)]


def _of_track(
    arranged: EvidenceTimeline, track: EvidenceTrack, evidence: Evidence, numbers: Thresholds
) -> Iterator[Label]:
    ready = consumption(arranged, track, numbers)
    found = candidates(ready, explained=refused_by_index(arranged, track, numbers))
    others = Others.of(found)
    return (_label(candidate, found, others, ready, evidence) for candidate in found)


def _label(
    candidate: LabelCandidate,
    found: Sequence[LabelCandidate],
    others: Others,
    ready: Consumption,
    evidence: Evidence,
) -> Label:
    weight = weigh(candidate, others, ready)
    when, track = candidate.span, ready.track
    said, room = _said(candidate, ready, evidence.source), _room(candidate, found, ready)
    return Label(
        start=_moment(when.start_s),
        end=_moment(when.end_s),
        resource=track.resource,
        direction=track.direction,
        constraint=candidate.constraint,
        throttles=when.throttles,
        grade=candidate.grade,
        confidence=max(0.0, min(1.0, round(weight.confidence, 3))),
        because=tuple(filter(None, (said, room, *weight.because, _back_pressure(track)))),
        rule=_rule(candidate),
        rivals=rivals(candidate, ready),
        settled_by=settled_by(candidate, ready, evidence),
    )


def _rule(candidate: LabelCandidate) -> str:
    if candidate.opinion is not None:
        return candidate.opinion.rule
    return f"{'reason' if candidate.grade == 'reason' else 'metric'}-{RULE_WORDS[candidate.constraint]}"


def _said(candidate: LabelCandidate, ready: Consumption, source: Source) -> str:
    """What the grade itself says, with its count and length."""
    track = ready.track
    throttles, length = candidate.span.throttles, span(candidate.span.end_s - candidate.span.start_s)
    if candidate.grade == "reason":
        words = " and ".join(f"{word} for {count:,}" for word, count in candidate.words.items())
        return f"{capital(SPEAKERS[source])} gave the reason {words} throttled attempts within {length}."
    if candidate.grade == "cause_metric":
        return f"CloudWatch counts {throttles:,} {metric_of(track, candidate.constraint)} within {length}."
    by_client = sum(n for cell in cells_of(candidate, track) for _, n in ready.throttled.get(cell, ()))
    differs = _rule(candidate) != WHOSE and by_client > throttles
    more = f", by CloudWatch's count; the client's own is {by_client:,}" if differs else ""
    return f"{some(throttles, 'throttle')} within {length} came without a stated cause{more}."


def _room(candidate: LabelCandidate, found: Sequence[LabelCandidate], ready: Consumption) -> str:
    """Consumed against capacity in the busiest cell of all spans of the constraint.

    So all labels have one number. Empty if either is unknown, or if the client's seconds say more.
    """
    track = ready.track
    if candidate.opinion is not None or any(map(ready.seconds, cells_of(candidate, track))):
        return ""
    alike = (other for other in found if other.constraint == candidate.constraint)
    cells = {cell for other in alike for cell in cells_of(other, track)}
    rates = {rate: cell for cell in cells if (rate := track.consumed_per_s(cell)) is not None}
    capacity = track.provisioned.at(rates[max(rates)]) if rates else None
    if track.on_demand or capacity is None:
        return ""
    used = of_provisioned(max(rates), capacity, track.direction)
    return f"The busiest throttled {track.cell_name} consumed {used}."


def _back_pressure(track: EvidenceTrack) -> str:
    if track.index is None or track.direction != "write":
        return ""
    return (
        f"This is index back-pressure: writes to the table were refused because index {track.index} "
        "could not keep up."
    )


def _moment(second: float) -> datetime:
    return datetime.fromtimestamp(min(max(second, EARLIEST_S), LATEST_S), UTC)


def _finding(label: Label) -> Finding:
    said = label.model_dump(exclude={"constraint", "throttles"})
    return Finding(label=label.constraint, numbers={"throttles": (label.throttles, "attempts")}, **said)
