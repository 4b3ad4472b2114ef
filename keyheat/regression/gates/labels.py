"""The gate on labels: which constraints were seen, and which of them is the run's verdict.

A simulated run is decided by its scenario and seed: each seed is compared with itself, and any new label
counts. Elsewhere a label may come and go by chance, so a side has the labels that most of its runs have, and
one of which the other side has some, but not most, is undecided.
"""

from collections import Counter
from collections.abc import Sequence

from keyheat.analysis.summary import RunSummary
from keyheat.numbers import some
from keyheat.regression.finding import Decision, Finding
from keyheat.regression.gates.compared import Compared

WORST_FIRST: Sequence[Decision] = ("worse", "undecided", "better", "same")
Said = tuple[Decision, str]


def labelled(compared: Compared) -> Finding:
    """Worse with a new label or another verdict, better where one is gone or the verdict is none now."""
    seeds = _common_seeds(compared) if compared.simulated else ()
    said = [one for pair in _by_seed(compared, seeds) for one in _changes(*pair)]
    if not seeds:
        said = _changes(compared.before, compared.after)
    found: set[Decision] = {decision for decision, _ in said}
    decision: Decision = min(found, key=WORST_FIRST.index, default="same")
    words = "; ".join(dict.fromkeys(words for one, words in said if one == decision))
    return compared.finding(
        decision,
        words[:1].upper() + words[1:] or "The same labels and verdict as before",
        before=_seen(compared.before),
        after=_seen(compared.after),
    )


def _common_seeds(compared: Compared) -> Sequence[int]:
    before, after = ({run.seed for run in side} for side in (compared.before, compared.after))
    return sorted(seed for seed in before & after if seed is not None)


def _by_seed(
    compared: Compared, seeds: Sequence[int]
) -> list[tuple[Sequence[RunSummary], Sequence[RunSummary]]]:
    return [
        (
            [run for run in compared.before if run.seed == seed],
            [run for run in compared.after if run.seed == seed],
        )
        for seed in seeds
    ]


def _changes(before: Sequence[RunSummary], after: Sequence[RunSummary]) -> list[Said]:
    """Each label that one side has and the other has not, and the verdict where it is another."""
    counts = [Counter(label for run in side for label in run.labels) for side in (before, after)]
    said = [
        one
        for label in sorted({*counts[0], *counts[1]})
        if (one := _change(label, (counts[0][label], len(before)), (counts[1][label], len(after))))
    ]
    return [*said, *_verdict(before, after)]


def _change(label: str, before: tuple[int, int], after: tuple[int, int]) -> Said | None:
    had, has = (2 * count > of for count, of in (before, after))
    if had == has:
        return None
    if has and not before[0]:
        return "worse", f"{label} is new, in {after[0]} of {some(after[1], 'run')}"
    if had and not after[0]:
        return "better", f"{label} is gone, after {before[0]} of {some(before[1], 'run')}"
    return (
        "undecided",
        f"{label} comes and goes: {before[0]} of {before[1]} before, {after[0]} of {after[1]} now",
    )


def _verdict(before: Sequence[RunSummary], after: Sequence[RunSummary]) -> list[Said]:
    first, last = (Counter(run.constraint for run in side).most_common(1)[0] for side in (before, after))
    if first[0] == last[0]:
        return []
    words = f"the verdict was {first[0]} and is {last[0]} now"
    if 2 * first[1] <= len(before) or 2 * last[1] <= len(after):
        return [("undecided", f"{words}, in some runs only")]
    return [("better" if last[0] == "none" else "worse", words)]


def _seen(runs: Sequence[RunSummary]) -> str:
    """The labels that most runs have, else `none`."""
    counts = Counter(label for run in runs for label in run.labels)
    return ", ".join(sorted(label for label, count in counts.items() if 2 * count > len(runs))) or "none"
