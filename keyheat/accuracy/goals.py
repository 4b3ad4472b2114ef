"""What the labels have to reach with each grade of evidence, and what was missed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from keyheat.accuracy.grades import Best
from keyheat.accuracy.tally import Score, Share


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A share that must be reached: of right answers among all, of right among decided, or of decided."""

    best: Best
    of: Literal["right", "of_decided", "decided"]
    at_least: float

    def share(self, score: Score) -> Share:
        """The share of a score that the goal speaks of."""
        found: Share = getattr(score, self.of)
        return found

    @property
    def name(self) -> str:
        """The goal in words."""
        what = {
            "right": "of the throttled spans right",
            "of_decided": "of the decided spans right",
            "decided": "of the throttled spans decided",
        }
        return f"{self.best}: {self.at_least * 100:g} % {what[self.of]}"


GOALS: Final = (
    Goal(best="reasons", of="right", at_least=0.995),
    Goal(best="causes", of="right", at_least=0.995),
    Goal(best="seconds", of="right", at_least=0.97),
    Goal(best="minutes", of="of_decided", at_least=0.90),
    Goal(best="minutes", of="decided", at_least=0.80),
)


def missed(scores: Sequence[Score]) -> Iterator[str]:
    """The goals that were not reached, in words; a share of nothing reaches no goal."""
    by_best = {score.best: score for score in scores}
    for goal in GOALS:
        share = goal.share(by_best[goal.best])
        if share.value is None:
            yield f"{goal.name}; there were none to count"
        elif share.value < goal.at_least:
            yield f"{goal.name}; it is {share.value * 100:.2f} % ({share.part:,} of {share.whole:,})"
