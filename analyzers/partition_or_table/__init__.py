"""Which limit throttled each resource in each direction: a partition, the table, or another one?

The ladder. The best grade of evidence for a moment decides; the other grades raise or lower its confidence:

    moments      throttled seconds or minutes of one resource in one direction
      |          reason        the client saw DynamoDB's own reason                       ladder.py
      |          cause_metric  a CloudWatch metric that counts one cause only             ladder.py
      |          inferred      consumption, from                                         consumption.py
      |                          the client's seconds                                     seconds.py
      |                          CloudWatch's minutes, provisioned capacity               minutes.py
      |                          CloudWatch's minutes, on-demand capacity                 on_demand.py
    candidates   spans, each with one grade's opinion                                     opinion.py
      |          do the other grades agree?                                               ladder.py
    labels       with a rule, a confidence, and sentences that hold the numbers
      |          raised too late, lowered, split, not grown yet?                          circumstances.py
    findings

`keyheat/analysis/rules.py` says when each rule applies, `configs/thresholds.toml` how sure it is.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from keyheat.analysis.heat import heats_of, index_heats_of
from keyheat.analysis.rules import WHOSE
from keyheat.analysis.thresholds import Thresholds
from keyheat.analysis.timeline import EvidenceTimeline, timeline
from keyheat.analysis.track import EvidenceTrack
from keyheat.numbers import of_provisioned, some, span
from keyheat.runs.formats import Evidence, Finding, Label
from keyheat.runs.run import Run
from keyheat.words import SPEAKERS, WRITE, Constraint, Source, capital

from .circumstances import with_circumstances
from .consumption import Consumption, consumption
from .ladder import LabelCandidate, Others, candidates, cells_of, metric_of, weigh
from .rivals import rivals, settled_by

MANY: Final = 10  # throttles; equal counts from here on are no coincidence


def attribute_account_events(arranged: EvidenceTimeline) -> EvidenceTimeline:
    """Move the account-limit events of writes from the table to the index that throttled them."""
    table = next(t for t in arranged.tracks if t.index is None and t.direction == WRITE)
    counted = table.causes.get("account")
    if not counted:
        return arranged
    remaining = dict(counted)
    tracks = []
    for track in arranged.tracks:
        if track.index is None or track.direction == "read" or not track.events or not track.causes:
            tracks.append(track)
            continue
        causes = [cells for cause, cells in track.causes.items() if cause != "account"]
        moved: dict[int, float] = {}
        for cell, events in track.events.items():
            count = min(remaining.get(cell, 0.0), events - sum(cells.get(cell, 0.0) for cells in causes))
            if count > 0:
                moved[cell] = count
                remaining[cell] -= count
        tracks.append(replace(track, causes={**track.causes, "account": moved}))
    rest = replace(table, causes={**table.causes, "account": remaining})
    return replace(arranged, tracks=tuple(rest if track is table else track for track in tracks))


def throttled_by_index(
    arranged: EvidenceTimeline, track: EvidenceTrack, numbers: Thresholds
) -> Callable[[int], bool]:
    """Return a test: were the writes of a cell throttled because an index could not keep up?

    The signature of index back-pressure: throttle events on the index and none on the table itself; or as
    many on a table with free capacity as on its indexes, if their events are counted at the table as well.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/gsi-throttling.html
    """
    indexes = arranged.indexes(track.direction) if track.index is None else ()

    def is_refused(cell: int) -> bool:
        if track.consumed is not None and cell not in track.consumed:  # CloudWatch lacks this cell
            neighbours = [
                near for near in (cell - track.step_s, cell + track.step_s) if near in track.consumed
            ]
            return bool(neighbours) and all(is_refused(near) for near in neighbours)
        of_indexes = sum((index.events or {}).get(cell, 0.0) for index in indexes)
        if track.direction == WRITE and (track.events or {}).get(cell) == of_indexes >= MANY:
            return (
                not track.on_demand_at(cell)
                and 0 < track.share_used(cell) < numbers.inferred.at_provisioned_low
            )
        return of_indexes > 0 and track.known_zero(track.events, cell)

    return is_refused


RULE_WORDS: Final[dict[Constraint, str]] = {
    "partition": "key-range",
    "table": "provisioned",
    "max_on_demand": "max-on-demand",
    "account": "account",
}
EARLIEST_S: Final = datetime(1, 1, 1, tzinfo=UTC).timestamp()
LATEST_S: Final = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()


def analyze(run: Run, numbers: Thresholds) -> list[Finding]:
    """Return a finding for each throttled span, in order of time; none without throttles."""
    arranged = attribute_account_events(timeline(run.evidence))
    labels = [
        label for track in arranged.tracks for label in _of_track(arranged, track, run.evidence, numbers)
    ]
    labels.sort(key=lambda label: (label.start, label.end, label.resource, label.direction, label.constraint))
    heats = (*heats_of(run.evidence, run.client), *index_heats_of(run.evidence, run.client))
    return [_finding(label) for label in with_circumstances(labels, arranged, run.evidence, heats, numbers)]


def _of_track(
    arranged: EvidenceTimeline, track: EvidenceTrack, evidence: Evidence, numbers: Thresholds
) -> Iterator[Label]:
    ready = consumption(arranged, track, numbers)
    all_candidates = candidates(ready, explained=throttled_by_index(arranged, track, numbers))
    others = Others.of(all_candidates)
    return (_label(candidate, all_candidates, others, ready, evidence) for candidate in all_candidates)


def _label(
    candidate: LabelCandidate,
    all_candidates: Sequence[LabelCandidate],
    others: Others,
    ready: Consumption,
    evidence: Evidence,
) -> Label:
    weight = weigh(candidate, others, ready)
    throttled, track = candidate.span, ready.track
    statement, room = _statement(candidate, ready, evidence.source), _room(candidate, all_candidates, ready)
    return Label(
        start=_moment(throttled.start_s),
        end=_moment(throttled.end_s),
        resource=track.resource,
        direction=track.direction,
        constraint=candidate.constraint,
        throttles=throttled.throttles,
        grade=candidate.grade,
        confidence=max(0.0, min(1.0, round(weight.confidence, 3))),
        because=tuple(filter(None, (statement, room, *weight.because, _back_pressure(track)))),
        rule=_rule(candidate),
        rivals=rivals(candidate, ready),
        settled_by=settled_by(candidate, ready, evidence),
    )


def _rule(candidate: LabelCandidate) -> str:
    if candidate.opinion is not None:
        return candidate.opinion.rule
    return f"{'reason' if candidate.grade == 'reason' else 'metric'}-{RULE_WORDS[candidate.constraint]}"


def _statement(candidate: LabelCandidate, ready: Consumption, source: Source) -> str:
    """Describe the evidence of the grade itself, with its count and length."""
    track = ready.track
    throttles, length = candidate.span.throttles, span(candidate.span.end_s - candidate.span.start_s)
    if candidate.grade == "reason":
        reasons = " and ".join(f"{word} for {count:,}" for word, count in candidate.words.items())
        return f"{capital(SPEAKERS[source])} gave the reason {reasons} throttled attempts within {length}."
    if candidate.grade == "cause_metric":
        return f"CloudWatch counts {throttles:,} {metric_of(track, candidate.constraint)} within {length}."
    by_client = sum(n for cell in cells_of(candidate, track) for _, n in ready.throttled.get(cell, ()))
    differs = _rule(candidate) != WHOSE and by_client > throttles
    more = f", by CloudWatch's count; the client's own is {by_client:,}" if differs else ""
    return f"{some(throttles, 'throttle')} within {length} came without a stated cause{more}."


def _room(candidate: LabelCandidate, all_candidates: Sequence[LabelCandidate], ready: Consumption) -> str:
    """Compare consumption with capacity in the busiest cell of all spans of the constraint.

    All labels of the constraint share that number. Empty if either side is unknown, or if the client's
    seconds are more precise.
    """
    track = ready.track
    if candidate.opinion is not None or any(map(ready.seconds, cells_of(candidate, track))):
        return ""
    same_limit = (other for other in all_candidates if other.constraint == candidate.constraint)
    cells = {cell for other in same_limit for cell in cells_of(other, track)}
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
    fields = label.model_dump(exclude={"constraint", "throttles"})
    return Finding(label=label.constraint, numbers={"throttles": (label.throttles, "attempts")}, **fields)
