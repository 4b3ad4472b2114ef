"""Gates on what has no noise: the same scenario and seed give the same number, so that any change counts.

Repetitions with seeds of their own may give numbers of their own, and a number of one seed says nothing about
that of another. So:

- where both sides ran the same seeds, each seed is compared with itself; seeds of one side only are left out;
- where they share none, the number has to be the same in all runs of a side, over several seeds: then it
  does not depend on the seed;
- else, and where one seed gave two numbers on one side, the measure is not exact here, and that is said.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import isclose, isfinite

from keyheat.numbers import percent, some
from keyheat.regression.finding import Decision, Finding
from keyheat.regression.gates.compared import Compared
from keyheat.regression.gates.known import Known, in_words, sides
from keyheat.regression.gates.statistical import without
from keyheat.regression.words import value

SAME = 1e-9  # relative: sums of floats in another order
BySeed = Mapping[int | None, Sequence[Known]]
Pair = tuple[Known, Known]


def exact(compared: Compared) -> Finding:
    """Better, worse or the same; `missing` where one side has no number, undecided where it is not exact."""
    known = sides(compared)
    if not known.before or not known.after:
        return without(compared, known)
    before, after = _by_seed(known.before), _by_seed(known.after)
    for side, runs in (("before", before), ("after", after)):
        for seed, of_seed in runs.items():
            if not _alike(of_seed):
                why = f"{side} it differs between runs of seed {seed}"
                return _not_exact(compared, why, known.before, known.after)
    seeds = sorted(seed for seed in before.keys() & after.keys() if seed is not None)
    if seeds:
        pairs = [(before[seed][0], after[seed][0]) for seed in seeds]
        return _decided(compared, pairs, f"with {some(len(seeds), 'seed')} compared one by one")
    several = min(len(before), len(after)) > 1 and _alike(known.before) and _alike(known.after)
    if several or _alike([*known.before, *known.after]):
        return _decided(compared, [(known.before[0], known.after[0])], "whatever the seed")
    why = "no seed was run on both sides, and it depends on the seed"
    return _not_exact(compared, why, known.before, known.after)


def _by_seed(runs: Sequence[Known]) -> BySeed:
    by_seed: dict[int | None, list[Known]] = defaultdict(list)
    for run in runs:
        by_seed[run.seed].append(run)
    return by_seed


def _decided(compared: Compared, pairs: Sequence[Pair], how: str) -> Finding:
    """By the pair that changed most for the worse; where none did, by the one that changed most."""
    order: Sequence[Decision] = ("worse", "better", "same")
    decision = min((_decision(compared, *pair) for pair in pairs), key=order.index)
    first, last = max((pair for pair in pairs if _decision(compared, *pair) == decision), key=_apart)
    known = isfinite(first.number) and isfinite(last.number) and first.number
    return compared.finding(
        decision,
        f"{_change(compared, first, last)}, {how}",
        before=_shown(first),
        after=_shown(last),
        change=last.number / first.number - 1 if known else 0.0 if _alike((first, last)) else None,
    )


def _decision(compared: Compared, before: Known, after: Known) -> Decision:
    if _alike((before, after)) or _apart((before, after)) <= compared.gate.least_effect * abs(before.number):
        return "same"
    if compared.measure.better == "same":
        return "worse"
    return "better" if (after.number > before.number) == (compared.measure.better == "higher") else "worse"


def _apart(pair: Pair) -> float:
    return 0.0 if _alike(pair) else abs(pair[1].number - pair[0].number)


def _change(compared: Compared, before: Known, after: Known) -> str:
    first, last = (value(_shown(run), compared.gate.measure) for run in (before, after))
    if _alike((before, after)):
        return f"{last} as before"
    words = f"{first} before, {last} now"
    if isfinite(before.number) and isfinite(after.number) and before.number:
        more = "more" if after.number > before.number else "less"
        words += f" ({percent(abs(after.number / before.number - 1))} {more})"
    least = compared.gate.least_effect
    return f"{words}, and changes up to {percent(least)} do not count" if least else words


def _not_exact(compared: Compared, why: str, before: Sequence[Known], after: Sequence[Known]) -> Finding:
    order = sorted((*before, *after), key=lambda run: run.number)
    lowest, highest = (value(_shown(run), compared.gate.measure) for run in (order[0], order[-1]))
    return compared.finding(
        "undecided",
        f"Not exact here: {why} ({lowest} to {highest}); "
        'simulate it, or give every run the same seed (seeds = "same")',
        before=_shown(before[0]),
        after=_shown(after[0]),
    )


def _shown(run: Known) -> float | str:
    return in_words(run.why) if run.why else run.number


def _alike(runs: Sequence[Known]) -> bool:
    return all(isclose(run.number, runs[0].number, rel_tol=SAME) for run in runs)
