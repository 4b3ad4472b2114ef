"""Gates on what differs from run to run: decided by an interval over several repetitions.

    worse       the interval leaves zero out, and the estimate is at least the least effect, for the worse
    better      the same for the better
    same        the interval lies within the least effect, on both sides of zero
    undecided   anything else; how many repetitions would do is said

The interval's level is that of the whole suite: with a confidence of 99 % and ten intervals, each is one of
99.9 %, so that one suite in a hundred, not one gate in a hundred, changes by chance (Bonferroni).

Runs that were made in turns are judged as two groups and pair by pair, each with half of the error, and the
narrower interval counts: pairs share what the machine does meanwhile, but of five there are only five.

Service times of a local endpoint are those of the machine that it shares with the load and everything else: a
baseline that was measured earlier says nothing about them, and only runs in turns decide.

Values below a measure's floor are raised to it: 0 and 0.001 throttled are alike, and 0 has no logarithm.
Where all runs of a side have no number for a reason that beats any (nothing was throttled), and those of the
other side have one, no interval is needed: three runs on each side do so by chance once in 64 times at most.
"""

from collections.abc import Sequence
from math import inf, isfinite
from statistics import geometric_mean
from typing import Any
from urllib.parse import urlsplit

from keyheat.addresses import on_this_machine
from keyheat.numbers import percent, some
from keyheat.regression import suite_spec as suite_gates
from keyheat.regression.gates.comparison import (
    CaseComparison,
    KnownValue,
    Sides,
    drawn,
    in_words,
    least_spread,
    raised,
    reason,
    shown,
    sides,
)
from keyheat.regression.intervals import LEAST_RUNS, Ratio, effect_of, ratio_of, runs_to_tell
from keyheat.regression.outcome import Decision, GateFinding
from keyheat.regression.phrases import between, relative, step, value

LOCAL, MILLISECONDS = "local", "ms"
OF_THE_MACHINE = "on a local endpoint that may be the machine: paired = true reruns the baseline beside it"
LEAST_ALIKE = 3  # runs on each side, to decide by whether they have a number at all


def is_tested(compared: CaseComparison, *, paired: bool = False) -> bool:
    """Whether this is a gate that an interval decides: several numbers, and nothing but numbers."""
    if compared.repeats or not (suite_gates.statistical(compared.gate) or drawn(compared)):
        return False
    if not paired and _is_the_machines(compared):
        return False
    known = sides(compared, paired=paired)
    return _all_numbers(known) and min(len(known.before), len(known.after)) >= LEAST_RUNS


def statistical(compared: CaseComparison, *, tests: int, paired: bool = False) -> GateFinding:
    """What several runs on each side say, as one of so many `tests` of the suite."""
    known = sides(compared, paired=paired)
    if not known.before or not known.after:
        return without(compared, known)
    numbers: dict[str, Any] = {
        "before": shown(known.before),
        "after": shown(known.after),
        "repetitions": (len(known.before), len(known.after)),
    }
    if not _all_numbers(known):
        decision, words = _by_kind(compared, known)
        return compared.finding(decision, words, **numbers)
    numbers |= {"before": _typical(compared, known.before), "after": _typical(compared, known.after)}
    name = compared.gate.measure
    values = f"{value(numbers['before'], name)} before, {value(numbers['after'], name)} now"
    if min(len(known.before), len(known.after)) < LEAST_RUNS:
        why = "one repetition has no spread, and what differs from run to run cannot be decided by it"
        return compared.finding("undecided", f"{values}: {why}", **numbers)
    level = 1 - (1 - compared.gate.confidence) / max(1, tests)
    ratio = _ratio(compared, known, level, paired)
    decision = decided(ratio, better=compared.measure.better, least=compared.gate.least_effect)
    why = _why(compared, decision, ratio, level, known)
    if not paired and _is_the_machines(compared):
        decision, why = "undecided", f"; {OF_THE_MACHINE}"
    return compared.finding(
        decision,
        f"{values}: {step(numbers['before'], numbers['after'], name) or _in_words(ratio)}{why}",
        change=ratio.ratio - 1,
        low=ratio.low - 1,
        high=ratio.high - 1,
        **numbers,
    )


def _typical(compared: CaseComparison, side: Sequence[KnownValue]) -> float | str:
    """The number that stands for a side: the mean that a ratio is of, or the median below the floor."""
    middle = shown(side)
    if isinstance(middle, str) or middle < compared.measure.floor or not middle:
        return middle
    return geometric_mean(raised(compared.measure, side))


def decided(ratio: Ratio, *, better: str, least: float) -> Decision:
    """What an interval says; `least` is the relative change from which anybody cares."""
    change, low, high = ratio.ratio - 1, ratio.low - 1, ratio.high - 1
    if (low > 0 or high < 0) and abs(change) >= least:
        return "better" if better != "same" and (change > 0) == (better == "higher") else "worse"
    return "same" if low >= -least and high <= least else "undecided"


def without(compared: CaseComparison, known: Sides) -> GateFinding:
    """The finding where one side, or both, say nothing of the measure."""
    name = compared.gate.measure
    if not known.before and not known.after:
        return compared.finding("undecided", f"Neither side has {name}{reason(known.why)}")
    if known.after and any(name not in run.measures and name not in run.absent for run in compared.before):
        return compared.finding(
            "undecided",
            f"The baseline was measured before there was a {name}; now it is {_value(compared, known.after)}",
            after=shown(known.after),
        )
    lacking, there, runs = (
        ("before", "after", known.after) if not known.before else ("after", "before", known.before)
    )
    return compared.finding(
        "missing",
        f"No run {lacking} has {name}{reason(known.why)}; {there} it was {_value(compared, runs)}",
        **{there: shown(runs)},
    )


def _all_numbers(known: Sides) -> bool:
    return all(isfinite(run.number) for run in (*known.before, *known.after))


def _ratio(compared: CaseComparison, known: Sides, level: float, paired: bool) -> Ratio:
    first, last = (raised(compared.measure, side) for side in (known.before, known.after))
    unsure = max(least_spread(compared.measure, side) for side in (first, last))
    if not paired:
        return ratio_of(first, last, confidence=level, least_spread=unsure)
    each = (1 + level) / 2
    both = [
        ratio_of(first, last, confidence=each, paired=pairs, least_spread=unsure) for pairs in (False, True)
    ]
    return min(both, key=lambda ratio: ratio.high / ratio.low if ratio.low else inf)


def _is_the_machines(compared: CaseComparison) -> bool:
    """Whether it is a service time of an endpoint on this machine."""
    targets = {run.setup.target for run in (*compared.before, *compared.after)}
    local = any(target == LOCAL or on_this_machine(urlsplit(target).hostname or "") for target in targets)
    return local and compared.measure.unit == MILLISECONDS


def _by_kind(compared: CaseComparison, known: Sides) -> tuple[Decision, str]:
    """Decided by whether runs have a number at all: only where all runs of a side are of a kind."""
    before, after = ({_kind(run) for run in side} for side in (known.before, known.after))
    words = f"{_kinds(compared, known.before)} before, {_kinds(compared, known.after)} now"
    if len(before) > 1 or len(after) > 1:
        return "undecided", f"{words}: it comes and goes"
    first, last = before.pop(), after.pop()
    if first == last:
        return "same", words
    if min(len(known.before), len(known.after)) < LEAST_ALIKE:
        return "undecided", f"{words}: {LEAST_ALIKE} repetitions would do"
    return ("better" if (last > first) == (compared.measure.better == "higher") else "worse"), words


def _kind(run: KnownValue) -> float:
    """Below all numbers, a number, or above all."""
    return 0.0 if isfinite(run.number) else run.number


def _kinds(compared: CaseComparison, side: Sequence[KnownValue]) -> str:
    """A side in words: no throttles in 2 of 5 runs, else 12 s."""
    lacking = [run for run in side if run.why]
    if not lacking:
        return _value(compared, side)
    finite = [run for run in side if not run.why]
    numbers = f", else {_value(compared, finite)}" if finite else ""
    return f"{in_words(lacking[0].why)} in {len(lacking)} of {some(len(side), 'run')}{numbers}"


def _value(compared: CaseComparison, side: Sequence[KnownValue]) -> str:
    return value(shown(side), compared.gate.measure)


def _in_words(ratio: Ratio) -> str:
    within = between(ratio.low - 1, ratio.high - 1)
    return f"{relative(ratio.ratio - 1)} ({within})" if within else "how much it changed cannot be told"


def _why(compared: CaseComparison, decision: Decision, ratio: Ratio, level: float, known: Sides) -> str:
    """What of it counts, or what would have to be done to tell."""
    least = compared.gate.least_effect
    if decision == "same":
        return f", within the {percent(least)} that count"
    if decision != "undecided":
        return ""
    if not least:
        return "; with a least effect of 0 no number of repetitions tells that nothing changed"
    runs = min(len(known.before), len(known.after))
    enough = runs_to_tell(effect_of(least, "lower"), spread=ratio.spread, confidence=level)
    if enough is None:
        return f"; it differs too much from run to run to tell {percent(least)}"
    if enough <= runs:
        return f"; too near the {percent(least)} that count to be told with {some(runs, 'repetition')}"
    return f"; too wide to tell {percent(least)} with {some(runs, 'repetition')}: {enough} would do"
