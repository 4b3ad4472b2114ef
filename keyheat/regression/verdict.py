"""A session's runs held against its baseline: the verdict, why in sentences, and the whole outcome."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from keyheat.numbers import some
from keyheat.regression.baseline import Baseline, refusal, told
from keyheat.regression.comparability import differences, slight, suspects
from keyheat.regression.gates.judge import Runs, judge
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
from keyheat.regression.phrases import value
from keyheat.regression.suite import Suite
from keyheat.regression.suite_runs import SessionRuns, runs_kept
from keyheat.regression.suite_spec import CAPACITY_USED, LABELS, THROTTLE_SHARE
from keyheat.words import INTERRUPTED, REFUSED

Decided = tuple[Verdict, tuple[str, ...]]


def verdict_of(
    runs: Sequence[RunMade],
    findings: Sequence[GateFinding],
    *,
    compared: bool,
    forbidden: Sequence[Difference] = (),
    new_cases: Sequence[str] = (),
    changed: Sequence[Difference] = (),
    doubts: Sequence[str] = (),
    gone: Sequence[str] = (),
) -> Decided:
    """The verdict over all runs of a session, those of a rerun baseline among them.

    What makes the answer worthless weighs more than what the answer is: a run that says nothing about its
    table, then setups that forbid the comparison, then gates and thresholds. `compared` is False for a first
    session, which has no baseline; `doubts` are what somebody should have seen of what is held against
    nothing yet, a first session or a new case, before it is held on to. Cases that are `gone` are named.
    """
    because = (*_invalid(runs), *_forbidden(forbidden), *_failed(findings), *_changed(changed))
    because += (*_broken(runs), *_undecided(findings), *_new(new_cases), *_gone(gone))
    if forbidden or any(not run.valid for run in runs):
        return "invalid", because
    if any(finding.failed for finding in findings) or any(run.broken for run in runs if run.side == "after"):
        return "regressed", because
    if doubts:
        return "unaccepted", (*because, *doubts)
    if not compared:
        return "baseline", (*because, "From now on sessions of this suite are held against this one.")
    return "good", because


def doubts_of(cases: Sequence[CaseMade], expects: Mapping[str, str | None]) -> tuple[str, ...]:
    """What would be frozen that nobody said was meant: throttles, or others than are expected, and what runs
    on burst capacity.

    `expects` has the constraint that each case's scenario expects, by the case's name.
    """
    found = []
    for case in cases:
        labels = sorted({label for run in case.after for label in run.labels})
        expected, seen = expects.get(case.name), {run.constraint for run in case.after}
        shares = _measured(case, THROTTLE_SHARE)
        most = f" {value(max(shares), THROTTLE_SHARE)} of its attempts" if shares else ""
        if expected is not None and seen != {expected}:
            was = f"by {', '.join(labels)}" if labels else "by nothing"
            found.append(f"{case.name} is expected to be limited by {expected}, and throttles{most}, {was}.")
        elif expected is None and labels:
            found.append(f"{case.name} throttles{most}, by {', '.join(labels)}, and expects nothing of it.")
        elif expected is None and (used := max(_measured(case, CAPACITY_USED), default=0.0)) > 1:
            found.append(f"{case.name} runs on burst capacity, {value(used, CAPACITY_USED)} of its maximum.")
    return tuple(found)


def _measured(case: CaseMade, measure: str) -> list[float]:
    return [run.measures[measure] for run in case.after if measure in run.measures]


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
    """What got worse, by case: throttles and what they are of first, then further gates by their names."""
    by_case: dict[str, list[GateFinding]] = {}
    for finding in findings:
        if finding.failed:
            by_case.setdefault(finding.case, []).append(finding)
    return [_worse(case, failed, findings) for case, failed in by_case.items()]


def _worse(case: str, failed: Sequence[GateFinding], findings: Sequence[GateFinding]) -> str:
    of_case = {one.gate.measure: one for one in findings if one.case == case}
    labels, share = of_case.get(LABELS), of_case.get(THROTTLE_SHARE)
    said, told = f"{case} fails {some(len(failed), 'gate')}", set[str]()
    if share is not None and share.after != share.before and (share.failed or (labels and labels.failed)):
        said = f"{case} now throttles {value(share.after, THROTTLE_SHARE)} of its attempts"
        said += f" (was {value(share.before, THROTTLE_SHARE)})"
        told |= {THROTTLE_SHARE, CAPACITY_USED}
    elif (used := of_case.get(CAPACITY_USED)) is not None and used.failed:
        now, was = (value(one, CAPACITY_USED) for one in (used.after, used.before))
        said = f"{case} now runs on burst capacity, {now} of its maximum (was {was})"
        told.add(CAPACITY_USED)
    if labels is not None and labels.failed:
        said += f", by {value(labels.after, LABELS)} (was {value(labels.before, LABELS)})"
        told.add(LABELS)
    others = [
        f"{one.gate.measure} {value(one.before, one.gate.measure)} -> {value(one.after, one.gate.measure)}"
        for one in failed
        if one.gate.measure not in told
    ]
    return f"{said}{': ' if others else ''}{', '.join(others)}."


def _changed(changed: Sequence[Difference]) -> list[str]:
    """What is another since the baseline: the suspects of whatever got worse, the traffic of a night last."""
    by_change: dict[str, list[str]] = {}
    for one in sorted(changed, key=slight):
        by_change.setdefault(one.change, []).append(one.case)
    return [f"Changed: {change} ({', '.join(cases)})." for change, cases in by_change.items()]


def _undecided(findings: Sequence[GateFinding]) -> list[str]:
    count = sum(finding.decision == "undecided" and not is_idle(finding) for finding in findings)
    told = "could not have seen a regression: too much noise for so few repetitions"
    return [f"{some(count, 'gate')} {told}."] if count else []


def _new(cases: Sequence[str]) -> list[str]:
    return [f"{case} is not in the baseline: it is held against nothing yet." for case in cases]


def _gone(cases: Sequence[str]) -> list[str]:
    return [f"{case} is in the baseline, and no more in the suite: nothing watches it now." for case in cases]


STOPPED: Final = "It was stopped; what runs were made until then are kept."
STOPPED_AT_ONCE: Final = "It was stopped before its first run was over."
NOT_STARTED: Final = "A run was refused, so that nothing is decided."


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a session is held against, and how: `paired` reruns it, `force` overlooks another setup."""

    suite: Suite
    baseline: Baseline | None
    paired: bool = False
    force: bool = False
    accept: bool = False  # a first session is the baseline, whatever it says
    to_accept: str = "say --accept"  # the whole command

    def judged(self, made: SessionRuns) -> dict[str, Any]:
        """Verdict, reasons, findings and differences, as an outcome has them."""
        if made.code is not None:
            verdict = verdict_of_code(made.code)
            stopped = STOPPED if made.runs else STOPPED_AT_ONCE
            return {"verdict": verdict, "because": (NOT_STARTED if verdict == "refused" else stopped,)}
        before, after = self._before(made), made.of("after")
        differ = differences(before, after, self.suite.gates, self.suite.designs)
        changed = suspects(before, after, self.suite.designs)
        if self.baseline is not None:
            differ, changed = (told(one, self.baseline, self.suite) for one in (differ, changed))
        tentative = self.baseline.tentative if self.baseline is not None else frozenset()
        unlike = tuple(one for one in differ if one.case in tentative)  # which forbids no session
        differ = tuple(one for one in differ if one.case not in tentative)
        forbidden = () if self.force or self.paired else differ
        compare = before.keys() - {one.case for one in unlike}
        gates = {case: of_case for case, of_case in self.suite.gates.items() if case in compare}
        how: dict[str, Any] = {
            "paired": self._in_pairs(before, after),
            "changed": {one.case for one in changed},
        }
        findings = () if forbidden else judge(gates, before, after, **how)
        compared = self.baseline is not None and self.baseline.used.accepted
        expects = {case.name: case.expects for case in self.suite.cases}
        new = [case for case in self.suite.gates if compared and case not in before]
        at_first = [one for one in self.cases(made) if not compared or one.name in {*new, *tentative}]
        gone = [case for case in before if case not in self.suite.gates]
        verdict, because = verdict_of(
            made.runs,
            findings,
            compared=compared,
            forbidden=forbidden,
            new_cases=new,
            changed=(*changed, *unlike),
            doubts=() if self.accept else doubts_of(at_first, expects),
            gone=gone,
        )
        may_be_accepted = verdict == "unaccepted" or (
            verdict == "regressed"
            and all(one.case in tentative for one in findings if one.failed)
            and not any(run.broken for run in made.runs)
        )
        return {
            "verdict": verdict,
            "because": (
                *because,
                *([f"If this is as intended: {self.to_accept}"] if may_be_accepted else []),
            ),
            "findings": findings,
            "differences": differ,
            "suspects": (*changed, *unlike),
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
    held: Held,
    made: SessionRuns,
    session: Session,
    *,
    history: Path,
    folder: Path,
    ended_at: datetime,
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
        **held.judged(made),
    )


def not_compared(
    suite: Suite, baseline: Baseline, found: Sequence[Difference], *, history: Path, label: str | None
) -> SessionOutcome:
    """The outcome of a session that was not begun: its baseline was measured on another setup."""
    now = datetime.now(UTC)
    return SessionOutcome(
        suite=suite.name,
        suite_path=str(suite.path),
        question=suite.question,
        session="none",
        label=label,
        history=str(history),
        folder="",
        started_at=now,
        ended_at=now,
        verdict="not_compared",
        because=refusal(baseline, found),
        baseline=baseline.used,
        differences=tuple(found),
    )


def verdict_of_code(code: int) -> Verdict:
    """The verdict of a session that one of its runs ended, by that run's exit code."""
    return "interrupted" if code == INTERRUPTED else "refused" if code == REFUSED else "invalid"
