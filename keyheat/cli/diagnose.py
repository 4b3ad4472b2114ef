"""The verb diagnose: from an alarm to the limit, the key and what to do, in one command."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from keyheat.cli.options import (
    TimeSpan,
    a_path,
    a_time,
    hours_a_day,
    in_json,
    in_utc,
    price_list,
    run_place,
    some_prices,
)
from keyheat.numbers import dollars, some
from keyheat.plan.prices import Billing
from keyheat.runfiles import DIAGNOSIS, EVIDENCE, FILES, REPORT
from keyheat.terminal.console import answer, bars, in_words, print_lines

if TYPE_CHECKING:
    from keyheat.analysis.changes import Changes
    from keyheat.analysis.report.run import ReportRun
    from keyheat.evidence.target import Target
    from keyheat.runs.formats import Evidence, Window
    from keyheat.show.answer import Answer
    from keyheat.show.diagnosis import DiagnosedTable

DEFAULT_LAST = timedelta(hours=3)


@click.command()
@click.argument("table", required=True)
@click.option("--last", type=TimeSpan(), help="time up to now, such as 90m, 24h or 2d  [default: 3h]")
@click.option("--start", type=a_time, help="UTC, such as 07:36 or 2026-11-20T12:00:00Z")
@click.option("--end", type=a_time, help="UTC, exclusive  [default: now]")
@click.option("--region", help="of the table  [default: as the AWS SDK finds it]")
@click.option("--profile", help="of the AWS configuration  [default: as the AWS SDK finds it]")
@click.option("--endpoint-url", help="of a local table, such as http://127.0.0.1:8000")
@click.option("--hide-keys", is_flag=True, help="write digests in place of the keys that AWS names")
@click.option("--out", "place", type=a_path, help="folder of the files  [default: reports/out/diagnose-TIME]")
@click.option("--markdown", is_flag=True, help="print Markdown, for a ticket or a chat")
@in_json("the answer")
@hours_a_day
@some_prices
def diagnose(
    table: str,
    last: timedelta | None,
    start: datetime | None,
    end: datetime | None,
    region: str | None,
    profile: str | None,
    endpoint_url: str | None,
    hide_keys: bool,
    place: Path | None,
    markdown: bool,
    hours_per_day: float,
    prices: Path,
) -> int:
    """Find out why TABLE throttles: which limit, on which key, since when, what to do.

    It reads CloudWatch and descriptions only. Exit code 0: nothing throttled; 1: something did; 3: something
    did, and the evidence does not decide.
    """
    from keyheat.evidence.target import reach
    from keyheat.show.diagnosis import diagnosis_answer, exit_code_of

    billing = Billing(price_list(prices), hours_per_day)
    target = reach(table, region=region, profile=profile, endpoint_url=endpoint_url, clock=time.time)
    window = _window(last, start, end, target.now)
    found = _diagnosed(table, window, target, billing, show_keys=not hide_keys)
    folder = run_place(place, f"diagnose-{table}")
    page = _write(folder, found)
    _say(diagnosis_answer(found), page, markdown=markdown)
    return exit_code_of(found.run)


def _window(last: timedelta | None, start: datetime | None, end: datetime | None, now: datetime) -> "Window":
    """The window by the options. Raises `ValueError` with what is accepted."""
    from keyheat.evidence.request import window_of

    if last is not None and (start is not None or end is not None):
        raise ValueError("--last is the time up to now: leave out --start and --end")
    start = in_utc(start, now)
    end = in_utc(end, now, after=start)
    minute = now.replace(second=0, microsecond=0)
    if start is None:
        start = (end or minute) - (last or DEFAULT_LAST)
    return window_of(start, end or minute, now)


def _diagnosed(
    table: str, window: "Window", target: "Target", billing: Billing, *, show_keys: bool
) -> "DiagnosedTable":
    """Collect the evidence of one table, and diagnose it."""
    from keyheat.analysis.diagnosis import diagnosed
    from keyheat.analysis.report.run import evidence_alone
    from keyheat.show.diagnosis import DiagnosedTable

    evidence = _evidence(table, window, target, announced(target, billing), show_keys=show_keys)
    run = evidence_alone(evidence, diagnosed(evidence, billing=billing, simulate=False))
    return DiagnosedTable(
        run=run, region=target.region, options=target.options, billing=billing,
        changes=_changes(run, target, announced(target, billing)),
    )  # fmt: skip


def _changes(run: "ReportRun", target: "Target", announce: Callable[[int], None]) -> "Changes | None":
    """What changed from the time before, for what throttled most; None where nothing throttled."""
    from keyheat.analysis.changes import changes
    from keyheat.evidence.earlier import EarlierRequest, earlier
    from keyheat.words import Resource, index_of

    verdict, evidence = run.diagnosis.verdict, run.evidence
    if verdict.direction is None or evidence is None:
        return None
    resource = Resource(index_of(verdict.resource), verdict.direction)
    request = EarlierRequest(
        table=evidence.table, direction=verdict.direction, window=evidence.window, now=target.now
    )
    announce(request.metrics)
    return changes(evidence, run.labels_of(resource), resource, list(earlier(target.factory, request)))


def _evidence(
    table: str, window: "Window", target: "Target", announce: Callable[[int], None], *, show_keys: bool
) -> "Evidence":
    from keyheat.evidence.collection import collect_table
    from keyheat.runs.formats import TableFacts
    from keyheat.runs.plausibility import sound

    return sound(
        collect_table(
            TableFacts(name=table), window, endpoint_url=target.endpoint_url, client_factory=target.factory,
            clock=target.now.timestamp, show_keys=show_keys, wait=False, announce=announce,
        )
    )  # fmt: skip


def announced(target: "Target", billing: Billing) -> Callable[[int], None]:
    """Say how many metrics are requested, and what AWS charges for them."""
    listed = billing.prices.cloudwatch

    def announce(metrics: int) -> None:
        cost = ""
        if listed is not None and not target.local:
            cost = f", {dollars(metrics * listed.metrics_per_thousand / 1_000)}"
        bars.print(f"Requesting {some(metrics, 'metric')} from CloudWatch{cost}")

    return announce


def _write(folder: Path, found: "DiagnosedTable") -> Path:
    """Write evidence, diagnosis and page of a table into a folder; gives the page."""
    from keyheat.pages.page import save
    from keyheat.pages.run.report import render
    from keyheat.runs.formats import write_diagnosis, write_evidence

    folder.mkdir(parents=True, exist_ok=True)
    write_evidence(folder / FILES[EVIDENCE], found.evidence)
    write_diagnosis(folder / FILES[DIAGNOSIS], found.run.diagnosis)
    return save(folder / REPORT, render(found.run, datetime.now(UTC)))


def _say(made: "Answer", page: Path, *, markdown: bool) -> None:
    """Print the answer in the form that was asked for, and where its page is."""
    from keyheat.show.data import json_of
    from keyheat.show.markdown import markdown_of
    from keyheat.show.text import text_of

    if markdown and in_words():
        print_lines([markdown_of(made)], to_stderr=False)
        return
    answer(lambda: {**json_of(made), "page": str(page)}, lambda: text_of(made))
    if in_words():
        from keyheat.terminal.console import out, strong

        out.print(strong("\nPage: ", page))
