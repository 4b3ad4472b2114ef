"""What came of one gate: the measure, before and after, and whether that is a change."""

from dataclasses import dataclass
from typing import Literal

Decision = Literal["same", "better", "worse", "undecided", "missing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One thing that a suite holds on to, for one case.

    `measure` is the name of one in the catalogue of measures, or `labels` (the set of constraints that were
    seen). `least_effect` is the smallest relative change that anybody cares for (0.05: five percent); an
    exact gate has 0.
    """

    measure: str
    least_effect: float = 0.0
    confidence: float = 0.99  # of the interval by which a statistical gate decides


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a gate found for one case. `change` and its interval are relative: -0.1 is ten percent less.

    `missing`: one side has no such number, which is a failure of an exact gate and never counts as the same.
    """

    case: str
    gate: Gate
    decision: Decision
    before: float | str | None
    after: float | str | None
    because: str  # one sentence with the numbers
    change: float | None = None
    low: float | None = None
    high: float | None = None
    repetitions: tuple[int, int] = (1, 1)  # before, after

    @property
    def failed(self) -> bool:
        """Whether this is a regression, or the lack of what would show one."""
        return self.decision in ("worse", "missing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing in which the setups of baseline and candidate differ, so that they cannot be compared."""

    case: str
    what: str  # machine, table.provisioned.write, scenario, target, scale ...
    before: str
    after: str
