"""Texts and numbers of a regress, the same on a terminal, on a page, in a comment and in exports."""

from collections.abc import Mapping
from typing import Final

from keyheat.analysis.measures import MEASURES
from keyheat.numbers import NOTHING, measured, percent, some
from keyheat.regression.outcome import Decision, GateFinding, SessionOutcome, Verdict
from keyheat.words import LIMITS, limit_words

MOST_TIMES: Final = 1_000  # larger ratios are not printed
SINGLE: Final = {"units": "unit", "shards": "shard"}
SHOWN: Final[Mapping[Verdict, str]] = {
    "good": "As good as it was",
    "baseline": "New baseline",
    "unaccepted": "To be reviewed",
    "regressed": "Regressed",
    "invalid": "Not valid",
    "not_compared": "Not compared",
    "refused": "Refused",
    "interrupted": "Interrupted",
}
DECISIONS: Final[Mapping[Decision, str]] = {
    "same": "as good",
    "better": "better",
    "worse": "worse",
    "undecided": "inconclusive",
    "missing": "missing",
}


def headline(outcome: SessionOutcome) -> str:
    """The result as a sentence: `nightly regressed: 2 of 12 gates failed.`"""
    gates, failed = len(outcome.measured), len(outcome.failed)
    of_gates = f"{failed} of {some(gates, 'gate')} failed"
    match outcome.verdict:
        case "good":
            undecided = len(outcome.of("undecided"))
            if not gates:
                return f"{outcome.suite} ran; there was nothing to compare with."
            if undecided:
                held = f"{gates - undecided} of {some(gates, 'gate')} held"
                return f"{outcome.suite} shows no regression: {held}, {undecided} could not have seen one."
            held = "its one gate held" if gates == 1 else f"all {gates:,} gates held"
            return f"{outcome.suite} is as good as it was: {held}."
        case "baseline":
            return f"{outcome.suite} has a new baseline: {some(len(outcome.runs), 'valid run')}."
        case "unaccepted":
            return f"{outcome.suite} {_unaccepted(outcome)}."
        case "regressed":
            broken = "breaks thresholds of its scenarios"
            return f"{outcome.suite} {f'regressed: {of_gates}' if failed else broken}."
        case "invalid" if outcome.invalid:
            bad = f"{len(outcome.invalid)} of {some(_run_count(outcome), 'run')} are invalid"
            return f"{outcome.suite} is inconclusive: {bad}{f'; {of_gates}' if failed else ''}."
        case "invalid":
            return f"{outcome.suite} cannot be compared with its baseline."
        case "not_compared":
            return f"{outcome.suite} was not run: its baseline was measured on another setup."
        case "refused":
            return f"{outcome.suite} was refused after {some(_run_count(outcome), 'run')}."
        case "interrupted":
            return (
                f"{outcome.suite} was interrupted: {some(_run_count(outcome), 'run')} kept, nothing decided."
            )


def _unaccepted(outcome: SessionOutcome) -> str:
    if outcome.replaces is not None:
        return f"has a session to review and accept; until then session {outcome.replaces} stays the baseline"
    if outcome.baseline is None:
        return "has no baseline yet: review this session, then accept it"
    if outcome.baseline.accepted:
        return "shows no regression: review what is new, then accept it"
    return "shows no regression, but no session is accepted yet: review this one"


def decision(finding: GateFinding) -> str:
    return "nothing to measure" if finding.idle else DECISIONS[finding.decision]


def allowed(finding: GateFinding, outcome: SessionOutcome) -> str:
    """What a failed gate allows, and where to change that."""
    gate, suite = finding.gate, outcome.suite_path
    if finding.decision == "missing":
        return f"Allowed: nothing missing. To stop checking it, remove its gate from {suite}."
    if gate.least_effect and gate.noisy:
        return f"Allowed: less than {percent(gate.least_effect)} worse (least_effect of its gate in {suite})."
    return "Allowed: nothing worse. If the change is intended, start a new baseline with --new-baseline."


def _run_count(outcome: SessionOutcome) -> int:
    return sum(len(case.before if outcome.paired else ()) + len(case.after) for case in outcome.cases)


def baseline_phrase(outcome: SessionOutcome) -> str:
    """The baseline as text."""
    if outcome.baseline is None:
        return "compared with nothing"
    how = ", whose scenarios were rerun next to the new ones" if outcome.paired else ""
    return f"compared with {outcome.baseline.title}{how}"


def value(of: float | str | None, measure: str) -> str:
    """A measure's value with its unit: 1,800 units/s, 1 shard, 2.5 %; a dash for None."""
    if of is None:
        return NOTHING
    if isinstance(of, str):
        return ", ".join(map(label_words, of.split(", "))) or "none"
    unit = MEASURES[measure].unit if measure in MEASURES else ""
    if unit == "share":
        return f"{measured(of * 100)} %"
    number = measured(of)
    return f"{number} {SINGLE.get(unit, unit) if number == '1' else unit}".rstrip()


def label_words(label: str) -> str:
    """A label as a phrase: `table write partition` is `a partition limit (table writes)`."""
    resource, direction, constraint = label.split(" ") if label.count(" ") == 2 else ("", "", "")
    return limit_words(constraint, resource, direction) if constraint in LIMITS else label


def relative(change: float | None) -> str:
    """A relative change with its sign: +12 %, -0.5 %, 0 %; large ones as `x 12`."""
    if change is None:
        return NOTHING
    if change > MOST_TIMES:
        return f"over x {MOST_TIMES:,}"
    if change > 10:
        return f"x {measured(1 + change)}"
    return f"{'+' if change > 0 else ''}{measured(change * 100)} %" if abs(change) >= 5e-5 else "0 %"


def step(before: float | str | None, after: float | str | None, measure: str) -> str:
    """The difference if a ratio is useless, as from zero: +1.06 percentage points, -3 s; else empty."""
    if not isinstance(before, float | int) or not isinstance(after, float | int) or before == after:
        return ""
    floor = MEASURES[measure].floor if measure in MEASURES else 0.0
    if min(before, after) >= floor and before:
        return ""
    if measure in MEASURES and MEASURES[measure].unit == "share":
        return f"{'+' if after > before else '-'}{measured(abs(after - before) * 100)} percentage points"
    return f"{'+' if after > before else '-'}{value(abs(after - before), measure)}"


def between(low: float, high: float) -> str:
    """An interval of relative changes: -12 % to -8 %; empty if it excludes nothing."""
    if low < 1 / MOST_TIMES - 1 and high > MOST_TIMES:
        return ""
    return f"{relative(low)} to {relative(high)}"


def change_phrase(finding: GateFinding) -> str:
    """The change and its interval: -10 % (-12 % to -8 %); from nearly zero, the difference.

    An interval that excludes nothing leaves the change undecided.
    """
    if by := step(finding.before, finding.after, finding.gate.measure):
        return by
    if finding.low is None or finding.high is None:
        return relative(finding.change)
    within = between(finding.low, finding.high)
    return f"{relative(finding.change)} ({within})" if within else DECISIONS["undecided"]
