"""The run in one label: the constraint that dominates by throttles, or why there is none to name."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from keyheat.analysis.blind_spans import with_blind_spans
from keyheat.analysis.rules import WHOSE
from keyheat.analysis.thresholds import Thresholds
from keyheat.analysis.timeline import EvidenceTimeline, EvidenceTrack, timeline
from keyheat.numbers import UNITS, percent, some, whole
from keyheat.runs.client import ClientFiles
from keyheat.runs.endpoints import FOREIGN_UNITS, without_a_model
from keyheat.runs.formats import DirectionVerdict, Evidence, GeneratorFacts, Label, Verdict
from keyheat.runs.metrics import (
    OPERATIONS,
    REPLICATED,
    REPLICATION_LATENCY,
    THROTTLED_REQUESTS,
    consumed,
)
from keyheat.words import Constraint, Direction, has_capacity_model, index_of, whose

WHOLLY, BY_ONE_SIDE = 0.97, 0.9  # confidence that nothing throttled: both sides say so, or one of them
MOST_CELLS = 1_000_000  # nearly two years of minutes, more than CloudWatch keeps
REFUSED: Final[dict[Constraint, str]] = {
    "partition": "refused for a partition's limit",
    "table": "refused because its provisioned throughput was used up",
    "max_on_demand": "refused because its on-demand maximum was reached",
    "account": "refused because the account's quota for one table was reached",
    "undetermined": "refused for a limit that the evidence does not tell",
}
LARGE_UNITS = 10.0  # units of one request, where nobody counted requests: few are larger
LEAST_UNSTATED = 0.01  # part of the throttles from which those are named of which nobody says the limit
NOTABLE = 0.2  # share of the dominating throttles from which another constraint is named, too


@dataclass(frozen=True, slots=True)
class LabelGroup:
    """All labels of one constraint on one resource and direction."""

    constraint: Constraint
    resource: str
    direction: Direction
    labels: tuple[Label, ...]

    @property
    def throttles(self) -> int:
        return sum(label.throttles for label in self.labels)

    @property
    def said(self) -> str:
        """What its throttles were, in words that follow their number."""
        one, way = self.throttles == 1, "to" if self.direction == "write" else "of"
        what = f"a {self.direction}" if one else f"{self.direction}s"
        what = f"{what} {way} {whose(self.resource)}"
        if self.heaviest.rule == WHOSE:
            what = f"counted for {what}, and what refused {'it' if one else 'them'} is not known"
        else:
            what = f"{what}, {REFUSED[self.constraint]}"
        return f"{'was' if one else 'were'} {what}."

    @property
    def heaviest(self) -> Label:
        return max(self.labels, key=lambda label: label.throttles)

    @property
    def confidence(self) -> float:
        """Of its labels, by their throttles."""
        total = max(1, self.throttles)
        return min(1.0, sum(label.confidence * label.throttles / total for label in self.labels))


def groups(labels: Sequence[Label]) -> tuple[LabelGroup, ...]:
    """Labels by constraint, resource and direction; the one with most throttles first."""
    found: defaultdict[tuple[Constraint, str, Direction], list[Label]] = defaultdict(list)
    for label in labels:
        found[label.constraint, label.resource, label.direction].append(label)
    made = [LabelGroup(*key, tuple(own)) for key, own in found.items()]
    return tuple(sorted(made, key=lambda group: -group.throttles))


def verdict(
    labels: Sequence[Label],
    evidence: Evidence,
    *,
    client: ClientFiles | None,
    generator: GeneratorFacts,
    numbers: Thresholds,
) -> Verdict:
    """What dominated. Not valid where the generator was the limit or the evidence does not decide."""
    found = groups(labels)
    sprinkle = _sprinkle(found, evidence, numbers)
    unstated = _unstated(found, client)
    counted = "labelled throttle" if unstated else "throttle"
    if not found or sprinkle:
        made = _without_throttles(evidence, labels, sprinkle)
    else:
        made = _of_groups(found, counted)
    made = with_directions(made, labels, evidence, counted)
    if unstated:
        made = made.model_copy(update={"because": (*made.because, unstated)})
    if elsewhere := throttled_elsewhere(evidence):
        said = f"CloudWatch counts {some(sum(elsewhere.values()), 'throttled request')} of "
        said += f"{' and '.join(elsewhere)}: no reads or writes of the table (GetRecords reads its stream)."
        made = made.model_copy(update={"because": (*made.because, said)})
    if found and not has_capacity_model(evidence.endpoint):
        made = made.model_copy(update={"because": (*made.because, FOREIGN_UNITS)})
    made = with_blind_spans(made, evidence, client, numbers.failures)
    return _with_generator(made, generator) if generator.bound else made


def _with_generator(made: Verdict, generator: GeneratorFacts) -> Verdict:
    """The verdict of a run whose generator was the limit: throttles that DynamoDB names stay what they are.

    "No throttles" may be for lack of demand, and what is inferred rests on when requests were sent.
    """
    if generator.shortfall and made.grade in ("reason", "cause_metric"):
        return made.model_copy(update={"because": (generator.shortfall, *made.because)})
    confession = (
        "The load generator was the limit: this says something about the generator, not about the table."
    )
    return made.model_copy(update={"valid": False, "because": (confession, *generator.checks, *made.because)})


def throttled_elsewhere(evidence: Evidence) -> dict[str, int]:
    """Throttled requests by operation, of those that neither read nor write the table, such as GetRecords."""
    found = Counter[str]()
    for one in evidence.series:
        if one.metric == THROTTLED_REQUESTS and one.operation and one.operation not in OPERATIONS:
            found[one.operation] += round(sum(value for _at, value in one.points))
    return dict(+found)


def with_company(made: Verdict, client: ClientFiles | None) -> Verdict:
    """The verdict, which begins with the runs that loaded the same tables meanwhile, if there were any."""
    said = client.manifest.company if client and client.manifest else None
    return made if said is None else made.model_copy(update={"because": (said, *made.because)})


def with_replicas(made: Verdict, evidence: Evidence) -> Verdict:
    """The verdict of a global table, which says what part of it that is, and what came in from the others.

    Source: `ReplicationLatency`, and the write units with `Source=GlobalTable`:
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html
    """
    table = evidence.table
    if not table.replicas:
        return made
    where = f"in {table.region}, " if table.region else "in one Region, "
    said = [f"It is a global table: this is of its part {where}and not of that in {_listed(table.replicas)}."]
    units = consumed(Direction.WRITE)
    copied, all_units = _sum(evidence, units, REPLICATED), evidence.total(units)
    if copied is not None and all_units:
        said.append(f"{percent(copied / all_units)} of its write units were writes of the other Regions.")
    late = [
        (max(value for _at, value in one.points), one.dimension.partition("=")[2])
        for one in evidence.series
        if one.metric == REPLICATION_LATENCY and one.dimension and one.points
    ]
    if late:
        worst_ms, region = max(late)
        said.append(f"Copies to {region} took {whole(worst_ms)} ms in the mean of the slowest 5 minutes.")
    return made.model_copy(update={"because": (*made.because, *said)})


def _listed(names: Sequence[str]) -> str:
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]


def _sum(evidence: Evidence, metric: str, dimension: str) -> float | None:
    """A series of the table with one more dimension added up; None where it has no points."""
    for one in evidence.series:
        if (one.metric, one.index, one.dimension) == (metric, None, dimension) and one.points:
            return sum(value for _at, value in one.points)
    return None


def _unstated(found: Sequence[LabelGroup], client: ClientFiles | None) -> str | None:
    """That more attempts were throttled than labels have: of a part of a request nobody says why."""
    totals = client.manifest.totals if client and client.manifest else None
    more = totals.throttled - sum(group.throttles for group in found) if totals and found else 0
    if totals is None or more < LEAST_UNSTATED * totals.throttled or not more:
        return None
    return (
        f"{more:,} more throttled attempts were parts of batches or transactions, whose answers do not say "
        "which limit refused them."
    )


def _of_groups(found: Sequence[LabelGroup], counted: str) -> Verdict:
    first, *others = found
    total = sum(group.throttles for group in found)
    also = [
        line
        for group in others
        if group.throttles >= NOTABLE * first.throttles
        for line in (f"Beside them, {group.throttles:,} {group.said}", *group.heaviest.because)
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
        because=(_share_of(first, total, counted), *first.heaviest.because, *also),
    )


def _share_of(group: LabelGroup, total: int, counted: str) -> str:
    """What the throttles of the heaviest labels are a share of: of those that have a label, `counted` so."""
    if group.throttles < total:
        share = percent(group.throttles / total)
        return f"{group.throttles:,} of {total:,} {counted}s ({share}) {group.said}"
    return f"All {total:,} {counted}s {group.said}" if total > 1 else f"The only {counted} {group.said}"


def _sprinkle(found: Sequence[LabelGroup], evidence: Evidence, numbers: Thresholds) -> str | None:
    """Throttles that are few, rare wherever they were, and of no stated cause, in words; else None."""
    throttles = sum(group.throttles for group in found)
    if not throttles or throttles > numbers.noise.throttles:
        return None
    if any(label.grade == "reason" for group in found for label in group.labels):
        return None  # DynamoDB said why
    of_whose: Counter[Whose] = Counter()
    for group in found:
        of_whose[group.resource, group.direction] += group.throttles
    attempts = {one: _attempts(one, evidence) for one in of_whose}
    known = {one: count for one, count in attempts.items() if count is not None}
    if len(known) < len(of_whose) or any(
        of_whose[one] > numbers.noise.share * max(count, of_whose[one]) for one, count in known.items()
    ):
        return None
    few = f"more than {numbers.noise.throttles:,} throttles or {percent(numbers.noise.share)} of the attempts"
    share = percent(throttles / sum(max(count, of_whose[one]) for one, count in known.items()))
    where = "" if len(of_whose) > 1 else f" on {whose(found[0].resource)}"
    return (
        f"{some(throttles, 'throttle')}, {share} of all attempts{where}: a sprinkle. A verdict takes {few}."
    )


Whose = tuple[str, Direction]
"""A resource, `table` or the name of an index, and a direction."""


def _attempts(one: Whose, evidence: Evidence) -> float | None:
    """Attempts on a resource in a direction, by the client or by units; None where neither tells."""
    resource, direction = one
    index = index_of(resource)
    rows = [row for row in evidence.seconds or () if (row.index, row.direction) == (index, direction)]
    counted = sum(row.attempts for row in rows)
    if counted:
        return counted
    track = timeline(evidence).track(index, direction)
    if track is None or track.consumed is None:
        return None
    # CloudWatch counts units, so that requests are taken to be large.
    return sum(track.consumed.values()) / LARGE_UNITS


def _without_throttles(evidence: Evidence, labels: Sequence[Label], sprinkle: str | None) -> Verdict:
    """`none` where the evidence of a direction would have shown throttles, else `undetermined`."""
    arranged = timeline(evidence)
    by_client, by_cloudwatch = _client_says(evidence), _cloudwatch_says(arranged, evidence)
    if sprinkle is None and (made := without_a_model(evidence, by_client)):
        return made
    directions = _directions(evidence, labels)
    clean = [one for one in directions if one.constraint == "none"]
    said = () if by_client and by_cloudwatch else tuple(one.said for one in directions)
    because = tuple(said for said in (sprinkle, by_client, by_cloudwatch, *said) if said)
    if not clean and sprinkle is None:
        lacking = (
            "No throttles were seen, but the evidence is not complete enough to say that there were none."
        )
        return Verdict(
            constraint="undetermined", grade="none", confidence=0, valid=False, because=(lacking, *said)
        )
    confidence = WHOLLY if by_client and by_cloudwatch else BY_ONE_SIDE
    return Verdict(constraint="none", grade="none", confidence=confidence, valid=True, because=because)


def with_directions(
    made: Verdict, labels: Sequence[Label], evidence: Evidence, counted: str = "throttle"
) -> Verdict:
    """The verdict with what was looked at in each direction; of the other one it says so, too."""
    directions = _directions(evidence, labels, counted)
    beside = [one.said for one in directions if made.direction not in (None, one.direction)]
    return made.model_copy(update={"directions": directions, "because": (*made.because, *beside)})


def _directions(
    evidence: Evidence, labels: Sequence[Label] = (), counted: str = "throttle"
) -> tuple[DirectionVerdict, ...]:
    return tuple(_direction(direction, evidence, labels, counted) for direction in Direction)


def _direction(
    direction: Direction, evidence: Evidence, labels: Sequence[Label], counted: str
) -> DirectionVerdict:
    """What is known of one direction: what another lacks is no veto, and what nobody asked is not zero."""
    name = f"{direction.title()}s"
    own = groups([label for label in labels if label.direction == direction])
    if own:
        throttles = sum(group.throttles for group in own)
        most = "" if throttles == 1 else "most of them "
        said = f"{name}: {some(throttles, counted)}, {most}{REFUSED[own[0].constraint]}."
        return DirectionVerdict(direction=direction, constraint=own[0].constraint, said=said)
    attempts = sum(row.attempts for row in evidence.seconds or () if row.direction == direction)
    if attempts:
        said = f"{name}: none of the client's {some(attempts, 'attempt')} throttled."
        return DirectionVerdict(direction=direction, constraint="none", said=said)
    arranged = timeline(evidence)
    tracks = [track for track in arranged.tracks if track.direction == direction]
    if all(track.consumed is None and track.events is None for track in tracks):
        return DirectionVerdict(direction=direction, constraint=None, said=f"{name}: not asked.")
    cells = _cells(arranged, evidence)
    lacking = [track for track in tracks if cells is None or not _complete(track, cells)]
    if not lacking:
        known = some(len(cells or ()), arranged.tracks[0].cell_name)
        said = f"{name}: CloudWatch published {known}, and counts no throttled {direction}."
        return DirectionVerdict(direction=direction, constraint="none", said=said)
    where = " and ".join(whose(track.resource) for track in lacking)
    said = f"{name}: not known of {where}, whose minutes CloudWatch did not publish, or was not asked for."
    return DirectionVerdict(direction=direction, constraint="undetermined", said=said)


def _complete(track: EvidenceTrack, cells: range) -> bool:
    """Whether every minute of consumption is there, and throttle events were asked for."""
    return (
        track.events is not None
        and track.consumed is not None
        and all(cell in track.consumed for cell in cells)
    )


def _client_says(evidence: Evidence) -> str | None:
    """That the client's own record is there and shows traffic."""
    rows = [row for row in evidence.seconds or () if row.index is None]
    attempts = sum(row.attempts for row in rows)
    if not attempts:
        return None
    throttled = sum(row.throttled for row in rows)
    fate = f"{throttled:,} of them throttled" if throttled else "none of them throttled"
    seconds = len({row.second for row in rows if row.attempts})
    return f"The client recorded {some(attempts, 'attempt')} in {some(seconds, 'second')}, {fate}."


def _cloudwatch_says(arranged: EvidenceTimeline, evidence: Evidence) -> str | None:
    """That CloudWatch published every minute of the table and of each index, and counts no throttles."""
    cells = _cells(arranged, evidence)
    if cells is None:
        return None
    if not all(_complete(track, cells) for track in arranged.tracks):
        return None
    consumed = " and ".join(f"{whole(_units(arranged, d))} {UNITS[d]}" for d in Direction)
    known = some(len(cells), arranged.tracks[0].cell_name)
    return f"CloudWatch published the whole time, {known}: the table consumed {consumed}."


def _cells(arranged: EvidenceTimeline, evidence: Evidence) -> range | None:
    """The cells of the window; None where there are more than any answer can have."""
    window, step_s = evidence.window, arranged.step_s
    start_s = int(window.start.timestamp() // step_s) * step_s
    cells = range(start_s, int(window.end.timestamp()), step_s)
    return cells if len(cells) <= MOST_CELLS else None


def _units(arranged: EvidenceTimeline, direction: Direction) -> float:
    track = arranged.track(None, direction)
    return sum((track.consumed or {}).values()) if track else 0.0
