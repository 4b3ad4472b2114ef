"""One session of a suite: check it, make its runs, keep each one, compare."""

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
from keyheat.cli.conclude import NOT_STARTED, How
from keyheat.cli.guards import agreed, on_existing, target_of
from keyheat.cli.options import a_path, price_list, series_place
from keyheat.cli.run import make_run
from keyheat.flags import option, values_of
from keyheat.load.guard.options import Consent, Guards
from keyheat.load.guard.signals import HUNG_UP, heard, let_go
from keyheat.load.record.generator import machine
from keyheat.masking import shown
from keyheat.plan.prices import DEFAULT as PRICES
from keyheat.regression.baseline import baseline_of, differences_foreseen, scenarios_of
from keyheat.regression.history.records import Session
from keyheat.regression.history.store import History, default_path
from keyheat.regression.outcome import RunMade, SessionOutcome
from keyheat.regression.suite import Suite, SuiteCase
from keyheat.regression.suite_runs import PlannedRun, SessionRuns, planned, run_made
from keyheat.regression.verdict import Held, not_compared, outcome_of
from keyheat.runfiles import DIAGNOSIS, FILES, REPORT, SIMULATED
from keyheat.runs.formats import Diagnosis, read_diagnosis
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.jobs import Job, made
from keyheat.terminal.console import bars
from keyheat.words import INTERRUPTED, sentence

BOUND: Final = "The load generator was the limit"
Keep = Callable[[PlannedRun, RunSummary], None]
"""Keeps a run that was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """How one session differs from the next; everything else stands in the suite's file."""

    baseline: str | None = option(
        "compare with this session  [default: the last good one]", metavar="NAME|SESSION"
    )
    new_baseline: bool = option("start a new baseline (the change is intended)", default=False)
    accept: bool = option("accept throttling in a first session or a new case", default=False)
    label: str | None = option("keep this text with the session, such as a commit", metavar="TEXT")
    force: bool = option("compare although the setups differ", default=False)
    folder: Path | None = option(
        "directory of the runs  [default: reports/out/SUITE-TIME]", flag="--out", type=a_path
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteSession:
    """One session of a suite: its options, what a person agreed to, and the history that keeps it."""

    suite: Suite
    options: SessionOptions
    consent: Consent
    history: History

    @property
    def guards(self) -> Guards:
        """What its runs may do: by the suite's file, and by what only a person can agree to."""
        run = self.suite.run
        stated = run.model_dump(exclude={"align", "collect", "paired", "prices"})
        agreed = {name: value for name, value in values_of(self.consent).items() if value is not None}
        return Guards(**stated | agreed, no_align=not run.align)

    @property
    def prices(self) -> Path:
        """The price list of its runs."""
        prices = self.suite.run.prices
        return PRICES if prices is None else self.suite.path.parent / prices

    def compared(self) -> SessionOutcome:
        """Run the suite and compare it with its baseline.

        Where the baseline was measured on another setup, nothing is sent, and the outcome says so. Raises
        `ValueError` if the baseline that was named cannot be one.
        """
        options, history = self.options, self.history
        price_list(self.prices)
        settled = options.accept or self.suite.run.paired
        baseline = (
            None
            if options.new_baseline
            else baseline_of(history, self.suite, options.baseline, settled=settled)
        )
        paired = self.suite.run.paired and baseline is not None
        suite = self.suite if baseline is None else self._on_its_table()
        if baseline is not None and not (paired or options.force):
            existing = suite.run.table is not None
            if differ := differences_foreseen(baseline, suite, machine(), existing=existing):
                return not_compared(self.suite, baseline, differ, history=history.path, label=options.label)
        before = scenarios_of(baseline, self.suite) if paired and baseline is not None else None
        hows = self._agreed(self.suite, before)
        folder = series_place(options.folder, self.suite.name)
        held = Held(
            suite=suite, baseline=baseline, to_accept=self._to_accept(), paired=paired, force=options.force,
            accept=options.accept,
        )  # fmt: skip
        with self._session() as session:
            made = make_runs(planned(self.suite, folder, before=before), hows, self._keeper(session))
            outcome = outcome_of(
                held, made, session, history=history.path, folder=folder, ended_at=datetime.now(UTC)
            )
            history.end(session, verdict=outcome.verdict, findings=outcome.findings)
        return outcome

    def _on_its_table(self) -> Suite:
        """The suite with its scenarios as they are run on the existing table, if it names one."""
        return replace(self.suite, cases=tuple(map(self._on_table, self.suite.cases)))

    def _on_table(self, case: SuiteCase) -> SuiteCase:
        if self.guards.table is None or case.target == SIMULATED:
            return case
        if (target := target_of(case.target)) is None:  # an endpoint of our own, where there is none
            return case
        return replace(case, scenario=on_existing(case.scenario, target, self.guards)[0])

    def _to_accept(self) -> str:
        """The command that accepts a session like this one as the baseline."""
        history = "" if self.history.path == default_path() else f" --history {shown(self.history.path)}"
        anew = " --new-baseline" if self.options.new_baseline else ""
        return f"keyheat regress {shown(self.suite.path)}{history}{anew} --accept"

    def _agreed(self, suite: Suite, before: Mapping[str, Scenario] | None) -> dict[str, How]:
        """How runs are made, by target, once all of them may start. Raises `SafetyRefusal`."""
        plan = planned(suite, Path(), before=before)
        return {
            target: How(
                target=target,
                options=self._options(target, [one for one in plan if one.case.target == target]),
                quick=not suite.run.collect,
                report=False,
                quiet=True,
            )
            for target in dict.fromkeys(one.case.target for one in plan)
        }

    def _options(self, target: str, plan: list[PlannedRun]) -> tuple[str, ...]:
        """Options of the process that loads, for all runs on one target."""
        if target == SIMULATED:
            return ()
        jobs = [Job(one.scenario, one.case.path, one.folder) for one in plan]
        return (*agreed(jobs, target, self.guards, prices=self.prices), "--prices", str(self.prices))

    @contextmanager
    def _session(self) -> Iterator[Session]:
        session = self.history.begin(self.suite.name, self.suite.digest, self.options.label)
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


def make_runs(plan: Sequence[PlannedRun], hows: Mapping[str, How], keep: Keep) -> SessionRuns:
    """Make the runs in order, until all are made, one cannot start, or an interrupt.

    `hows` says how, by target. Runs made before an interrupt are kept.
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
    """Make one run and keep it; gives its exit code."""
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
    """Why a run is invalid, in two sentences at most; a generator limit first, then what shows it."""
    because = diagnosis.verdict.because
    if diagnosis.generator.bound:
        because = (BOUND, *diagnosis.generator.checks)
    return " ".join(map(sentence, because[:2])) or "Its evidence is missing."


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM, which schedulers send at a timeout, and a closed terminal act as Ctrl-C."""

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
