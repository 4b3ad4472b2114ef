"""Collect evidence about a run or table, and about the hours before an incident.

Sources: CloudWatch, DescribeTable and the client's own records.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from keyheat.addresses import endpoint_of
from keyheat.evidence import cloudwatch
from keyheat.evidence.clients import ClientFactory, boto3_clients, is_local
from keyheat.evidence.cloudwatch import (
    Clock,
    Fetch,
    MetricSource,
    Progress,
    Sleep,
    fetch,
    fetch_local,
    fetch_once,
    fetch_published,
    newest,
)
from keyheat.evidence.contributors import read_contributors
from keyheat.evidence.series import MetricAnswer, series_of
from keyheat.evidence.table import MINUTE, describe, observe, time_of, with_indexes
from keyheat.model.limits import MINUTE_S
from keyheat.runfiles import FILES, RUN
from keyheat.runs import metrics
from keyheat.runs.client import NO_RECORDS, Records, read_records
from keyheat.runs.formats import Evidence, Window
from keyheat.runs.manifest import Manifest, read_manifest, run_window
from keyheat.runs.metrics import SeriesKey, series_keys
from keyheat.runs.partitions import estimated
from keyheat.runs.plausibility import within
from keyheat.runs.table_facts import IndexFacts, TableFacts
from keyheat.words import Direction, has_capacity_model

DAY: Final = timedelta(days=1)
PERIODS: Final = ((DAY, 3_600), (timedelta(hours=1), 300), (timedelta(), 60))
"""Windows longer than this, and the period in seconds that is requested for them."""
AGO: Final = (("a day before", DAY), ("a week before", 7 * DAY))


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
        client_factory=factory, local=local, pace=pace, clock=there_s, sleep=sleep, progress=progress,
        show_keys=show_keys,
    )  # fmt: skip
    window = run_window(run, there_s())
    live = fetch_local if local else fetch_published
    evidence = _gather(
        source, run.table, window, _of_run(run_dir, run, window), run.scale,
        fetch_metrics=live if has_capacity_model(run.endpoint) else fetch_once,
    )  # fmt: skip
    return _as_run(run, evidence, source="local" if local else run.source)


def collect_from_files(run_dir: Path, answer: MetricAnswer, *, now_s: float) -> Evidence:
    """Build evidence of a run from AWS CLI output for its queries. Raises `FileProblem`."""
    run = read_manifest(run_dir)
    window = run_window(run, now_s + run.clock_skew_s)
    records = _of_run(run_dir, run, window)
    table = with_indexes(run.table, _indexes_in(records))
    evidence = from_answer(answer, table=table, window=window, records=records)
    return _as_run(run, evidence, scale=run.scale, partitions=estimated(run.table, run.scale))


def collect_table(
    source: MetricSource,
    table: TableFacts,
    window: Window,
    *,
    wait: bool = True,
    records: Records = NO_RECORDS,
) -> Evidence:
    """Collect evidence of any table over any window from AWS; `table` needs only a name.

    `records` are throttles logged by an application. Without `wait` the window ends with the newest published
    minute.
    """
    up_to_now = not wait and window.end.timestamp() > source.clock() - MINUTE_S
    evidence = _gather(
        source, table, window, records, None, fetch_metrics=fetch_published if wait else fetch_once
    )
    window = evidence.window
    if not wait:  # cut off the future: the minute of a logged throttle may not be over
        now = datetime.fromtimestamp(int(source.clock()) + 1, UTC)
        window = Window(start=window.start, end=min(window.end, now))
    source_name = "local" if source.local else evidence.source
    return evidence.model_copy(update={"up_to_now": up_to_now, "window": window, "source": source_name})


def from_answer(
    answer: MetricAnswer, *, table: TableFacts, window: Window, records: Records = NO_RECORDS
) -> Evidence:
    """Build evidence from metrics in files; `answer_of` reads them."""
    series = series_of(answer.points, window)
    named = (entry.index for entry in series if entry.index is not None)
    return Evidence(
        table=with_indexes(table, named),
        window=window,
        series=series,
        throttles=records.throttles,
        seconds=records.seconds,
        partitions=estimated(table),
        missing=(*answer.problems, *records.missing),
    )


def _gather(
    source: MetricSource,
    table: TableFacts,
    window: Window,
    records: Records,
    scale: float | None,
    *,
    fetch_metrics: Fetch,
) -> Evidence:
    """Collect all evidence; without a `scale`, that of the service holds."""
    described = describe(source.client_factory, table, window)
    scale = described.scale if scale is None else scale
    created = time_of((described.answer or {}).get("CreationDateTime"))
    if created is not None and window.start < created < window.end - MINUTE:  # nothing is published before
        window = Window(start=created.replace(second=0, microsecond=0), end=window.end)
    facts = with_indexes(described.table, _indexes_in(records))
    partitions, problems = observe(
        source.client_factory, described.answer or {}, facts, window, source.clock(), scale
    )
    answer = (fetch_metrics if described.there else fetch_once)(source, facts, window)
    if fetch_metrics is fetch_once:  # up to the client's last throttle, if that is not published yet
        window = newest(answer.points, window)
        last = max((row.second for row in records.throttles or ()), default=window.start)
        minute = last.replace(second=0) + timedelta(minutes=1)
        window = Window(start=window.start, end=max(window.end, minute))
    contributors, unread = None, tuple[str, ...]()
    if described.there:  # its absence matters if no record names keys
        contributors, unread = read_contributors(
            source.client_factory, facts, window, sleep=source.sleep, required=records.seconds is None,
            show_keys=source.show_keys,
        )  # fmt: skip
    evidence = from_answer(answer, table=facts, window=window, records=records)
    update = {
        "account": described.account, "contributors": contributors, "partitions": partitions, "scale": scale,
        "missing": (*described.missing, *answer.problems, *unread, *problems, *records.missing),
    }  # fmt: skip
    return evidence.model_copy(update=update)


def _indexes_in(records: Records) -> Iterable[str]:
    """Indexes in the client's records: some may be newer than the description, or deleted."""
    indexes = [row.index for row in records.throttles or ()] + [row.index for row in records.seconds or ()]
    return dict.fromkeys(index for index in indexes if index is not None)


def _of_run(run_dir: Path, run: Manifest, window: Window) -> Records:
    """The client's records in the window; a wrong clock moves rows outside."""
    records = read_records(run_dir)
    throttles, seconds = within(records.throttles, window), within(records.seconds, window)
    lost = len(records.throttles or ()) - len(throttles or ())
    lost += len(records.seconds or ()) - len(seconds or ())
    missing = list(records.missing)
    if lost:
        missing.append(f"{lost:,} client rows fall outside the run window; check the clocks")
    return Records(throttles=throttles, seconds=seconds, missing=tuple(missing))


def _as_run(run: Manifest, evidence: Evidence, **update: object) -> Evidence:
    """Add what the manifest tells, and whether the run's end is uncertain."""
    end = () if run.ended_at else (f"the end of the run: in run.json its status is {run.status}",)
    of_run = {"endpoint": run.endpoint, "source": run.source, "missing": (*end, *evidence.missing)}
    return evidence.model_copy(update=of_run | update)


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRequest:
    """Request for one direction of a table in each earlier window."""

    table: TableFacts
    direction: Direction
    window: Window
    now: datetime

    @property
    def windows(self) -> tuple[tuple[str, Window], ...]:
        """Earlier windows with their names; none overlaps the incident's."""
        start, end = self.window.start, self.window.end
        return (
            ("in the hours before", self._whole(start - (end - start), start)),
            *((name, self._whole(start - ago, end - ago)) for name, ago in AGO if end - start <= ago),
        )

    def _period_s(self, start: datetime) -> int:
        length = self.window.end - self.window.start
        _first, kept_s = metrics.request_start(start, self.now)
        return max(kept_s, next(period_s for longer, period_s in PERIODS if length > longer))

    def _whole(self, start: datetime, end: datetime) -> Window:
        """Round to whole periods: the sum of half a period is not a rate."""
        period_s = self._period_s(start)
        last_s = end.timestamp() // period_s * period_s
        first_s = min(start.timestamp() // period_s * period_s, last_s - period_s)
        return Window(start=datetime.fromtimestamp(first_s, UTC), end=datetime.fromtimestamp(last_s, UTC))

    def keys(self, window: Window) -> tuple[SeriesKey, ...]:
        """The series of one window: demand and capacity of the direction, and requests by operation."""
        names = {
            name(self.direction)
            for name in (
                metrics.consumed, metrics.throttle_events, metrics.provisioned, metrics.on_demand_maximum,
            )
        }  # fmt: skip
        indexes = [index.name for index in self.table.indexes]
        return tuple(
            key
            for key in series_keys(indexes, finest_period_s=self._period_s(window.start))
            if (key.metric in names and key.statistic in ("Sum", "Average"))
            or (key.metric, key.statistic) == (metrics.LATENCY, "SampleCount")
        )

    @property
    def metrics(self) -> int:
        """Number of metrics requested over all windows."""
        return sum(len(self.keys(window)) for _name, window in self.windows)


def most_requested(indexes: Sequence[str], window: Window, now: datetime) -> int:
    """Most metrics requested for a throttled table, earlier windows included."""
    table = TableFacts(name="-", indexes=tuple(IndexFacts(name=name) for name in indexes))
    request = EarlierRequest(table=table, direction=Direction.WRITE, window=window, now=now)
    return len(series_keys(indexes)) + request.metrics


def fetch_earlier(factory: ClientFactory, request: EarlierRequest) -> Iterator[tuple[str, Evidence]]:
    """Fetch evidence of each earlier window; failures are in its `missing`."""
    table = TableFacts(name=request.table.name, indexes=request.table.indexes)
    for name, window in request.windows:
        first, _kept_s = metrics.request_start(window.start, request.now)
        answer = fetch(factory, table.name, request.keys(window), first, window.end)
        series = series_of(answer.points, window)
        yield name, Evidence(table=table, window=window, series=series, missing=answer.problems)
