"""Asking CloudWatch until its answer stands: throttled, cut short, failing, and what is known in the end."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError, NoCredentialsError

from keyheat.evidence.clients import failure_of
from keyheat.evidence.cloudwatch import (
    CLOUD_PACE,
    PollPace,
    fetch_published,
    most_metrics,
)
from keyheat.evidence.series import MetricAnswer
from keyheat.runs import metrics
from keyheat.runs.formats import Window
from keyheat.runs.table_facts import TableFacts
from tests.endpoint.clients import FakeClock
from tests.evidence.conftest import FakeAws
from tests.make import START

WINDOW = Window(start=START, end=START + timedelta(minutes=2))
MINUTES = [START, START + timedelta(minutes=1)]
WRITES = metrics.SeriesKey(metric=metrics.consumed("write"), statistic="Sum", period_s=60)
EVENTS = metrics.SeriesKey(metric=metrics.throttle_events("write"), statistic="Sum", period_s=60)
PACE = PollPace(poll_s=10, limit_s=600)


def error(code: str, status: int = 400) -> ClientError:
    said = {"Error": {"Code": code, "Message": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(said, "GetMetricData")


def result(key: metrics.SeriesKey, values: list[float], status: str = "Complete") -> dict[str, Any]:
    return {
        "Id": "q0", "Label": key.label, "StatusCode": status,
        "Timestamps": MINUTES[: len(values)], "Values": values,
    }  # fmt: skip


def page(*results: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"MetricDataResults": list(results), **more}


WHOLE = page(result(WRITES, [10.0, 20.0]))


@dataclass
class Told(FakeAws):
    """A CloudWatch that is asked of a window as soon as it has ended."""

    clock: FakeClock = field(default_factory=lambda: FakeClock(WINDOW.end.timestamp()))

    def answer(self, pace: PollPace = PACE) -> MetricAnswer:
        answer = fetch_published(self.source(pace=pace), TableFacts(name="orders"), WINDOW)
        self.asked_s = [at - WINDOW.end.timestamp() for at in self.asked_s]
        return answer


def test_two_answers_that_agree_end_it() -> None:
    told = Told([page(result(WRITES, [10.0])), page(result(WRITES, [10.0, 15.0])), WHOLE])
    found = told.answer()
    assert found.points[WRITES] == dict(zip(MINUTES, [10.0, 20.0], strict=True))
    assert (found.problems, told.asked_s) == ((), [0, 10, 20, 30])
    assert told.waited[0] == ("CloudWatch to publish the last minute", 600)
    assert told.waited[-1][0] == "CloudWatch's answer to settle"


def test_throttled_calls_are_asked_less_and_less_often_and_it_is_said() -> None:
    throttled = error("Throttling")
    told = Told([throttled, throttled, throttled, throttled, throttled, WHOLE])
    found = told.answer()
    assert (found.problems, found.count) == ((), 2)
    assert told.asked_s == [0, 20, 60, 140, 220, 300, 310]
    assert {what for what, _ in told.waited[:300]} == {
        "CloudWatch to take requests again: it throttles GetMetricData"
    }


def test_what_came_before_the_throttling_is_kept_and_the_limit_is_said() -> None:
    told = Told([page(result(WRITES, [10.0, 20.0]), result(EVENTS, [1.0])), error("ThrottlingException")])
    found = told.answer()
    assert (found.count, told.asked_s[-1]) == (3, 600)
    assert found.problems[-1] == (
        "CloudWatch: it throttled GetMetricData for 600 s, the whole wait; `keyheat collect` asks again"
    )


def test_a_window_of_long_ago_is_asked_once_and_waited_for_only_where_no_answer_came() -> None:
    old = WINDOW.end.timestamp() + 90_000
    told = Told([WHOLE], clock=FakeClock(old))
    assert (told.answer().problems, len(told.asked_s)) == ((), 1)
    told = Told([error("Throttling"), WHOLE], clock=FakeClock(old))
    assert (told.answer().count, told.asked_s) == (2, [90_000, 90_020])


@pytest.mark.parametrize(
    "cut",
    [
        page(result(WRITES, [10.0, 20.0]), result(EVENTS, [1.0], "PartialData")),
        page(result(WRITES, [10.0, 20.0]), result(EVENTS, [], "InternalError")),
        page(result(WRITES, [10.0, 20.0]), Messages=[{"Code": "Slow", "Value": "not all"}]),
    ],
    ids=["part of a series", "an internal error of one", "a message"],
)
def test_an_answer_that_is_cut_short_is_asked_for_again_and_said_if_it_stays_so(cut: dict[str, Any]) -> None:
    whole = page(result(WRITES, [10.0, 20.0]), result(EVENTS, [1.0, 2.0]))
    found = Told([cut, whole]).answer()
    assert (found.problems, found.count) == ((), 4)
    kept = (told := Told([cut])).answer()
    assert kept.points[WRITES]
    assert (len(kept.problems), len(told.asked_s)) == (1, 5)


def test_what_came_before_a_refusal_is_kept_and_the_rest_is_missing() -> None:
    told = Told([page(result(WRITES, [10.0], "PartialData"), NextToken="more"), error("AccessDenied", 403)])
    found = told.answer()
    assert found.points[WRITES] == {MINUTES[0]: 10.0}
    assert any("AccessDenied" in line for line in found.problems)
    assert any("is incomplete: follow NextToken" in line for line in found.problems)


def test_what_is_forbidden_is_not_asked_for_again() -> None:
    found = (told := Told([page(result(WRITES, [1.0, 2.0]), result(EVENTS, [], "Forbidden"))])).answer()
    assert found.problems == ("CloudWatch: Forbidden for WriteThrottleEvents/Sum/60/table",)
    assert len(told.asked_s) == 2  # as for any answer: two that agree


def test_an_answer_that_never_settles_is_taken_and_said() -> None:
    changing = [page(result(WRITES, [10.0, float(n)])) for n in range(100)]
    found = (told := Told(changing)).answer()
    assert told.asked_s[-1] == 600
    assert found.problems == (
        "CloudWatch: its metrics still changed 600 s after the run; `keyheat collect` asks again",
    )


def test_a_service_that_never_answers_is_not_waited_for_to_the_end() -> None:
    told = Told([ConnectTimeoutError(endpoint_url="https://monitoring.eu-west-1.amazonaws.com")])
    found = told.answer(CLOUD_PACE)
    assert len(told.asked_s) == 5
    assert (found.count, "Connect timeout" in found.problems[0]) == (0, True)


def test_a_token_that_has_expired_begins_again_with_the_first_page() -> None:
    first = page(result(WRITES, [10.0]), NextToken="more")
    told = Told([first, error("InvalidNextToken"), WHOLE])
    assert told.answer().count == 2
    assert [call.get("NextToken") for call in told.calls] == [None, "more", None, None]


def test_pages_in_any_order_and_twice_over_do_no_harm_and_none_is_followed_in_a_circle() -> None:
    late = {**result(WRITES, [20.0]), "Timestamps": [MINUTES[1]]}
    early = result(WRITES, [10.0])
    pages = [page(late, NextToken="a"), page(early, NextToken="b"), page(early, NextToken="a")]
    found = Told([*pages, *pages]).answer()
    assert found.points[WRITES] == dict(zip(MINUTES, [10.0, 20.0], strict=True))
    assert found.problems == ()


KINDS: list[tuple[Exception, str]] = [
    (error("Throttling"), "throttled"),
    (error("com.amazonaws.cloudwatch#ThrottlingException"), "throttled"),
    (error("Any", 429), "throttled"),
    (error("InternalServiceFault", 500), "failed"),
    (error("InvalidNextToken"), "failed"),
    (error("AccessDenied", 403), "refused"),
    (ConnectTimeoutError(endpoint_url="https://a"), "failed"),
    (NoCredentialsError(), "refused"),
]


@pytest.mark.parametrize(("raised", "kind"), KINDS)
def test_kinds_of_failure(raised: Any, kind: str) -> None:
    assert failure_of(raised) == kind


@pytest.mark.parametrize(("names", "pace", "polls"), [((), (15, 600), 42), (("one", "two"), (10, 25), 5)])
def test_a_poll_asks_for_all_series(names: tuple[str, ...], pace: tuple[float, float], polls: int) -> None:
    asked = most_metrics(names, pace=PollPace(poll_s=pace[0], limit_s=pace[1]))
    assert asked == polls * len(metrics.series_keys(names))
    assert len(metrics.series_keys(["one"])) > len(metrics.series_keys())
