"""Collect evidence about a run or table: CloudWatch, DescribeTable and the client's own records."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from keyheat.addresses import endpoint_of
from keyheat.evidence import cloudwatch, partitions
from keyheat.evidence.clients import ClientFactory, boto3_clients, is_local
from keyheat.evidence.cloudwatch import (
    Clock,
    Fetch,
    MetricSource,
    Progress,
    Sleep,
    fetch_local,
    fetch_once,
    fetch_published,
    newest,
)
from keyheat.evidence.contributors import ContributorsFound, read_contributors
from keyheat.evidence.series import MetricAnswers, series_of
from keyheat.evidence.table import describe, since_created, with_indexes
from keyheat.model.limits import MINUTE_S
from keyheat.runfiles import FILES, RUN
from keyheat.runs.client import NO_RECORDS, Records, read_records
from keyheat.runs.formats import Evidence, Window
from keyheat.runs.manifest import Manifest, read_manifest, run_window
from keyheat.runs.partitions import estimated
from keyheat.runs.plausibility import within
from keyheat.runs.table_facts import TableFacts
from keyheat.validation import Mistakes
from keyheat.words import has_capacity_model


def collect(
    run_dir: Path,
    *,
    endpoint_url: str | None = None,
    client_factory: ClientFactory | None = None,
    clock: Clock = time.time,
    sleep: Sleep = time.sleep,
    progress: Progress = cloudwatch.silent,
    show_keys: bool = False,
) -> Evidence:
    """Collect evidence of a run once its minutes are published, or the wait is over.

    Needs only the manifest, which names the table, the time and the endpoint; other missing or damaged files
    are listed in `missing`. Queries the manifest's endpoint if it is AWS or on this machine; pass any other
    as `endpoint_url`. Raises `FileProblem` for an unreadable manifest, `UnknownEndpoint`, and `ValueError`
    for a simulated run, which no service knows.
    """
    run = read_manifest(run_dir)
    if run.simulated:
        raise ValueError(
            f"{run_dir} was simulated: its evidence is complete already. Run `keyheat simulate` again to "
            "write it anew"
        )
    file = str(run_dir / FILES[RUN])
    url = endpoint_of(run.endpoint_url, endpoint_url, file=file, option="--endpoint-url")
    local = run.local if url is None else is_local(url)
    factory = client_factory or boto3_clients(
        region=run.region, endpoint_url=url, local=local, open_minute=True
    )
    pace = cloudwatch.LOCAL_PACE if local else cloudwatch.CLOUD_PACE

    def there_s() -> float:
        """The service's time, which its minutes follow."""
        return clock() + run.clock_skew_s

    source = MetricSource(
        client_factory=factory, pace=pace, clock=there_s, sleep=sleep, progress=progress, show_keys=show_keys
    )
    window = run_window(run, there_s())
    answers = has_capacity_model(run.endpoint)
    evidence = _gather(
        source, run.table, window, _of_run(run_dir, run, window), _time_problems(run), run.scale,
        fetch=(fetch_local if local else fetch_published) if answers else fetch_once,
    )  # fmt: skip
    return evidence.model_copy(update={"endpoint": run.endpoint, "source": "local" if local else run.source})


def collect_from_cli(run_dir: Path, pages: Sequence[object], *, now_s: float) -> Evidence:
    """Build evidence of a run from AWS CLI output for its queries. Raises `FileProblem`, `ValueError`."""
    run = read_manifest(run_dir)
    window = run_window(run, now_s + run.clock_skew_s)
    records = _of_run(run_dir, run, window)
    table = with_indexes(run.table, _indexes_in(records))
    evidence = from_cli_output(pages, table=table, window=window, records=records)
    from_run = {
        "scale": run.scale, "endpoint": run.endpoint, "source": run.source,
        "partitions": estimated(run.table, run.scale),
    }  # fmt: skip
    return evidence.model_copy(update={**from_run, "missing": (*_time_problems(run), *evidence.missing)})


def collect_table(
    table: TableFacts,
    window: Window,
    *,
    region: str | None = None,
    profile: str | None = None,
    endpoint_url: str | None = None,
    client_factory: ClientFactory | None = None,
    clock: Clock = time.time,
    sleep: Sleep = time.sleep,
    progress: Progress = cloudwatch.silent,
    show_keys: bool = False,
    wait: bool = True,
    announce: Callable[[int], None] = cloudwatch.unannounced,
    records: Records = NO_RECORDS,
) -> Evidence:
    """Collect evidence of any table over any window from AWS; `table` needs only a name.

    `records` are throttles logged by an application. Without `wait` the window ends with the newest published
    minute. Raises `ValueError` if the profile does not exist.
    """
    local = is_local(endpoint_url)
    factory = client_factory or boto3_clients(
        region=region, profile=profile, endpoint_url=endpoint_url, local=local
    )
    pace = cloudwatch.LOCAL_PACE if local else cloudwatch.CLOUD_PACE
    source = MetricSource(
        client_factory=factory, pace=pace, clock=clock, sleep=sleep, progress=progress,
        show_keys=show_keys, announce=announce,
    )  # fmt: skip
    up_to_now = not wait and window.end.timestamp() > clock() - MINUTE_S
    fetch = fetch_published if wait else fetch_once
    evidence = _gather(source, table, window, records, (), None, fetch=fetch)
    update = {
        "up_to_now": up_to_now,
        "window": evidence.window if wait else _until_now(evidence.window, clock()),
    }
    return evidence.model_copy(update={**update, **({"source": "local"} if local else {})})


def _until_now(window: Window, now_s: float) -> Window:
    """Cut off the future: the minute of a logged throttle may not be over."""
    now = datetime.fromtimestamp(int(now_s) + 1, UTC)
    return Window(start=window.start, end=min(window.end, now))


def from_cli_output(
    pages: Sequence[object], *, table: TableFacts, window: Window, records: Records = NO_RECORDS
) -> Evidence:
    """Build evidence from the output of `aws cloudwatch get-metric-data` for the queries of `request_for`.

    `pages` are the parsed files in any order: by default the CLI follows the pages itself.
    Raises `ValueError` with every mistake as `message @ $.path`.
    """
    answers, mistakes = MetricAnswers(), Mistakes()
    for number, page in enumerate(pages):
        answers.add_page(page, mistakes, f"[{number}]" if len(pages) > 1 else "")
    if mistakes:
        raise ValueError(f"the answer of CloudWatch has {mistakes}")
    series = series_of(answers.points, window)
    named = (entry.index for entry in series if entry.index is not None)
    return Evidence(
        table=with_indexes(table, named),
        window=window,
        series=series,
        throttles=records.throttles,
        seconds=records.seconds,
        partitions=estimated(table),
        missing=(*answers.problems(), *_cut_off_problem(pages), *records.missing),
    )


def _cut_off_problem(pages: Sequence[object]) -> tuple[str, ...]:
    """Report a response that every page leaves unfinished, as after `--max-items`."""
    tokens = [page.get("NextToken") for page in pages if isinstance(page, Mapping)]
    problem = "CloudWatch: the response is cut off, it ends with a NextToken: leave out --max-items"
    return (problem,) if tokens and all(tokens) else ()


def _gather(
    source: MetricSource,
    table: TableFacts,
    window: Window,
    records: Records,
    missing: Sequence[str],
    scale: float | None,
    *,
    fetch: Fetch = fetch_published,
) -> Evidence:
    """Collect all evidence; without a `scale`, that of the service holds."""
    described = describe(source.client_factory, table, window)
    scale = described.scale if scale is None else scale
    window = since_created(described.answer or {}, window)
    facts = with_indexes(described.table, _indexes_in(records))
    seen = partitions.observe(
        source.client_factory, described.answer or {}, facts, window, source.clock(), scale
    )
    answer = (fetch if described.reached and described.exists else fetch_once)(source, facts, window)
    if fetch is fetch_once:
        window = _with_throttles(newest(answer.points, window), records)
    insights = ContributorsFound(None)
    if described.reached and described.exists:
        insights = _contributors(source, facts, window, records)
    return Evidence(
        table=facts,
        account=described.account,
        window=window,
        series=series_of(answer.points, window),
        throttles=records.throttles,
        seconds=records.seconds,
        contributors=insights.contributors,
        partitions=seen[0],
        scale=scale,
        missing=(
            *missing,
            *described.missing,
            *answer.problems,
            *insights.missing,
            *seen[1],
            *records.missing,
        ),
    )


def _with_throttles(window: Window, records: Records) -> Window:
    """Extend the window to the client's last throttle, if that is not published yet."""
    last = max((row.second for row in records.throttles or ()), default=window.start)
    minute = last.replace(second=0) + timedelta(minutes=1)
    return Window(start=window.start, end=max(window.end, minute))


def _contributors(
    source: MetricSource, table: TableFacts, window: Window, records: Records
) -> ContributorsFound:
    """Keys that Contributor Insights names; its absence matters if no record names them."""
    return read_contributors(
        source.client_factory, table, window, sleep=source.sleep, required=records.seconds is None,
        show_keys=source.show_keys,
    )  # fmt: skip


def _indexes_in(records: Records) -> Iterable[str]:
    """Indexes in the client's records: some may be newer than the description, or deleted."""
    indexes = [row.index for row in records.throttles or ()] + [row.index for row in records.seconds or ()]
    return dict.fromkeys(index for index in indexes if index is not None)


def _of_run(run_dir: Path, run: Manifest, window: Window) -> Records:
    """The client's records in the window; a wrong clock moves rows outside."""
    records = read_records(run_dir)
    throttles = within(records.throttles, window)
    seconds = within(records.seconds, window)
    lost = len(records.throttles or ()) - len(throttles or ())
    lost += len(records.seconds or ()) - len(seconds or ())
    missing = (f"{lost:,} client rows fall outside the run window; check the clocks",)
    return Records(
        throttles=throttles, seconds=seconds, missing=(*records.missing, *(missing if lost else ()))
    )


def _time_problems(run: Manifest) -> tuple[str, ...]:
    """Uncertainties about the run's time."""
    if run.ended_at is not None:
        return ()
    return (f"the end of the run: in run.json its status is {run.status}",)
