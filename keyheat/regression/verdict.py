"""What a session comes to, once its runs are made: the verdict, and why in sentences."""

from collections.abc import Sequence

from keyheat.numbers import some
from keyheat.regression.finding import Difference, Finding
from keyheat.regression.outcome import RunMade, Verdict, is_idle

Decided = tuple[Verdict, tuple[str, ...]]


def verdict_of(
    runs: Sequence[RunMade],
    findings: Sequence[Finding],
    *,
    compared: bool,
    forbidden: Sequence[Difference] = (),
    new_cases: Sequence[str] = (),
) -> Decided:
    """The verdict over all runs of a session, those of a rerun baseline among them.

    What makes the answer worthless weighs more than what the answer is: a run that says nothing about its
    table, then setups that forbid the comparison, then gates and thresholds. `compared` is False for a first
    session, which has no baseline.
    """
    because = (*_invalid(runs), *_forbidden(forbidden), *_broken(runs), *_failed(findings))
    because += (*_undecided(findings), *_new(new_cases))
    if forbidden or any(not run.valid for run in runs):
        return "invalid", because
    if any(finding.failed for finding in findings) or any(run.broken for run in runs if run.side == "after"):
        return "regressed", because
    if not compared:
        return "baseline", (*because, "From now on sessions of this suite are held against this one.")
    return "good", because


def _invalid(runs: Sequence[RunMade]) -> list[str]:
    return [
        f"{run.name}{' (the baseline, run again)' if run.side == 'before' else ''} says nothing about its "
        f"table: {run.problem or 'it is not valid.'}"
        for run in runs
        if not run.valid
    ]


def _forbidden(differences: Sequence[Difference]) -> list[str]:
    if not differences:
        return []
    count = some(len(differences), "thing differs", "things differ")
    return [f"The baseline was measured on another setup: {count}. --force compares nevertheless."]


def _broken(runs: Sequence[RunMade]) -> list[str]:
    return [f"{run.name}: {line}." for run in runs if run.side == "after" for line in run.broken]


def _failed(findings: Sequence[Finding]) -> list[str]:
    by_case: dict[str, list[str]] = {}
    for finding in findings:
        if finding.failed:
            by_case.setdefault(finding.case, []).append(finding.gate.measure)
    return [
        f"{case} fails {some(len(names), 'gate')}: {', '.join(names)}." for case, names in by_case.items()
    ]


def _undecided(findings: Sequence[Finding]) -> list[str]:
    count = sum(finding.decision == "undecided" and not is_idle(finding) for finding in findings)
    return [f"{some(count, 'gate')} cannot be told from noise; more repetitions would tell."] if count else []


def _new(cases: Sequence[str]) -> list[str]:
    return [f"{case} is not in the baseline: it is held against nothing yet." for case in cases]
