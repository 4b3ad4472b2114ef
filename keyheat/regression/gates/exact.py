"""Gates without noise: the same scenario and seed give the same numbers and labels; any change counts."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import isclose, isfinite
from typing import TypeVar

from keyheat.analysis.summary import RunSummary
from keyheat.numbers import percent, some
from keyheat.regression.gates.comparison import SAME, CaseComparison, KnownValue, alike, in_words, sides
from keyheat.regression.gates.statistical import without
from keyheat.regression.outcome import WORST_FIRST, Decision, GateFinding
from keyheat.regression.phrases import step, value

Seeded = TypeVar("Seeded", KnownValue, RunSummary)
Pair = tuple[KnownValue, KnownValue]


def exact(compared: CaseComparison) -> GateFinding:
    """Better, worse or the same; `missing` where one side has no number, undecided where it is not exact."""
    known = sides(compared)
    if not known.before or not known.after:
        return without(compared, known)
    before, after = _by_seed(known.before), _by_seed(known.after)
    for side, runs in (("before", before), ("after", after)):
        for seed, of_seed in runs.items():
            if not alike(of_seed):
                why = f"{side} it differs between runs of seed {seed}"
                return _not_exact(compared, why, known.before, known.after)
    if pairs := _paired(before, after):
        how = f"with {some(len(pairs), 'seed')} compared one by one"
        return _decided(compared, [(first[0], last[0]) for first, last in pairs], how)
    several = min(len(before), len(after)) > 1 and alike(known.before) and alike(known.after)
    if several or alike([*known.before, *known.after]):
        return _decided(compared, [(known.before[0], known.after[0])], "whatever the seed")
    why = "no seed was run on both sides, and it depends on the seed"
    return _not_exact(compared, why, known.before, known.after)


def _by_seed(runs: Sequence[Seeded]) -> Mapping[int | None, Sequence[Seeded]]:
    by_seed: dict[int | None, list[Seeded]] = defaultdict(list)
    for run in runs:
        by_seed[run.seed].append(run)
    return by_seed


def _paired(
    before: Mapping[int | None, Sequence[Seeded]], after: Mapping[int | None, Sequence[Seeded]]
) -> list[tuple[Sequence[Seeded], Sequence[Seeded]]]:
    """The runs of both sides with each seed that both have, in the order of seeds."""
    seeds = sorted(seed for seed in before.keys() & after.keys() if seed is not None)
    return [(before[seed], after[seed]) for seed in seeds]


def _decided(compared: CaseComparison, pairs: Sequence[Pair], how: str) -> GateFinding:
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
        change=last.number / first.number - 1 if known else 0.0 if alike((first, last)) else None,
    )


def _decision(compared: CaseComparison, before: KnownValue, after: KnownValue) -> Decision:
    if not _counts(compared, before.number, after.number):
        return "same"
    if compared.measure.better == "same":
        return "worse"
    return "better" if (after.number > before.number) == (compared.measure.better == "higher") else "worse"


def _apart(pair: Pair) -> float:
    return 0.0 if alike(pair) else abs(pair[1].number - pair[0].number)


def _counts(compared: CaseComparison, before: float, after: float) -> bool:
    """Whether the change is more than what matters; numbers below the measure's floor are alike."""
    if not isfinite(before) or not isfinite(after):
        return before != after
    first, last = (max(number, compared.measure.floor) for number in (before, after))
    return not isclose(first, last, rel_tol=SAME) and abs(last - first) > compared.gate.least_effect * first


def _change(compared: CaseComparison, before: KnownValue, after: KnownValue) -> str:
    first, last = (value(_shown(run), compared.gate.measure) for run in (before, after))
    if alike((before, after)):
        return f"{last} as before"
    words = f"{first} before, {last} now"
    if by := step(_shown(before), _shown(after), compared.gate.measure):
        words += f" ({by})"
    elif isfinite(before.number) and isfinite(after.number) and before.number:
        more = "more" if after.number > before.number else "less"
        words += f" ({percent(abs(after.number / before.number - 1))} {more})"
    least = compared.gate.least_effect
    return f"{words}, and changes up to {percent(least)} do not count" if least else words


def _not_exact(
    compared: CaseComparison, why: str, before: Sequence[KnownValue], after: Sequence[KnownValue]
) -> GateFinding:
    order = sorted((*before, *after), key=lambda run: run.number)
    lowest, highest = (value(_shown(run), compared.gate.measure) for run in (order[0], order[-1]))
    return compared.finding(
        "undecided",
        f"Not exact here: {why} ({lowest} to {highest}); "
        'simulate it, or give every run the same seed (seeds = "same")',
        before=_shown(before[0]),
        after=_shown(after[0]),
    )


def _shown(run: KnownValue) -> float | str:
    return in_words(run.why) if run.why else run.number


Said = tuple[Decision, str]


def labelled(compared: CaseComparison) -> GateFinding:
    """Worse with a new label or another verdict, better where one is gone or the verdict is none now."""
    pairs = _paired(_by_seed(compared.before), _by_seed(compared.after)) if compared.simulated else []
    said = [one for pair in pairs or [(compared.before, compared.after)] for one in _label_changes(*pair)]
    found: set[Decision] = {decision for decision, _ in said}
    decision: Decision = min(found, key=WORST_FIRST.index, default="same")
    words = "; ".join(dict.fromkeys(words for one, words in said if one == decision))
    return compared.finding(
        decision,
        words[:1].upper() + words[1:] or "The same labels and verdict as before",
        before=_labels_seen(compared.before),
        after=_labels_seen(compared.after),
    )


def _label_changes(before: Sequence[RunSummary], after: Sequence[RunSummary]) -> list[Said]:
    """Each label that one side has and the other has not, and the verdict where it is another."""
    counts = [Counter(label for run in side for label in run.labels) for side in (before, after)]
    said = [
        one
        for label in sorted({*counts[0], *counts[1]})
        if (one := _label_change(label, (counts[0][label], len(before)), (counts[1][label], len(after))))
    ]
    return [*said, *_verdict_change(before, after)]


def _label_change(label: str, before: tuple[int, int], after: tuple[int, int]) -> Said | None:
    had, has = (2 * count > of for count, of in (before, after))
    if had == has:
        return None
    if has and not before[0]:
        return "worse", f"{label} is new, in {_of_runs(*after)}"
    if had and not after[0]:
        return "better", f"{label} is gone; it was in {_of_runs(*before)}"
    return (
        "undecided",
        f"{label} comes and goes: {before[0]} of {before[1]} before, {after[0]} of {after[1]} now",
    )


def _of_runs(count: int, of: int) -> str:
    return "the only run" if of == 1 else f"{count} of {of} repetitions"


def _verdict_change(before: Sequence[RunSummary], after: Sequence[RunSummary]) -> list[Said]:
    first, last = (Counter(run.constraint for run in side).most_common(1)[0] for side in (before, after))
    if first[0] == last[0]:
        return []
    words = f"the verdict was {first[0]} and is {last[0]} now"
    if 2 * first[1] <= len(before) or 2 * last[1] <= len(after):
        return [("undecided", f"{words}, in some runs only")]
    return [("better" if last[0] == "none" else "worse", words)]


def _labels_seen(runs: Sequence[RunSummary]) -> str:
    """The labels that most runs have, else `none`."""
    counts = Counter(label for run in runs for label in run.labels)
    return ", ".join(sorted(label for label, count in counts.items() if 2 * count > len(runs))) or "none"
