"""One session of a suite: check it, agree to it, make its runs, keep each one, compare."""

import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import FrameType

from keyheat.analysis.summary import RunSummary
from keyheat.cli.guards import agreed, on_existing, target_of
from keyheat.cli.options import a_path, price_list, series_place, typed_options
from keyheat.cli.run import make_run
from keyheat.cli.simulate import NOT_STARTED, How
from keyheat.flags import option, values_of
from keyheat.load.options import Consent, Guards
from keyheat.load.terminal import HUNG_UP, is_handled, release_output
from keyheat.masking import short_path
from keyheat.plan.prices import DEFAULT as PRICES
from keyheat.regression.history import History
from keyheat.regression.outcome import RunMade, SessionOutcome
from keyheat.regression.session import (
    NotStarted,
    PlannedRun,
    baseline_of,
    early_differences,
    make_runs,
    plan_runs,
    recorded_session,
    scenarios_of,
)
from keyheat.regression.suite import Suite, SuiteCase
from keyheat.regression.verdict import SessionComparison, not_compared, outcome_of
from keyheat.runfiles import SIMULATED
from keyheat.scenario.scenario import Scenario
from keyheat.show.console import bars
from keyheat.simulator.jobs import Job, is_done


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
        """What its runs may do, by the suite's file and the person's consent."""
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

        If the baseline was measured on another setup, nothing is sent, and the outcome says so. Raises
        `ValueError` if the baseline that was named cannot be one.
        """
        options, history, paired = self.options, self.history, self.suite.run.paired
        price_list(self.prices)
        baseline = None
        if not options.new_baseline:
            settled = options.accept or paired
            baseline = baseline_of(history, self.suite, options.baseline, settled=settled)
        if options.accept and baseline is not None and self.suite.gates.keys() <= baseline.kept.keys():
            raise ValueError(
                f"--accept is for a first session or a new case, and all of {self.suite.name} is compared "
                f"with {baseline.used.title}: use --new-baseline if the change is intended"
            )
        paired = paired and baseline is not None
        suite = self.suite
        if baseline is not None:
            suite = replace(suite, cases=tuple(map(self._on_table, suite.cases)))
        checked = baseline if not (paired or options.force) else None
        from keyheat.load.record.generator import machine  # pyarrow: --help needs none

        if checked and (differ := early_differences(checked, suite, machine())):
            return not_compared(self.suite, checked, differ, history=history.path, label=options.label)
        before = scenarios_of(baseline, self.suite) if paired and baseline is not None else None
        hows = self._agreed(self.suite, before)
        folder = series_place(options.folder, self.suite.name)
        elsewhere = f" --history {short_path(history.path)}" if "file" in typed_options() else ""
        anew = " --new-baseline" if options.new_baseline else ""
        comparison = SessionComparison(
            suite=suite, baseline=baseline, paired=paired, force=options.force, accept=options.accept,
            to_accept=f"keyheat regress {short_path(self.suite.path)}{elsewhere}{anew} --accept",
        )  # fmt: skip
        plan = plan_runs(self.suite, folder, before=before)
        with recorded_session(history, self.suite, options.label) as session, terminated_as_interrupted():

            def keep(run: PlannedRun, summary: RunSummary) -> None:
                url = run.folder.absolute().as_uri()
                history.add(session, run.case.name, run.repetition, summary, url, run.side)

            runs = make_runs(plan, partial(_make, hows, len(plan)), keep, partial(_tell, len(plan)))
            outcome = outcome_of(
                comparison, runs, session, history=history.path, folder=folder, ended_at=datetime.now(UTC)
            )
            history.end(session, outcome.verdict, outcome)
        return outcome

    def _on_table(self, case: SuiteCase) -> SuiteCase:
        """The case on the suite's existing table, if it names one."""
        if self.guards.table is None or case.target == SIMULATED:
            return case
        if (target := target_of(case.target)) is None:  # an endpoint of our own, without one
            return case
        return replace(case, scenario=on_existing(case.scenario, target, self.guards)[0])

    def _agreed(self, suite: Suite, before: Mapping[str, Scenario] | None) -> dict[str, How]:
        """How runs are made, by target, once all of them may start. Raises `SafetyRefusal`."""
        jobs: dict[str, list[Job]] = {}
        for run in plan_runs(suite, Path(), before=before):
            jobs.setdefault(run.case.target, []).append(Job(run.scenario, run.case.path, run.folder))
        return {
            target: How(
                target=target, quick=not suite.run.collect, report=False, quiet=True,
                options=() if target == SIMULATED
                else tuple(agreed(of_target, target, self.guards, prices=self.prices)),
            )
            for target, of_target in jobs.items()
        }  # fmt: skip


def _make(hows: Mapping[str, How], count: int, planned: PlannedRun, number: int) -> tuple[bool, float]:
    """Make one run as its target needs it: whether it has a diagnosis, and its seconds."""
    began_s = time.monotonic()
    job = Job(planned.scenario, planned.write(), planned.folder)
    code = make_run(job, hows[planned.case.target], of_series=(number, count))
    if code in NOT_STARTED:
        raise NotStarted(code)
    return is_done(job), time.monotonic() - began_s


def _tell(count: int, number: int, run: RunMade) -> None:
    """`2 of 15  hotkey, repetition 1: partition`"""
    side = " (baseline)" if run.side == "before" else ""
    came = f"{run.constraint}" if run.valid else f"INVALID: {run.problem}"
    bars.print(f"{number:>{len(str(count))}} of {count}  {run.name}{side}: {came}")


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """Treat SIGTERM (a scheduler's timeout) and a closed terminal as Ctrl-C."""

    def interrupt(number: int, _frame: FrameType | None) -> None:
        if number == HUNG_UP:
            release_output()
        raise KeyboardInterrupt

    ends = filter(is_handled, (signal.SIGTERM, HUNG_UP))
    before = {number: signal.signal(number, interrupt) for number in ends}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
