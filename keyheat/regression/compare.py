"""Every gate of a suite on the runs before and after: better, worse, the same, or too noisy to tell.

What has no noise (labels, exact measures, simulated runs of one seed) is compared run by run, and any change
counts. What differs from run to run is decided by an interval of the change, by Welch's t on logarithms:

    worse, better   the interval leaves zero out, and the estimate is at least the least effect
    same            the interval lies within the least effect, on both sides of zero
    undecided       anything else; the sentence says how many repetitions would do

The interval's level is that of the whole suite: with a confidence of 99 % and ten intervals, each is one of
99.9 % (Bonferroni). Values below a measure's floor are raised to it, since 0 has no logarithm. A run without
a number for a reason that beats any (nothing throttled) is infinitely better or worse than one that has one.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isclose, isfinite
from statistics import fmean, geometric_mean, median
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from keyheat.addresses import on_this_machine
from keyheat.analysis.measures import ABSENCES, MEASURES, Absence, Measure
from keyheat.analysis.summary import RunSummary
from keyheat.numbers import percent, some
from keyheat.regression.interval import LEAST_RUNS, Interval, interval_of, repetitions_to_tell
from keyheat.regression.labels import judge_labels, labels_of
from keyheat.regression.outcome import LABELS, Decision, Gate, GateFinding, is_noisy
from keyheat.regression.phrases import between, relative, step, value
from keyheat.runfiles import SIMULATED

Runs = Mapping[str, Sequence[RunSummary]]
SAME: Final = 1e-9  # relative: sums of floats in another order
LEAST_ALIKE: Final = 3  # runs on each side, to decide by whether they have a number at all
MEANS: Final = ("units_per_operation.write", "units_per_operation.read", "write_amplification")
"""Exact measures that are means over what was drawn."""
LEAST_DRAWN: Final = 0.02
"""The smallest change that counts of an exact number that differs by its seeds alone."""
LEAST_CHANGED: Final = 0.05
"""The same if table or design changed: which items are accepted changes with it."""
OF_THE_MACHINE: Final = (
    "on a local endpoint that may be the machine: paired = true reruns the baseline beside it"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A measure of one run; infinite if the run has none for a reason that stands above or below any."""

    number: float
    seed: int | None = None
    why: Absence | None = None

    @property
    def shown(self) -> float | str:
        return self.number if self.why is None else _in_words(self.why)


Side = Sequence[Value]
Item = TypeVar("Item", Value, RunSummary)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One gate of one case: its valid runs on both sides, and their values as far as there are any."""

    case: str
    gate: Gate
    before: Sequence[RunSummary]
    after: Sequence[RunSummary]
    left_out: tuple[int, int]  # invalid runs, before and after
    first: Side
    last: Side
    in_turns: bool
    paired: bool  # a run of each side at the same place of both

    @property
    def measure(self) -> Measure:
        return MEASURES[self.gate.measure]

    @property
    def simulated(self) -> bool:
        return all(run.setup.target == SIMULATED for run in (*self.before, *self.after))

    @property
    def exact(self) -> list[tuple[Value, Value]]:
        """The values of each seed that was run on both sides, if nothing but the seed decides them."""
        if is_noisy(self.gate) and not self.simulated:
            return []
        pairs = _pairs(self.first, self.last)
        alike = all(_alike(side) for pair in pairs for side in pair)
        return [(first[0], last[0]) for first, last in pairs] if alike else []

    @property
    def of_the_machine(self) -> bool:
        """Whether it is a service time of an endpoint here, and an earlier baseline knew another machine."""
        targets = {run.setup.target for run in (*self.before, *self.after)}
        local = any(one == "local" or on_this_machine(urlsplit(one).hostname or "") for one in targets)
        return local and self.measure.unit == "ms" and not self.in_turns

    @property
    def tested(self) -> bool:
        """Whether an interval decides."""
        if self.gate.measure == LABELS or self.exact or self.of_the_machine:
            return False
        finite = all(isfinite(one.number) for one in (*self.first, *self.last))
        return finite and min(len(self.first), len(self.last)) >= LEAST_RUNS

    def finding(self, decision: Decision, because: str, **numbers: Any) -> GateFinding:
        """The finding; it says how many runs were left out."""
        sides = zip(self.left_out, ("before", "after"), strict=True)
        out = " and ".join(f"{some(count, 'run')} {side}" for count, side in sides if count)
        left_out = f"; left out as not valid: {out}" if out else ""
        counts = (len(self.before), len(self.after))
        known = {"before": None, "after": None, "repetitions": counts} | numbers
        return GateFinding(
            case=self.case, gate=self.gate, decision=decision, because=f"{because}{left_out}.", **known
        )


def judge(
    gates_by_case: Mapping[str, Sequence[Gate]],
    before: Runs,
    after: Runs,
    *,
    in_turns: bool = False,
    changed: Collection[str] = (),
) -> tuple[GateFinding, ...]:
    """A finding for each gate of each case, in their order.

    `in_turns`: the runs of both sides took turns, so that the machine was the same for both. `changed` are
    cases whose table or design changed: the same seed then draws other sizes and operations.
    """
    compared = [
        _compared(case, gate, before.get(case, ()), after.get(case, ()), in_turns, changed=case in changed)
        for case, gates in gates_by_case.items()
        for gate in gates
    ]
    tests = sum(one.tested for one in compared)
    return tuple(_finding(one, tests) for one in compared)


def _compared(
    case: str, gate: Gate, before: Sequence[RunSummary], after: Sequence[RunSummary], in_turns: bool,
    *, changed: bool,
) -> Comparison:  # fmt: skip
    kept, held = ([run for run in side if run.comparable] for side in (before, after))
    if paired := in_turns and len(before) == len(after):  # of a pair both runs count, or neither
        both = [pair for pair in zip(before, after, strict=True) if all(run.comparable for run in pair)]
        kept, held = ([pair[side] for pair in both] for side in (0, 1))
    first, last = ([_value(gate, run) for run in side] for side in (kept, held))
    if paired:
        whole = [pair for pair in zip(first, last, strict=True) if all(pair)]
        first, last = ([pair[side] for pair in whole] for side in (0, 1))
    made = Comparison(
        case=case, gate=gate, before=kept, after=held, in_turns=in_turns, paired=paired,
        first=[known for known in first if known], last=[known for known in last if known],
        left_out=(len(before) - len(kept), len(after) - len(held)),
    )  # fmt: skip
    if changed and gate.measure in MEANS:
        return replace(made, gate=gate.model_copy(update={"least_effect": LEAST_CHANGED}))
    if gate.measure == LABELS or is_noisy(gate) or made.exact:
        return made
    return replace(made, gate=gate.model_copy(update={"least_effect": LEAST_DRAWN}))


def _value(gate: Gate, run: RunSummary) -> Value | None:
    if (number := run.measures.get(gate.measure)) is not None:
        return Value(number=number, seed=run.seed)
    why = run.absent.get(gate.measure)
    stands = ABSENCES[why].than_any if why else None
    if stands is None or (better := MEASURES[gate.measure].better) == "same":
        return None
    return Value(number=inf if (stands == "better") == (better == "higher") else -inf, seed=run.seed, why=why)


def _finding(one: Comparison, tests: int) -> GateFinding:
    if lacking := [side for side, runs in (("before", one.before), ("after", one.after)) if not runs]:
        return one.finding("missing", f"There is no valid run {' and none '.join(lacking)}")
    if one.gate.measure == LABELS:
        pairs = _pairs(one.before, one.after) if one.simulated else []
        decision, words = judge_labels(pairs or [(one.before, one.after)])
        return one.finding(decision, words, before=labels_of(one.before), after=labels_of(one.after))
    if not one.first or not one.last:
        return _without(one)
    if exact := one.exact:
        return _exact(one, exact)
    if not all(isfinite(known.number) for known in (*one.first, *one.last)):
        return _by_kind(one)
    return _by_interval(one, tests)


def _without(one: Comparison) -> GateFinding:
    """The finding if one side, or both, have no value."""
    name = one.gate.measure
    why = next((run.absent[name] for run in (*one.before, *one.after) if name in run.absent), None)
    reason = f": {ABSENCES[why].says}" if why else ""
    if not one.first and not one.last:
        return one.finding("undecided", f"Neither side has {name}{reason}")
    if one.last and any(name not in run.measures and name not in run.absent for run in one.before):
        return one.finding(
            "undecided", f"The baseline is older than {name}; now it is {_said(one, one.last)}",
            after=_middle(one.last),
        )  # fmt: skip
    lacking, there, side = ("before", "after", one.last) if one.last else ("after", "before", one.first)
    because = f"No run {lacking} has {name}{reason}; {there} it was {_said(one, side)}"
    return one.finding("missing", because, **{there: _middle(side)})


# Without noise


def _by_seed(items: Sequence[Item]) -> Mapping[int | None, Sequence[Item]]:
    by_seed: dict[int | None, list[Item]] = defaultdict(list)
    for item in items:
        by_seed[item.seed].append(item)
    return by_seed


def _pairs(before: Sequence[Item], after: Sequence[Item]) -> list[tuple[Sequence[Item], Sequence[Item]]]:
    """What both sides have of each seed that was run on both."""
    first, last = _by_seed(before), _by_seed(after)
    return [(first[seed], last[seed]) for seed in first if seed is not None and seed in last]


def _alike(side: Side) -> bool:
    return all(isclose(one.number, side[0].number, rel_tol=SAME) for one in side)


def _exact(one: Comparison, pairs: Sequence[tuple[Value, Value]]) -> GateFinding:
    """By the seed that changed most for the worse, else by the one that changed most."""
    order: Sequence[Decision] = ("worse", "better", "same")
    decision = min((_decision(one, *pair) for pair in pairs), key=order.index)
    first, last = max(
        (pair for pair in pairs if _decision(one, *pair) == decision),
        key=lambda pair: 0.0 if _alike(pair) else abs(pair[1].number - pair[0].number),
    )
    known = isfinite(first.number) and isfinite(last.number) and first.number
    return one.finding(
        decision, f"{_change(one, first, last)}, {some(len(pairs), 'seed')} compared one by one",
        before=first.shown, after=last.shown,
        change=last.number / first.number - 1 if known else 0.0 if _alike((first, last)) else None,
    )  # fmt: skip


def _decision(one: Comparison, before: Value, after: Value) -> Decision:
    first, last = (max(side.number, one.measure.floor) for side in (before, after))
    if not isfinite(before.number + after.number):
        first, last = before.number, after.number
        counts = first != last
    else:
        counts = not isclose(first, last, rel_tol=SAME) and abs(last - first) > one.gate.least_effect * first
    if not counts:
        return "same"
    return "better" if one.measure.better == ("higher" if last > first else "lower") else "worse"


def _change(one: Comparison, before: Value, after: Value) -> str:
    first, last = (value(side.shown, one.gate.measure) for side in (before, after))
    if _alike((before, after)):
        return f"{last} as before"
    words = f"{first} before, {last} now"
    if by := step(before.shown, after.shown, one.gate.measure):
        words += f" ({by})"
    elif isfinite(before.number) and isfinite(after.number) and before.number:
        more = "more" if after.number > before.number else "less"
        words += f" ({percent(abs(after.number / before.number - 1))} {more})"
    least = one.gate.least_effect
    return f"{words}, and changes up to {percent(least)} do not count" if least else words


# With noise


def _by_kind(one: Comparison) -> GateFinding:
    """Decided by whether runs have a number at all: only if all runs of a side are of one kind."""
    numbers = {"before": _middle(one.first), "after": _middle(one.last), **_counts(one)}
    first, last = ({0.0 if isfinite(run.number) else run.number for run in x} for x in (one.first, one.last))
    words = f"{_kinds(one, one.first)} before, {_kinds(one, one.last)} now"
    if len(first) > 1 or len(last) > 1:
        return one.finding("undecided", f"{words}: it comes and goes", **numbers)
    was, now = first.pop(), last.pop()
    if was == now:
        return one.finding("same", words, **numbers)
    if min(len(one.first), len(one.last)) < LEAST_ALIKE:
        return one.finding("undecided", f"{words}: {LEAST_ALIKE} repetitions would do", **numbers)
    better = one.measure.better == ("higher" if now > was else "lower")
    return one.finding("better" if better else "worse", words, **numbers)


def _kinds(one: Comparison, side: Side) -> str:
    """A side in words: no throttles in 2 of 5 runs, else 12 s."""
    lacking = [known for known in side if known.why]
    if not lacking:
        return _said(one, side)
    finite = [known for known in side if not known.why]
    numbers = f", else {_said(one, finite)}" if finite else ""
    return f"{lacking[0].shown} in {len(lacking)} of {some(len(side), 'run')}{numbers}"


def _by_interval(one: Comparison, tests: int) -> GateFinding:
    first, last = (_raised(one.measure, side) for side in (one.first, one.last))
    numbers = {"before": _typical(one, one.first), "after": _typical(one, one.last), **_counts(one)}
    values = " before, ".join(value(numbers[side], one.gate.measure) for side in ("before", "after")) + " now"
    if min(len(first), len(last)) < LEAST_RUNS:
        why = "one repetition has no spread, and what differs from run to run cannot be decided by it"
        return one.finding("undecided", f"{values}: {why}", **numbers)
    level = 1 - (1 - one.gate.confidence) / max(1, tests)
    unsure = max(one.measure.floor / 2 / fmean(side) for side in (first, last))
    interval = _interval(first, last, level, unsure if one.measure.unit == "s" else 0.0, paired=one.paired)
    within = between(interval.low, interval.high)
    change = f"{relative(interval.change)} ({within})" if within else "how much it changed cannot be told"
    change = relative(interval.change) if interval.low == interval.high else change
    change = step(numbers["before"], numbers["after"], one.gate.measure) or change
    decision = _decided_by(interval, one)
    why = _why(one, decision, interval, level)
    if one.of_the_machine:
        decision, why = "undecided", f"; {OF_THE_MACHINE}"
    return one.finding(
        decision, f"{values}: {change}{why}", change=interval.change, low=interval.low, high=interval.high,
        **numbers,
    )  # fmt: skip


def _interval(
    first: Sequence[float], last: Sequence[float], level: float, unsure: float, *, paired: bool
) -> Interval:
    """By two groups, and by pairs where there are any, each with half of the error; the narrower counts."""
    if not paired:
        return interval_of(first, last, level, least_spread=unsure)
    both = [
        interval_of(first, last, (1 + level) / 2, least_spread=unsure, paired=pairs)
        for pairs in (False, True)
    ]
    return min(both, key=lambda one: (1 + one.high) / (1 + one.low) if one.low > -1 else inf)


def _decided_by(interval: Interval, one: Comparison) -> Decision:
    least = one.gate.least_effect
    if (interval.low > 0 or interval.high < 0) and abs(interval.change) >= least:
        return "better" if one.measure.better == ("higher" if interval.change > 0 else "lower") else "worse"
    return "same" if interval.low >= -least and interval.high <= least else "undecided"


def _why(one: Comparison, decision: Decision, interval: Interval, level: float) -> str:
    """What of it counts, or what it takes to tell."""
    least, runs = one.gate.least_effect, min(len(one.first), len(one.last))
    if decision == "same":
        return f", within the {percent(least)} that count"
    if decision != "undecided":
        return ""
    if not least:
        return "; with a least effect of 0 no number of repetitions tells that nothing changed"
    enough = repetitions_to_tell(least, interval.spread, level)
    if enough is None:
        return f"; it differs too much from run to run to tell {percent(least)}"
    if enough <= runs:
        return f"; too near the {percent(least)} that count to be told with {some(runs, 'repetition')}"
    return f"; too noisy to tell {percent(least)} with {some(runs, 'repetition')}: {enough} would do"


def _counts(one: Comparison) -> dict[str, Any]:
    return {"repetitions": (len(one.first), len(one.last))}


def _raised(measure: Measure, side: Side) -> list[float]:
    return [max(known.number, measure.floor) for known in side]


def _typical(one: Comparison, side: Side) -> float:
    """The number that stands for a side: the mean that the change is of, or the median below the floor."""
    middle = median(known.number for known in side)
    return geometric_mean(_raised(one.measure, side)) if middle and middle >= one.measure.floor else middle


def _middle(side: Side) -> float | str:
    """The median of the numbers; if most runs have none, why."""
    finite = [known.number for known in side if isfinite(known.number)]
    if 2 * len(finite) >= len(side):
        return median(finite)
    return next(known.shown for known in side if known.why)


def _said(one: Comparison, side: Side) -> str:
    return value(_middle(side), one.gate.measure)


def _in_words(why: Absence) -> str:
    """A reason in a word or two: no throttles."""
    return why.replace("_", " ")
