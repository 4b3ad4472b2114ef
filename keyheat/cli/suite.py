"""One session of a suite: agreed to, begun, its runs made and kept one by one, and ended."""

import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Final

from keyheat.analysis.summarize import read_summary
from keyheat.analysis.summary import RunSummary
from keyheat.cli.guards import Guards, agreed, on_existing, target_of
from keyheat.cli.options import series_place
from keyheat.cli.run import NOT_STARTED, How, make_run
from keyheat.load.guard.signals import HUNG_UP, heard, let_go
from keyheat.load.record.generator import machine
from keyheat.load.run.jobs import Job, made
from keyheat.masking import shown
from keyheat.regression.baseline import Baseline, baseline_of, differences_foreseen, scenarios_of
from keyheat.regression.history.records import Session
from keyheat.regression.history.store import History, default_path
from keyheat.regression.outcome import EXIT_CODES, Difference, RunMade, SessionOutcome
from keyheat.regression.suite import Suite, SuiteCase
from keyheat.regression.suite_runs import PlannedRun, SessionRuns, planned, run_made
from keyheat.regression.verdict import Held, not_compared, outcome_of
from keyheat.runfiles import DIAGNOSIS, FILES, REPORT, SIMULATED
from keyheat.runs.formats import Diagnosis, read_diagnosis
from keyheat.scenario.scenario import Scenario
from keyheat.terminal.console import bars
from keyheat.words import INTERRUPTED, sentence

BOUND: Final = "The load generator was the limit"
Keep = Callable[[PlannedRun, RunSummary], None]
"""Keeps a run that was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """What somebody said beside the suite."""

    baseline: str | None = None
    new_baseline: bool = False
    accept: bool = False
    pin: str | None = None
    label: str | None = None
    paired: bool = False
    force: bool = False
    folder: Path | None = None
    quick: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteSession:
    """What a session needs: the suite, what was asked, what is allowed, and the history that keeps it."""

    suite: Suite
    asked: SessionOptions
    guards: Guards
    prices: Path
    history: History

    def compared(self) -> SessionOutcome:
        """Run the suite and hold it against its baseline.

        Where the baseline was measured on something else, nothing is sent, and the outcome says so. Raises
        `ValueError` where what was asked for is no baseline.
        """
        asked = self.asked
        settled = asked.accept or asked.paired
        baseline = (
            None
            if asked.new_baseline
            else baseline_of(self.history, self.suite, asked.baseline, settled=settled)
        )
        suite = self.suite if baseline is None else self._on_its_table()
        self._check(baseline)
        if baseline is not None and (differ := self._forbidding(baseline, suite)):
            return not_compared(self.suite, baseline, differ, history=self.history.path, label=asked.label)
        before = scenarios_of(baseline, self.suite) if asked.paired and baseline is not None else None
        hows = self._agreed(self.suite, before)
        folder = series_place(self.asked.folder, self.suite.name)
        how = {"paired": asked.paired, "force": asked.force, "accept": asked.accept}
        held = Held(suite=suite, baseline=baseline, to_accept=self._to_accept(), **how)
        with self._session() as session:
            made = make_runs(planned(self.suite, folder, before=before), hows, self._keeper(session))
            outcome = outcome_of(
                held,
                made,
                session,
                history=self.history.path,
                folder=folder,
                ended_at=datetime.now(UTC),
            )
            self.history.end(session, verdict=outcome.verdict, findings=outcome.findings)
        return self._pinned(session, outcome)

    def _on_its_table(self) -> Suite:
        """The suite with its scenarios as they are run, on the table that `--table` names, if it does."""
        return replace(self.suite, cases=tuple(map(self._on_table, self.suite.cases)))

    def _on_table(self, case: SuiteCase) -> SuiteCase:
        if self.guards.table is None or case.target == SIMULATED:
            return case
        if (target := target_of(case.target)) is None:  # an endpoint of our own, where there is none
            return case
        return replace(case, scenario=on_existing(case.scenario, target, self.guards)[0])

    def _to_accept(self) -> str:
        """The command that holds later sessions against one like this."""
        history = "" if self.history.path == default_path() else f" --history {shown(self.history.path)}"
        anew = " --new-baseline" if self.asked.new_baseline else ""
        return f"keyheat regress {shown(self.suite.path)}{history}{anew} --accept"

    def _check(self, baseline: Baseline | None) -> None:
        """What can be known before anything is sent. Raises `ValueError`."""
        if self.asked.paired and baseline is None:
            raise ValueError(f"--paired needs a baseline, and {self.suite.name} has no good session yet")

    def _forbidding(self, baseline: Baseline, suite: Suite) -> tuple[Difference, ...]:
        """What is going to forbid the comparison with the suite as it is run."""
        if self.asked.paired or self.asked.force:
            return ()
        existing = self.guards.table is not None
        return differences_foreseen(baseline, suite, machine(), existing=existing)

    def _agreed(self, suite: Suite, before: Mapping[str, Scenario] | None) -> dict[str, How]:
        """How runs are made, by target, once all of them may start. Raises `SafetyRefusal`."""
        plan = planned(suite, Path(), before=before)
        return {
            target: How(
                target=target,
                options=self._options(target, [one for one in plan if one.case.target == target]),
                quick=self.asked.quick,
                report=False,
                quiet=True,
            )
            for target in dict.fromkeys(one.case.target for one in plan)
        }

    def _options(self, target: str, plan: list[PlannedRun]) -> tuple[str, ...]:
        """What the process that loads is told, for all runs on one target."""
        if target == SIMULATED:
            return ()
        jobs = [Job(one.scenario, one.case.path, one.folder) for one in plan]
        return (*agreed(jobs, target, self.guards, prices=self.prices), "--prices", str(self.prices))

    @contextmanager
    def _session(self) -> Iterator[Session]:
        session = self.history.begin(self.suite.name, self.suite.digest, self.asked.label)
        try:
            yield session
        except BaseException as error:
            if self.history.session(session.id).state == "running":
                stopped = isinstance(error, KeyboardInterrupt)
                self.history.end(session, verdict="interrupted" if stopped else "invalid")
            raise

    def _keeper(self, session: Session) -> Keep:
        def keep(one: PlannedRun, summary: RunSummary) -> None:
            self.history.add(
                session,
                case=one.case.name,
                repetition=one.repetition,
                summary=summary,
                folder_url=one.folder.absolute().as_uri(),
                side="baseline" if one.side == "before" else "candidate",
            )

        return keep

    def _pinned(self, session: Session, outcome: SessionOutcome) -> SessionOutcome:
        """Give a good session the name that was asked for; of another, say that it has not got it."""
        if self.asked.pin is None:
            return outcome
        if EXIT_CODES[outcome.verdict]:
            why = f"not pinned as {self.asked.pin!r}: session {outcome.session} is {outcome.verdict}"
            return outcome.model_copy(update={"problems": (*outcome.problems, why)})
        self.history.pin(self.asked.pin, session)
        return outcome.model_copy(update={"pinned": self.asked.pin})


def make_runs(plan: Sequence[PlannedRun], hows: Mapping[str, How], keep: Keep) -> SessionRuns:
    """Make the runs in their order, until all are made, one cannot start, or somebody stops it.

    `hows` says how, by target. After an interrupt, what was made is there.
    """
    all_made = SessionRuns()
    with terminated_as_interrupted():
        try:
            for number, planned in enumerate(plan, start=1):
                code = _make(planned, hows[planned.case.target], keep, (number, len(plan)), all_made)
                if code in NOT_STARTED:
                    all_made.code = code
                    break
        except KeyboardInterrupt:
            all_made.code = INTERRUPTED
    return all_made


def _make(planned: PlannedRun, how: How, keep: Keep, place: tuple[int, int], all_made: SessionRuns) -> int:
    """Make one run, keep it, and note what came of it; gives its exit code."""
    began_s = time.monotonic()
    job = Job(planned.scenario, planned.write(), planned.folder)
    code = make_run(job, how, place=place)
    if code in NOT_STARTED:
        return code
    summary = read_summary(job.folder) if made(job) else None
    took_s = time.monotonic() - began_s
    if summary is not None:
        keep(planned, summary)
        all_made.summaries.append((planned, summary))
    report = job.folder / REPORT
    all_made.runs.append(
        run_made(
            planned,
            summary,
            url=job.folder.absolute().as_uri(),
            took_s=took_s,
            problem=_problem(planned, summary),
            report=report.absolute().as_uri() if report.exists() else None,
        )
    )
    bars.print(_line(place, all_made.runs[-1]))
    return code


def _line(place: tuple[int, int], run: RunMade) -> str:
    """`2 of 15  hotkey, repetition 1: partition`"""
    side = " (baseline)" if run.side == "before" else ""
    came = f"{run.constraint}" if run.valid else f"NOT VALID: {run.problem}"
    return f"{place[0]:>{len(str(place[1]))}} of {place[1]}  {run.name}{side}: {came}"


def _problem(planned: PlannedRun, summary: RunSummary | None) -> str | None:
    """Why a run says nothing about its table; None where it does."""
    if summary is None:
        return f"It came to no diagnosis; {planned.folder} has what there is."
    return None if summary.comparable else _why(read_diagnosis(planned.folder / FILES[DIAGNOSIS]))


def _why(diagnosis: Diagnosis) -> str:
    """In two sentences at most. That the generator was the limit is said first, and what shows it next."""
    because = diagnosis.verdict.because
    if diagnosis.generator.bound:
        because = (BOUND, *diagnosis.generator.checks)
    return " ".join(map(sentence, because[:2])) or "Its evidence is missing."


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM, which schedulers send when time is over, and a closed terminal end it as Ctrl-C does."""

    def interrupt(number: int, _frame: FrameType | None) -> None:
        if number == HUNG_UP:
            let_go()
        raise KeyboardInterrupt

    ends = filter(heard, (signal.SIGTERM, HUNG_UP))
    before = {number: signal.signal(number, interrupt) for number in ends}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
