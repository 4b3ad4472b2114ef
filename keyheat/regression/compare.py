"""Decide every gate of a suite on the runs before and after: better, worse, the same, or too noisy to tell.

Measures without noise (labels, exact measures, simulated runs of one seed) are compared run by run, and any
change counts. For the others, an interval of the change decides, by Welch's t on logarithms:

    worse, better   the interval excludes zero, and the estimate is at least the least effect
    same            the interval lies within the least effect, on both sides of zero
    undecided       anything else; the sentence tells how many repetitions are enough

The confidence applies to the whole suite: with 99 % and ten intervals, each has a level of 99.9 %
(Bonferroni). Values below a measure's floor are raised to it, since 0 has no logarithm. A run without a
number for a reason better than any number (nothing throttled) is infinitely better, or worse.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isclose, isfinite
from statistics import fmean, geometric_mean, median
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from keyheat.addresses import on_this_machine
from keyheat.analysis.measures import ABSENCES, MEASURES, Absence, Measure
from keyheat.analysis.summary import RunSummary
from keyheat.numbers import percent, some
from keyheat.regression.outcome import LABELS, WORST_FIRST, Decision, Gate, GateFinding
from keyheat.regression.phrases import between, label_words, relative, step, value
from keyheat.regression.statistics import LEAST_RUNS, Interval, interval_of, repetitions_to_tell
from keyheat.runfiles import SIMULATED

Runs = Mapping[str, Sequence[RunSummary]]
SAME: Final = 1e-9  # relative: sums of floats depend on their order
LEAST_ALIKE: Final = 3  # runs per side that decide by whether they have a number
MEANS: Final = ("units_per_operation.write", "units_per_operation.read", "write_amplification")
"""Exact measures that are means over random draws."""
LEAST_DRAWN: Final = 0.02
"""Least effect of an exact number that differs only by its seed."""
LEAST_CHANGED: Final = 0.05
"""The same after a change of table or design, which changes the accepted items."""
LEAST_SHARE: Final = 0.01  # a ratio to a smaller share is useless


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A measure of one run; infinite if its absence is better or worse than any number."""

    number: float
    seed: int | None = None
    why: Absence | None = None

    @property
    def text(self) -> float | str:
        return self.number if self.why is None else ABSENCES[self.why].short


Side = Sequence[Value]
Item = TypeVar("Item", Value, RunSummary)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One gate of one case, with the valid runs and values of both sides."""

    case: str
    gate: Gate
    before: Sequence[RunSummary]
    after: Sequence[RunSummary]
    first: Side
    last: Side
    in_turns: bool
    paired: bool  # runs at the same position of both sides belong together

    @property
    def measure(self) -> Measure:
        return MEASURES[self.gate.measure]

    @property
    def simulated(self) -> bool:
        return all(run.setup.target == SIMULATED for run in (*self.before, *self.after))

    @property
    def exact(self) -> list[tuple[Value, Value]]:
        """Values of each seed with runs on both sides, if only the seed decides them."""
        if self.gate.noisy and not self.simulated:
            return []
        pairs = _pairs(self.first, self.last)
        alike = all(_all_equal(side) for pair in pairs for side in pair)
        return [(first[0], last[0]) for first, last in pairs] if alike else []

    @property
    def of_the_machine(self) -> bool:
        """Whether this is a service time on this machine, with a baseline from an unknown one."""
        targets = {run.setup.target for run in (*self.before, *self.after)}
        local = any(
            target == "local" or on_this_machine(urlsplit(target).hostname or "") for target in targets
        )
        return local and self.measure.unit == "ms" and not self.in_turns

    @property
    def tested(self) -> bool:
        if self.gate.measure == LABELS or self.exact or self.of_the_machine:
            return False
        finite = all(isfinite(run.number) for run in (*self.first, *self.last))
        return finite and min(len(self.first), len(self.last)) >= LEAST_RUNS

    def towards(self, *, rises: bool) -> Decision:
        """Whether a number that rises, or falls, is better or worse."""
        return "better" if self.measure.better == ("higher" if rises else "lower") else "worse"

    def finding(self, decision: Decision, because: str, **numbers: Any) -> GateFinding:
        """Build the finding; both numbers are unknown if not given."""
        counts = (len(self.first or self.before), len(self.last or self.after))
        fields = {"before": None, "after": None, "repetitions": counts} | numbers
        return GateFinding(case=self.case, gate=self.gate, decision=decision, because=f"{because}.", **fields)


def judge(
    gates_by_case: Mapping[str, Sequence[Gate]], before: Runs, after: Runs, *, in_turns: bool = False,
    changed: Collection[str] = (),
) -> tuple[GateFinding, ...]:  # fmt: skip
    """Decide each gate of each case, in order.

    `in_turns`: the runs of both sides alternated, on the same machine. `changed`: cases with a changed table
    or design, where the same seed draws other sizes and operations.
    """
    compared = [
        _compare(case, gate, before.get(case, ()), after.get(case, ()), in_turns, changed=case in changed)
        for case, gates in gates_by_case.items()
        for gate in gates
    ]
    tests = sum(sides.tested for sides in compared)
    return tuple(_finding(sides, tests) for sides in compared)


def _compare(
    case: str, gate: Gate, before: Sequence[RunSummary], after: Sequence[RunSummary], in_turns: bool,
    *, changed: bool,
) -> Comparison:  # fmt: skip
    valid_before, valid_after = ([run for run in side if run.comparable] for side in (before, after))
    if paired := in_turns and len(before) == len(after):  # both runs of a pair count, or neither
        both = [pair for pair in zip(before, after, strict=True) if all(run.comparable for run in pair)]
        valid_before, valid_after = ([pair[side] for pair in both] for side in (0, 1))
    first, last = ([_value(gate, run) for run in side] for side in (valid_before, valid_after))
    if paired:
        whole = [pair for pair in zip(first, last, strict=True) if all(pair)]
        first, last = ([pair[side] for pair in whole] for side in (0, 1))
    sides = Comparison(
        case=case, gate=gate, before=valid_before, after=valid_after, in_turns=in_turns, paired=paired,
        first=[entry for entry in first if entry], last=[entry for entry in last if entry],
    )  # fmt: skip
    if changed and gate.measure in MEANS:
        return replace(sides, gate=gate.model_copy(update={"least_effect": LEAST_CHANGED}))
    if gate.measure == LABELS or gate.noisy or sides.exact:
        return sides
    return replace(sides, gate=gate.model_copy(update={"least_effect": LEAST_DRAWN}))


def _value(gate: Gate, run: RunSummary) -> Value | None:
    if (number := run.measures.get(gate.measure)) is not None:
        return Value(number=number, seed=run.seed)
    why = run.absent.get(gate.measure)
    stands = ABSENCES[why].than_any if why else None
    if stands is None or (better := MEASURES[gate.measure].better) == "same":
        return None
    return Value(number=inf if (stands == "better") == (better == "higher") else -inf, seed=run.seed, why=why)


def _finding(sides: Comparison, tests: int) -> GateFinding:
    if lacking := [side for side, runs in (("before", sides.before), ("after", sides.after)) if not runs]:
        return sides.finding("missing", f"There is no valid run {' and none '.join(lacking)}")
    if sides.gate.measure == LABELS:
        return _by_labels(sides)
    if not sides.first or not sides.last:
        return _without_values(sides)
    if exact := sides.exact:
        return _exact(sides, exact)
    if not all(isfinite(run.number) for run in (*sides.first, *sides.last)):
        return _by_kind(sides)
    return _by_interval(sides, tests)


def _without_values(sides: Comparison) -> GateFinding:
    name = sides.gate.measure
    why = next((run.absent[name] for run in (*sides.before, *sides.after) if name in run.absent), None)
    reason = f": {ABSENCES[why].says}" if why else ""
    if not sides.first and not sides.last:
        return sides.finding("undecided", f"Neither side has {name}{reason}")
    if sides.last and any(name not in run.measures and name not in run.absent for run in sides.before):
        because = (
            f"The baseline is older than {name}; now it is {value(_middle(sides.last), sides.gate.measure)}"
        )
        return sides.finding("undecided", because, after=_middle(sides.last))
    lacking, there, side = ("before", "after", sides.last) if sides.last else ("after", "before", sides.first)
    because = f"No run {lacking} has {name}{reason}; {there} it was {value(_middle(side), name)}"
    return sides.finding("missing", because, **{there: _middle(side)})


# Without noise


def _pairs(before: Sequence[Item], after: Sequence[Item]) -> list[tuple[Sequence[Item], Sequence[Item]]]:
    """Items of both sides by seed, for seeds on both sides."""
    seeds = dict.fromkeys(item.seed for item in before if item.seed is not None)
    pairs = [
        tuple([item for item in side if item.seed == seed] for side in (before, after)) for seed in seeds
    ]
    return [(first, last) for first, last in pairs if last]


def _all_equal(side: Side) -> bool:
    return all(isclose(run.number, side[0].number, rel_tol=SAME) for run in side)


def _exact(sides: Comparison, pairs: Sequence[tuple[Value, Value]]) -> GateFinding:
    """Decide by the seed with the worst change, else by the largest change."""
    order: Sequence[Decision] = ("worse", "better", "same")
    decision = min((_decision(sides, *pair) for pair in pairs), key=order.index)
    first, last = max(
        (pair for pair in pairs if _decision(sides, *pair) == decision),
        key=lambda pair: 0.0 if _all_equal(pair) else abs(pair[1].number - pair[0].number),
    )
    comparable = isfinite(first.number) and isfinite(last.number) and first.number
    return sides.finding(
        decision, f"{_change(sides, first, last)}, {some(len(pairs), 'seed')} compared one by one",
        before=first.text, after=last.text,
        change=last.number / first.number - 1 if comparable else 0.0 if _all_equal((first, last)) else None,
    )  # fmt: skip


def _decision(sides: Comparison, before: Value, after: Value) -> Decision:
    first, last = (max(side.number, sides.measure.floor) for side in (before, after))
    if not isfinite(before.number + after.number):
        first, last = before.number, after.number
        counts = first != last
    else:
        least = sides.gate.least_effect * first
        counts = abs(last - first) > least and not isclose(first, last, rel_tol=SAME)
    if not counts:
        return "same"
    return sides.towards(rises=last > first)


def _change(sides: Comparison, before: Value, after: Value) -> str:
    first, last = (value(side.text, sides.gate.measure) for side in (before, after))
    if _all_equal((before, after)):
        return f"{last} as before"
    words, finite = f"{first} before, {last} now", isfinite(before.number + after.number)
    if finite:
        ratio = relative(after.number / before.number - 1) if before.number else ""
        words += f" ({step(before.number, after.number, sides.gate.measure) or ratio})"
    least, floor = sides.gate.least_effect, sides.measure.floor
    if finite and max(before.number, after.number) <= floor:
        return f"{words}, and nothing up to {value(floor, sides.gate.measure)} counts"
    return f"{words}, and changes up to {percent(least)} do not count" if least else words


# Labels


def _by_labels(sides: Comparison) -> GateFinding:
    """Decide worse for a new label, better for a lost one, in any pair of sides; explain."""
    pairs = _pairs(sides.before, sides.after) if sides.simulated else []
    pairs = pairs or [(sides.before, sides.after)]
    changes = [change for before, after in pairs for change in _label_changes(before, after)]
    decision: Decision = min((kind for kind, _ in changes), key=WORST_FIRST.index, default="same")
    words = "; ".join(dict.fromkeys(words for kind, words in changes if kind == decision))
    because = words[:1].upper() + words[1:] or "The same labels as before"
    return sides.finding(decision, because, before=_labels_of(sides.before), after=_labels_of(sides.after))


def _label_changes(
    before: Sequence[RunSummary], after: Sequence[RunSummary]
) -> Iterator[tuple[Decision, str]]:
    """Labels that most runs of one side have, and most of the other lack."""
    had, has = (Counter(label for run in side for label in run.labels) for side in (before, after))
    for label in sorted({*had, *has}):
        was, now = 2 * had[label] > len(before), 2 * has[label] > len(after)
        if now and not had[label]:
            yield "worse", f"{label_words(label)} is new, in {_of_runs(has[label], after)}"
        elif was and not has[label]:
            yield "better", f"{label_words(label)} is gone; it was in {_of_runs(had[label], before)}"
        elif was != now:
            counts = f"{had[label]} of {len(before)} before, {has[label]} of {len(after)} now"
            yield "undecided", f"{label_words(label)} comes and goes: {counts}"


def _of_runs(count: int, runs: Sequence[RunSummary]) -> str:
    return "the only run" if len(runs) == 1 else f"{count} of {len(runs)} repetitions"


def _labels_of(runs: Sequence[RunSummary]) -> str:
    """Labels that most runs have, else `none`."""
    counts = Counter(label for run in runs for label in run.labels)
    return ", ".join(sorted(label for label, count in counts.items() if 2 * count > len(runs))) or "none"


# With noise


def _by_kind(sides: Comparison) -> GateFinding:
    """Decide by whether runs have a number, if all runs of each side agree."""
    numbers = {"before": _middle(sides.first), "after": _middle(sides.last)}
    both = (sides.first, sides.last)
    first, last = ({0.0 if isfinite(run.number) else run.number for run in side} for side in both)
    words = f"{_kinds(sides, sides.first)} before, {_kinds(sides, sides.last)} now"
    if len(first) > 1 or len(last) > 1:
        return sides.finding("undecided", f"{words}: it comes and goes", **numbers)
    was, now = first.pop(), last.pop()
    if was == now:
        return sides.finding("same", words, **numbers)
    if min(len(sides.first), len(sides.last)) < LEAST_ALIKE:
        return sides.finding("undecided", f"{words}: {LEAST_ALIKE} repetitions are enough", **numbers)
    return sides.finding(sides.towards(rises=now > was), words, **numbers)


def _kinds(sides: Comparison, side: Side) -> str:
    """A side as text: no throttles in 2 of 5 runs, else 12 s."""
    lacking = [run for run in side if run.why]
    if not lacking:
        return value(_middle(side), sides.gate.measure)
    finite = [run for run in side if not run.why]
    numbers = f", else {value(_middle(finite), sides.gate.measure)}" if finite else ""
    return f"{lacking[0].text} in {len(lacking)} of {some(len(side), 'run')}{numbers}"


def _by_interval(sides: Comparison, tests: int) -> GateFinding:
    numbers = {"before": _typical(sides, sides.first), "after": _typical(sides, sides.last)}
    before, after = (value(numbers[side], sides.gate.measure) for side in ("before", "after"))
    values = f"{before} before, {after} now"
    if min(len(sides.first), len(sides.last)) < LEAST_RUNS:
        why = "one repetition has no spread, so a noisy measure cannot be decided"
        return sides.finding("undecided", f"{values}: {why}", **numbers)
    level = 1 - (1 - sides.gate.confidence) / max(1, tests)
    first, last = (_raised(sides, side) for side in (sides.first, sides.last))
    floor = sides.measure.floor if sides.measure.unit == "s" else 0.0
    unsure = max(floor / 2 / fmean(side) for side in (first, last))
    interval = interval_of(first, last, level, least_spread=unsure, paired=sides.paired)
    within = between(interval.low, interval.high)
    change = f"{relative(interval.change)} ({within})" if within else "the size of the change is unknown"
    if interval.low == interval.high:
        change = relative(interval.change)
    change = step(numbers["before"], numbers["after"], sides.gate.measure) or change
    least = sides.gate.least_effect
    decision: Decision = "same" if interval.low >= -least and interval.high <= least else "undecided"
    if (interval.low > 0 or interval.high < 0) and abs(interval.change) >= least:
        decision = sides.towards(rises=interval.change > 0)
    why = _why(sides, decision, interval, level)
    if sides.of_the_machine:
        decision = "undecided"
        why = "; a local endpoint may differ by its machine; paired = true reruns the baseline beside it"
    return sides.finding(
        decision, f"{values}: {change}{why}", change=interval.change, low=interval.low, high=interval.high,
        **numbers,
    )  # fmt: skip


def _why(sides: Comparison, decision: Decision, interval: Interval, level: float) -> str:
    """Why the decision was made, or what it takes to decide."""
    least, runs = sides.gate.least_effect, min(len(sides.first), len(sides.last))
    if decision == "same":
        return f", within the least effect of {percent(least)}"
    if decision != "undecided":
        return ""
    if not least:
        return "; with a least effect of 0, no number of repetitions shows that nothing changed"
    enough = repetitions_to_tell(least, interval.spread, level)
    if enough is None:
        return f"; too noisy to tell {percent(least)} with any number of repetitions"
    if enough <= runs:
        return f"; too close to the least effect of {percent(least)} to tell with {some(runs, 'repetition')}"
    return f"; too noisy to tell {percent(least)} with {some(runs, 'repetition')}: {enough} are enough"


def _raised(sides: Comparison, side: Side) -> list[float]:
    """The numbers, at least the measure's floor, since 0 has no logarithm."""
    return [max(run.number, sides.measure.floor) for run in side]


def _typical(sides: Comparison, side: Side) -> float:
    """The number for a side: the geometric mean, or the median if that is below the floor."""
    middle = median(run.number for run in side)
    whole = middle and middle >= sides.measure.floor
    return geometric_mean(_raised(sides, side)) if whole else middle


def _middle(side: Side) -> float | str:
    """Median of the numbers, or the reason if most runs have none."""
    finite = [run.number for run in side if isfinite(run.number)]
    if 2 * len(finite) >= len(side):
        return median(finite)
    return next(run.text for run in side if run.why)
