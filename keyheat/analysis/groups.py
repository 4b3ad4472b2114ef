"""Labels of one limit together, and which of these limits are still to be cured."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from keyheat.analysis.rules import WHOSE
from keyheat.analysis.timeline import EvidenceTimeline
from keyheat.runs.formats import Label
from keyheat.words import Constraint, Direction, index_of, whose

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
    return tuple(group for group in by_limit if not _is_cured_by_raise(group, by_limit, arranged))


def _is_cured_by_raise(group: LabelGroup, by_limit: Sequence[LabelGroup], arranged: EvidenceTimeline) -> bool:
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
