"""The verdict of a run: its dominant constraint by throttles, or why no constraint can be named."""

from collections import Counter
from collections.abc import Sequence

from keyheat.analysis.blind_spans import with_blind_spans
from keyheat.analysis.elsewhere import throttled_elsewhere
from keyheat.analysis.groups import THROTTLED_BY, LabelGroup, groups
from keyheat.analysis.thresholds import Thresholds
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
from keyheat.runs.metrics import (
    REPLICATED,
    REPLICATION_LATENCY,
    consumed,
)
from keyheat.words import Direction, enumerated, has_capacity_model, index_of, whose

WHOLLY, BY_ONE_SIDE = 0.97, 0.9  # confidence that nothing throttled, by both sides or by one of them
MOST_CELLS = 1_000_000  # nearly two years of minutes, more than CloudWatch keeps
LARGE_UNITS = 10.0  # units of one request if requests were not counted: few are larger
LEAST_UNSTATED = 0.01  # least share of throttles without a stated limit that the verdict mentions
ONLY_UNDIRECTED = "The log has throttles, but says neither of reads or writes nor for which reason."
NOTABLE = 0.2  # least share of the dominant throttles at which another constraint is named, too


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
    unstated = _unstated(by_limit, client)
    counted = "labelled throttle" if unstated else _counted(evidence, labels)
    if not by_limit or sprinkle:
        result = _without_throttles(evidence, labels, sprinkle)
    else:
        result = _of_groups(by_limit, counted)
    result = with_directions(result, labels, evidence, counted)
    notes = [unstated] if unstated else []
    if elsewhere := throttled_elsewhere(evidence):
        requests = some(sum(elsewhere.values()), "throttled request")
        notes.append(
            f"CloudWatch counts {requests} of {' and '.join(elsewhere)}, which neither read nor write "
            "the table (GetRecords reads its stream)."
        )
    if by_limit and not has_capacity_model(evidence.endpoint):
        notes.append(FOREIGN_UNITS)
    result = result.model_copy(update={"because": (*result.because, *notes)})
    result = with_blind_spans(result, evidence, client, numbers.failures)
    return _with_generator(result, generator) if generator.bound else result


def _with_generator(result: Verdict, generator: GeneratorFacts) -> Verdict:
    """Mark a run whose generator was the limit as invalid, unless DynamoDB named its throttles.

    "No throttles" may be for lack of demand, and an inference rests on the times of requests.
    """
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
    copied, all_units = _sum(evidence, units, REPLICATED), evidence.total(units)
    if copied is not None and all_units:
        notes.append(f"{percent(copied / all_units)} of its write units were replicated from other Regions.")
    late = [
        (max(value for _at, value in series.points), series.dimension.partition("=")[2])
        for series in evidence.series
        if series.metric == REPLICATION_LATENCY and series.dimension and series.points
    ]
    if late:
        worst_ms, region = max(late)
        notes.append(f"Copies to {region} took {whole(worst_ms)} ms in the mean of the slowest 5 minutes.")
    return result.model_copy(update={"because": (*result.because, *notes)})


def _sum(evidence: Evidence, metric: str, dimension: str) -> float | None:
    """Add up the table's series with one more dimension; None without points."""
    for series in evidence.series:
        if (series.metric, series.index, series.dimension) == (metric, None, dimension) and series.points:
            return sum(value for _at, value in series.points)
    return None


def _unstated(by_limit: Sequence[LabelGroup], client: ClientFiles | None) -> str | None:
    """Mention throttled attempts without a label: partly failed batches carry no reason."""
    totals = client.manifest.totals if client and client.manifest else None
    more = totals.throttled - sum(group.throttles for group in by_limit) if totals and by_limit else 0
    if totals is None or more < LEAST_UNSTATED * totals.throttled or not more:
        return None
    return (
        f"{more:,} more throttled attempts were parts of batches or transactions, whose responses do not "
        "name the limit."
    )


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
    return Verdict(
        constraint=first.constraint,
        resource=first.resource,
        direction=first.direction,
        grade=first.heaviest.grade,
        confidence=round(first.confidence, 3),
        valid=first.constraint != "undetermined",
        rivals=first.heaviest.rivals,
        settled_by=first.heaviest.settled_by,
        because=(_share_of(first, total, counted), *_heaviest(first), *also),
    )


def _heaviest(group: LabelGroup) -> tuple[str, ...]:
    """The sentences of the heaviest label, and of which time they are unless it has all throttles."""
    heaviest, spans = group.heaviest, [label for label in group.labels if label.throttles]
    if len(spans) < 2 or not heaviest.because:
        return heaviest.because
    start_s, end_s = heaviest.start.timestamp(), heaviest.end.timestamp()
    say = saying(start_s, end_s)
    first, *rest = heaviest.because
    return (f"In the heaviest of {len(spans):,} spans, {say(start_s)} to {say(end_s)} UTC: {first}", *rest)


def _share_of(group: LabelGroup, total: int, counted: str) -> str:
    """State the heaviest group's share of all labelled throttles; `counted` is their noun."""
    if group.throttles < total:
        share = percent(group.throttles / total)
        return f"{group.throttles:,} of {total:,} {counted}s ({share}) {group.predicate}"
    subject = f"All {total:,} {counted}s" if total > 1 else f"The only {counted}"
    return f"{subject} {group.predicate}"


def _sprinkle(by_limit: Sequence[LabelGroup], evidence: Evidence, numbers: Thresholds) -> str | None:
    """Describe throttles that are few, rare on each resource and without a reason; else None."""
    throttles = sum(group.throttles for group in by_limit)
    if not throttles or throttles > numbers.noise.throttles:
        return None
    if any(label.grade == "reason" for group in by_limit for label in group.labels):
        return None  # DynamoDB named the cause
    by_key: Counter[ResourceKey] = Counter()
    for group in by_limit:
        by_key[group.resource, group.direction] += group.throttles
    attempts = {key: _attempts(key, evidence) for key in by_key}
    counts = {key: max(count, by_key[key]) for key, count in attempts.items() if count is not None}
    if len(counts) < len(by_key) or any(
        by_key[key] > numbers.noise.share * count for key, count in counts.items()
    ):
        return None
    least = (
        f"more than {numbers.noise.throttles:,} throttles or {percent(numbers.noise.share)} of the attempts"
    )
    share = percent(throttles / sum(counts.values()))
    where = "" if len(by_key) > 1 else f" on {whose(by_limit[0].resource)}"
    count = some(throttles, "throttle")
    return f"{count}, {share} of all attempts{where}: too few for a verdict, which needs {least}."


ResourceKey = tuple[str, Direction]
"""A resource, `table` or the name of an index, and a direction."""


def _attempts(key: ResourceKey, evidence: Evidence) -> float | None:
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


def _without_throttles(evidence: Evidence, labels: Sequence[Label], sprinkle: str | None) -> Verdict:
    """Return `none` if the evidence of a direction would show throttles, else `undetermined`."""
    arranged = timeline(evidence)
    by_client, by_cloudwatch = _client_says(evidence), _cloudwatch_says(arranged, evidence)
    if sprinkle is None and (no_model := without_a_model(evidence, by_client)):
        return no_model
    directions = _directions(evidence, labels)
    clean = [side for side in directions if side.constraint == "none"]
    sides = () if by_client and by_cloudwatch else tuple(side.said for side in directions)
    because = tuple(filter(None, (sprinkle, by_client, by_cloudwatch, *sides)))
    if not clean and sprinkle is None:
        lacking = "No throttles were seen, but the evidence is too incomplete to exclude them."
        if any(line.endswith(NO_DIRECTION) for line in evidence.missing):
            lacking = ONLY_UNDIRECTED
        return Verdict(
            constraint="undetermined", grade="none", confidence=0, valid=False, because=(lacking, *sides)
        )
    confidence = WHOLLY if by_client and by_cloudwatch else BY_ONE_SIDE
    return Verdict(constraint="none", grade="none", confidence=confidence, valid=True, because=because)


def with_directions(
    result: Verdict, labels: Sequence[Label], evidence: Evidence, counted: str = "throttle"
) -> Verdict:
    """Add what each direction showed, and mention the direction that did not dominate."""
    directions = _directions(evidence, labels, counted)
    beside = [side.said for side in directions if result.direction not in (None, side.direction)]
    return result.model_copy(update={"directions": directions, "because": (*result.because, *beside)})


def _directions(
    evidence: Evidence, labels: Sequence[Label] = (), counted: str = "throttle"
) -> tuple[DirectionVerdict, ...]:
    return tuple(_direction(direction, evidence, labels, counted) for direction in Direction)


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
    cells = _cells(arranged, evidence)
    lacking = [track for track in tracks if cells is None or not _complete(track, cells)]
    if not lacking:
        cell_count = some(len(cells or ()), arranged.tracks[0].cell_name)
        message = f"{name}: CloudWatch published {cell_count}, and counts no throttled {direction}."
        return DirectionVerdict(direction=direction, constraint="none", said=message)
    where = " and ".join(whose(track.resource) for track in lacking)
    lack = "minutes CloudWatch did not publish or were not collected"
    if all(track.events is None and track.consumed for track in lacking):
        lack = "throttle events were not collected"
    message = f"{name}: unknown for {where}, whose {lack}."
    return DirectionVerdict(direction=direction, constraint="undetermined", said=message)


def _complete(track: EvidenceTrack, cells: range) -> bool:
    """Whether consumption has every minute, and throttle events were collected."""
    return (
        track.events is not None
        and track.consumed is not None
        and all(cell in track.consumed for cell in cells)
    )


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
    cells = _cells(arranged, evidence)
    if cells is None:
        return None
    if not all(_complete(track, cells) for track in arranged.tracks):
        return None
    consumed = " and ".join(f"{whole(_units(arranged, d))} {UNITS[d]}" for d in Direction)
    minutes = some(len(cells), arranged.tracks[0].cell_name)
    return f"CloudWatch published the whole time, {minutes}: the table consumed {consumed}."


def _cells(arranged: EvidenceTimeline, evidence: Evidence) -> range | None:
    """Return the cells of the window; None if CloudWatch does not keep that many."""
    window, step_s = evidence.window, arranged.step_s
    start_s = int(window.start.timestamp() // step_s) * step_s
    cells = range(start_s, int(window.end.timestamp()), step_s)
    return cells if len(cells) <= MOST_CELLS else None


def _units(arranged: EvidenceTimeline, direction: Direction) -> float:
    track = arranged.track(None, direction)
    return sum((track.consumed or {}).values()) if track else 0.0
