"""CloudWatch asked for every series of a table, page by page, until its answer is whole."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.answer_shape import bounded_pages
from keyheat.evidence.clients import ClientFactory, Failure, failure_of, hurried
from keyheat.evidence.series import MetricAnswers, Points
from keyheat.runs import metrics
from keyheat.runs.formats import TableFacts, Window
from keyheat.runs.metrics import QUERIES_PER_CALL, SeriesKey, series_keys
from keyheat.validation import Mistakes
from keyheat.words import Direction

Clock = Callable[[], float]
Sleep = Callable[[float], None]
Progress = Callable[[str, float], None]
"""Told what is waited for, and how many seconds are left at most."""


@dataclass(frozen=True, slots=True)
class PollPace:
    """How often to look whether the minutes are published, and for how long after the last one closed."""

    poll_s: float
    limit_s: float


LOCAL_PACE: Final = PollPace(poll_s=1, limit_s=20)
# AWS publishes no figure for the delay; minutes usually follow within two or three, those of an index later.
CLOUD_PACE: Final = PollPace(poll_s=15, limit_s=600)


def silent(_what: str, _left_s: float) -> None:
    """A progress that tells nobody."""


def unannounced(_metrics: int) -> None:
    """Announce nothing before metrics are requested."""


def countdown(
    until_s: float,
    what: str,
    *,
    clock: Clock,
    sleep: Sleep,
    progress: Progress,
    limit_s: float | None = None,
) -> None:
    """Sleep until `until_s` (epoch seconds) in steps of a second, telling what is left before each.

    What is left is counted to `limit_s`, where what is waited for may take longer than this sleep.
    """
    last_s = until_s if limit_s is None else limit_s
    while (left_s := until_s - (now_s := clock())) > 0:
        progress(what, last_s - now_s)
        sleep(min(1.0, left_s))


TRIES: Final = 5  # times in a row that an answer may fail otherwise than by throttling
MOST_DOUBLED: Final = 3  # times that the pause is doubled while calls are throttled: up to two minutes


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSource:
    """Where evidence comes from and how to wait for it: clients, clock, sleep and progress."""

    client_factory: ClientFactory
    pace: PollPace
    clock: Clock
    sleep: Sleep
    progress: Progress = field(default=silent)
    show_keys: bool = False
    announce: Callable[[int], None] = field(default=unannounced)


@dataclass(frozen=True, slots=True)
class MetricAnswer:
    """What CloudWatch answered to all the queries, and what went wrong on the way.

    `failure` says whether it is any use to ask again; a whole answer has none.
    """

    points: Points
    problems: tuple[str, ...] = ()
    failure: Failure | None = None

    @property
    def count(self) -> int:
        """How many points there are."""
        return sum(map(len, self.points.values()))


Asking = Callable[[MetricSource, TableFacts, Window], MetricAnswer]
"""How CloudWatch is asked: at once, or until what it says is whole."""


@dataclass(frozen=True, slots=True)
class MetricRequest:
    """The series that are asked for, and from when on: before the window, for settings."""

    table: str
    keys: tuple[SeriesKey, ...]
    first: datetime
    window: Window


def at_once(source: MetricSource, table: TableFacts, window: Window) -> MetricAnswer:
    """CloudWatch's answer without waiting: where the service cannot be reached, no wait will help."""
    request = _request(table, window, source.clock())
    source.announce(len(request.keys))
    return ask_for(source.client_factory, request)


def published(source: MetricSource, table: TableFacts, window: Window) -> MetricAnswer:
    """CloudWatch's answer once the last minute is there and two polls agree, or when the wait is over."""
    end_s = window.end.timestamp()
    _count_down(source, end_s, end_s, "the last minute of the run to close")
    polls = Polls(source.pace, window, source.clock())
    request = _request(table, window, source.clock())
    while not polls.take(ask_for(source.client_factory, request), source.clock()):
        next_s = min(source.clock() + polls.pause_s, polls.give_up_s)
        _count_down(source, next_s, polls.give_up_s, polls.waits_for)
    return polls.answer


def so_far(source: MetricSource, table: TableFacts, window: Window) -> MetricAnswer:
    """The answer of an endpoint on this machine to a run whose load is over; nobody has to publish it.

    Ours tells of the minute that goes on, to which nothing is added any more. Another is waited for.
    """
    found = at_once(source, table, window)
    whole = found.failure is None and _reaches_end(found.points, window)
    return found if whole else published(source, table, window)


@dataclass(slots=True)
class Polls:
    """The answers to one question that is asked again and again; `take` is told each of them.

    What is asked for again: minutes that are not published, an answer that differs from the one before, is
    not whole, or did not come. Throttled calls are asked for at twice the pause each time.
    """

    pace: PollPace
    window: Window
    begun_s: float
    answer: MetricAnswer = field(default_factory=lambda: MetricAnswer({}))  # the best so far
    waits_for: str = ""
    _last: MetricAnswer | None = None
    _failed: int = 0  # answers in a row that are not whole
    _throttled: int = 0  # and of these, calls that were throttled

    @property
    def give_up_s(self) -> float:
        """Until when it is asked: for late minutes after the window, for no answer from now on as well."""
        closed_s = self.window.end.timestamp()
        return self.pace.limit_s + (max(closed_s, self.begun_s) if self._failed else closed_s)

    @property
    def pause_s(self) -> float:
        """How long to wait before the next time."""
        return float(self.pace.poll_s * 2 ** min(self._throttled, MOST_DOUBLED))

    def take(self, new: MetricAnswer, now_s: float) -> bool:
        """Whether this answer is the last one; what there is, is in `answer` then."""
        first = self._last is None
        agreed = self._last is not None and not new.failure and new.points == self._last.points
        self._failed = self._failed + 1 if new.failure else 0
        self._throttled = self._throttled + 1 if new.failure == "throttled" else 0
        self._last = None if new.failure else new
        # Where the newest answer is cut short, an earlier one may know more.
        kept = self.answer.points if self.answer.count > new.count else new.points
        self.answer = MetricAnswer(kept, new.problems, new.failure)
        complete = _reaches_end(kept, self.window)
        if new.failure == "refused" or (complete and agreed):
            return True
        if self._failed >= (1 if hurried() else TRIES) and new.failure == "failed" and (complete or not kept):
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
        return f"CloudWatch: what it says of the run still changed {since_s:.0f} s after its end; {again}"


def _count_down(source: MetricSource, until_s: float, limit_s: float, what: str) -> None:
    countdown(
        until_s, what, clock=source.clock, sleep=source.sleep, progress=source.progress, limit_s=limit_s
    )


def _request(table: TableFacts, window: Window, now_s: float) -> MetricRequest:
    first, finest_period_s = metrics.asked_from(window.start, datetime.fromtimestamp(now_s, UTC))
    names = [index.name for index in table.indexes]
    keys = metrics.series_keys(names, replicas=table.replicas, finest_period_s=finest_period_s)
    return MetricRequest(table.name, keys, first, window)


def _reaches_end(points: Points, window: Window) -> bool:
    """Whether the table's consumption, published for idle minutes too, is there for the last minute."""
    return newest(points, window) == window and bool(_ends(points))


def newest(points: Points, window: Window) -> Window:
    """The window up to the newest minute that is published of the table's consumption, if one is."""
    end = min(window.end, max(_ends(points), default=window.end))
    return Window(start=window.start, end=end) if end > window.start else window


def _ends(points: Points) -> list[datetime]:
    return [
        at + timedelta(seconds=key.period_s)
        for key, found in points.items()
        if key.index is None and key.metric in map(metrics.consumed, Direction)
        for at in found
    ]


def ask_for(factory: ClientFactory, request: MetricRequest) -> MetricAnswer:
    """Every series of the window, page by page. Without an answer: no points, and the problem in words."""
    answers, mistakes = MetricAnswers(), Mistakes()
    said: tuple[str, ...] = ()
    failure: Failure | None = None
    try:
        for page in bounded_pages("GetMetricData", _pages(factory, request)):
            answers.add_page(page, mistakes)
    except (BotoCoreError, ClientError) as error:
        said, failure = (f"CloudWatch: {error}",), failure_of(error)
    if mistakes:
        said, failure = (*said, f"CloudWatch: {mistakes}"), failure or "failed"
    if answers.unfinished:
        failure = failure or "failed"
    return MetricAnswer(answers.points, (*said, *answers.problems()), failure)


def _pages(factory: ClientFactory, request: MetricRequest) -> Iterator[Mapping[str, Any]]:
    queries = metrics.queries(request.table, request.keys)
    return pages_of(factory("cloudwatch"), queries, request.first, request.window.end)


def pages_of(
    client: Any, queries: Sequence[Mapping[str, Any]], start: datetime, end: datetime
) -> Iterator[Mapping[str, Any]]:
    """The pages of GetMetricData's answers to any number of queries."""
    for first in range(0, len(queries), QUERIES_PER_CALL):
        asked = {
            "MetricDataQueries": queries[first : first + QUERIES_PER_CALL],
            "StartTime": start,
            "EndTime": end,
            "ScanBy": "TimestampAscending",
        }
        token: dict[str, str] = {}
        seen: set[str] = set()
        while True:
            page = client.get_metric_data(**asked, **token)
            yield page
            following = page.get("NextToken")
            if not following or following in seen:  # one that leads back would be followed forever
                break
            seen.add(following)
            token = {"NextToken": following}


def most_metrics(indexes: Sequence[str] = (), *, pace: PollPace = CLOUD_PACE) -> int:
    """Metrics requested at the most for a table with these global indexes: every series, in every poll.

    Polls go on until two of them agree, and end at the pace's limit; the last one may come after it.
    """
    polls = ceil(pace.limit_s / pace.poll_s) + 2
    return len(series_keys(indexes)) * polls
