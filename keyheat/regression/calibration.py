"""How much a suite's measures differ when nothing changed, and so how small a change it can tell here.

From repetitions of the same cases on the same setup (A/A runs). Noise is the coefficient of variation. False
alarms are counted by judging the runs against each other, split at random into two sides, as often as asked;
what can be told, and with how many repetitions, follows from the noise (`statistics.detectable`).
Exact measures have no noise and are not here.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import expm1, isfinite, log, sqrt
from random import Random
from statistics import median, stdev
from typing import Final

from pydantic import Field

from keyheat.analysis.summary import RunSummary
from keyheat.regression.gates.comparison import CaseComparison, in_words, least_spread, raised, reason, sides
from keyheat.regression.gates.judge import judge
from keyheat.regression.gates.statistical import is_tested
from keyheat.regression.intervals import (
    LEAST_RUNS,
    POWER,
    change_of,
    effect_of,
    runs_to_find,
    smallest_detectable,
)
from keyheat.regression.outcome import Gate
from keyheat.regression.suite_spec import statistical
from keyheat.validation import Part

RESAMPLES: Final = 400
LEAST_NUMBERS: Final = 4  # two on each side
SMALL, LARGE = 0.05, 0.10  # changes for which repetitions are counted

Gates = Mapping[str, Sequence[Gate]]
Runs = Mapping[str, Sequence[RunSummary]]


class MeasureNoise(Part):
    """One measure of one case: how it differs from run to run, and what that hides. Shares: 0.1 is 10 %."""

    case: str
    measure: str
    unit: str
    runs: int = Field(description="runs that have a number")
    typical: float | None = Field(None, description="the median of them")
    noise: float | None = Field(None, description="coefficient of variation from run to run")
    least_effect: float = Field(description="the smallest change that the gate lets count")
    confidence: float | None = Field(None, description="of this gate's interval, as one of the suite's")
    false_alarms: float | None = Field(None, description="share of splits in which it was called worse")
    repetitions: int = Field(description="on each side, as the suite has them")
    smallest_change: float | None = Field(
        None, description="for the worse, found 95 times in 100 with these repetitions"
    )
    repetitions_for_5_percent: int | None = Field(None, description="on each side; absent: over a thousand")
    repetitions_for_10_percent: int | None = Field(None, description="on each side; absent: over a thousand")
    because: str | None = Field(None, description="why nothing can be said of it")


class Calibration(Part):
    """What a suite can tell here, by A/A runs."""

    power: float = Field(POWER, description="how often a smallest change is found")
    splits: int = Field(description="A/A comparisons that false alarms were counted in")
    split_repetitions: Mapping[str, int] = Field(description="runs on each side of them, by case")
    false_alarms: int = Field(description="splits in which any gate of the suite was called worse")
    left_out: int = Field(0, description="runs that were not valid")
    measures: tuple[MeasureNoise, ...] = ()


def calibrate(
    gates_by_case: Gates,
    runs: Runs,
    *,
    repetitions: Mapping[str, int],
    rng: Random,
    splits: int = RESAMPLES,
) -> Calibration:
    """What `runs`, all made alike, say about the suite's statistical gates.

    `repetitions` is how many the suite makes of each case. A split has that many on each side, or half of the
    valid runs where there are fewer. Raises ValueError for a measure that there is not.
    """
    gates = {case: [gate for gate in some if statistical(gate)] for case, some in gates_by_case.items()}
    valid = {case: [run for run in runs.get(case, ()) if run.comparable] for case in gates}
    sizes = {case: min(repetitions[case], len(of_case) // 2) for case, of_case in valid.items()}
    held = [
        CaseComparison.of(case, gate, valid[case], valid[case], paired=False)
        for case, of_case in gates.items()
        for gate in of_case
    ]
    tests = max(1, sum(map(is_tested, held)))  # of service times that only --paired judges, none is
    alarms, any_alarm = _false_alarms(gates, valid, sizes, rng, splits)
    return Calibration(
        splits=splits,
        split_repetitions=sizes,
        false_alarms=any_alarm,
        left_out=sum(len(runs.get(case, ())) - len(of_case) for case, of_case in valid.items()),
        measures=tuple(
            _noise(one, tests, repetitions[one.case], alarms.get((one.case, one.gate.measure), 0) / splits)
            for one in held
        ),
    )


def _false_alarms(
    gates: Gates, runs: Runs, sizes: Mapping[str, int], rng: Random, splits: int
) -> tuple[dict[tuple[str, str], int], int]:
    """How often each gate is called worse, and how often any is."""
    alarms: dict[tuple[str, str], int] = {}
    any_alarm = 0
    compared = {case: of_case for case, of_case in gates.items() if sizes[case] >= LEAST_RUNS}
    for before, after in _splits({case: runs[case] for case in compared}, sizes, rng, splits):
        worse = [one for one in judge(compared, before, after) if one.decision == "worse"]
        any_alarm += bool(worse)
        for one in worse:
            alarms[one.case, one.gate.measure] = alarms.get((one.case, one.gate.measure), 0) + 1
    return alarms, any_alarm


def _splits(runs: Runs, sizes: Mapping[str, int], rng: Random, count: int) -> Iterator[tuple[Runs, Runs]]:
    for _ in range(count):
        drawn = {case: rng.sample(list(of_case), 2 * sizes[case]) for case, of_case in runs.items()}
        yield (
            {case: of_case[: sizes[case]] for case, of_case in drawn.items()},
            {case: of_case[sizes[case] :] for case, of_case in drawn.items()},
        )


def _noise(held: CaseComparison, tests: int, repetitions: int, alarms: float) -> MeasureNoise:
    known, measure, least = sides(held), held.measure, held.gate.least_effect
    finite = [run for run in known.before if isfinite(run.number)]
    row = MeasureNoise(
        case=held.case, measure=measure.name, unit=measure.unit, runs=len(finite), least_effect=least,
        repetitions=repetitions, because=_why_not(held),
    )  # fmt: skip
    if row.because is not None:
        return row
    numbers = raised(measure, finite)
    spread = max(stdev(map(log, numbers)), least_spread(measure, numbers))
    confidence = 1 - (1 - held.gate.confidence) / tests
    effect = None
    if repetitions >= LEAST_RUNS:
        least_effect = effect_of(least, measure.better)
        effect = smallest_detectable(spread, runs=repetitions, confidence=confidence, least=least_effect)
    needed = [
        runs_to_find(effect_of(change, measure.better), spread=spread, confidence=confidence)
        for change in (SMALL, LARGE)
    ]
    return row.model_copy(
        update={
            "typical": median(run.number for run in finite),
            "noise": sqrt(expm1(spread**2)),
            "confidence": confidence,
            "false_alarms": alarms,
            "smallest_change": None if effect is None else change_of(effect, measure.better),
            "repetitions_for_5_percent": needed[0],
            "repetitions_for_10_percent": needed[1],
        }
    )


def _why_not(held: CaseComparison) -> str | None:
    """Why nothing can be said of the noise of a measure; None where it can."""
    known = sides(held)
    without = [run for run in known.before if run.why]
    if without:
        return f"{in_words(without[0].why)} in {len(without)} of {len(held.before)} runs"
    if not known.before:
        return f"no run has it{reason(known.why)}"
    if len(known.before) < LEAST_NUMBERS:
        return f"{len(known.before)} runs have it, and at least {LEAST_NUMBERS} say how it differs"
    return None
