"""Comparisons of a suite with itself, and with one that lost a tenth: how often is each called worse?"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from keyheat.analysis.summary import RunSummary
from keyheat.regression.compare import judge
from keyheat.regression.outcome import Gate, GateFinding
from keyheat.regression.suite import DEFAULT_GATES

WRITES = "accepted_units_per_s.write"
REPETITIONS = 5
GATES: Sequence[Gate] = tuple(gate for gate in DEFAULT_GATES if gate.noisy)

Runs = Mapping[str, Sequence[RunSummary]]  # by case
Sides = tuple[Runs, Runs]
Two = tuple[list[RunSummary], list[RunSummary]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What came of so many comparisons of whole suites."""

    compared: int
    worse: int  # comparisons with at least one gate that is worse
    units_worse: Mapping[str, int]  # comparisons in which the accepted units of a case are
    gates: Mapping[str, int]  # worse, by case and measure


def counted(comparisons: Iterable[Sides], *, paired: bool = False) -> Counted:
    """Judge each comparison by the default statistical gates."""
    findings = [_findings(before, after, paired) for before, after in comparisons]
    worse = [one for of_suite in findings for one in of_suite if one.decision == "worse"]
    names = [f"{one.case} {one.gate.measure}" for one in worse]
    units = [one.case for one in worse if one.gate.measure == WRITES]
    return Counted(
        compared=len(findings),
        worse=sum(any(one.decision == "worse" for one in of_suite) for of_suite in findings),
        units_worse={case: units.count(case) for case in sorted({one.case for one in findings[0]})},
        gates={name: names.count(name) for name in sorted(set(names))},
    )


def _findings(before: Runs, after: Runs, paired: bool) -> tuple[GateFinding, ...]:
    return judge(dict.fromkeys(after, GATES), before, after, in_turns=paired)


def interleaved(runs: Sequence[RunSummary], rng: Random) -> Two:
    """Consecutive runs of one kind as two sides that took turns; who went first is drawn pair by pair."""
    start = rng.randrange(len(runs) - 2 * REPETITIONS + 1)
    pairs = [[runs[start + 2 * n], runs[start + 2 * n + 1]] for n in range(REPETITIONS)]
    for pair in pairs:
        rng.shuffle(pair)
    return [first for first, _ in pairs], [last for _, last in pairs]


def apart(runs: Sequence[RunSummary], rng: Random) -> Two:
    """Consecutive runs of one kind, and later ones: a baseline that was measured earlier."""
    first = rng.randrange(len(runs) - 2 * REPETITIONS + 1)
    last = rng.randrange(first + REPETITIONS, len(runs) - REPETITIONS + 1)
    return list(runs[first : first + REPETITIONS]), list(runs[last : last + REPETITIONS])


def lost(runs: Sequence[RunSummary], less: Sequence[RunSummary], rng: Random) -> Two:
    """Consecutive runs with a loss, and for each the nearest one without that is not taken yet."""
    start = rng.randrange(len(less) - REPETITIONS + 1)
    after, free = list(less[start : start + REPETITIONS]), list(runs)
    before = []
    for run in after:
        nearest = min(free, key=lambda one: abs(one.started_at - run.started_at))
        free.remove(nearest)
        before.append(nearest)
    return before, after
