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
    labels       with a rule, a confidence, and sentences that hold the numbers; an inferred one with what
      |          another constraint would need, and which evidence would decide
      |          raised too late, lowered, split, not grown yet?                          circumstances.py
    findings

`keyheat/analysis/rules.py` says when each rule applies, `configs/thresholds.toml` how sure it is.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from keyheat.analysis.advice.commands import collect_command
from keyheat.analysis.heat import heats_of, index_heats_of
from keyheat.analysis.rules import STATED, WHOSE, Thresholds
from keyheat.analysis.timeline import EvidenceTimeline, timeline
from keyheat.analysis.track import EvidenceTrack
from keyheat.numbers import measured, of_provisioned, some, span, units, whole
from keyheat.runs.formats import Evidence, Finding, Label, Rival
from keyheat.runs.run import Run
from keyheat.words import SPEAKERS, WRITE, Constraint, Source, capital

from .bounds import PROVED
from .circumstances import with_circumstances
from .consumption import Consumption, consumption
from .ladder import LabelCandidate, Others, candidates, cells_of, heaviest_cell, metric_of, spans_of, weigh
from .unconfirmed import indexes_are_calm

MANY: Final = 10  # throttles; equal counts from here on are no coincidence
EXCLUDED: Final = "ruled out by consumption, whatever is unknown"
AT: Final = frozenset({"seconds-at-provisioned", "seconds-burst-spent", "minutes-at-provisioned"})
EARLIEST_S: Final = datetime(1, 1, 1, tzinfo=UTC).timestamp()
LATEST_S: Final = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()


def analyze(run: Run, numbers: Thresholds) -> list[Finding]:
    """Return a finding for each throttled span, in order of time; none without throttles."""
    arranged = attribute_account_events(timeline(run.evidence))
    labels = []
    for track in arranged.tracks:
        ready = consumption(arranged, track, numbers)
        spans = candidates(ready, explained=throttled_by_index(arranged, track, numbers))
        others = spans_of(spans)
        labels += [_label(candidate, spans, others, ready, run.evidence) for candidate in spans]
    labels.sort(key=lambda label: (label.start, label.end, label.resource, label.direction, label.constraint))
    heats = (*heats_of(run.evidence, run.client), *index_heats_of(run.evidence, run.client))
    return [
        Finding(
            label=label.constraint,
            numbers={"throttles": (label.throttles, "attempts")},
            **label.model_dump(exclude={"constraint", "throttles"}),
        )
        for label in with_circumstances(labels, arranged, run.evidence, heats, numbers)
    ]


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


def _label(
    candidate: LabelCandidate,
    all_candidates: Sequence[LabelCandidate],
    others: Others,
    ready: Consumption,
    evidence: Evidence,
) -> Label:
    confidence, because = weigh(candidate, others, ready)
    throttled, track = candidate.span, ready.track
    statement, room = _statement(candidate, ready, evidence.source), _room(candidate, all_candidates, ready)
    if track.index is not None and track.direction == WRITE:
        because.append(
            "This is index back-pressure: writes to the table were refused because index "
            f"{track.index} could not keep up."
        )
    opinion = candidate.opinion
    return Label(
        start=_moment(throttled.start_s),
        end=_moment(throttled.end_s),
        resource=track.resource,
        direction=track.direction,
        constraint=candidate.constraint,
        throttles=throttled.throttles,
        grade=candidate.grade,
        confidence=max(0.0, min(1.0, round(confidence, 3))),
        because=tuple(filter(None, (statement, room, *because))),
        rule=opinion.rule if opinion else STATED[candidate.grade, candidate.constraint].id,
        rivals=rivals(candidate, ready),
        settled_by=settled_by(candidate, ready, evidence),
    )


def _statement(candidate: LabelCandidate, ready: Consumption, source: Source) -> str:
    """Describe the evidence of the grade itself, with its count and length."""
    track = ready.track
    throttles, length = candidate.span.throttles, span(candidate.span.end_s - candidate.span.start_s)
    if candidate.grade == "reason":
        reasons = " and ".join(f"{word} for {count:,}" for word, count in candidate.words.items())
        return f"{capital(SPEAKERS[source])} gave the reason {reasons} throttled attempts within {length}."
    if candidate.opinion is None:
        return f"CloudWatch counts {throttles:,} {metric_of(track, candidate.constraint)} within {length}."
    by_client = sum(n for cell in cells_of(candidate, track) for _, n in ready.throttled.get(cell, ()))
    differs = candidate.opinion.rule != WHOSE and by_client > throttles
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


def _moment(second: float) -> datetime:
    return datetime.fromtimestamp(min(max(second, EARLIEST_S), LATEST_S), UTC)


def rivals(candidate: LabelCandidate, ready: Consumption) -> tuple[Rival, ...]:
    """List the resource's other constraints with what each would need; none for a stated cause."""
    if candidate.opinion is None or candidate.opinion.rule == WHOSE:
        return ()
    rule, cell = candidate.opinion.rule, heaviest_cell(candidate, ready)
    track, rate = ready.track, ready.track.consumed_per_s(cell)
    needs = f"one key range took {units(track.ceiling, track.direction)} for a second or more"
    if rate is not None:
        needs += f", and {_at_most(rate / track.ceiling, track.step_s)}"
    if rule in AT:
        needs += ", and the sum of all equals the provisioned throughput by chance"
    of_all = _on_demand(ready, cell, rate) if track.on_demand_at(cell) else [_provisioned(ready, cell, rate)]
    return tuple(
        Rival(constraint=constraint, needs=EXCLUDED if constraint == PROVED.get(rule) else needs)
        for constraint, needs in [("partition", needs), *of_all]
        if constraint != candidate.constraint
    )


def settled_by(candidate: LabelCandidate, ready: Consumption, evidence: Evidence) -> str:
    """Name the evidence that would decide, and how to get it; empty for a stated cause."""
    if candidate.opinion is None:
        return ""
    if candidate.opinion.rule == WHOSE:
        logged = (
            "the `ThrottlingReasons` of the client's exceptions, with the ARN of the table "
            "(AWS SDKs of 2025-08 and later)"
        )
        cells = cells_of(candidate, ready.track)
        if ready.track.reasons and indexes_are_calm(ready.timeline, ready.track.direction, cells):
            return f"{capital(logged)} would settle it."
        indexes = [str(track.index) for track in ready.timeline.indexes(ready.track.direction)]
        command = collect_command(evidence, *(indexes or ["NAME"]))
        whose = "each index" if ready.track.events is not None else "the table and of each index"
        events = f"The throttle events of {whose} would settle it: `{command}`"
        return f"{events}{f'; else {logged}' if ready.track.reasons else ''}."
    if not ready.track.causes:
        command = collect_command(evidence)
        return f"CloudWatch's cause metrics, one for each constraint, would settle it: `{command}`."
    if evidence.throttles is None and evidence.seconds is None:
        return (
            "The client's own throttles would settle it: log `error.response['ThrottlingReasons']` of each "
            "exception, with its second."
        )
    return (
        "The reasons of the client's exceptions would settle it: AWS SDKs of 2025-08 and later give "
        "`error.response['ThrottlingReasons']`."
    )


def _provisioned(ready: Consumption, cell: int, rate: float | None) -> tuple[Constraint, str]:
    track, capacity = ready.track, ready.track.provisioned.at(cell)
    if rate is None or not capacity:
        return "table", "the provisioned throughput was used up"
    if rate >= capacity:
        return "table", "the burst ran out at each of these moments, and was partly refilled before the next"
    bank = ready.readings[0].banks.get(cell)
    saved = f", despite an estimated {whole(bank.likely)} units" if bank else ""
    spikes = f"{units(capacity, track.direction)} {_at_most(rate / capacity, track.step_s)}"
    return "table", f"no burst was granted{saved}, and the load came in spikes: {spikes}"


def _on_demand(ready: Consumption, cell: int, rate: float | None) -> Iterator[tuple[Constraint, str]]:
    track, maximum = ready.track, ready.track.maximum.at(cell)
    if maximum:
        seconds = f" {_at_most(rate / maximum, track.step_s)}" if rate is not None else ""
        yield "max_on_demand", f"the load came in spikes: {units(maximum, track.direction)}{seconds}"
    elif not track.maximum_asked:
        lacks = "is set that was not collected"
        if track.described:
            lacks = "was set then that the table does not have now"
        yield "max_on_demand", f"a maximum {lacks}"
    quota = units(ready.timeline.quota_of(track.direction), track.direction)
    yield "account", f"the table with its indexes came to {quota} within a second"


def _at_most(share: float, step_s: int) -> str:
    """Say how long a rate can have lasted in a period whose mean is `share` times that rate."""
    return f"for up to {measured(share * step_s)} s of {step_s}" if share < 1 else f"for up to all {step_s} s"
