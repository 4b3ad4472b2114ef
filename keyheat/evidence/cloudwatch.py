"""Query CloudWatch for every series of a table until the response is complete."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.evidence.clients import ClientFactory, Failure, failure_of, is_hurried
from keyheat.evidence.series import MetricAnswers, Points
from keyheat.runs import metrics
from keyheat.runs.formats import TableFacts, Window
from keyheat.runs.metrics import QUERIES_PER_CALL, SeriesKey, series_keys
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


def silent(_what: str, _left_s: float) -> None:
    """Report no progress."""


def unannounced(_metrics: int) -> None:
    """Announce nothing before metrics are requested."""


def countdown(
    until_s: float, what: str, *, clock: Clock, sleep: Sleep, progress: Progress, limit_s: float | None = None
) -> None:
    """Sleep until `until_s` (epoch seconds), and report the remaining time every second.

    The report counts down to `limit_s` if the wait may outlast this sleep.
    """
    last_s = until_s if limit_s is None else limit_s
    while (left_s := until_s - (now_s := clock())) > 0:
        progress(what, last_s - now_s)
        sleep(min(1.0, left_s))


TRIES: Final = 5  # failures in a row, throttling aside
MOST_DOUBLED: Final = 3  # times that throttling doubles the pause: up to two minutes


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSource:
    """Clients, clock, sleep and progress for collecting evidence."""

    client_factory: ClientFactory
    pace: PollPace
    clock: Clock
    sleep: Sleep
    progress: Progress = field(default=silent)
    show_keys: bool = False
    announce: Callable[[int], None] = field(default=unannounced)


@dataclass(frozen=True, slots=True)
class MetricAnswer:
    """CloudWatch's response to all queries, and its problems.

    `failure` tells whether a retry helps; None: the response is complete.
    """

    points: Points
    problems: tuple[str, ...] = ()
    failure: Failure | None = None

    @property
    def count(self) -> int:
        """Number of points."""
        return sum(map(len, self.points.values()))


Fetch = Callable[[MetricSource, TableFacts, Window], MetricAnswer]
"""Fetch metrics: once, or until the response is complete."""


@dataclass(frozen=True, slots=True)
class MetricRequest:
    """The series to request, and their start: before the window, for settings."""

    table: str
    keys: tuple[SeriesKey, ...]
    first: datetime
    window: Window


def fetch_once(source: MetricSource, table: TableFacts, window: Window) -> MetricAnswer:
    """Fetch CloudWatch's response without waiting: if the service is unreachable, waiting does not help."""
    request = _request(table, window, source.clock())
    source.announce(len(request.keys))
    return fetch(source.client_factory, request)


def fetch_published(source: MetricSource, table: TableFacts, window: Window) -> MetricAnswer:
    """Poll until the last minute is there and two polls agree, or the time is up."""
    end_s = window.end.timestamp()
    _count_down(source, end_s, end_s, "the last minute of the run to close")
    polls = Polls(source.pace, window, source.clock())
    request = _request(table, window, source.clock())
    while not polls.take(fetch(source.client_factory, request), source.clock()):
        next_s = min(source.clock() + polls.pause_s, polls.give_up_s)
        _count_down(source, next_s, polls.give_up_s, polls.waits_for)
    return polls.answer


def fetch_local(source: MetricSource, table: TableFacts, window: Window) -> MetricAnswer:
    """Fetch metrics from an endpoint on this machine after the load has ended.

    Keyheat's endpoint includes the current minute, which is final by now. For others, poll.
    """
    answer = fetch_once(source, table, window)
    whole = answer.failure is None and _reaches_end(answer.points, window)
    return answer if whole else fetch_published(source, table, window)


@dataclass(slots=True)
class Polls:
    """Repeated responses to one query; pass each to `take`.

    Repeats the query for unpublished minutes, and for a response that differs from the previous one, is
    incomplete or fails. Each throttled call doubles the pause.
    """

    pace: PollPace
    window: Window
    begun_s: float
    answer: MetricAnswer = field(default_factory=lambda: MetricAnswer({}))  # the best so far
    waits_for: str = ""
    _last: MetricAnswer | None = None
    _failed: int = 0  # incomplete responses in a row
    _throttled: int = 0  # throttled calls among them

    @property
    def give_up_s(self) -> float:
        """When to stop: counted from the window's end, or from now without a response."""
        closed_s = self.window.end.timestamp()
        return self.pace.limit_s + (max(closed_s, self.begun_s) if self._failed else closed_s)

    @property
    def pause_s(self) -> float:
        """Seconds until the next poll."""
        return float(self.pace.poll_s * 2 ** min(self._throttled, MOST_DOUBLED))

    def take(self, new: MetricAnswer, now_s: float) -> bool:
        """Record a response; return whether it is the last. The result is in `answer`."""
        first = self._last is None
        agreed = self._last is not None and not new.failure and new.points == self._last.points
        self._failed = self._failed + 1 if new.failure else 0
        self._throttled = self._throttled + 1 if new.failure == "throttled" else 0
        self._last = None if new.failure else new
        # If the newest response is cut short, an earlier one may contain more.
        kept = self.answer.points if self.answer.count > new.count else new.points
        self.answer = MetricAnswer(kept, new.problems, new.failure)
        complete = _reaches_end(kept, self.window)
        if new.failure == "refused" or (complete and agreed):
            return True
        if (
            self._failed >= (1 if is_hurried() else TRIES)
            and new.failure == "failed"
            and (complete or not kept)
        ):
            return True
        if now_s >= self.give_up_s:
            more = () if complete and first and not new.failure else (self._given_up(complete, now_s),)
            self.answer = replace(self.answer, problems=(*new.problems, *more))
            return True
        self.waits_for = self._why(new, complete)
        return False

    def _why(self, new: MetricAnswer, complete: bool) -> str:
        if new.failure == "throttled":
            return "CloudWatch to take requests again: it throttles GetMetricData"
        if new.failure:
            return "CloudWatch to answer to the end"
        return "CloudWatch's answer to settle" if complete else "CloudWatch to publish the last minute"

    def _given_up(self, complete: bool, now_s: float) -> str:
        since_s, limit = now_s - self.window.end.timestamp(), f"{self.pace.limit_s:.0f} s"
        again = "`keyheat collect` asks again"
        if self.answer.failure == "throttled":
            return f"CloudWatch: it throttled GetMetricData for {limit}, the whole wait; {again}"
        if self.answer.failure:
            return f"CloudWatch: it did not answer to the end within {limit}; {again}"
        if not complete:
            return f"CloudWatch: the last minute was not published {since_s:.0f} s after it closed"
        return f"CloudWatch: its metrics still changed {since_s:.0f} s after the run; {again}"


def _count_down(source: MetricSource, until_s: float, limit_s: float, what: str) -> None:
    countdown(
        until_s, what, clock=source.clock, sleep=source.sleep, progress=source.progress, limit_s=limit_s
    )


def _request(table: TableFacts, window: Window, now_s: float) -> MetricRequest:
    first, finest_period_s = metrics.request_start(window.start, datetime.fromtimestamp(now_s, UTC))
    names = [index.name for index in table.indexes]
    keys = metrics.series_keys(names, replicas=table.replicas, finest_period_s=finest_period_s)
    return MetricRequest(table.name, keys, first, window)


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


def fetch(factory: ClientFactory, request: MetricRequest) -> MetricAnswer:
    """Fetch every series of the window; after a failure, the points so far."""
    answers, mistakes = MetricAnswers(), Mistakes()
    problems: tuple[str, ...] = ()
    failure: Failure | None = None
    try:
        queries = metrics.queries(request.table, request.keys)
        pages = pages_of(factory("cloudwatch"), queries, request.first, request.window.end)
        for page in pages:
            answers.add_page(page, mistakes)
    except (BotoCoreError, ClientError) as error:
        problems, failure = (f"CloudWatch: {error}",), failure_of(error)
    if mistakes:
        problems, failure = (*problems, f"CloudWatch: {mistakes}"), failure or "failed"
    if answers.unfinished:
        failure = failure or "failed"
    return MetricAnswer(answers.points, (*problems, *answers.problems()), failure)


def pages_of(
    client: Any, queries: Sequence[Mapping[str, Any]], start: datetime, end: datetime
) -> Iterator[Mapping[str, Any]]:
    """Pages of GetMetricData for any number of queries."""
    for first in range(0, len(queries), QUERIES_PER_CALL):
        parameters = {
            "MetricDataQueries": queries[first : first + QUERIES_PER_CALL],
            "StartTime": start,
            "EndTime": end,
            "ScanBy": "TimestampAscending",
        }
        token: dict[str, str] = {}
        seen: set[str] = set()
        while True:
            page = client.get_metric_data(**parameters, **token)
            yield page
            following = page.get("NextToken")
            if not following or following in seen:  # a repeated token would loop forever
                break
            seen.add(following)
            token = {"NextToken": following}


def most_metrics(indexes: Sequence[str] = (), *, pace: PollPace = CLOUD_PACE) -> int:
    """Most metrics that polling requests for a table with these indexes.

    Each poll requests every series. Polling ends when two polls agree, or one poll after the limit.
    """
    polls = ceil(pace.limit_s / pace.poll_s) + 2
    return len(series_keys(indexes)) * polls
