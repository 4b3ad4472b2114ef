"""The verdict of a run: its dominant constraint by throttles, or why no constraint can be named.

Labels of one constraint, resource and direction form a group; the heaviest one leads.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from keyheat.analysis.elsewhere import throttled_elsewhere, with_blind_spans
from keyheat.analysis.rules import WHOSE, Thresholds
from keyheat.analysis.timeline import EvidenceTimeline, timeline
from keyheat.analysis.track import EvidenceTrack
from keyheat.numbers import UNITS, percent, saying, some, whole
from keyheat.runs.client import ClientFiles
from keyheat.runs.endpoints import FOREIGN_UNITS, without_a_model
from keyheat.runs.formats import (
    NO_DIRECTION,
    DirectionVerdict,
    Evidence,
    GeneratorFacts,
    Label,
    Verdict,
)
from keyheat.runs.metrics import REPLICATED, REPLICATION_LATENCY, consumed
from keyheat.words import Constraint, Direction, enumerated, has_capacity_model, index_of, whose

WHOLLY, BY_ONE_SIDE = 0.97, 0.9  # confidence that nothing throttled, by both sides or by one of them
MOST_CELLS = 1_000_000  # nearly two years of minutes, more than CloudWatch keeps
LARGE_UNITS = 10.0  # units of one request if requests were not counted: few are larger
LEAST_UNSTATED = 0.01  # least share of throttles without a stated limit that the verdict mentions
ONLY_UNDIRECTED = "The log has throttles, but says neither of reads or writes nor for which reason."
NOTABLE = 0.2  # least share of the dominant throttles at which another constraint is named, too


THROTTLED_BY: Final[dict[Constraint, str]] = {
    "partition": "throttled by a partition's limit",
    "table": "throttled because its provisioned throughput was used up",
    "max_on_demand": "throttled because its on-demand maximum was reached",
    "account": "throttled because the account's quota for one table was reached",
    "undetermined": "throttled by an unidentified limit",
}


@dataclass(frozen=True, slots=True)
class LabelGroup:
    """All labels of one constraint on one resource and direction."""

    constraint: Constraint
    resource: str
    direction: Direction
    labels: tuple[Label, ...]

    @property
    def limit(self) -> tuple[Constraint, str, Direction]:
        """The constraint with the resource and direction that it limits."""
        return self.constraint, self.resource, self.direction

    @property
    def throttles(self) -> int:
        return sum(label.throttles for label in self.labels)

    @property
    def predicate(self) -> str:
        """Describe the throttles in words that follow their number."""
        single, preposition = self.throttles == 1, "to" if self.direction == "write" else "of"
        requests = f"a {self.direction}" if single else f"{self.direction}s"
        requests = f"{requests} {preposition} {whose(self.resource)}"
        if self.heaviest.rule == WHOSE:
            fate = f"counted for {requests}; what throttled {'it' if single else 'them'} is unknown"
        else:
            fate = f"{requests}, {THROTTLED_BY[self.constraint]}"
        return f"{'was' if single else 'were'} {fate}."

    @property
    def heaviest(self) -> Label:
        return max(self.labels, key=lambda label: label.throttles)

    @property
    def confidence(self) -> float:
        """Mean confidence of the labels, weighted by throttles."""
        total = max(1, self.throttles)
        return min(1.0, sum(label.confidence * label.throttles / total for label in self.labels))


def groups(labels: Sequence[Label]) -> tuple[LabelGroup, ...]:
    """Group labels by constraint, resource and direction; most throttles first."""
    by_key: defaultdict[tuple[Constraint, str, Direction], list[Label]] = defaultdict(list)
    for label in labels:
        by_key[label.constraint, label.resource, label.direction].append(label)
    result = [LabelGroup(*key, tuple(members)) for key, members in by_key.items()]
    return tuple(sorted(result, key=lambda group: -group.throttles))


def going_on(by_limit: Sequence[LabelGroup], arranged: EvidenceTimeline) -> tuple[LabelGroup, ...]:
    """Drop what throttled under a capacity that was raised since, where something else throttles after that.

    Its cure was made, and another limit, which it hid, is left.
    """

    def is_cured(group: LabelGroup) -> bool:
        track = arranged.track(index_of(group.resource), group.direction)
        if track is None or group.constraint not in ("table", "undetermined"):
            return False
        end_s = max(label.end for label in group.labels).timestamp()
        later = [
            label
            for other in by_limit
            if (other.resource, other.direction) == (group.resource, group.direction) and other is not group
            for label in other.labels
            if label.constraint == "partition" and label.start.timestamp() >= end_s - track.step_s
        ]
        if not later:
            return False
        last_s = max(label.end for label in later).timestamp() - 1
        had, has = (track.provisioned.at(at_s) for at_s in (group.heaviest.start.timestamp(), last_s))
        return had is not None and has is not None and has > had

    return tuple(group for group in by_limit if not is_cured(group))


def verdict(
    labels: Sequence[Label],
    evidence: Evidence,
    *,
    client: ClientFiles | None,
    generator: GeneratorFacts,
    numbers: Thresholds,
) -> Verdict:
    """Name what dominated; invalid if the generator was the limit or the evidence does not decide."""
    by_limit = groups(labels)
    sprinkle = _sprinkle(by_limit, evidence, numbers)
    unstated, totals = "", client.manifest.totals if client and client.manifest else None
    more = totals.throttled - sum(group.throttles for group in by_limit) if totals and by_limit else 0
    if totals is not None and more > 0 and more >= LEAST_UNSTATED * totals.throttled:
        unstated = (
            f"{more:,} more throttled attempts were parts of batches or transactions, whose responses do not "
            "name the limit."
        )
    counted = "labelled throttle" if unstated else _counted(evidence, labels)
    directions = tuple(_direction(side, evidence, labels, counted) for side in Direction)
    if not by_limit or sprinkle:
        result = _without_throttles(evidence, directions, sprinkle)
    else:
        result = _of_groups(by_limit, counted)
    notes = [side.said for side in directions if result.direction not in (None, side.direction)]
    if unstated:
        notes.append(unstated)
    if elsewhere := throttled_elsewhere(evidence):
        requests = some(sum(elsewhere.values()), "throttled request")
        notes.append(
            f"CloudWatch counts {requests} of {' and '.join(elsewhere)}, which neither read nor write "
            "the table (GetRecords reads its stream)."
        )
    if by_limit and not has_capacity_model(evidence.endpoint):
        notes.append(FOREIGN_UNITS)
    because = *result.because, *notes
    result = result.model_copy(update={"directions": directions, "because": because})
    result = with_blind_spans(result, evidence, client, numbers.failures)
    if not generator.bound:
        return result
    # "No throttles" may be for lack of demand, and an inference rests on the times of requests.
    if generator.shortfall and result.grade in ("reason", "cause_metric"):
        return result.model_copy(update={"because": (generator.shortfall, *result.because)})
    what = "The load generator was the limit" if generator.shortfall else "The load was not as stated"
    warning = f"{what}: this run shows nothing about the table."
    return result.model_copy(
        update={"valid": False, "because": (warning, *generator.checks, *result.because)}
    )


def with_company(result: Verdict, client: ClientFiles | None) -> Verdict:
    """Put other runs that loaded the same tables meanwhile at the front of the verdict."""
    company = client.manifest.company if client and client.manifest else None
    return result if company is None else result.model_copy(update={"because": (company, *result.because)})


def with_replicas(result: Verdict, evidence: Evidence) -> Verdict:
    """Add a global table's Regions, and its replicated writes, to the verdict.

    Source: `ReplicationLatency`, and the write units with `Source=GlobalTable`:
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html
    """
    table = evidence.table
    if not table.replicas:
        return result
    where = f"in {table.region}, " if table.region else "in one Region, "
    notes = [f"A global table: this covers its replica {where}not those in {enumerated(table.replicas)}."]
    units = consumed(Direction.WRITE)
    all_units = evidence.total(units)
    copied = [
        sum(value for _at, value in series.points)
        for series in evidence.series
        if (series.metric, series.index, series.dimension) == (units, None, REPLICATED) and series.points
    ]
    if copied and all_units:
        replicated = "of its write units were replicated from other Regions."
        notes.append(f"{percent(copied[0] / all_units)} {replicated}")
    late = [
        (max(value for _at, value in series.points), series.dimension.partition("=")[2])
        for series in evidence.series
        if series.metric == REPLICATION_LATENCY and series.dimension and series.points
    ]
    if late:
        worst_ms, region = max(late)
        notes.append(f"Copies to {region} took {whole(worst_ms)} ms in the mean of the slowest 5 minutes.")
    return result.model_copy(update={"because": (*result.because, *notes)})


def _counted(evidence: Evidence, labels: Sequence[Label]) -> str:
    """The noun of labelled throttles: a client's log holds a part of what CloudWatch counts."""
    published = sum(track.published_throttles for track in timeline(evidence).tracks)
    logged = evidence.throttles and all(label.grade == "reason" for label in labels)
    return "logged throttle" if logged and sum(x.throttles for x in labels) < published else "throttle"


def _of_groups(by_limit: Sequence[LabelGroup], counted: str) -> Verdict:
    first, *others = by_limit
    total = sum(group.throttles for group in by_limit)
    also = [
        line
        for group in others
        if group.throttles >= NOTABLE * first.throttles
        for line in (f"Beside them, {group.throttles:,} {group.predicate}", *group.heaviest.because)
    ]
    subject = f"All {total:,} {counted}s" if total > 1 else f"The only {counted}"
    if first.throttles < total:
        share = percent(first.throttles / total)
        subject = f"{first.throttles:,} of {total:,} {counted}s ({share})"
    heaviest, spans = first.heaviest, [label for label in first.labels if label.throttles]
    because = list(heaviest.because)
    if len(spans) > 1 and because:  # of which time the sentences are, unless it has all throttles
        start_s, end_s = heaviest.start.timestamp(), heaviest.end.timestamp()
        say = saying(start_s, end_s)
        when = f"In the heaviest of {len(spans):,} spans, {say(start_s)} to {say(end_s)} UTC"
        because[0] = f"{when}: {because[0]}"
    return Verdict(
        constraint=first.constraint,
        resource=first.resource,
        direction=first.direction,
        grade=heaviest.grade,
        confidence=round(first.confidence, 3),
        valid=first.constraint != "undetermined",
        rivals=heaviest.rivals,
        settled_by=heaviest.settled_by,
        because=(f"{subject} {first.predicate}", *because, *also),
    )


def _sprinkle(by_limit: Sequence[LabelGroup], evidence: Evidence, numbers: Thresholds) -> str | None:
    """Describe throttles that are few, rare on each resource and without a reason; else None."""
    throttles = sum(group.throttles for group in by_limit)
    if not throttles or throttles > numbers.noise.throttles:
        return None
    if any(label.grade == "reason" for group in by_limit for label in group.labels):
        return None  # DynamoDB named the cause
    by_key: Counter[tuple[str, Direction]] = Counter()
    for group in by_limit:
        by_key[group.resource, group.direction] += group.throttles
    attempts = {key: _attempts(key, evidence) for key in by_key}
    counts = {key: max(count, by_key[key]) for key, count in attempts.items() if count is not None}
    if len(counts) < len(by_key) or any(
        by_key[key] > numbers.noise.share * count for key, count in counts.items()
    ):
        return None
    noise = numbers.noise
    least = f"more than {noise.throttles:,} throttles or {percent(noise.share)} of the attempts"
    share = percent(throttles / sum(counts.values()))
    where = "" if len(by_key) > 1 else f" on {whose(by_limit[0].resource)}"
    count = some(throttles, "throttle")
    return f"{count}, {share} of all attempts{where}: too few for a verdict, which needs {least}."


def _attempts(key: tuple[str, Direction], evidence: Evidence) -> float | None:
    """Count attempts on a resource, by the client or by units; None if neither was measured."""
    resource, direction = key
    index = index_of(resource)
    rows = [row for row in evidence.seconds or () if (row.index, row.direction) == (index, direction)]
    counted = sum(row.attempts for row in rows)
    if counted:
        return counted
    track = timeline(evidence).track(index, direction)
    if track is None or track.consumed is None:
        return None
    # CloudWatch counts units, so requests are assumed to be large.
    return sum(track.consumed.values()) / LARGE_UNITS


def _without_throttles(
    evidence: Evidence, directions: Sequence[DirectionVerdict], sprinkle: str | None
) -> Verdict:
    """Return `none` if the evidence of a direction would show throttles, else `undetermined`."""
    by_client, by_cloudwatch = _client_says(evidence), _cloudwatch_says(timeline(evidence), evidence)
    if sprinkle is None and (no_model := without_a_model(evidence, by_client)):
        return no_model
    sides = () if by_client and by_cloudwatch else tuple(side.said for side in directions)
    if sprinkle is None and all(side.constraint != "none" for side in directions):
        lacking = "No throttles were seen, but the evidence is too incomplete to exclude them."
        if any(line.endswith(NO_DIRECTION) for line in evidence.missing):
            lacking = ONLY_UNDIRECTED
        return Verdict(
            constraint="undetermined", grade="none", confidence=0, valid=False, because=(lacking, *sides)
        )
    because = tuple(filter(None, (sprinkle, by_client, by_cloudwatch, *sides)))
    confidence = WHOLLY if by_client and by_cloudwatch else BY_ONE_SIDE
    return Verdict(constraint="none", grade="none", confidence=confidence, valid=True, because=because)


def _direction(
    direction: Direction, evidence: Evidence, labels: Sequence[Label], counted: str
) -> DirectionVerdict:
    """Judge one direction; gaps in the other one do not matter, and a missing metric is not zero."""
    name = f"{direction.title()}s"
    by_limit = groups([label for label in labels if label.direction == direction])
    if by_limit:
        throttles = sum(group.throttles for group in by_limit)
        most = "" if throttles == 1 else "most of them "
        message = f"{name}: {some(throttles, counted)}, {most}{THROTTLED_BY[by_limit[0].constraint]}."
        return DirectionVerdict(direction=direction, constraint=by_limit[0].constraint, said=message)
    attempts = sum(row.attempts for row in evidence.seconds or () if row.direction == direction)
    if attempts:
        message = f"{name}: none of the client's {some(attempts, 'attempt')} throttled."
        return DirectionVerdict(direction=direction, constraint="none", said=message)
    arranged = timeline(evidence)
    tracks = [track for track in arranged.tracks if track.direction == direction]
    if all(track.consumed is None and track.events is None for track in tracks):
        return DirectionVerdict(direction=direction, constraint=None, said=f"{name}: not collected.")
    cells, lacking = _published(arranged, evidence, tracks)
    if not lacking:
        cell_count = some(cells, arranged.tracks[0].cell_name)
        message = f"{name}: CloudWatch published {cell_count}, and counts no throttled {direction}."
        return DirectionVerdict(direction=direction, constraint="none", said=message)
    where = " and ".join(whose(track.resource) for track in lacking)
    lack = "minutes CloudWatch did not publish or were not collected"
    if all(track.events is None and track.consumed for track in lacking):
        lack = "throttle events were not collected"
    message = f"{name}: unknown for {where}, whose {lack}."
    return DirectionVerdict(direction=direction, constraint="undetermined", said=message)


def _published(
    arranged: EvidenceTimeline, evidence: Evidence, tracks: Sequence[EvidenceTrack]
) -> tuple[int, list[EvidenceTrack]]:
    """Count the window's cells, and list the tracks without consumption in one, or without throttle events.

    CloudWatch does not keep more than `MOST_CELLS`: then all tracks lack some.
    """
    start_s = int(evidence.window.start.timestamp() // arranged.step_s) * arranged.step_s
    cells = range(start_s, int(evidence.window.end.timestamp()), arranged.step_s)
    if len(cells) > MOST_CELLS:
        return 0, list(tracks)
    lacking = [
        track
        for track in tracks
        if track.events is None or track.consumed is None or not all(cell in track.consumed for cell in cells)
    ]
    return len(cells), lacking


def _client_says(evidence: Evidence) -> str | None:
    """Summarize the client's own record, if it shows traffic."""
    rows = [row for row in evidence.seconds or () if row.index is None]
    attempts = sum(row.attempts for row in rows)
    if not attempts:
        return None
    throttled = sum(row.throttled for row in rows)
    fate = f"{throttled:,} of them throttled" if throttled else "none of them throttled"
    seconds = len({row.second for row in rows if row.attempts})
    return f"The client recorded {some(attempts, 'attempt')} in {some(seconds, 'second')}, {fate}."


def _cloudwatch_says(arranged: EvidenceTimeline, evidence: Evidence) -> str | None:
    """Summarize CloudWatch's data, if complete for the table and each index."""
    cells, lacking = _published(arranged, evidence, arranged.tracks)
    if lacking:
        return None
    of_table = [track for track in arranged.tracks if track.index is None]
    units = {track.direction: sum((track.consumed or {}).values()) for track in of_table}
    consumed = " and ".join(f"{whole(units[side])} {UNITS[side]}" for side in Direction)
    minutes = some(cells, arranged.tracks[0].cell_name)
    return f"CloudWatch published the whole time, {minutes}: the table consumed {consumed}."
