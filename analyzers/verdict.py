"""The run in one label: the constraint that dominates by throttles, or why there is none to name."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from analyzers import metrics
from analyzers.checks import throttle_share
from analyzers.client import ClientFiles
from analyzers.formats import Constraint, Direction, Evidence, GeneratorFacts, Label, Verdict
from analyzers.thresholds import Thresholds
from analyzers.timeline import Timeline, timeline

WHOLLY, BY_ONE_SIDE = 0.97, 0.9  # confidence that nothing throttled: both sides say so, or one of them
MOST_CELLS = 1_000_000  # nearly two years of minutes, more than CloudWatch keeps
HELD_BY: Final[dict[Constraint, str]] = {
    "partition": "a partition's ceiling on",
    "table": "the provisioned throughput of",
    "max_on_demand": "the on-demand maximum of",
    "account": "the account's quota for",
    "undetermined": "a limit that the evidence does not tell, of",
}
NOTABLE = 0.2  # share of the dominating throttles from which another constraint is named, too


@dataclass(frozen=True, slots=True)
class Group:
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
        """What held its throttles back, in words."""
        whose = "the table" if self.resource == "table" else f"index {self.resource}"
        return f"{self.direction}s held back by {HELD_BY[self.constraint]} {whose}"

    @property
    def heaviest(self) -> Label:
        return max(self.labels, key=lambda label: label.throttles)

    @property
    def confidence(self) -> float:
        """Of its labels, by their throttles."""
        total = max(1, self.throttles)
        return min(1.0, sum(label.confidence * label.throttles / total for label in self.labels))


def groups(labels: Sequence[Label]) -> tuple[Group, ...]:
    """Labels by constraint, resource and direction; the one with most throttles first."""
    found: defaultdict[tuple[Constraint, str, Direction], list[Label]] = defaultdict(list)
    for label in labels:
        found[label.constraint, label.resource, label.direction].append(label)
    made = [Group(*key, tuple(own)) for key, own in found.items()]
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
    confession = (
        "the load generator was the limit: this says something about the generator, not about the table",
    )
    if generator.bound:
        return made.model_copy(
            update={"valid": False, "because": confession + generator.checks + made.because}
        )
    return made


def _of_groups(found: Sequence[Group]) -> Verdict:
    first, *others = found
    total = sum(group.throttles for group in found)
    rest = [f"{g.throttles:,} {g.said}" for g in others if g.throttles >= NOTABLE * first.throttles]
    share = f"{first.throttles:,} of {total:,} throttles ({first.throttles / max(1, total):.0%})"
    said = f"{share} are {first.said}"
    also = (f"beside them {' and '.join(rest)}",) if rest else ()
    return Verdict(
        constraint=first.constraint,
        resource=first.resource,
        direction=first.direction,
        grade=first.heaviest.grade,
        confidence=round(first.confidence, 3),
        valid=first.constraint != "undetermined",
        because=(said, *first.heaviest.because, *also),
    )


def _sprinkle(
    found: Sequence[Group], evidence: Evidence, client: ClientFiles | None, numbers: Thresholds
) -> str | None:
    """Throttles that are both few and rare, in words; None where there are none or more than that."""
    throttles = sum(group.throttles for group in found)
    share = throttle_share(evidence, client)
    if not throttles or share is None or throttles > numbers.noise.throttles or share > numbers.noise.share:
        return None
    return (
        f"{throttles:,} throttled attempts are {share:.3%} of all, a sprinkle below {numbers.noise.share:.2%}"
    )


def _without_throttles(evidence: Evidence, sprinkle: str | None) -> Verdict:
    """`none` where the evidence would have shown throttles, else `undetermined`."""
    arranged = timeline(evidence)
    by_client, by_cloudwatch = _client_says(evidence), _cloudwatch_says(arranged, evidence)
    because = tuple(said for said in (sprinkle, by_client, by_cloudwatch) if said)
    if not because:
        lacking = (
            "no throttles were seen, but the evidence is not complete enough to say that there were none",
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
    return f"{attempts:,} attempts of the client in {len(rows):,} recorded seconds, {throttled:,} throttled"


def _cloudwatch_says(arranged: Timeline, evidence: Evidence) -> str | None:
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
    units = {d: _units(arranged, d) for d in metrics.DIRECTIONS}
    consumed = " and ".join(f"{total:,.0f} {direction} units" for direction, total in units.items())
    return f"CloudWatch published all {len(cells):,} minutes, with {consumed} consumed by the table"


def _cells(arranged: Timeline, evidence: Evidence) -> range | None:
    """The cells of the window; None where there are more than any answer can have."""
    window, step_s = evidence.window, arranged.step_s
    start_s = int(window.start.timestamp() // step_s) * step_s
    cells = range(start_s, int(window.end.timestamp()), step_s)
    return cells if len(cells) <= MOST_CELLS else None


def _units(arranged: Timeline, direction: Direction) -> float:
    track = arranged.track(None, direction)
    return sum((track.consumed or {}).values()) if track else 0.0
