"""The gate on labels: constraints of the runs before and after."""

from collections import Counter
from collections.abc import Iterator, Sequence

from keyheat.analysis.summary import RunSummary
from keyheat.regression.outcome import WORST_FIRST, Decision
from keyheat.regression.phrases import label_words

Side = Sequence[RunSummary]


def judge_labels(pairs: Sequence[tuple[Side, Side]]) -> tuple[Decision, str]:
    """Decide worse for a new label, better for a lost one, in any pair of sides; explain."""
    changes = [change for before, after in pairs for change in _changes(before, after)]
    decision: Decision = min((kind for kind, _ in changes), key=WORST_FIRST.index, default="same")
    words = "; ".join(dict.fromkeys(words for kind, words in changes if kind == decision))
    return decision, words[:1].upper() + words[1:] or "The same labels as before"


def _changes(before: Side, after: Side) -> Iterator[tuple[Decision, str]]:
    """Labels that most runs of one side have, and most of the other lack."""
    had, has = (Counter(label for run in side for label in run.labels) for side in (before, after))
    for label in sorted({*had, *has}):
        was, now = 2 * had[label] > len(before), 2 * has[label] > len(after)
        if now and not had[label]:
            yield "worse", f"{label_words(label)} is new, in {_of_runs(has[label], len(after))}"
        elif was and not has[label]:
            yield "better", f"{label_words(label)} is gone; it was in {_of_runs(had[label], len(before))}"
        elif was != now:
            counts = f"{had[label]} of {len(before)} before, {has[label]} of {len(after)} now"
            yield "undecided", f"{label_words(label)} comes and goes: {counts}"


def _of_runs(count: int, of: int) -> str:
    return "the only run" if of == 1 else f"{count} of {of} repetitions"


def labels_of(runs: Side) -> str:
    """Labels that most runs have, else `none`."""
    counts = Counter(label for run in runs for label in run.labels)
    return ", ".join(sorted(label for label, count in counts.items() if 2 * count > len(runs))) or "none"
