"""Compare a session with its baseline: verdict, reasons and outcome."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from keyheat.analysis.measures import CAPACITY_USED, MEASURES
from keyheat.numbers import some
from keyheat.regression.compare import judge
from keyheat.regression.history import Session
from keyheat.regression.outcome import (
    LABELS,
    THROTTLE_SHARE,
    CaseMade,
    Difference,
    GateFinding,
    RunMade,
    SessionOutcome,
    Verdict,
)
from keyheat.regression.phrases import label_words, value
from keyheat.regression.session import Baseline, SessionRuns, kept_results, refusal_reasons
from keyheat.regression.setups import differences
from keyheat.regression.suite import Suite
from keyheat.words import INTERRUPTED, REFUSED


def compared(
    suite: Suite, baseline: Baseline | None, results: SessionRuns, *, paired: bool = False,
    accept: bool = False, to_accept: str = "add --accept",
) -> dict[str, Any]:  # fmt: skip
    """Verdict, reasons, findings and differences, as fields of an outcome.

    `paired`: the baseline was rerun beside the new runs. `accept`: a first session, or a new case, may
    throttle; `to_accept` is the command for it.
    """
    cases = cases_of(suite, baseline, results, paired=paired)
    if (code := results.code) is not None:
        ended = "Finished runs are kept." if results.runs else "No run had finished."
        why = "A run was refused, so nothing is decided." if code == REFUSED else ended
        end = {REFUSED: "refused", INTERRUPTED: "interrupted"}.get(code, "invalid")
        return {"cases": cases, "verdict": end, "because": (why,)}
    kept = baseline.runs if baseline is not None else {}
    before, after = results.of("before") if paired else kept, results.of("after")
    forbidding, suspects = differences(suite, before, after)
    tentative = baseline.tentative if baseline is not None else frozenset()
    # A session that was not accepted yet is compared if it can be, and forbids nothing.
    unlike = set() if paired else {difference.case for difference in forbidding} & tentative
    suspects += tuple(difference for difference in forbidding if difference.case in unlike)
    forbidding = tuple(difference for difference in forbidding if difference.case not in unlike)
    findings: tuple[GateFinding, ...] = ()
    if paired or not forbidding:
        gates = {case: gates for case, gates in suite.gates.items() if case in before.keys() - unlike}
        changed = {difference.case for difference in suspects}
        findings = judge(gates, before, after, in_turns=paired, changed=changed)
    accepted = baseline is not None and baseline.used.accepted
    new = [case for case in suite.gates if accepted and case not in before]
    at_first = [case for case in cases if not accepted or case.name in {*new, *tentative}]
    verdict, because = verdict_of(
        results.runs, findings, compared=accepted, new_cases=new, changed=suspects,
        forbidden=() if paired else forbidding, accept=accept,
        doubts=doubts_of(at_first, {case.name: case.expects for case in suite.cases}),
        gone=[case for case in before if case not in suite.gates],
    )  # fmt: skip
    worse = any(finding.failed and finding.case not in tentative for finding in findings)
    broken = any(run.broken for run in results.runs)
    if verdict == "unaccepted" or (verdict == "regressed" and not worse and not broken):
        because += (f"If this is as intended: {to_accept}",)
    if broken and verdict == "regressed":
        because += (
            "A session with a broken threshold is never accepted: change the table or the load, or the "
            "limit in [thresholds].",
        )
    return {
        "cases": cases, "verdict": verdict, "because": because, "findings": findings,
        "differences": forbidding, "suspects": suspects,
    }  # fmt: skip


def cases_of(
    suite: Suite, baseline: Baseline | None, results: SessionRuns, *, paired: bool = False
) -> tuple[CaseMade, ...]:
    """Every case of the suite, with the runs of both sides."""
    kept = {} if paired or baseline is None else baseline.kept
    return tuple(
        CaseMade(
            name=case.name, scenario=case.scenario.name, target=case.target,
            question=case.scenario.question,
            before=results.results_of(case.name, "before") or kept_results(kept.get(case.name, ())),
            after=results.results_of(case.name, "after"),
        )
        for case in suite.cases
    )  # fmt: skip


def verdict_of(
    runs: Sequence[RunMade],
    findings: Sequence[GateFinding],
    *,
    compared: bool,
    forbidden: Sequence[Difference] = (),
    new_cases: Sequence[str] = (),
    changed: Sequence[Difference] = (),
    doubts: Sequence[str] = (),
    accept: bool = False,
    gone: Sequence[str] = (),
) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict over all runs of a session, including a rerun baseline, and why.

    An invalid run comes first, then setups that forbid the comparison, then gates and thresholds. It is
    `compared` with an accepted session, if there is one; `doubts` need a review before it, or a new case,
    becomes the baseline, unless a person accepts them.
    """
    after = [run for run in runs if run.side == "after"]
    count = sum(finding.decision == "undecided" and not finding.idle for finding in findings)
    noisy = f"{some(count, 'gate')} could not have seen a regression: too noisy for so few repetitions."
    because = (
        *_invalid(runs), *(refusal_reasons(forbidden) if forbidden else ()), *_failed(findings),
        *_changed(changed),
        *(f"{run.name}: {line}." for run in after for line in run.broken), *([noisy] if count else ()),
        *(f"{case} is new: there is nothing to compare it with." for case in new_cases),
        *(f"{case} left the suite and is no longer checked." for case in gone),
    )  # fmt: skip
    if forbidden or any(not run.valid for run in runs):
        return "invalid", because
    if any(finding.failed for finding in findings) or any(run.broken for run in after):
        return "regressed", because
    if doubts and not accept:
        return "unaccepted", (*because, *doubts)
    because += tuple(f"Accepted: {doubt}" for doubt in doubts)
    if not compared:
        return "baseline", (*because, "Later sessions of this suite are compared with this one.")
    return "good", because


def _invalid(runs: Sequence[RunMade]) -> Iterator[str]:
    for run in runs:
        if not run.valid:
            side = " (the rerun baseline)" if run.side == "before" else ""
            yield f"{run.name}{side} is invalid: {run.problem or 'its evidence is missing.'}"


def doubts_of(cases: Sequence[CaseMade], expects: Mapping[str, str | None]) -> tuple[str, ...]:
    """Throttles and use of burst capacity that a new baseline would accept silently.

    `expects` maps a case's name to the constraint that its scenario expects.
    """
    doubts = []
    for case in cases:
        labels = sorted({label_words(label) for run in case.after for label in run.labels})
        expected, seen = expects.get(case.name), {run.constraint for run in case.after}
        shares = _measured(case, THROTTLE_SHARE)
        used = {name: max(_measured(case, name), default=0.0) for name in CAPACITY_USED}
        most = f" {value(max(shares), THROTTLE_SHARE)} of its attempts" if shares else ""
        if expected is not None and seen != {expected}:
            by = f"by {', '.join(labels)}" if labels else "by nothing"
            doubts.append(f"{case.name} is expected to be limited by {expected}, and throttles{most}, {by}.")
        elif expected is None and labels:
            doubts.append(
                f"{case.name} throttles{most}, by {', '.join(labels)}; its scenario names no expected limit."
            )
        elif expected in (None, "none") and max(used.values()) > 1:
            of = [f"{CAPACITY_USED[name]} at {value(most, name)}" for name, most in used.items() if most > 1]
            doubts.append(f"{case.name} runs on burst capacity: {', '.join(of)} of their maximum.")
    return tuple(doubts)


def _measured(case: CaseMade, measure: str) -> list[float]:
    return [run.measures[measure] for run in case.after if measure in run.measures]


def _failed(findings: Sequence[GateFinding]) -> Iterator[str]:
    """Regressions by case: throttles and their limit first, then other gates by name."""
    for case in dict.fromkeys(finding.case for finding in findings if finding.failed):
        yield _worse(case, {finding.gate.measure: finding for finding in findings if finding.case == case})


def _worse(case: str, findings: Mapping[str, GateFinding]) -> str:
    failed = [finding for finding in findings.values() if finding.failed]
    labels, share = findings.get(LABELS), findings.get(THROTTLE_SHARE)
    used = [finding for finding in failed if finding.gate.measure in CAPACITY_USED]
    words, named = f"{case} fails {some(len(failed), 'gate')}", set[str]()
    if share is not None and share.after != share.before and (share.failed or (labels and labels.failed)):
        words = f"{case} now throttles {_now(share)} of its attempts (was {_was(share)})"
        named |= {THROTTLE_SHARE, *CAPACITY_USED}
    elif used:
        of = [
            f"{CAPACITY_USED[finding.gate.measure]} at {_now(finding)} of their maximum (was {_was(finding)})"
            for finding in used
        ]
        burst = any(isinstance(finding.after, float | int) and finding.after > 1 for finding in used)
        now = "runs on burst capacity" if burst else "uses more of its capacity"
        if share is not None and share.after:
            now = "asks for more than it has" if burst else now
        words = f"{case} now {now}: {', '.join(of)}"
        named |= set(CAPACITY_USED)
    if labels is not None and labels.failed:
        before = _was(labels)
        words += f", by {_now(labels)}{f', and before by {before}' if before != 'none' else ''}"
        named.add(LABELS)
    others = [
        f"{title[0].lower()}{title[1:]}: {_was(finding)}, now {_now(finding)}"
        for finding in failed
        if (measure := finding.gate.measure) not in named and (title := MEASURES[measure].title)
    ]
    gap = "" if not others else "; " if named else ": "
    return f"{words}{gap}{'; '.join(others)}."


def _now(finding: GateFinding) -> str:
    return value(finding.after, finding.gate.measure)


def _was(finding: GateFinding) -> str:
    return value(finding.before, finding.gate.measure)


def _changed(changed: Sequence[Difference]) -> Iterator[str]:
    """Changes since the baseline, which are suspects of any regression."""
    for change in dict.fromkeys(difference.change for difference in changed):
        cases = ", ".join(difference.case for difference in changed if difference.change == change)
        yield f"Changed: {change} ({cases})."


def outcome_of(
    suite: Suite, baseline: Baseline | None, results: SessionRuns, session: Session, *, history: Path,
    folder: Path, paired: bool, accept: bool, to_accept: str, replaces: Session | None,
) -> SessionOutcome:  # fmt: skip
    """The outcome of a session after its runs; `to_accept` is the command that accepts it.

    `replaces` is the baseline that it takes the place of once it is accepted.
    """
    fields = compared(suite, baseline, results, paired=paired, accept=accept, to_accept=to_accept)
    return SessionOutcome(
        suite=suite.name, suite_path=str(suite.path), question=suite.question,
        session=str(session.id), label=session.label, history=str(history), folder=str(folder),
        started_at=session.started_at, ended_at=datetime.now(UTC), paired=paired,
        baseline=baseline.used if baseline is not None else None,
        replaces=None if replaces is None else str(replaces.id), **fields,
    )  # fmt: skip


def not_compared(
    suite: Suite, baseline: Baseline, differing: Sequence[Difference], *, history: Path, label: str | None
) -> SessionOutcome:
    """The outcome of a session that did not start: its baseline has another setup."""
    now = datetime.now(UTC)
    return SessionOutcome(
        suite=suite.name, suite_path=str(suite.path), question=suite.question, session="none", label=label,
        history=str(history), folder="", started_at=now, ended_at=now, verdict="not_compared",
        because=refusal_reasons(differing, f"The baseline, {baseline.used.title},"),
        baseline=baseline.used, differences=tuple(differing),
    )  # fmt: skip
