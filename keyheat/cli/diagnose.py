"""The verb diagnose: from an alarm to the limit, the key and what to do, in one command."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from keyheat.cli.mistakes import CheckedCommand, Mistakes
from keyheat.cli.options import (
    AS_MARKDOWN,
    Account,
    EvidenceFiles,
    Priced,
    TimeWindow,
    a_path,
    give,
    in_json,
    run_place,
)
from keyheat.flags import option, options_of, takes, values_of
from keyheat.numbers import dollars, some
from keyheat.plan.prices import Prices
from keyheat.runfiles import DIAGNOSIS, EVIDENCE, FILES, REPORT
from keyheat.show.console import bars, counted, working

if TYPE_CHECKING:
    from keyheat.analysis.table_diagnosis import DiagnosedTable
    from keyheat.evidence.logged import ThrottleLog
    from keyheat.evidence.survey import Survey
    from keyheat.evidence.table import Target
    from keyheat.runs.client import Records
    from keyheat.runs.formats import Window
    from keyheat.show.survey import SurveyedRegion

DEFAULT_LAST = timedelta(hours=3)
MINUTE = timedelta(minutes=1)
INDEX = "index.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """Where to look, over which time, and in which form to answer."""

    all_regions: bool = option("survey every table of every Region", default=False)
    window: TimeWindow = options_of(TimeWindow)
    account: Account = options_of(Account)
    files: EvidenceFiles = options_of(EvidenceFiles)
    hide_keys: bool = option("write digests in place of the keys that AWS names", default=False)
    out_dir: Path | None = option(
        "output folder  [default: reports/out/diagnose-TIME]", flag="--out", type=a_path
    )
    markdown: bool = option(AS_MARKDOWN, default=False)
    priced: Priced = options_of(Priced)

    def reach(self, table: str | None = None, region: str | None = None) -> "Target":
        """The Region, once it has answered. Raises `ValueError`."""
        from keyheat.evidence.table import connect

        account = replace(self.account, region=region or self.account.region)
        return connect(table, clock=time.time, **values_of(account))

    def window_until(self, now: datetime) -> "Window":
        """The window by the options. Raises `ValueError` with what is accepted."""
        from keyheat.evidence.request import check_start, window_of

        start, end = self.window.at(now)
        minute = now.replace(second=0, microsecond=0)
        if start is None:
            start = (end or minute) - (self.window.last or DEFAULT_LAST)
        check_start(start, now)
        return window_of(start, end or minute, now)


@click.command(cls=CheckedCommand)
@click.argument("table", required=False)
@takes("how", How)
@in_json("the answer")
def diagnose(table: str | None, how: How) -> int:
    """Find out why TABLE throttles, or which tables do: which limit, on which key, since when, what to do.

    Without TABLE it surveys every table of the Region, or of all Regions. It reads CloudWatch and
    descriptions only, by default of the last 3 hours. Exit code 0: nothing throttled; 1: something did, or
    failed inside DynamoDB; 3: something did, and the evidence does not decide.
    """
    files, window, mistakes = how.files, how.window, Mistakes()
    if how.all_regions and (table is not None or files.logs or files.metrics):
        mistakes.add("--all-regions surveys every table: leave out TABLE, --log and --metrics")
    elif files.metrics and table is None and not files.logs:
        mistakes.add("name the TABLE that the files are of")
    if window.last is not None and (window.start or window.end):
        mistakes.add("--last is the time up to now: leave out --start and --end")
    mistakes.refuse()
    if files.metrics:
        return _answered(_by_metrics(table, how), how)
    if files.logs:
        return _by_logs(table, how)
    if table is not None:
        target = how.reach(table)
        return _answered(_live(table, how.window_until(target.now), target, how), how)
    return _survey(how)


def _live(
    table: str, window: "Window", target: "Target", how: How, *, records: "Records | None" = None,
    announce: Callable[[int], None] | None = None, first: bool = True,
) -> "DiagnosedTable":  # fmt: skip
    """One table by its account, with what its clients recorded; the cure of the `first` one is tried."""
    from keyheat.analysis.table_diagnosis import REPLAY_S, diagnosed_live

    return diagnosed_live(
        table, window, target, how.priced.listed, records=records, show_keys=not how.hide_keys,
        announce=announce or announced(target, how.priced.listed), replay_s=REPLAY_S if first else 0,
    )  # fmt: skip


def _answered(table: "DiagnosedTable", how: How) -> int:
    """Write the files of one table and print its answer; gives the exit code."""
    from keyheat.analysis.table_diagnosis import exit_code_of
    from keyheat.show.diagnosis import diagnosis_answer

    written, page = _written(table, run_place(how.out_dir, f"diagnose-{_file_name(table.table.name)}"))
    return give(diagnosis_answer(written), exit_code_of(table.run), page=page, markdown=how.markdown)


def _by_metrics(table: str | None, how: How) -> "DiagnosedTable":
    """One table by files of metrics, and logs beside them, without an account."""
    from keyheat.analysis.table_diagnosis import diagnosed_alone
    from keyheat.evidence.cloudwatch import silent
    from keyheat.evidence.request import EvidenceRequest, evidence_for

    start, end = how.window.at(datetime.fromtimestamp(time.time(), UTC))
    request = EvidenceRequest(table=table, start=start, end=end, last=how.window.last, **values_of(how.files))
    evidence = evidence_for(request, clock=time.time, progress=silent)
    return diagnosed_alone(evidence, how.account.region, how.priced.listed)


def _by_logs(table: str | None, how: How) -> int:
    """Each table by what an application logged, and by CloudWatch where that answers; gives the code."""
    from keyheat.evidence.logged import read_logs
    from keyheat.evidence.request import logged_table

    log = read_logs(how.files.logs, how.files.zone)
    if log.window is None:
        raise ValueError(f"no throttle in {some(log.records, 'record')} of the logs")
    if table is None and len(log.tables) > 1:
        return _log_survey(log, log.window, how)
    return _answered(_logged(table or logged_table(log), log, log.window, how), how)


def _logged(
    table: str, log: "ThrottleLog", logged: "Window", how: How, *, first: bool = True
) -> "DiagnosedTable":
    """One table by a log, in the Region of its ARNs unless the options name another or an endpoint."""
    from keyheat.analysis.table_diagnosis import diagnosed_alone
    from keyheat.evidence.collection import from_answer
    from keyheat.evidence.series import MetricAnswer
    from keyheat.runs.table_facts import TableFacts

    region = how.account.region or (None if how.account.endpoint_url else log.region_of(table))
    try:
        target = how.reach(table, region)
    except ValueError as problem:
        records = log.records_of(table, region, logged)
        alone = from_answer(MetricAnswer({}), table=TableFacts(name=table), window=logged, records=records)
        missing = (f"CloudWatch: {problem}", *alone.missing)
        return diagnosed_alone(alone.model_copy(update={"missing": missing}), region, how.priced.listed)
    around = None if any(values_of(how.window).values()) else log.around(target.now)
    window = around or how.window_until(target.now)
    records = log.records_of(table, None if target.local else target.region, window)
    return _live(table, window, target, how, records=records, first=first)


def _log_survey(log: "ThrottleLog", window: "Window", how: How) -> int:
    """Diagnose every table that the logs name, the one with most throttles first; gives the exit code."""
    from keyheat.evidence.survey import Survey, SurveyedTable

    timed = {name: minutes for name in log.tables if (minutes := log.by_minute(name))}
    missing = [f"log: throttles of {name} left out: no time" for name in log.tables if name not in timed]
    if log.unnamed:
        count = some(log.unnamed, "throttle")
        alone = "they count in a log that names one table alone"
        missing.append(f"log: {count} left out: no ARN says of which table; {alone}")
    tables = tuple(SurveyedTable(name, throttles=minutes) for name, minutes in timed.items())
    survey = Survey(window=window, tables=tables, period_s=60, missing=tuple(missing))
    folder = run_place(how.out_dir, "diagnose")
    diagnosed = (_logged(name, log, window, how, first=number == 0) for number, name in enumerate(timed))
    region = how.account.region or "the logs"
    return _surveyed([_region(region, survey, diagnosed, folder)], window, folder, how, up_to_now=False)


def _survey(how: How) -> int:
    """Diagnose every table that throttled, of one Region or of all; gives the exit code."""
    from keyheat.evidence.survey import survey

    targets, missing = _regions(how)
    window, surveyed = how.window_until(targets[0].now), []
    for target in targets:
        with working(f"surveying {target.region}", bars):
            tables = survey(target, window, announce=announced(target, how.priced.listed))
        surveyed.append((target, tables))
    if not any(tables.tables for _target, tables in surveyed):
        names = ", ".join(target.region for target in targets)
        raise ValueError(f"no tables in {names}: choose another --region or --profile")
    folder = run_place(how.out_dir, "diagnose")
    regions = [
        _region(
            target.region, tables, _diagnosed(target, tables, window, how), folder,
            below=target.region if len(targets) > 1 else "",
        )
        for target, tables in surveyed
    ]  # fmt: skip
    up_to_now = window.end > targets[0].now - MINUTE
    return _surveyed(regions, window, folder, how, up_to_now=up_to_now, missing=missing)


def _regions(how: How) -> tuple[list["Target"], list[str]]:
    """The Regions that answer, and why others do not. Raises `ValueError` where none does."""
    from keyheat.evidence.clients import region_names

    if not how.all_regions:
        return [how.reach()], []
    targets, missing = [], []
    for region in region_names(how.account.profile):
        try:
            targets.append(how.reach(region=region))
        except ValueError as problem:
            missing.append(f"{region}: {problem}")
    if not targets:
        raise ValueError(missing[0])
    return targets, missing


def _diagnosed(target: "Target", survey: "Survey", window: "Window", how: How) -> "Iterator[DiagnosedTable]":
    """The tables of a Region with throttles or errors, worst first, each as it is diagnosed."""
    from keyheat.evidence.cloudwatch import silent
    from keyheat.evidence.collection import most_requested

    if tables := survey.troubled:
        metrics = sum(most_requested(table.indexes, window, target.now) for table in tables)
        announced(target, how.priced.listed)(metrics)
    for table in counted(tables, len(tables), "tables to diagnose", bars):
        yield _live(table.name, window, target, how, announce=silent, first=table is tables[0])


def _region(
    name: str, survey: "Survey", diagnosed: "Iterable[DiagnosedTable]", top: Path, below: str = ""
) -> "SurveyedRegion":
    """Write the page of each table of a Region, in a folder `below` the top; gives the Region with them."""
    from keyheat.show.survey import SurveyedRegion

    pages = [_written(table, top / below / _file_name(table.table.name)) for table in diagnosed]
    links = tuple((table, page.relative_to(top).as_posix()) for table, page in pages)
    return SurveyedRegion(region=name, survey=survey, diagnosed=links)


def _surveyed(
    regions: "Sequence[SurveyedRegion]", window: "Window", folder: Path, how: How, *, up_to_now: bool,
    missing: Sequence[str] = (),
) -> int:  # fmt: skip
    """Write the page of a survey and print its answer; gives the exit code."""
    from keyheat.show.render import html_of, save
    from keyheat.show.survey import survey_answer, survey_exit_code

    answer = survey_answer(regions, window, up_to_now=up_to_now, missing=missing)
    page = save(folder / INDEX, html_of(answer, datetime.now(UTC)))
    return give(answer, survey_exit_code(regions, missing), page=page, markdown=how.markdown)


def announced(target: "Target", prices: Prices) -> Callable[[int], None]:
    """Say how many metrics are requested, and what AWS charges for them."""
    listed = prices.cloudwatch

    def announce(metrics: int) -> None:
        cost = ""
        if listed is not None and not target.local:
            cost = f", {dollars(metrics * listed.metrics_per_thousand / 1_000)}"
        bars.print(f"Requesting {some(metrics, 'metric')} from CloudWatch{cost}")

    return announce


def _file_name(table: str) -> str:
    """The folder of a table; names of DynamoDB are letters, digits, `_`, `-` and `.`, a damaged one any."""
    return re.sub(r"[^\w.-]", "_", table).lstrip(".") or "_"


def _written(table: "DiagnosedTable", folder: Path) -> tuple["DiagnosedTable", Path]:
    """Write evidence, diagnosis and page of a table into a folder; gives the page, too."""
    from keyheat.runs.formats import write_diagnosis, write_evidence
    from keyheat.show.diagnosis import page_of
    from keyheat.show.render import save

    folder.mkdir(parents=True, exist_ok=True)
    write_evidence(folder / FILES[EVIDENCE], table.evidence)
    write_diagnosis(folder / FILES[DIAGNOSIS], table.run.diagnosis)
    table = replace(table, folder=folder)
    return table, save(folder / REPORT, page_of(table, datetime.now(UTC)))
