"""Evidence about a run or a table: what CloudWatch and DescribeTable answer, and what the client saw."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from keyheat.addresses import endpoint_of
from keyheat.evidence import cloudwatch, partitions
from keyheat.evidence.clients import ClientFactory, boto3_clients, is_local
from keyheat.evidence.cloudwatch import (
    Asking,
    Clock,
    MetricSource,
    Progress,
    Sleep,
    at_once,
    newest,
    published,
    so_far,
)
from keyheat.evidence.contributors import ContributorsFound, ContributorsReader
from keyheat.evidence.series import MetricAnswers, series_of
from keyheat.evidence.table import describe, since_created, with_indexes
from keyheat.model.limits import MINUTE_S
from keyheat.numbers import span
from keyheat.runfiles import FILES, RUN
from keyheat.runs.client import NO_RECORDS, Records, read_records
from keyheat.runs.formats import Evidence, TableFacts, Window
from keyheat.runs.manifest import Manifest, read_manifest, run_window
from keyheat.runs.plausibility import within
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
    """Evidence of a run, once the minutes of its window are published (or the wait for them is over).

    A missing or damaged file of the run is left out and said so in `missing`; only the manifest is needed,
    because it names the table and the time. It also names the endpoint, which is asked if it is AWS or on
    this machine; any other has to be given as `endpoint_url`. Raises `FileProblem` where the manifest cannot
    be read, `UnknownEndpoint`, and `ValueError` for a simulated run, of which no service knows.
    """
    run = read_manifest(run_dir)
    if run.simulated:
        raise ValueError(
            f"{run_dir} was simulated: its evidence was written with it, and no service knows more. "
            "`keyheat simulate` writes it anew"
        )
    file = str(run_dir / FILES[RUN])
    url = endpoint_of(run.endpoint_url, endpoint_url, file=file, option="--endpoint-url")
    local = run.local if url is None else is_local(url)
    factory = client_factory or boto3_clients(
        region=run.region, endpoint_url=url, local=local, open_minute=True
    )
    pace = cloudwatch.LOCAL_PACE if local else cloudwatch.CLOUD_PACE

    def there_s() -> float:
        """The time of the service, whose minutes are waited for."""
        return clock() + _ahead_s(run)

    source = MetricSource(
        client_factory=factory, pace=pace, clock=there_s, sleep=sleep, progress=progress, show_keys=show_keys
    )
    window = run_window(run, there_s())
    answers = has_capacity_model(run.endpoint)
    found = _gather(
        source, run.table, window, _of_run(run_dir, run, window), _unsure(run), run.scale,
        ask=(so_far if local else published) if answers else at_once, seen=partitions.noted(run),
    )  # fmt: skip
    return found.model_copy(update={"endpoint": run.endpoint, "source": "local" if local else run.source})


def collect_from_cli(run_dir: Path, pages: Sequence[object], *, now_s: float) -> Evidence:
    """Evidence of a run from what the AWS CLI printed for its queries. Raises `FileProblem`, `ValueError`."""
    run = read_manifest(run_dir)
    window = run_window(run, now_s + _ahead_s(run))
    records = _of_run(run_dir, run, window)
    table = with_indexes(run.table, _spoken_of(records))
    found = from_cli_output(pages, table=table, window=window, records=records)
    seen, unseen = partitions.noted(run)
    known = {"scale": run.scale, "endpoint": run.endpoint, "source": run.source, "partitions": seen}
    return found.model_copy(update={**known, "missing": (*_unsure(run), *found.missing, *unseen)})


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
    """Evidence of any table over any window, from AWS; of `table` no more than its name need be known.

    `records` are throttles that an application logged.
    Without `wait` the window ends with the newest minute that is published.
    Raises `ValueError` where the profile is not there.
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
    found = _gather(source, table, window, records, (), 1.0, ask=published if wait else at_once)
    update = {"up_to_now": up_to_now, "window": found.window if wait else _passed(found.window, clock())}
    return found.model_copy(update={**update, **({"source": "local"} if local else {})})


def _passed(window: Window, now_s: float) -> Window:
    """The window without the future: the minute of a logged throttle may still go on."""
    now = datetime.fromtimestamp(int(now_s) + 1, UTC)
    return Window(start=window.start, end=min(window.end, now))


def from_cli_output(
    pages: Sequence[object], *, table: TableFacts, window: Window, records: Records = NO_RECORDS
) -> Evidence:
    """Evidence from what `aws cloudwatch get-metric-data` printed for the queries of `queries_for`.

    `pages` are the parsed files, in any order: the CLI follows the pages itself, unless it is told not to.
    Raises `ValueError` with every mistake as `message @ $.path`.
    """
    answers, mistakes = MetricAnswers(), Mistakes()
    for number, page in enumerate(pages):
        answers.add_page(page, mistakes, f"[{number}]" if len(pages) > 1 else "")
    if mistakes:
        raise ValueError(f"the answer of CloudWatch has {mistakes}")
    series = series_of(answers.points, window)
    named = (one.index for one in series if one.index is not None)
    return Evidence(
        table=with_indexes(table, named),
        window=window,
        series=series,
        throttles=records.throttles,
        seconds=records.seconds,
        partitions=partitions.by_estimate(table),
        missing=(*answers.problems(), *_cut_off(pages), *records.missing),
    )


def _cut_off(pages: Sequence[object]) -> tuple[str, ...]:
    """What is to be said where each page says that another one follows, as after `--max-items`."""
    tokens = [page.get("NextToken") for page in pages if isinstance(page, Mapping)]
    said = "CloudWatch: the answer goes on, for what was printed ends with a NextToken: leave out --max-items"
    return (said,) if tokens and all(tokens) else ()


def _gather(
    source: MetricSource,
    table: TableFacts,
    window: Window,
    records: Records,
    missing: Sequence[str],
    scale: float,
    *,
    ask: Asking = published,
    seen: partitions.Found | None = None,
) -> Evidence:
    """All evidence. `seen`: what a run saw of the partitions; else the table is looked at now."""
    described = describe(source.client_factory, table, window)
    window = since_created(described.answer or {}, window)
    facts = with_indexes(described.table, _spoken_of(records))
    if seen is None:
        seen = partitions.looked_at(
            source.client_factory, described.answer or {}, facts, window, source.clock()
        )
    answer = (ask if described.reached and described.found else at_once)(source, facts, window)
    if ask is at_once:
        window = _with_throttles(newest(answer.points, window), records)
    found = ContributorsFound(None)
    if described.reached and described.found:
        found = _contributors(source, facts, window, records)
    return Evidence(
        table=facts,
        account=described.account,
        window=window,
        series=series_of(answer.points, window),
        throttles=records.throttles,
        seconds=records.seconds,
        contributors=found.contributors,
        partitions=seen[0],
        scale=scale,
        missing=(
            *missing,
            *described.missing,
            *answer.problems,
            *found.missing,
            *seen[1],
            *records.missing,
        ),
    )


def _with_throttles(window: Window, records: Records) -> Window:
    """The window with the minute of the last throttle that the client saw, if it is not published yet."""
    last = max((row.second for row in records.throttles or ()), default=window.start)
    minute = last.replace(second=0) + timedelta(minutes=1)
    return Window(start=window.start, end=max(window.end, minute))


def _contributors(
    source: MetricSource, table: TableFacts, window: Window, records: Records
) -> ContributorsFound:
    """The keys that Contributor Insights names, which is worth a word where no record of ours names them."""
    reader = ContributorsReader(
        client_factory=source.client_factory,
        sleep=source.sleep,
        wanted=records.seconds is None,
        show_keys=source.show_keys,
    )
    return reader.read(table, window)


def _spoken_of(records: Records) -> Iterable[str]:
    """Indexes that the client met: one may have been created, or deleted, since the table was described."""
    met = [row.index for row in records.throttles or ()] + [row.index for row in records.seconds or ()]
    return dict.fromkeys(index for index in met if index is not None)


def _of_run(run_dir: Path, run: Manifest, window: Window) -> Records:
    """What the client saw during the window; rows of a machine whose clock is far off are left out."""
    records = read_records(run_dir, run.rows_ahead_s)
    throttles = within(records.throttles, window)
    seconds = within(records.seconds, window)
    lost = len(records.throttles or ()) - len(throttles or ())
    lost += len(records.seconds or ()) - len(seconds or ())
    missing = (f"{lost:,} rows of the client that lie outside the run's time: whose clock is wrong?",)
    return Records(
        throttles=throttles, seconds=seconds, missing=(*records.missing, *(missing if lost else ()))
    )


def _ahead_s(run: Manifest) -> float:
    """By how much the service's clock is ahead of the one here, once the run is over."""
    return run.clock_skew_s - run.clock_jump_s


def _unsure(run: Manifest) -> tuple[str, ...]:
    """What is not known of when the run was."""
    found = []
    if run.ended_at is None:
        found.append(f"the end of the run: run.json says it is {run.status}")
    if run.clock_jump_s:
        found.append(
            f"when exactly the run was: its machine's clock jumped by {span(abs(run.clock_jump_s))} "
            "meanwhile, and the window of this evidence goes by the clock as it was before"
        )
    return tuple(found)
