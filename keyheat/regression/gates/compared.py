"""The runs of one case before and after, and the gate that they are held against."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from keyheat.analysis.measures.catalogue import MEASURES, Measure
from keyheat.analysis.summary import RunSummary
from keyheat.numbers import some
from keyheat.regression.finding import Decision, Finding, Gate


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Only valid runs: one that says nothing about its table is left out, and counted in `left_out`."""

    case: str
    gate: Gate
    before: tuple[RunSummary, ...]
    after: tuple[RunSummary, ...]
    left_out: tuple[int, int] = (0, 0)

    @classmethod
    def of(
        cls, case: str, gate: Gate, before: Sequence[RunSummary], after: Sequence[RunSummary], *, paired: bool
    ) -> "Compared":
        """The valid runs of each side; of a pair that is not valid as a whole, neither run.

        Raises ValueError where paired runs are not as many before as after.
        """
        if paired and len(before) != len(after):
            raise ValueError(f"{case}: paired runs, but {len(before)} before and {len(after)} after")
        whole = [(one, two) for one, two in zip(before, after, strict=False) if one.valid and two.valid]
        kept = [one for one, _ in whole] if paired else [run for run in before if run.valid]
        held = [two for _, two in whole] if paired else [run for run in after if run.valid]
        left_out = (len(before) - len(kept), len(after) - len(held))
        return cls(case=case, gate=gate, before=tuple(kept), after=tuple(held), left_out=left_out)

    @property
    def measure(self) -> Measure:
        return MEASURES[self.gate.measure]

    @property
    def repetitions(self) -> tuple[int, int]:
        return len(self.before), len(self.after)

    @property
    def simulated(self) -> bool:
        """Whether nothing but the scenario and its seed decides what comes out."""
        return all(run.setup.target == "simulated" for run in (*self.before, *self.after))

    def finding(self, decision: Decision, because: str, **numbers: Any) -> Finding:
        """The finding with these words, and how many runs were not counted."""
        return Finding(
            case=self.case,
            gate=self.gate,
            decision=decision,
            because=because + self._left_out(),
            repetitions=numbers.pop("repetitions", self.repetitions),
            before=numbers.pop("before", None),
            after=numbers.pop("after", None),
            **numbers,
        )

    def missing(self, **numbers: Any) -> Finding | None:
        """The finding of a side without any valid run; None where both have one."""
        lacking = [side for side, runs in (("before", self.before), ("after", self.after)) if not runs]
        if not lacking:
            return None
        return self.finding("missing", f"There is no valid run {' and none '.join(lacking)}", **numbers)

    def _left_out(self) -> str:
        said = [
            f"{some(count, 'run')} {side}"
            for count, side in zip(self.left_out, ("before", "after"), strict=True)
            if count
        ]
        return f"; left out as not valid: {' and '.join(said)}." if said else "."
