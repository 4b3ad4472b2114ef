"""The run in one label: the constraint that dominates by throttles, or why there is none to name."""

from collections import defaultdict
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Final

from keyheat.analysis.checks import error_share, throttle_share
from keyheat.analysis.thresholds import Failures, Thresholds
from keyheat.analysis.timeline import EvidenceTimeline, timeline
from keyheat.numbers import UNITS, percent, some, whole
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import Evidence, GeneratorFacts, Label, Verdict
from keyheat.runs.provability import unreliable, without_a_model
from keyheat.words import Constraint, Direction, whose

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
        what = f"was a {self.direction}" if one else f"were {self.direction}s"
        return f"{what} {way} {whose(self.resource)}, {REFUSED[self.constraint]}."

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
    sprinkle = _sprinkle(found, evidence, client, numbers)
    made = _without_throttles(evidence, sprinkle) if not found or sprinkle else _of_groups(found)
    if doubt := unreliable(evidence):
        made = made.model_copy(update={"because": (*made.because, doubt)})
    confession = (
        "The load generator was the limit: this says something about the generator, not about the table.",
    )
    if generator.bound:
        return made.model_copy(
            update={"valid": False, "because": confession + generator.checks + made.because}
        )
    return _with_failures(made, error_share(client), numbers.failures)


def _with_failures(made: Verdict, share: float | None, numbers: Failures) -> Verdict:
    """The verdict beside the attempts that never met the table's limits; too many of them make it invalid."""
    if share is None or share < numbers.mention_share:
        return made
    failed = f"{percent(share)} of all attempts failed for another reason than a throttle"
    if share < numbers.invalid_share:
        return made.model_copy(update={"because": (*made.because, f"{failed}.")})
    said = f"{failed}: too little of this run met the table to judge it."
    return made.model_copy(update={"valid": False, "because": (said, *made.because)})


def with_company(made: Verdict, client: ClientFiles | None) -> Verdict:
    """The verdict, which begins with the runs that loaded the same tables meanwhile, if there were any."""
    said = client.manifest.company if client and client.manifest else None
    return made if said is None else made.model_copy(update={"because": (said, *made.because)})


def _of_groups(found: Sequence[LabelGroup]) -> Verdict:
    first, *others = found
    total = sum(group.throttles for group in found)
    also = tuple(
        f"Beside them, {group.throttles:,} {group.said}"
        for group in others
        if group.throttles >= NOTABLE * first.throttles
    )
    return Verdict(
        constraint=first.constraint,
        resource=first.resource,
        direction=first.direction,
        grade=first.heaviest.grade,
        confidence=round(first.confidence, 3),
        valid=first.constraint != "undetermined",
        rivals=first.heaviest.rivals,
        settled_by=first.heaviest.settled_by,
        because=(_share_of(first, total), *first.heaviest.because, *also),
    )


def _share_of(group: LabelGroup, total: int) -> str:
    if group.throttles < total:
        share = percent(group.throttles / total)
        return f"{group.throttles:,} of {total:,} throttles ({share}) {group.said}"
    return f"All {total:,} throttles {group.said}" if total > 1 else f"The only throttle {group.said}"


def _sprinkle(
    found: Sequence[LabelGroup], evidence: Evidence, client: ClientFiles | None, numbers: Thresholds
) -> str | None:
    """Throttles that are both few and rare, in words; None where there are none or more than that."""
    throttles = sum(group.throttles for group in found)
    share = throttle_share(evidence, client)
    if share is None:
        share = _share_by_units(throttles, {group.direction for group in found}, evidence)
    if not throttles or share is None or throttles > numbers.noise.throttles or share > numbers.noise.share:
        return None
    few = f"more than {numbers.noise.throttles:,} throttles or {percent(numbers.noise.share)} of the attempts"
    return (
        f"{some(throttles, 'throttle')}, {percent(share)} of all attempts: a sprinkle. A verdict takes {few}."
    )


def _share_by_units(throttles: int, throttled: Set[Direction], evidence: Evidence) -> float | None:
    """Throttles per request as CloudWatch alone tells: it counts units, so requests are taken to be large.

    None where what was consumed in a throttled direction is not known.
    """
    arranged = timeline(evidence)
    tables = [track for track in arranged.tracks if track.index is None]
    if any(track.consumed is None for track in tables if track.direction in throttled):
        return None
    units = sum(_units(arranged, direction) for direction in Direction)
    return throttles / (throttles + units / LARGE_UNITS) if units else None


def _without_throttles(evidence: Evidence, sprinkle: str | None) -> Verdict:
    """`none` where the evidence would have shown throttles, else `undetermined`."""
    arranged = timeline(evidence)
    by_client, by_cloudwatch = _client_says(evidence), _cloudwatch_says(arranged, evidence)
    if sprinkle is None and (made := without_a_model(evidence, by_client)):
        return made
    because = tuple(said for said in (sprinkle, by_client, by_cloudwatch) if said)
    if not because:
        lacking = (
            "No throttles were seen, but the evidence is not complete enough to say that there were none.",
        )
        return Verdict(constraint="undetermined", grade="none", confidence=0, valid=False, because=lacking)
    confidence = WHOLLY if by_client and by_cloudwatch else BY_ONE_SIDE
    return Verdict(constraint="none", grade="none", confidence=confidence, valid=True, because=because)


def _client_says(evidence: Evidence) -> str | None:
    """That the client's own record is there and shows traffic."""
    rows = [row for row in evidence.seconds or () if row.index is None]
    attempts = sum(row.attempts for row in rows)
    if not attempts:
        return None
    throttled = sum(row.throttled for row in rows)
    fate = f"{throttled:,} of them throttled" if throttled else "none of them throttled"
    return f"The client recorded {some(attempts, 'attempt')} in {some(len(rows), 'second')}, {fate}."


def _cloudwatch_says(arranged: EvidenceTimeline, evidence: Evidence) -> str | None:
    """That CloudWatch published every minute of the table and of each index, and counts no throttles."""
    cells = _cells(arranged, evidence)
    if cells is None:
        return None
    for track in arranged.tracks:
        if (
            track.events is None
            or track.consumed is None
            or not all(cell in track.consumed for cell in cells)
        ):
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
