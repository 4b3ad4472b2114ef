"""Gates on what differs from run to run: decided by an interval over several repetitions.

    worse       the interval leaves zero out, and the estimate is at least the least effect, for the worse
    better      the same for the better
    same        the interval lies within the least effect, on both sides of zero
    undecided   anything else; how many repetitions would do is said

The interval's level is that of the whole suite: with a confidence of 99 % and ten gates each is judged at
99.9 %, so that one suite in a hundred, not one gate in a hundred, changes by chance (Bonferroni).

Values below a measure's floor are raised to it: 0 and 0.001 throttled are alike, and 0 has no logarithm.
"""

from collections.abc import Sequence
from math import comb
from statistics import fmean, median

from analyzers.numbers import percent, some
from regression.finding import Decision, Finding
from regression.gates.compared import Compared
from regression.gates.times import Known, known, without_unknown
from regression.statistics.detectable import effect_of, runs_to_tell
from regression.statistics.intervals import LEAST_RUNS, Ratio, ratio_of
from regression.words import relative, value

COUNTED_IN = "s"  # such measures are whole seconds: half of one is not known
NEVER = "none"  # stands where a time would


def statistical(compared: Compared, *, gates: int, paired: bool = False) -> Finding:
    """What several runs on each side say, as one of so many statistical `gates` of the suite."""
    before, after = without_unknown(
        known(compared.gate.measure, compared.before), known(compared.gate.measure, compared.after), paired
    )
    if not before or not after:
        return _without(compared, before, after)
    shown = {"before": _shown(before), "after": _shown(after), "repetitions": (len(before), len(after))}
    if decision := _by_presence(compared, before, after):
        return compared.finding(decision, _presence(compared, before, after), **shown)
    if min(len(before), len(after)) < LEAST_RUNS:
        why = "one repetition has no spread, and what differs from run to run cannot be decided by it"
        return compared.finding("undecided", f"{_values(compared, before, after)}: {why}", **shown)
    level = 1 - (1 - compared.gate.confidence) / gates
    ratio = _ratio(compared, before, after, level, paired)
    decision = decided(ratio, better=compared.measure.better, least=compared.gate.least_effect)
    numbers = {"change": ratio.ratio - 1, "low": ratio.low - 1, "high": ratio.high - 1}
    words = f"{_values(compared, before, after)}: {_in_words(numbers)}"
    if decision == "undecided":
        words += f"; {_what_would_do(compared, ratio, level, min(len(before), len(after)))}"
    elif decision == "same":
        words += f", within the {percent(compared.gate.least_effect)} that count"
    return compared.finding(decision, words, **shown, **numbers)


def decided(ratio: Ratio, *, better: str, least: float) -> Decision:
    """What an interval says; `least` is the relative change from which anybody cares."""
    change, low, high = ratio.ratio - 1, ratio.low - 1, ratio.high - 1
    if (low > 0 or high < 0) and abs(change) >= least:
        return "better" if better != "same" and (change > 0) == (better == "higher") else "worse"
    return "same" if low >= -least and high <= least else "undecided"


def _ratio(
    compared: Compared, before: Sequence[Known], after: Sequence[Known], level: float, paired: bool
) -> Ratio:
    floor = compared.measure.floor
    first, last = ([max(run.at_least, floor) for run in side] for side in (before, after))
    unsure = floor / 2 / min(fmean(first), fmean(last)) if compared.measure.unit == COUNTED_IN else 0.0
    return ratio_of(first, last, confidence=level, paired=paired, least_spread=unsure)


def _by_presence(compared: Compared, before: Sequence[Known], after: Sequence[Known]) -> Decision | None:
    """Decided without numbers: it never happened on either side, or always on one and never on the other.

    The latter by chance at most as often as the gate's confidence allows: with five runs on each side.
    """
    never = [sum(run.never for run in side) for side in (before, after)]
    if never == [len(before), len(after)]:
        return "same"
    one_sided = never in ([len(before), 0], [0, len(after)])
    if not one_sided or 1 / comb(len(before) + len(after), len(after)) > 1 - compared.gate.confidence:
        return None
    return "worse" if never[0] else "better"


def _presence(compared: Compared, before: Sequence[Known], after: Sequence[Known]) -> str:
    if before[0].never and after[0].never:
        return "Nothing was throttled, before or now"
    there, runs, when = (after, len(before), "before") if before[0].never else (before, len(after), "now")
    seen = value(median(run.at_least for run in there), compared.gate.measure)
    other = "now" if when == "before" else "before"
    return f"Nothing was throttled in {some(runs, 'run')} {when}; {other} it is {seen}"


def _values(compared: Compared, before: Sequence[Known], after: Sequence[Known]) -> str:
    first, last = (value(_shown(side), compared.gate.measure) for side in (before, after))
    return f"{first} before, {last} now"


def _shown(side: Sequence[Known]) -> float | str:
    """The median of a side; `none` where in most of its runs it never happened."""
    if sum(run.never for run in side) * 2 > len(side):
        return NEVER
    return median(run.at_least for run in side)


def _in_words(numbers: dict[str, float]) -> str:
    return f"{relative(numbers['change'])} ({relative(numbers['low'])} to {relative(numbers['high'])})"


def _what_would_do(compared: Compared, ratio: Ratio, level: float, runs: int) -> str:
    least = compared.gate.least_effect
    if not least:
        return "with a least effect of 0 no number of repetitions tells that nothing changed"
    effect = effect_of(least, "lower")
    enough = runs_to_tell(effect, spread=ratio.spread, confidence=level)
    if enough is None:
        return f"it differs too much from run to run to tell {percent(least)} apart"
    if enough <= runs:
        return f"that is too near the {percent(least)} that count to be told with {some(runs, 'repetition')}"
    return f"too wide to tell {percent(least)} with {some(runs, 'repetition')}; {enough} would do"


def _without(compared: Compared, before: Sequence[Known], after: Sequence[Known]) -> Finding:
    name = compared.gate.measure
    if not before and not after:
        return compared.finding("undecided", f"Neither side has {name}: its runs had nothing of the kind")
    lacking, there, runs = ("before", "after", after) if not before else ("after", "before", before)
    return compared.finding(
        "missing",
        f"No run {lacking} says {name}, which was {value(_shown(runs), name)} {there}",
        **{there: _shown(runs)},
    )
