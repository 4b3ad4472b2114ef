"""Query CloudWatch for every series of a table until the response is complete."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.evidence.clients import ClientFactory, failure_of, is_hurried
from keyheat.evidence.series import Failure, MetricAnswer, MetricPages, Points
from keyheat.runs import metrics
from keyheat.runs.formats import Window
from keyheat.runs.metrics import SeriesKey, series_keys
from keyheat.runs.table_facts import TableFacts
from keyheat.validation import Mistakes
from keyheat.words import Direction

Clock = Callable[[], float]
Sleep = Callable[[float], None]
Progress = Callable[[str, float], None]
"""Reports what it waits for, and for how many seconds at most."""


@dataclass(frozen=True, slots=True)
class PollPace:
    """Polling interval, and how long to poll after the last minute closed."""

    poll_s: float
    limit_s: float


LOCAL_PACE: Final = PollPace(poll_s=1, limit_s=20)
# AWS states no delay; a table's minutes usually appear within two or three minutes, an index's later.
CLOUD_PACE: Final = PollPace(poll_s=15, limit_s=600)


def silent(*_progress: object) -> None:
    """Report no progress, and announce nothing before metrics are requested."""


TRIES: Final = 5  # failures in a row, throttling aside
MOST_DOUBLED: Final = 3  # times that throttling doubles the pause: up to two minutes


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSource:
    """Clients, clock, sleep and progress for collecting evidence.

    `announce` is told how many metrics are requested before they are.
    """

    client_factory: ClientFactory
    local: bool = False
    pace: PollPace = CLOUD_PACE
    clock: Clock = time.time
    sleep: Sleep = time.sleep
    progress: Progress = silent
    show_keys: bool = False
    announce: Callable[[int], None] = silent


Fetch = Callable[[MetricSource, TableFacts, Window], MetricAnswer]
"""Fetch metrics: once, or until the response is complete."""


def fetch_once(source: MetricSource, table: TableFacts, window: Window) -> MetricAnswer:
    """Fetch CloudWatch's response without waiting: if the service is unreachable, waiting does not help."""
    first, keys = _request(table, window, source.clock())
    source.announce(len(keys))
    return fetch(source.client_factory, table.name, keys, first, window.end)


def fetch_published(source: MetricSource, table: TableFacts, window: Window) -> MetricAnswer:
    """Poll until the last minute is there and two polls agree, or the time is up.

    Repeats the query for unpublished minutes, and for a response that differs from the previous one, is
    incomplete or fails. Each throttled call doubles the pause.
    """
    end_s = window.end.timestamp()
    _count_down(source, end_s, end_s, "the last minute of the run to close")
    begun_s = source.clock()
    first, keys = _request(table, window, begun_s)
    best, last = MetricAnswer({}), None
    failed = throttled = 0  # responses in a row that are incomplete, and throttled calls
    while True:
        new = fetch(source.client_factory, table.name, keys, first, window.end)
        now_s = source.clock()
        agreed = last is not None and not new.failure and new.points == last.points
        is_first, last = last is None, None if new.failure else new
        failed = failed + 1 if new.failure else 0
        throttled = throttled + 1 if new.failure == "throttled" else 0
        # If the newest response is cut short, an earlier one may contain more.
        best = replace(new, points=best.points if best.count > new.count else new.points)
        complete = _reaches_end(best.points, window)
        if new.failure == "refused" or (complete and agreed):
            return best
        out_of_tries = new.failure == "failed" and failed >= (1 if is_hurried() else TRIES)
        if out_of_tries and (complete or not best.points):
            return best
        give_up_s = source.pace.limit_s + (max(end_s, begun_s) if failed else end_s)
        if now_s >= give_up_s:
            settled = complete and is_first and not new.failure
            problem = _why_given_up(new.failure, source.pace, now_s - end_s, complete=complete)
            return replace(best, problems=new.problems if settled else (*new.problems, problem))
        pause_s = source.pace.poll_s * 2 ** min(throttled, MOST_DOUBLED)
        next_s = min(source.clock() + pause_s, give_up_s)
        _count_down(source, next_s, give_up_s, _why_repeated(new.failure, complete=complete))


def _why_repeated(failure: Failure | None, *, complete: bool) -> str:
    if failure == "throttled":
        return "CloudWatch to take requests again: it throttles GetMetricData"
    if failure:
        return "CloudWatch to answer to the end"
    return "CloudWatch's answer to settle" if complete else "CloudWatch to publish the last minute"


def _why_given_up(failure: Failure | None, pace: PollPace, since_s: float, *, complete: bool) -> str:
    limit, again = f"{pace.limit_s:.0f} s", "`keyheat collect` asks again"
    if failure == "throttled":
        return f"CloudWatch: it throttled GetMetricData for {limit}, the whole wait; {again}"
    if failure:
        return f"CloudWatch: it did not answer to the end within {limit}; {again}"
    if not complete:
        return f"CloudWatch: the last minute was not published {since_s:.0f} s after it closed"
    return f"CloudWatch: its metrics still changed {since_s:.0f} s after the run; {again}"


def _count_down(source: MetricSource, until_s: float, limit_s: float, what: str) -> None:
    """Sleep until `until_s` (epoch seconds), and report the time until `limit_s` every second.

    The wait may outlast this sleep.
    """
    while (left_s := until_s - (now_s := source.clock())) > 0:
        source.progress(what, limit_s - now_s)
        source.sleep(min(1.0, left_s))


def fetch_local(source: MetricSource, table: TableFacts, window: Window) -> MetricAnswer:
    """Fetch metrics from an endpoint on this machine after the load has ended.

    Keyheat's endpoint includes the current minute, which is final by now. For others, poll.
    """
    answer = fetch_once(source, table, window)
    whole = answer.failure is None and _reaches_end(answer.points, window)
    return answer if whole else fetch_published(source, table, window)


def _request(table: TableFacts, window: Window, now_s: float) -> tuple[datetime, tuple[SeriesKey, ...]]:
    """The start, before the window for settings, and every series of the table."""
    first, finest_period_s = metrics.request_start(window.start, datetime.fromtimestamp(now_s, UTC))
    names = [index.name for index in table.indexes]
    return first, series_keys(names, replicas=table.replicas, finest_period_s=finest_period_s)


def _reaches_end(points: Points, window: Window) -> bool:
    """Whether the table's consumption, published for idle minutes too, covers the last minute."""
    return newest(points, window) == window and bool(_ends(points))


def newest(points: Points, window: Window) -> Window:
    """The window up to the newest published minute of the table's consumption, if any."""
    end = min(window.end, max(_ends(points), default=window.end))
    return Window(start=window.start, end=end) if end > window.start else window


def _ends(points: Points) -> list[datetime]:
    return [
        at + timedelta(seconds=key.period_s)
        for key, values in points.items()
        if key.index is None and key.metric in map(metrics.consumed, Direction)
        for at in values
    ]


def fetch(
    factory: ClientFactory, table: str, keys: Sequence[SeriesKey], first: datetime, end: datetime
) -> MetricAnswer:
    """Fetch series of a table from `first` on; after a failure, the points so far."""
    pages, mistakes = MetricPages(), Mistakes()
    problems, failure = list[str](), None
    try:
        client = factory("cloudwatch")
        for page in metrics.answer_pages(client, metrics.queries(table, keys), first, end):
            pages.add_page(page, mistakes)
    except (BotoCoreError, ClientError) as error:
        problems, failure = [f"CloudWatch: {error}"], failure_of(error)
    if mistakes:
        problems.append(f"CloudWatch: {mistakes}")
    if mistakes or pages.unfinished:
        failure = failure or "failed"
    return MetricAnswer(pages.points, (*problems, *pages.problems()), failure)


def most_metrics(indexes: Sequence[str] = (), *, pace: PollPace = CLOUD_PACE) -> int:
    """Most metrics that polling requests for a table with these indexes.

    Each poll requests every series. Polling ends when two polls agree, or one poll after the limit.
    """
    polls = ceil(pace.limit_s / pace.poll_s) + 2
    return len(series_keys(indexes)) * polls
