"""Gates on what has no noise: the same scenario and seed give the same number, so that any change counts.

Repetitions with seeds of their own may give numbers of their own, and a number of one seed says nothing about
that of another. So:

- where both sides ran the same seeds, each seed is compared with itself; seeds of one side only are left out;
- where they share none, the number has to be the same in all runs of a side, over several seeds: then it
  does not depend on the seed;
- else, and where one seed gave two numbers on one side, the measure is not exact here, and that is said.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import isclose

from analyzers.numbers import percent, some
from analyzers.summary import RunSummary
from regression.finding import Decision, Finding
from regression.gates.compared import Compared
from regression.words import value

SAME = 1e-9  # relative: sums of floats in another order
Values = Mapping[int | None, Sequence[float]]


def exact(compared: Compared) -> Finding:
    """Better, worse or the same; `missing` where one side has no number, undecided where it is not exact."""
    before, after = (_by_seed(compared, runs) for runs in (compared.before, compared.after))
    if not before or not after:
        return _without(compared, before, after)
    for side, values in (("before", before), ("after", after)):
        for seed, numbers in values.items():
            if not _alike(numbers):
                return _not_exact(compared, f"{side} it differs between runs of seed {seed}", before, after)
    return _held(compared, before, after)


def _by_seed(compared: Compared, runs: Iterable[RunSummary]) -> Values:
    values: dict[int | None, list[float]] = defaultdict(list)
    for run in runs:
        if (number := run.measures.get(compared.gate.measure)) is not None:
            values[run.seed].append(number)
    return values


def _held(compared: Compared, before: Values, after: Values) -> Finding:
    seeds = sorted(seed for seed in before.keys() & after.keys() if seed is not None)
    if seeds:
        pairs = [(before[seed][0], after[seed][0]) for seed in seeds]
        return _decided(compared, pairs, f"with {some(len(seeds), 'seed')} compared one by one")
    first, last = ([number for numbers in side.values() for number in numbers] for side in (before, after))
    if _alike([*first, *last]) or (_alike(first) and _alike(last) and min(len(before), len(after)) > 1):
        return _decided(compared, [(first[0], last[0])], "whatever the seed")
    return _not_exact(compared, "no seed was run on both sides, and it depends on the seed", before, after)


def _decided(compared: Compared, pairs: Sequence[tuple[float, float]], how: str) -> Finding:
    """By the pair that changed most in the worse direction, else by the one that changed most."""
    decisions = {pair: _decision(compared, *pair) for pair in pairs}
    order: Sequence[Decision] = ("worse", "better", "same")
    decision = min(decisions.values(), key=order.index)
    first, last = max(
        (pair for pair in pairs if decisions[pair] == decision), key=lambda pair: abs(pair[1] - pair[0])
    )
    return compared.finding(
        decision,
        f"{_change(compared, first, last)}, {how}",
        before=first,
        after=last,
        change=last / first - 1 if first else (0.0 if not last else None),
    )


def _decision(compared: Compared, before: float, after: float) -> Decision:
    if _alike((before, after)) or abs(after - before) <= compared.gate.least_effect * abs(before):
        return "same"
    if compared.measure.better == "same":
        return "worse"
    return "better" if (after > before) == (compared.measure.better == "higher") else "worse"


def _change(compared: Compared, before: float, after: float) -> str:
    name = compared.gate.measure
    if _alike((before, after)):
        return f"{value(after, name)} as before"
    many = f" ({percent(abs(after / before - 1))} {'more' if after > before else 'less'})" if before else ""
    least = compared.gate.least_effect
    small = f", and changes up to {percent(least)} do not count" if least else ""
    return f"{value(before, name)} before, {value(after, name)} now{many}{small}"


def _without(compared: Compared, before: Values, after: Values) -> Finding:
    one = next((numbers[0] for side in (before, after) for numbers in side.values()), None)
    name = compared.gate.measure
    if one is None:
        return compared.finding("undecided", f"Neither side has {name}: its runs had nothing of the kind")
    lacking, there = ("before", "after") if not before else ("after", "before")
    return compared.finding(
        "missing",
        f"No run {lacking} has {name}, which was {value(one, name)} {there}",
        before=one if before else None,
        after=one if after else None,
    )


def _not_exact(compared: Compared, why: str, before: Values, after: Values) -> Finding:
    numbers = [number for side in (before, after) for of_seed in side.values() for number in of_seed]
    name = compared.gate.measure
    return compared.finding(
        "undecided",
        f"Not exact here: {why} ({value(min(numbers), name)} to {value(max(numbers), name)}); "
        'simulate it, or give every run the same seed (seeds = "same")',
        before=next(iter(before.values()))[0],
        after=next(iter(after.values()))[0],
    )


def _alike(numbers: Sequence[float]) -> bool:
    return all(isclose(number, numbers[0], rel_tol=SAME) for number in numbers)
