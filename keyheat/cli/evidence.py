"""Verbs from metrics to labels: queries, collect, analyze."""

import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from keyheat.cli.mistakes import CheckedCommand
from keyheat.cli.options import (
    Account,
    EvidenceFiles,
    Period,
    PricedByDay,
    TimeWindow,
    a_file,
    a_folder,
    a_path,
    further_analyzers,
    give,
    in_json,
)
from keyheat.cli.simulate import diagnosed, exit_code_of, say_problems
from keyheat.flags import option, options_of, takes, values_of
from keyheat.masking import short_path
from keyheat.numbers import some
from keyheat.runfiles import EVIDENCE, FILES, REPORT, FileProblem
from keyheat.show.answer import Answer
from keyheat.show.console import bars
from keyheat.words import DONE

if TYPE_CHECKING:
    from keyheat.evidence.cloudwatch import Clock
    from keyheat.runs.formats import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """Indexes and replicas of a table."""

    indexes: tuple[str, ...] = option("global secondary index of the table", default=(), flag="--index")
    replicas: tuple[str, ...] = option("other Region of a global table", default=(), flag="--replica")


@click.command(cls=CheckedCommand)
@click.option("--table", required=True)
@takes("of", Resources)
@takes("period", Period)
@in_json("the request (always)", always=True)
def queries(table: str, of: Resources, period: Period) -> int:
    """Print a GetMetricData request as JSON, for a colleague who runs the AWS CLI.

    `aws cloudwatch get-metric-data --cli-input-json file://FILE` takes it; without --end, add the times.
    """
    from keyheat.evidence.request import check_start, window_of
    from keyheat.runs.metrics import QUERIES_PER_CALL, request_for, series_keys

    now = datetime.fromtimestamp(time.time(), UTC)
    start, end = period.at(now)
    if start is None and end is not None:
        raise click.UsageError("--end needs --start")
    if (number := len(series_keys(of.indexes, replicas=of.replicas))) > QUERIES_PER_CALL:
        raise click.UsageError(
            f"{number} queries, but AWS takes {QUERIES_PER_CALL} at once: name fewer indexes, and query the "
            "others in a second request (collect takes several files)"
        )
    if start is not None:
        check_start(start, now)
    if start is not None and end is not None:
        window_of(start, end, now)
    request = request_for(table, of.indexes, replicas=of.replicas, start=start, end=end, now=now)
    printed = Answer(
        title=f"Request for {table}", sentence=f"{some(number, 'query', 'queries')}.", data=request
    )
    return give(printed, DONE, data_alone=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What is collected, from where and over which time."""

    folder: Path | None = option("a run directory", flag="--run", type=a_folder)
    table: str | None = option("any table; with --last, or --start and --end")
    of: Resources = options_of(Resources)
    window: TimeWindow = options_of(TimeWindow)
    account: Account = options_of(Account)
    files: EvidenceFiles = options_of(EvidenceFiles)
    show_keys: bool = option("write keys that AWS names, not only their digests", default=False)
    file: Path | None = option("write to this file  [default: DIR/evidence.json]", flag="--out", type=a_path)


@click.command(cls=CheckedCommand)
@takes("options", Collected)
@in_json("where the evidence is and what it lacks")
def collect(options: Collected) -> int:
    """Collect the metrics of a run, or of any table.

    It waits until the minutes of the window are published. With --last, it takes what is published now.
    """
    from keyheat.cli.guards import at_known_endpoint
    from keyheat.evidence.request import EvidenceRequest, check_options, evidence_for
    from keyheat.runs.formats import write_evidence
    from keyheat.show.console import Countdown

    folder, account = options.folder, options.account
    request = EvidenceRequest(
        folder=folder, table=options.table, show_keys=options.show_keys, **values_of(options.of),
        **values_of(options.window), **values_of(account), **values_of(options.files),
    )  # fmt: skip
    check_options(request)
    clock = time.time if folder is not None or options.files.metrics else _clock_of(account)
    start, end = options.window.at(datetime.fromtimestamp(clock(), UTC))
    request = replace(request, start=start, end=end)

    def collected(url: str | None) -> "Evidence":
        with Countdown(bars) as countdown:
            reached = replace(request, endpoint_url=url)
            return evidence_for(reached, clock=clock, progress=countdown.count)

    evidence = at_known_endpoint(collected, account.endpoint_url)
    file = options.file or (folder or Path()) / FILES[EVIDENCE]
    if not (any(series.points for series in evidence.series) or evidence.throttles or evidence.seconds):
        raise FileProblem("\n  ".join(("nothing was collected, and nothing written", *evidence.missing)))
    write_evidence(file, evidence)
    since, until = (f"{at:%F %R}" for at in (evidence.window.start, evidence.window.end))
    what = short_path(folder) if folder is not None else f"--evidence {short_path(file)}"
    collected_answer = Answer(
        title="Evidence",
        sentence=f"{short_path(file)}, {since} to {until} UTC.",
        notes=tuple(f"Missing: {line}" for line in evidence.missing),
        commands=(f"keyheat analyze {what} --report",),
        data={"evidence": str(file), "missing": list(evidence.missing)},
    )
    return give(collected_answer, DONE)


def _clock_of(account: Account) -> "Clock":
    """The clock of the named endpoint, whose time may be moved; else this machine's. Raises `ValueError`."""
    if account.endpoint_url is None:
        return time.time
    from keyheat.evidence.table import connect

    ahead_s = connect(None, clock=time.time, **values_of(account)).now.timestamp() - time.time()
    return lambda: time.time() + ahead_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Analyzed:
    """What is labelled besides a run, with what, and whether a page is written."""

    evidence: Path | None = option("label an evidence file without a run", type=a_file)
    report: bool = option("write report.html of the run, or FILE.html, too", default=False)
    further: tuple[Path, ...] = further_analyzers()
    priced: PricedByDay = options_of(PricedByDay)


@click.command(cls=CheckedCommand)
@click.argument("folder", metavar="[DIR]", type=a_folder, required=False)
@takes("options", Analyzed)
@in_json("the diagnosis")
def analyze(folder: Path | None, options: Analyzed) -> int:
    """Label the throttles of a run directory (and write diagnosis.json), or of an evidence file."""
    from keyheat.analysis.diagnosis import diagnosed as diagnosed_evidence
    from keyheat.analysis.report import evidence_alone, read_run
    from keyheat.runs.plausibility import read_evidence
    from keyheat.show.console import working
    from keyheat.show.run import run_answer

    billing, evidence, further = options.priced.billing, options.evidence, options.further
    if (folder is None) == (evidence is None):
        raise click.UsageError("name a run directory, or use --evidence FILE")
    with working("labelling throttles", bars):
        if folder is not None:
            diagnosed(folder, further, billing)
            run, page = read_run(folder), folder / REPORT
        else:
            assert evidence is not None
            outside = read_evidence(evidence)
            run = evidence_alone(outside, diagnosed_evidence(outside, further=further, billing=billing))
            page = evidence.with_suffix(".html")
    if options.report:
        from keyheat.show.report import write_report

        with working("drawing the report", bars):
            write_report(run, datetime.now(UTC), page)
    say_problems(run.diagnosis)
    code = exit_code_of(run.diagnosis)
    return give(run_answer(run), code, page=page if options.report else None, data_alone=True)
