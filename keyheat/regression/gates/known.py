"""What each run says of a measure: a number, or that there can be none, which may say more than a number.

A run that never throttled stands above any number of seconds before the first throttle, and one that never
recovered stands below any. `measures.catalogue.ABSENCES` says which reasons stand where; of all
others nobody knows anything, and such a run says nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite
from statistics import fmean, median

from keyheat.analysis.measures.catalogue import ABSENCES, Absence, Measure
from keyheat.analysis.summary import RunSummary
from keyheat.regression.gates.compared import Compared

COUNTED_WHOLE = "s"  # the unit of measures that are whole seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A number; it is infinite where the reason why there is none stands above or below all numbers."""

    number: float
    seed: int | None = None
    why: Absence | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """What the runs before and after say, as far as they say anything; `why` others say nothing."""

    before: Sequence[Known]
    after: Sequence[Known]
    why: Sequence[Absence]


def sides(compared: Compared, *, paired: bool = False) -> Sides:
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


def shown(side: Sequence[Known]) -> float | str:
    """The median of the numbers; where most runs have none, why."""
    finite = [run.number for run in side if isfinite(run.number)]
    if 2 * len(finite) >= len(side):
        return median(finite)
    return next(in_words(run.why) for run in side if run.why)


def raised(measure: Measure, side: Sequence[Known]) -> list[float]:
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


def _known(measure: Measure, run: RunSummary) -> Known | None:
    if (number := run.measures.get(measure.name)) is not None:
        return Known(number=number, seed=run.seed)
    why = run.absent.get(measure.name)
    stands = ABSENCES[why].than_any if why else None
    if stands is None or measure.better == "same":
        return None
    return Known(
        number=inf if (stands == "better") == (measure.better == "higher") else -inf, seed=run.seed, why=why
    )
