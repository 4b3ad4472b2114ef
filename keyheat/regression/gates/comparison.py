"""The runs of one case before and after, the gate they are held against, and what each run says of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isclose, isfinite
from statistics import fmean, median
from typing import Any, Final

from keyheat.analysis.measures import ABSENCES, MEASURES, Absence, Measure
from keyheat.analysis.summary import RunSummary
from keyheat.numbers import some
from keyheat.regression.outcome import Decision, Gate, GateFinding


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseComparison:
    """Only valid runs: one that says nothing about its table is left out, and counted in `left_out`."""

    case: str
    gate: Gate
    before: tuple[RunSummary, ...]
    after: tuple[RunSummary, ...]
    left_out: tuple[int, int] = (0, 0)

    @classmethod
    def of(
        cls, case: str, gate: Gate, before: Sequence[RunSummary], after: Sequence[RunSummary], *, paired: bool
    ) -> "CaseComparison":
        """The valid runs of each side; of a pair that is not valid as a whole, neither run.

        Raises ValueError where paired runs are not as many before as after.
        """
        if paired and len(before) != len(after):
            raise ValueError(f"{case}: paired runs, but {len(before)} before and {len(after)} after")
        whole = [
            (one, two) for one, two in zip(before, after, strict=False) if one.comparable and two.comparable
        ]
        kept = [one for one, _ in whole] if paired else [run for run in before if run.comparable]
        held = [two for _, two in whole] if paired else [run for run in after if run.comparable]
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

    @property
    def repeats(self) -> bool:
        """Whether there is no noise in it: simulated, with a seed that was run on both sides."""
        seeds = [{run.seed for run in side} for side in (self.before, self.after)]
        return self.simulated and bool((seeds[0] & seeds[1]) - {None})

    def finding(self, decision: Decision, because: str, **numbers: Any) -> GateFinding:
        """The finding with these words, and how many runs were not counted."""
        return GateFinding(
            case=self.case,
            gate=self.gate,
            decision=decision,
            because=because + self._left_out(),
            repetitions=numbers.pop("repetitions", self.repetitions),
            before=numbers.pop("before", None),
            after=numbers.pop("after", None),
            **numbers,
        )

    def missing(self, **numbers: Any) -> GateFinding | None:
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


SAME: Final = 1e-9  # relative: sums of floats in another order
COUNTED_WHOLE = "s"  # the unit of measures that are whole seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownValue:
    """A number; it is infinite where the reason why there is none stands above or below all numbers."""

    number: float
    seed: int | None = None
    why: Absence | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """What the runs before and after say, as far as they say anything; `why` others say nothing."""

    before: Sequence[KnownValue]
    after: Sequence[KnownValue]
    why: Sequence[Absence]


def sides(compared: CaseComparison, *, paired: bool = False) -> Sides:
    """What is known before and after; of a pair, neither where one run says nothing."""
    before, after = (
        [_known(compared.measure, run) for run in runs] for runs in (compared.before, compared.after)
    )
    why = [run.absent.get(compared.gate.measure) for run in (*compared.before, *compared.after)]
    if paired:
        kept = [bool(one and two) for one, two in zip(before, after, strict=True)]
        before, after = (
            [run for run, keep in zip(side, kept, strict=True) if keep] for side in (before, after)
        )
    return Sides(
        before=[run for run in before if run],
        after=[run for run in after if run],
        why=[reason for reason in why if reason],
    )


def alike(runs: Sequence[KnownValue]) -> bool:
    """Whether all of them have the same number."""
    return all(isclose(run.number, runs[0].number, rel_tol=SAME) for run in runs)


def drawn(compared: CaseComparison) -> bool:
    """Whether a number without noise depends on what each seed draws, and no seed was run on both sides.

    Then it differs from run to run, as what is measured does.
    """
    measure = MEASURES.get(compared.gate.measure)  # labels are none
    if measure is None or measure.kind != "exact":
        return False
    known = sides(compared)
    before, after = ({run.seed for run in side} for side in (known.before, known.after))
    return (
        bool(before and after)
        and not before & after
        and len(before) == len(known.before)
        and len(after) == len(known.after)
        and not (alike(known.before) and alike(known.after))
    )


def shown(side: Sequence[KnownValue]) -> float | str:
    """The median of the numbers; where most runs have none, why."""
    finite = [run.number for run in side if isfinite(run.number)]
    if 2 * len(finite) >= len(side):
        return median(finite)
    return next(in_words(run.why) for run in side if run.why)


def raised(measure: Measure, side: Sequence[KnownValue]) -> list[float]:
    """The numbers of a side, none below the measure's floor: they have logarithms."""
    return [max(run.number, measure.floor) for run in side]


def least_spread(measure: Measure, numbers: Sequence[float]) -> float:
    """The relative spread that such numbers have at least: of whole seconds, half of one is not known."""
    return measure.floor / 2 / fmean(numbers) if measure.unit == COUNTED_WHOLE else 0.0


def in_words(why: Absence | None) -> str:
    """A reason in a word or two: no throttles."""
    return (why or "no number").replace("_", " ")


def reason(why: Sequence[Absence]) -> str:
    """Why runs say nothing, in a sentence's end; empty where no run says why."""
    return f": {ABSENCES[why[0]].says}" if why else ""


def _known(measure: Measure, run: RunSummary) -> KnownValue | None:
    if (number := run.measures.get(measure.name)) is not None:
        return KnownValue(number=number, seed=run.seed)
    why = run.absent.get(measure.name)
    stands = ABSENCES[why].than_any if why else None
    if stands is None or measure.better == "same":
        return None
    return KnownValue(
        number=inf if (stands == "better") == (measure.better == "higher") else -inf, seed=run.seed, why=why
    )
