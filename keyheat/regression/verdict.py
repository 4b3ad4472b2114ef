"""A session compared with its baseline: the verdict, why in sentences, and the whole outcome."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from keyheat.numbers import some
from keyheat.regression.compare import Runs, judge
from keyheat.regression.history import Session
from keyheat.regression.outcome import (
    CAPACITY_USED,
    LABELS,
    THROTTLE_SHARE,
    CaseMade,
    Difference,
    GateFinding,
    RunMade,
    SessionOutcome,
    Verdict,
    is_idle,
)
from keyheat.regression.phrases import label_words, value
from keyheat.regression.session import Baseline, SessionRuns, refusal, runs_kept
from keyheat.regression.setups import differences
from keyheat.regression.suite import Suite
from keyheat.words import INTERRUPTED, REFUSED


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a session is compared with, and how: `paired` reruns it, `force` overlooks another setup."""

    suite: Suite
    baseline: Baseline | None
    paired: bool = False
    force: bool = False
    accept: bool = False  # a first session is the baseline, whatever it says
    to_accept: str = "add --accept"  # the whole command

    def judged(self, made: SessionRuns) -> dict[str, Any]:
        """Verdict, reasons, findings and differences, as an outcome has them."""
        if made.code is not None:
            return _stopped(made)
        before, after = self._before(made), made.of("after")
        forbidding, suspects = differences(self.suite, before, after)
        tentative = self.baseline.tentative if self.baseline is not None else frozenset()
        unlike = tuple(one for one in forbidding if one.case in tentative)  # which forbids no session
        forbidding = tuple(one for one in forbidding if one.case not in tentative)
        suspects += unlike
        findings: tuple[GateFinding, ...] = ()
        if self.force or self.paired or not forbidding:
            compared = before.keys() - {one.case for one in unlike}
            gates = {case: gates for case, gates in self.suite.gates.items() if case in compared}
            changed = {one.case for one in suspects}
            findings = judge(gates, before, after, in_turns=self.paired, changed=changed)
        has_baseline = self.baseline is not None and self.baseline.used.accepted
        new = [case for case in self.suite.gates if has_baseline and case not in before]
        at_first = [one for one in self.cases(made) if not has_baseline or one.name in {*new, *tentative}]
        verdict, because = verdict_of(
            made.runs, findings, compared=has_baseline, new_cases=new, changed=suspects,
            forbidden=() if self.force or self.paired else forbidding,
            doubts=() if self.accept else doubts_of(at_first, _expected(self.suite)),
            gone=[case for case in before if case not in self.suite.gates],
        )  # fmt: skip
        if self._may_be_accepted(verdict, made, findings, tentative):
            because += (f"If this is as intended: {self.to_accept}",)
        return {
            "verdict": verdict, "because": because, "findings": findings, "differences": forbidding,
            "suspects": suspects, "forced": self.force and bool(forbidding),
        }  # fmt: skip

    def cases(self, made: SessionRuns) -> tuple[CaseMade, ...]:
        """Every case of the suite, with its runs on both sides."""
        kept = {} if self.paired or self.baseline is None else self.baseline.kept
        return tuple(
            CaseMade(
                name=case.name, scenario=case.scenario.name, target=case.target,
                question=case.scenario.question,
                before=made.shown(case.name, "before") or runs_kept(kept.get(case.name, ())),
                after=made.shown(case.name, "after"),
            )
            for case in self.suite.cases
        )  # fmt: skip

    def _before(self, made: SessionRuns) -> Runs:
        if self.paired:
            return made.of("before")
        return self.baseline.runs if self.baseline is not None else {}

    @staticmethod
    def _may_be_accepted(
        verdict: Verdict, made: SessionRuns, findings: Sequence[GateFinding], tentative: frozenset[str]
    ) -> bool:
        """Whether nothing is worse than a session that somebody accepted."""
        worse = any(one.failed and one.case not in tentative for one in findings)
        broken = any(run.broken for run in made.runs)
        return verdict == "unaccepted" or (verdict == "regressed" and not worse and not broken)


def _expected(suite: Suite) -> dict[str, str | None]:
    return {case.name: case.expects for case in suite.cases}


def _stopped(made: SessionRuns) -> dict[str, Any]:
    """The verdict of a session that one of its runs ended, by that run's exit code."""
    if made.code == REFUSED:
        return {"verdict": "refused", "because": ("A run was refused, so nothing is decided.",)}
    kept = "Finished runs are kept." if made.runs else "No run had finished."
    return {"verdict": "interrupted" if made.code == INTERRUPTED else "invalid", "because": (kept,)}


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
) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict over all runs of a session, those of a rerun baseline among them, and why.

    What makes the answer worthless outweighs the answer: an invalid run, then setups that forbid the
    comparison, then gates and thresholds. A first session is not `compared`; `doubts` are what somebody has
    to see of it, or of a new case, before it becomes the baseline.
    """
    after = [run for run in runs if run.side == "after"]
    because = (
        *_invalid(runs), *_forbidden(forbidden), *_failed(findings), *_changed(changed),
        *(f"{run.name}: {line}." for run in after for line in run.broken), *_undecided(findings),
        *(f"{case} is new: there is nothing to compare it with." for case in new_cases),
        *(f"{case} left the suite and is no longer checked." for case in gone),
    )  # fmt: skip
    if forbidden or any(not run.valid for run in runs):
        return "invalid", because
    if any(finding.failed for finding in findings) or any(run.broken for run in after):
        return "regressed", because
    if doubts:
        return "unaccepted", (*because, *doubts)
    if not compared:
        return "baseline", (*because, "Later sessions of this suite are compared with this one.")
    return "good", because


def _invalid(runs: Sequence[RunMade]) -> Iterator[str]:
    for run in runs:
        if not run.valid:
            side = " (the baseline, run again)" if run.side == "before" else ""
            yield f"{run.name}{side} is invalid: {run.problem or 'its evidence is missing.'}"


def _forbidden(forbidden: Sequence[Difference]) -> Iterator[str]:
    if forbidden:
        count = some(len(forbidden), "thing differs", "things differ")
        yield f"The baseline was measured on another setup: {count}. --force compares anyway."


def doubts_of(cases: Sequence[CaseMade], expects: Mapping[str, str | None]) -> tuple[str, ...]:
    """What would become the baseline though nobody said that it is meant: throttles, or use of burst.

    `expects` has the constraint that each case's scenario expects, by the case's name.
    """
    found = []
    for case in cases:
        labels = sorted({label_words(label) for run in case.after for label in run.labels})
        expected, seen = expects.get(case.name), {run.constraint for run in case.after}
        shares, used = (_measured(case, name) for name in (THROTTLE_SHARE, CAPACITY_USED))
        most = f" {value(max(shares), THROTTLE_SHARE)} of its attempts" if shares else ""
        if expected is not None and seen != {expected}:
            by = f"by {', '.join(labels)}" if labels else "by nothing"
            found.append(f"{case.name} is expected to be limited by {expected}, and throttles{most}, {by}.")
        elif expected is None and labels:
            found.append(
                f"{case.name} throttles{most}, by {', '.join(labels)}; its scenario expects nothing."
            )
        elif expected is None and max(used, default=0.0) > 1:
            of = value(max(used), CAPACITY_USED)
            found.append(f"{case.name} runs on burst capacity, {of} of its maximum.")
    return tuple(found)


def _measured(case: CaseMade, measure: str) -> list[float]:
    return [run.measures[measure] for run in case.after if measure in run.measures]


def _failed(findings: Sequence[GateFinding]) -> Iterator[str]:
    """What got worse, by case: throttles and their limit first, then further gates by their names."""
    for case in dict.fromkeys(finding.case for finding in findings if finding.failed):
        yield _worse(case, {one.gate.measure: one for one in findings if one.case == case})


def _worse(case: str, findings: Mapping[str, GateFinding]) -> str:
    failed = [one for one in findings.values() if one.failed]
    labels, share, used = (findings.get(name) for name in (LABELS, THROTTLE_SHARE, CAPACITY_USED))
    words, named = f"{case} fails {some(len(failed), 'gate')}", set[str]()
    if share is not None and share.after != share.before and (share.failed or (labels and labels.failed)):
        words = f"{case} now throttles {_now(share)} of its attempts (was {_was(share)})"
        named |= {THROTTLE_SHARE, CAPACITY_USED}
    elif used is not None and used.failed:
        words = f"{case} now runs on burst capacity, {_now(used)} of its maximum (was {_was(used)})"
        named.add(CAPACITY_USED)
    if labels is not None and labels.failed:
        before = _was(labels)
        words += f", by {_now(labels)}{f', and before by {before}' if before != 'none' else ''}"
        named.add(LABELS)
    others = [
        f"{one.gate.measure} {_was(one)} -> {_now(one)}" for one in failed if one.gate.measure not in named
    ]
    return f"{words}{': ' if others else ''}{', '.join(others)}."


def _now(one: GateFinding) -> str:
    return value(one.after, one.gate.measure)


def _was(one: GateFinding) -> str:
    return value(one.before, one.gate.measure)


def _changed(changed: Sequence[Difference]) -> Iterator[str]:
    """What changed since the baseline: the suspects of whatever got worse."""
    for change in dict.fromkeys(one.change for one in changed):
        yield f"Changed: {change} ({', '.join(one.case for one in changed if one.change == change)})."


def _undecided(findings: Sequence[GateFinding]) -> Iterator[str]:
    if count := sum(finding.decision == "undecided" and not is_idle(finding) for finding in findings):
        yield f"{some(count, 'gate')} could not have seen a regression: too noisy for so few repetitions."


def outcome_of(
    held: Held, made: SessionRuns, session: Session, *, history: Path, folder: Path, ended_at: datetime
) -> SessionOutcome:
    """The outcome of a session whose runs are made."""
    return SessionOutcome(
        suite=held.suite.name, suite_path=str(held.suite.path), question=held.suite.question,
        session=str(session.id), label=session.label, history=str(history), folder=str(folder),
        started_at=session.started_at, ended_at=ended_at, paired=held.paired, cases=held.cases(made),
        baseline=held.baseline.used if held.baseline is not None else None, **held.judged(made),
    )  # fmt: skip


def not_compared(
    suite: Suite, baseline: Baseline, found: Sequence[Difference], *, history: Path, label: str | None
) -> SessionOutcome:
    """The outcome of a session that was not begun: its baseline was measured on another setup."""
    now = datetime.now(UTC)
    return SessionOutcome(
        suite=suite.name, suite_path=str(suite.path), question=suite.question, session="none", label=label,
        history=str(history), folder="", started_at=now, ended_at=now, verdict="not_compared",
        because=refusal(baseline, found), baseline=baseline.used, differences=tuple(found),
    )  # fmt: skip
