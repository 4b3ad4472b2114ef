"""What changed from the time before, and what troubled an application although nothing throttled."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keyheat.analysis.changes import changes
from keyheat.analysis.elsewhere import other_causes, usual_latency_ms
from keyheat.analysis.timeline import timeline
from keyheat.evidence.collection import EarlierRequest, fetch_earlier
from keyheat.runs import metrics
from keyheat.runs.formats import Evidence, Label, Series, Window
from keyheat.runs.table_facts import TableFacts
from keyheat.show.changes import changed_rows, changed_words, not_held
from keyheat.words import WRITE, Resource
from tests.endpoint.asking import create
from tests.endpoint.clients import service_app_at
from tests.make import (
    START,
    a_series,
    an_evidence,
    consumed,
    provisioned,
    provisioned_over_time,
    throttle_events,
)

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
WRITES = Resource(None, WRITE)


def evidence(
    per_s: list[float],
    throttles: list[float],
    *more: dict[str, Any],
    has: float | None = 2_000,
    capacity: Mapping[str, Sequence[float]] | None = None,
    indexes: int = 0,
) -> Evidence:
    """Writes of a table that `has` so much; `capacity`: what CloudWatch published of it, if not just that."""
    table: dict[str, Any] = {"billing_mode": "PAY_PER_REQUEST"}
    if has is not None:
        table = {"billing_mode": "PROVISIONED", "provisioned": {"read": 5, "write": has}}
        capacity = capacity or {"Average": [has] * -(-len(per_s) // 5)}
    return an_evidence(
        consumed(*per_s), throttle_events(*throttles), *provisioned_over_time(**capacity or {}), *more,
        minutes=max(1, len(per_s)), indexes=indexes, table=table,
    )  # fmt: skip


def a_day_before(found: Evidence) -> Evidence:
    def earlier(one: Series) -> Series:
        return one.model_copy(update={"points": tuple((at - DAY, value) for at, value in one.points)})

    window = Window(start=found.window.start - DAY, end=found.window.end - DAY)
    return found.model_copy(update={"window": window, "series": tuple(map(earlier, found.series))})


def label(first: int, last: int) -> Label:
    return Label(
        start=START + MINUTE * first, end=START + MINUTE * last, resource="table", direction=WRITE,
        constraint="partition", throttles=60, grade="cause_metric", confidence=0.98, because=("it was",),
    )  # fmt: skip


def words(now: Evidence, *earlier: tuple[str, Evidence], first: int = 10) -> str:
    found = changes(now, [label(first, 20)], WRITES, earlier)
    assert found is not None
    return changed_words(found)


STEADY = a_day_before(evidence([310] * 20, [0] * 20))
ROSE = evidence([310] * 10 + [1_900] * 10, [0] * 10 + [6] * 10)


def test_a_rise_that_burst_carried_for_most_of_the_time_before_is_told() -> None:
    seen = evidence([1_200] * 3 + [3_600] * 6 + [2_000] * 11, [0] * 9 + [96_000] * 11)
    assert words(seen, first=9) == (
        "Writes rose at 12:03, from 1,200 WCU/s (median) in the 3 min before to at least 3,600 WCU/s at "
        "the peak, 12:09; burst capacity served them until 12:09; capacity did not change."
    )


def test_demand_that_rose_is_said_with_its_time_and_that_capacity_did_not_change() -> None:
    said = words(ROSE, ("a day before", STEADY))
    assert said == (
        "Writes rose at 12:10, from 310 WCU/s (median) in the 10 min before to at least 1,900 WCU/s; "
        "capacity did not change."
    )


@pytest.mark.parametrize("risen", [1_150, 730])
def test_retries_of_what_throttles_are_not_the_rise(risen: int) -> None:
    spent = evidence([250] * 6 + [risen] * 7 + [700] * 5, [0] * 13 + [54_000] * 5, has=700)
    assert words(spent, first=13).startswith("Writes rose at 12:06, from 250 WCU/s (median) in the 6 min ")


def without(now: Evidence, metric: str, *minutes: int) -> Evidence:
    """Without a metric, or without its points of some minutes."""
    gone = {START + MINUTE * minute for minute in minutes}

    def kept(one: Series) -> Series:
        points = tuple(point for point in one.points if minutes and point[0] not in gone)
        return one.model_copy(update={"points": points}) if one.metric == metric else one

    return now.model_copy(update={"series": tuple(map(kept, now.series))})


def test_a_capacity_that_only_todays_description_tells_is_not_said_to_be_unchanged() -> None:
    spent = evidence([100] * 10 + [400] * 3 + [200] * 5, [0] * 13 + [12_000] * 5, has=200)
    said = words(without(spent, metrics.provisioned(WRITE)), first=13)
    assert said.endswith("at the peak, 12:13; they throttled from 12:13.")


def test_nothing_is_said_of_burst_in_minutes_without_a_point() -> None:
    spent = evidence([100] * 10 + [400] * 6 + [200] * 5, [0] * 16 + [12_000] * 5, has=200)
    for metric in (metrics.consumed(WRITE), metrics.throttle_events(WRITE)):
        spent = without(spent, metric, 13, 14, 15)
    said = words(spent, first=16)
    assert "they throttled by 12:16, and CloudWatch has no data of the time between" in said
    assert "burst" not in said


def test_a_raise_that_ended_the_throttles_is_told() -> None:
    capacity = {"Average": (500, 500, 500, 500, 500, 1_200)}
    said = words(
        evidence([310] * 10 + [900] * 20, [0] * 10 + [6] * 10 + [0] * 10, has=500, capacity=capacity)
    )
    assert said.endswith(
        "capacity did not change while they throttled. Capacity was raised from 500 to 1,200 WCU by 12:25."
    )


def capacity_by_minute(now: Evidence) -> list[float | None]:
    track = timeline(now).track(None, WRITE)
    minutes = int((now.window.end - START) / MINUTE)
    return [track.provisioned.at(START.timestamp() + 60 * minute) for minute in range(minutes)]


def test_capacity_that_changed_within_five_minutes_is_one_number_before_and_one_after() -> None:
    """CloudWatch's average of the period, 282.5, was never in force; consumption tells the minute."""
    capacity = {"Average": [282.5], "Minimum": [100], "Maximum": [465]}
    now = evidence([401, 525, 465, 465], [0, 205, 305, 304], has=465, capacity=capacity)
    assert capacity_by_minute(now) == [100, 465, 465, 465]
    assert "Capacity was raised from 100 to 465 WCU." in words(now, first=1)


def test_a_throttled_minute_that_burst_served_does_not_show_that_capacity_was_raised() -> None:
    """882 of 300 WCU/s: 600, which were provisioned three minutes later, are no nearer to that."""
    capacity = {"Average": [450], "Minimum": [300], "Maximum": [600]}
    now = evidence([882, 300, 308, 600, 600], [20, 600, 600, 300, 300], capacity=capacity)
    assert capacity_by_minute(now) == [300, 300, 300, 600, 600]


@pytest.mark.parametrize(
    ("then", "now", "said"),
    [
        (4_000, 2_000, "Capacity was lowered from 4,000 to 2,000 WCU."),
        (4_000, None, "It is on demand now, and had 4,000 WCU provisioned."),
    ],
)
def test_a_limit_that_changed_is_said(then: float, now: float | None, said: str) -> None:
    before = a_day_before(evidence([900] * 20, [0] * 20, has=then))
    found = words(evidence([900] * 20, [6] * 20, has=now), ("a day before", before), first=0)
    assert found == f"Writes were at 900 WCU/s a day before as well. {said}"


def test_capacity_that_was_raised_while_it_throttled_did_change() -> None:
    capacity = {"Average": (300, 300, 300, 600)}
    raised = evidence([310] * 10 + [1_900] * 10, [0] * 10 + [6] * 10, has=600, capacity=capacity)
    found = changes(raised, [label(10, 20)], WRITES, [])
    assert found is not None
    assert changed_words(found).endswith("Capacity was raised from 300 to 600 WCU while it throttled.")
    assert changed_rows(found)[1]["while throttled"] == "300 → 600"


def test_a_new_index_and_another_mix_of_operations_are_said() -> None:
    def puts(put: float, update: float) -> list[dict[str, Any]]:
        return [
            a_series(metrics.LATENCY, *[count] * 20, statistic="SampleCount") | {"operation": operation}
            for operation, count in (("PutItem", put), ("UpdateItem", update))
        ]

    now = evidence([900] * 20, [6] * 20, *puts(20, 80), consumed(*[1] * 20, index="by_0"), indexes=1)
    before = a_day_before(evidence([900] * 20, [0] * 20, *puts(100, 0)))
    found = words(now, ("a day before", before), first=0)
    assert "Index by_0 is new." in found
    assert "PutItem is 20 % of the requests, and was 100 %." in found


def test_where_cloudwatch_holds_nothing_that_is_said_and_nothing_is_zero() -> None:
    found = changes(ROSE, [label(0, 20)], WRITES, [("a week before", evidence([], []))])
    assert found is not None
    assert changed_words(found) == "CloudWatch has no data from before."
    assert not_held(found) is None, "it was said once"
    found = changes(ROSE, [label(10, 20)], WRITES, [("a week before", evidence([], []))])
    assert found is not None
    assert not_held(found) == "CloudWatch has no data of it a week before."


def test_a_short_time_before_is_compared_by_its_length_if_no_earlier_window_is_held() -> None:
    index = consumed(*[None] * 3, *[1] * 17, index="by_0")
    now = evidence([0.5, 360, 360] + [1_900] * 17, [0] * 3 + [6] * 17, index, indexes=1)
    assert words(now, ("a week before", evidence([], [])), first=3) == (
        "Writes rose at 12:03, from 360 WCU/s (median) in the 3 min before to at least 1,900 WCU/s; "
        "capacity did not change."
    ), "three minutes do not show that an index is new"
    with_a_day = words(now, ("a day before", STEADY), first=3)
    assert with_a_day.startswith("Writes rose at 12:03, from 310 WCU/s (median) a day before")


@pytest.mark.parametrize("minutes", [7, 180])
def test_an_earlier_rate_is_of_whole_periods_of_the_time_that_was_measured(minutes: int) -> None:
    app = service_app_at()
    create(app, "orders")
    began = datetime.fromtimestamp(app.clock(), UTC)
    meter = app.service.catalog.get("orders").model.resource(None).write.meter
    for _ in range(2 * minutes + 12):
        meter.accepted_many(1, 60 * 360.0, app.clock())
        app.clock.advance(60)
    start = began + MINUTE * (minutes + 11)
    request = EarlierRequest(
        table=TableFacts(name="orders"), direction=WRITE,
        window=Window(start=start, end=start + MINUTE * minutes), now=start + MINUTE * (minutes + 1),
    )  # fmt: skip
    name, before = next(fetch_earlier(lambda _service: app.cloudwatch, request))
    track = timeline(before).track(None, WRITE)
    assert name == "in the hours before"
    assert track.asked_per_s(track.consumed or ()) == pytest.approx(360)


def of(operation: str, metric: str, *values: float, statistic: str = "Sum") -> dict[str, Any]:
    return a_series(metric, *values, statistic=statistic) | {"operation": operation}


@pytest.mark.parametrize("refused", [4_000, 9_000])
def test_units_are_known_where_the_counted_operations_have_all_throttles(refused: int) -> None:
    """3,000 puts a minute consume 24,000 units; of 4,000 throttles an uncounted operation has none."""
    found = an_evidence(
        consumed(*[400] * 5), throttle_events(*[refused] * 5),
        of("PutItem", metrics.LATENCY, *[3_000] * 5, statistic="SampleCount"),
        of("PutItem", metrics.THROTTLED_REQUESTS, *[4_000] * 5), minutes=5,
    )  # fmt: skip
    track = timeline(found).track(None, WRITE)
    assert track is not None
    assert (track.units_per_request, track.alone) == (8, () if refused == 4_000 else ("PutItem",))


def test_the_demand_is_at_least_what_burst_served_right_before_the_throttles() -> None:
    found = an_evidence(
        consumed(*[240] * 2, 520, 520, 240, 520, 300, 300), provisioned(300),
        throttle_events(*[0] * 6, *[6_000] * 2), minutes=8,
    )  # fmt: skip
    track = timeline(found).track(None, WRITE)
    assert track is not None
    minutes = [int(START.timestamp()) + 60 * minute for minute in range(8)]
    assert track.asked_per_s(minutes[6:]) == 520, "not 400, with a unit for each throttle"
    assert track.busiest(minutes[6:]) == minutes[5], "the minutes before the calm one are another surge"


def calm(*more: dict[str, Any]) -> Evidence:
    return evidence([10] * 20, [0] * 20, *more)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            of("GetItem", "SystemErrors", *[0] * 5, *[17] * 2),
            "34 GetItem requests failed inside DynamoDB (SystemErrors) from 12:05 to 12:07 UTC",
        ),
        (
            of("Query", metrics.LATENCY, *[4] * 12, *[90] * 4, *[4] * 4, statistic="Average"),
            "DynamoDB took 90 ms for a Query from 12:12 to 12:16 UTC, and 4 ms otherwise",
        ),
        (
            of("GetRecords", metrics.THROTTLED_REQUESTS, 45, 45),
            "90 GetRecords requests were; look at the readers of its stream",
        ),
    ],
)
def test_what_else_troubled_an_application_is_a_clause_of_the_first_sentence(
    more: dict[str, Any], said: str
) -> None:
    (clause,) = other_causes(calm(more))
    assert clause.startswith(said)


def test_a_service_that_answers_as_ever_leaves_the_client_to_look_at() -> None:
    quick = of("GetItem", metrics.LATENCY, *[4] * 19, 6, statistic="Average")
    assert other_causes(calm(quick)) == ()
    assert usual_latency_ms(calm(quick)) == 6.0
    assert usual_latency_ms(calm()) is None
