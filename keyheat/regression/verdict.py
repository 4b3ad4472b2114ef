"""A session's runs held against its baseline: the verdict, why in sentences, and the whole outcome."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from keyheat.analysis.summary import RunSummary
from keyheat.numbers import some
from keyheat.regression.baseline import Baseline, told
from keyheat.regression.comparability import differences
from keyheat.regression.gates.judge import judge
from keyheat.regression.history.records import Session
from keyheat.regression.outcome import (
    CaseMade,
    Difference,
    GateFinding,
    RunMade,
    SessionOutcome,
    Verdict,
    is_idle,
)
from keyheat.regression.suite import Suite
from keyheat.regression.suite_runs import SessionRuns, runs_kept
from keyheat.words import INTERRUPTED, REFUSED

Decided = tuple[Verdict, tuple[str, ...]]


def verdict_of(
    runs: Sequence[RunMade],
    findings: Sequence[GateFinding],
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


def _failed(findings: Sequence[GateFinding]) -> list[str]:
    by_case: dict[str, list[str]] = {}
    for finding in findings:
        if finding.failed:
            by_case.setdefault(finding.case, []).append(finding.gate.measure)
    return [
        f"{case} fails {some(len(names), 'gate')}: {', '.join(names)}." for case, names in by_case.items()
    ]


def _undecided(findings: Sequence[GateFinding]) -> list[str]:
    count = sum(finding.decision == "undecided" and not is_idle(finding) for finding in findings)
    return [f"{some(count, 'gate')} cannot be told from noise; more repetitions would tell."] if count else []


def _new(cases: Sequence[str]) -> list[str]:
    return [f"{case} is not in the baseline: it is held against nothing yet." for case in cases]


STOPPED: Final = "It was stopped; the runs that were made are kept."
NOT_STARTED: Final = "A run was refused, so that nothing is decided."

Runs = Mapping[str, Sequence[RunSummary]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a session is held against, and how: `paired` reruns it, `force` overlooks another setup."""

    suite: Suite
    baseline: Baseline | None
    paired: bool = False
    force: bool = False

    def judged(self, made: SessionRuns) -> dict[str, Any]:
        """Verdict, reasons, findings and differences, as an outcome has them."""
        if made.code is not None:
            verdict = verdict_of_code(made.code)
            return {"verdict": verdict, "because": (NOT_STARTED if verdict == "refused" else STOPPED,)}
        before, after = self._before(made), made.of("after")
        differ = differences(before, after, self.suite.gates)
        if self.baseline is not None:
            differ = told(differ, self.baseline, self.suite)
        forbidden = () if self.force or self.paired else differ
        gates = {case: of_case for case, of_case in self.suite.gates.items() if case in before}
        findings = () if forbidden else judge(gates, before, after, paired=self._in_pairs(before, after))
        compared = self.baseline is not None
        new = [case for case in self.suite.gates if compared and case not in before]
        verdict, because = verdict_of(
            made.runs, findings, compared=compared, forbidden=forbidden, new_cases=new
        )
        return {
            "verdict": verdict,
            "because": because,
            "findings": findings,
            "differences": differ,
            "forced": self.force and bool(differ),
        }

    def cases(self, made: SessionRuns) -> tuple[CaseMade, ...]:
        """Every case of the suite, with its runs on both sides."""
        kept = {} if self.paired or self.baseline is None else self.baseline.kept
        return tuple(
            CaseMade(
                name=case.name,
                scenario=case.scenario.name,
                target=case.target,
                question=case.scenario.question,
                before=made.shown(case.name, "before") or runs_kept(kept.get(case.name, ())),
                after=made.shown(case.name, "after"),
            )
            for case in self.suite.cases
        )

    def _before(self, made: SessionRuns) -> Runs:
        if self.paired:
            return made.of("before")
        return self.baseline.runs if self.baseline is not None else {}

    def _in_pairs(self, before: Runs, after: Runs) -> bool:
        """Whether every run has its partner; one that came to no diagnosis leaves its own alone."""
        alike = all(len(runs) == len(after.get(case, ())) for case, runs in before.items())
        return self.paired and alike


def outcome_of(
    held: Held, made: SessionRuns, session: Session, *, history: Path, folder: Path, ended_at: datetime
) -> SessionOutcome:
    """The outcome of a session whose runs are made."""
    suite = held.suite
    return SessionOutcome(
        suite=suite.name,
        suite_path=str(suite.path),
        question=suite.question,
        session=str(session.id),
        label=session.label,
        history=str(history),
        folder=str(folder),
        started_at=session.started_at,
        ended_at=ended_at,
        baseline=held.baseline.used if held.baseline is not None else None,
        paired=held.paired,
        cases=held.cases(made),
        problems=tuple(made.problems),
        **held.judged(made),
    )


def verdict_of_code(code: int) -> Verdict:
    """The verdict of a session that one of its runs ended, by that run's exit code."""
    return "interrupted" if code == INTERRUPTED else "refused" if code == REFUSED else "invalid"
