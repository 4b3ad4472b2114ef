"""A session's runs held against its baseline, and the outcome that comes of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from keyheat.analysis.summary import RunSummary
from keyheat.regression.baseline import Baseline, told
from keyheat.regression.gates.comparable import differences
from keyheat.regression.gates.judge import judge
from keyheat.regression.history import Session
from keyheat.regression.made import Made, runs_kept
from keyheat.regression.outcome import CaseMade, Outcome, Verdict
from keyheat.regression.suites.suite import Suite
from keyheat.regression.verdict import verdict_of
from keyheat.words import INTERRUPTED, REFUSED

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

    def judged(self, made: Made) -> dict[str, Any]:
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

    def cases(self, made: Made) -> tuple[CaseMade, ...]:
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

    def _before(self, made: Made) -> Runs:
        if self.paired:
            return made.of("before")
        return self.baseline.runs if self.baseline is not None else {}

    def _in_pairs(self, before: Runs, after: Runs) -> bool:
        """Whether every run has its partner; one that came to no diagnosis leaves its own alone."""
        alike = all(len(runs) == len(after.get(case, ())) for case, runs in before.items())
        return self.paired and alike


def outcome_of(
    held: Held, made: Made, session: Session, *, history: Path, folder: Path, ended_at: datetime
) -> Outcome:
    """The outcome of a session whose runs are made."""
    suite = held.suite
    return Outcome(
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
