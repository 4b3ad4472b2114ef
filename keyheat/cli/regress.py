"""The verb regress: run a suite and compare it with its last good session."""

import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

import click

from keyheat.cli.guards import agreed, on_existing, target_of
from keyheat.cli.mistakes import CheckedCommand, Mistakes
from keyheat.cli.options import HISTORY, a_path, give, in_json, price_list, series_place, the_history
from keyheat.cli.run import make_run
from keyheat.cli.simulate import NOT_STARTED, How
from keyheat.flags import option, options_of, takes, values_of
from keyheat.load.options import Consent, Guards
from keyheat.load.run.launch import HUNG_UP, is_handled, release_output
from keyheat.masking import short_path
from keyheat.plan.prices import DEFAULT as PRICES
from keyheat.regression.exports import annotations
from keyheat.regression.history import History, Session
from keyheat.regression.outcome import SessionOutcome
from keyheat.regression.session import (
    PlannedRun,
    SessionRuns,
    baseline_of,
    early_differences,
    plan_runs,
    recorded_session,
    scenarios_of,
)
from keyheat.regression.suite import Suite, SuiteCase, find_suite
from keyheat.regression.verdict import not_compared, outcome_of
from keyheat.runfiles import SIMULATED
from keyheat.show.console import bars, err, in_words, print_lines
from keyheat.show.regression import outcome_answer
from keyheat.simulator.jobs import Job, is_done
from keyheat.words import INTERRUPTED

GITHUB = Path("github")
"""Named among the files to write: annotations of GitHub Actions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """How one session differs from the next; everything else stands in the suite's file."""

    baseline: str | None = option(
        "compare with this session  [default: the last good one]", metavar="SESSION|LABEL"
    )
    new_baseline: bool = option("start a new baseline (the change is intended)", default=False)
    accept: bool = option("accept throttling in a first session or a new case", default=False)
    label: str | None = option("keep this text with the session, such as a commit", metavar="TEXT")
    folder: Path | None = option(
        "directory of the runs  [default: reports/out/SUITE-TIME]", flag="--out", type=a_path
    )
    consent: Consent = options_of(Consent)
    exports: tuple[Path, ...] = option(
        "write .xml (JUnit), .md or github", default=(), flag="--export", type=a_path, metavar="FILE|github"
    )


@click.command(cls=CheckedCommand)
@click.argument("suite", envvar="KEYHEAT_SUITE", required=False)
@the_history
@takes("options", SessionOptions)
@in_json("the outcome")
def regress(suite: str | None, file: Path, options: SessionOptions) -> int:
    """Run every case of SUITE and compare it with the last good session.

    SUITE is a file, or a name in configs/suites  [default: $KEYHEAT_SUITE]. Its file says how loads are run
    and what they may consume.

    `--export github` annotates a step of GitHub Actions, and writes its summary.

    Exit code 1: a gate failed, or a threshold. 3: a run is invalid, so nothing is decided.
    """
    from keyheat.show.regression import PAGE, check_exports, write_session  # jinja2: --help needs none

    mistakes = Mistakes()
    if options.new_baseline and options.baseline:
        mistakes.add("use either --new-baseline or --baseline")
    files, github = [export for export in options.exports if export != GITHUB], GITHUB in options.exports
    with mistakes.noted():
        loaded = find_suite(suite or "")
    with mistakes.noted():
        check_exports(files)
    mistakes.refuse()
    with History(file) as history:
        outcome = run_session(loaded, options, history)
    step = os.environ.get("GITHUB_STEP_SUMMARY") if github else None
    outcome = write_session(outcome, files, Path(step) if step else None)
    page = None if outcome.verdict == "not_compared" else Path(outcome.folder) / PAGE
    give(outcome_answer(outcome), outcome.exit_code, page=page, data_alone=True)
    if github:
        print_lines(annotations(outcome), to_stderr=not in_words())
    for problem in outcome.problems:
        err.print(f"keyheat: {problem}")
    return outcome.exit_code


def run_session(suite: Suite, options: SessionOptions, history: History) -> SessionOutcome:
    """Run the suite and compare it with its baseline.

    If the baseline was measured on another setup, nothing is sent, and the outcome says so. Raises
    `ValueError` if the baseline that was named cannot be one.
    """
    prices = PRICES if suite.run.prices is None else suite.path.parent / suite.run.prices
    price_list(prices)
    stated = suite.run.model_dump(exclude={"align", "collect", "paired", "prices"})
    given = {name: value for name, value in values_of(options.consent).items() if value is not None}
    guards = Guards(**stated | given, no_align=not suite.run.align)
    baseline = (
        None
        if options.new_baseline
        else baseline_of(history, suite, options.baseline, settled=options.accept)
    )
    if options.accept and baseline is not None and suite.gates.keys() <= baseline.kept.keys():
        raise ValueError(
            f"--accept is for a first session or a new case, and all of {suite.name} is compared "
            f"with {baseline.used.title}: use --new-baseline if the change is intended"
        )
    on_tables, before = suite, None
    if baseline is not None:
        on_tables = replace(suite, cases=tuple(_on_table(case, guards) for case in suite.cases))
        if suite.run.paired:
            before = scenarios_of(baseline, suite)
        else:
            from keyheat.load.record.generator import machine  # pyarrow: --help needs none

            if differ := early_differences(baseline, on_tables, machine()):
                return not_compared(suite, baseline, differ, history=history.path, label=options.label)
    hows = _agreed(suite, plan_runs(suite, Path(), before=before), guards, prices)
    folder = series_place(options.folder, suite.name)
    with recorded_session(history, suite, options.label) as session, terminated_as_interrupted():
        runs = _runs(plan_runs(suite, folder, before=before), hows, history, session)
        elsewhere = f" --history {short_path(history.path)}" if history.path != HISTORY else ""
        anew = " --new-baseline" if options.new_baseline else ""
        outcome = outcome_of(
            on_tables, baseline, runs, session, history=history.path, folder=folder,
            paired=before is not None, accept=options.accept,
            replaces=history.last_good(suite.name) if options.new_baseline else None,
            to_accept=f"keyheat regress {short_path(suite.path)}{elsewhere}{anew} --accept",
        )  # fmt: skip
        history.end(session, outcome.verdict, outcome)
    return outcome


def _on_table(case: SuiteCase, guards: Guards) -> SuiteCase:
    """The case on the suite's existing table, if it names one."""
    if guards.table is None or case.target == SIMULATED:
        return case
    if (target := target_of(case.target)) is None:  # an endpoint of our own, without one
        return case
    return replace(case, scenario=on_existing(case.scenario, target, guards)[0])


def _agreed(suite: Suite, plan: Sequence[PlannedRun], guards: Guards, prices: Path) -> dict[str, How]:
    """How runs are made, by target, once all of them may start. Raises `SafetyRefusal`."""
    jobs: dict[str, list[Job]] = {}
    for run in plan:
        jobs.setdefault(run.case.target, []).append(Job(run.scenario, run.case.path, run.folder))
    return {
        target: How(
            target=target, quick=not suite.run.collect, report=False, quiet=True,
            options=() if target == SIMULATED
            else tuple(agreed(of_target, target, guards, prices=prices)),
        )
        for target, of_target in jobs.items()
    }  # fmt: skip


def _runs(
    plan: Sequence[PlannedRun], hows: Mapping[str, How], history: History, session: Session
) -> SessionRuns:
    """Make the runs in order, until one cannot start, or an interrupt; keep each one that has a diagnosis."""
    runs, count = SessionRuns(), len(plan)
    try:
        for number, run in enumerate(plan, start=1):
            began_s, job = time.monotonic(), Job(run.scenario, run.write(), run.folder)
            code = make_run(job, hows[run.case.target], of_series=(number, count))
            if code in NOT_STARTED:
                runs.code = code
                break
            summary = runs.add(run, time.monotonic() - began_s, diagnosed=is_done(job))
            if summary is not None:
                url = run.folder.absolute().as_uri()
                history.add(session, run.case.name, run.repetition, summary, url, run.side)
            ended = runs.runs[-1]
            side = " (baseline)" if run.side == "before" else ""
            came = f"{ended.constraint}" if ended.valid else f"INVALID: {ended.problem}"
            bars.print(f"{number:>{len(str(count))}} of {count}  {ended.name}{side}: {came}")
    except KeyboardInterrupt:
        runs.code = INTERRUPTED
    return runs


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
