"""What changed from the time before, and what troubled an application although nothing throttled."""

from datetime import UTC, datetime, timedelta

import pytest

from keyheat.analysis.changes import changes
from keyheat.analysis.elsewhere import other_causes, usual_latency_ms
from keyheat.analysis.timeline import timeline
from keyheat.evidence.earlier import EarlierRequest, fetch_earlier
from keyheat.runs import metrics
from keyheat.runs.formats import Evidence, Label, Series, Window
from keyheat.runs.table_facts import IndexFacts, TableFacts
from keyheat.show.changes import changed_rows, changed_words, not_held
from keyheat.words import WRITE, Capacity, Resource
from tests.endpoint.asking import create
from tests.endpoint.clients import service_app_at

START = datetime(2026, 11, 26, 2, tzinfo=UTC)
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
WRITES = Resource(None, WRITE)


def series(metric: str, values: list[float], start: datetime = START, **more: object) -> Series:
    points = tuple((start + MINUTE * place, value) for place, value in enumerate(values))
    return Series(**{"metric": metric, "statistic": "Sum", "period_s": 60, "points": points, **more})


def evidence(
    per_s: list[float],
    throttles: list[float],
    *more: Series,
    start: datetime = START,
    provisioned: float | None = 2_000,
    indexes: tuple[str, ...] = (),
) -> Evidence:
    set_to = [] if provisioned is None else [provisioned] * (-(-len(per_s) // 5))
    points = tuple((start + MINUTE * 5 * place, value) for place, value in enumerate(set_to))
    capacity = None if provisioned is None else Capacity(read=5.0, write=provisioned)
    return Evidence(
        table=TableFacts(
            name="orders", provisioned=capacity,
            billing_mode="PAY_PER_REQUEST" if provisioned is None else "PROVISIONED",
            indexes=tuple(IndexFacts(name=name) for name in indexes),
        ),
        window=Window(start=start, end=start + MINUTE * max(1, len(per_s))),
        series=(
            series(metrics.consumed(WRITE), [60 * rate for rate in per_s], start),
            series(metrics.throttle_events(WRITE), throttles, start),
            Series(
                metric=metrics.provisioned(WRITE), statistic="Average", period_s=300, points=points
            ),
            *more,
        ),
    )  # fmt: skip


def label(first: int, last: int) -> Label:
    return Label(
        start=START + MINUTE * first, end=START + MINUTE * last, resource="table", direction=WRITE,
        constraint="partition", throttles=60, grade="cause_metric", confidence=0.98, because=("it was",),
    )  # fmt: skip


def words(now: Evidence, *earlier: tuple[str, Evidence], first: int = 10) -> str:
    found = changes(now, [label(first, 20)], WRITES, earlier)
    assert found is not None
    return changed_words(found)


STEADY = evidence([310] * 20, [0] * 20, start=START - DAY)
ROSE = evidence([310] * 10 + [1_900] * 10, [0] * 10 + [6] * 10)


def test_a_rise_that_burst_carried_for_most_of_the_time_before_is_told() -> None:
    seen = evidence([1_200] * 3 + [3_600] * 6 + [2_000] * 11, [0] * 9 + [96_000] * 11)
    assert words(seen, first=9) == (
        "Writes rose at 02:03, from 1,200 WCU/s (median) in the 3 min before to at least 3,600 WCU/s at "
        "the peak, 02:09; burst capacity served them until 02:09; capacity did not change."
    )


def test_demand_that_rose_is_said_with_its_time_and_that_capacity_did_not_change() -> None:
    said = words(ROSE, ("a day before", STEADY))
    assert said == (
        "Writes rose at 02:10, from 310 WCU/s (median) in the 10 min before to at least 1,900 WCU/s; "
        "capacity did not change."
    )


def without(now: Evidence, metric: str, *minutes: int) -> Evidence:
    """Without a metric, or without its points of some minutes."""
    gone = {START + MINUTE * minute for minute in minutes}

    def kept(one: Series) -> Series:
        points = tuple(point for point in one.points if minutes and point[0] not in gone)
        return one.model_copy(update={"points": points}) if one.metric == metric else one

    return now.model_copy(update={"series": tuple(map(kept, now.series))})


def test_a_capacity_that_only_todays_description_tells_is_not_said_to_be_unchanged() -> None:
    spent = evidence([100] * 10 + [400] * 3 + [200] * 5, [0] * 13 + [12_000] * 5, provisioned=200)
    said = words(without(spent, metrics.provisioned(WRITE)), first=13)
    assert said.endswith("at the peak, 02:13; they throttled from 02:13.")


def test_nothing_is_said_of_burst_in_minutes_without_a_point() -> None:
    spent = evidence([100] * 10 + [400] * 6 + [200] * 5, [0] * 16 + [12_000] * 5, provisioned=200)
    for metric in (metrics.consumed(WRITE), metrics.throttle_events(WRITE)):
        spent = without(spent, metric, 13, 14, 15)
    said = words(spent, first=16)
    assert "they throttled by 02:16, and CloudWatch has no data of the time between" in said
    assert "burst" not in said


def with_capacity(now: Evidence, **statistics: tuple[float, ...]) -> Evidence:
    """With another capacity, as CloudWatch publishes it: these statistics of each five minutes."""
    kept = tuple(one for one in now.series if one.metric != metrics.provisioned(WRITE))
    capacity = tuple(
        Series(
            metric=metrics.provisioned(WRITE), statistic=name, period_s=300,
            points=tuple((START + 5 * MINUTE * place, value) for place, value in enumerate(values)),
        )
        for name, values in statistics.items()
    )  # fmt: skip
    return now.model_copy(update={"series": (*kept, *capacity)})


def test_a_raise_that_ended_the_throttles_is_told() -> None:
    spent = evidence([310] * 10 + [900] * 20, [0] * 10 + [6] * 10 + [0] * 10, provisioned=500)
    said = words(with_capacity(spent, Average=(500, 500, 500, 500, 500, 1_200)))
    assert said.endswith(
        "capacity did not change while they throttled. Capacity was raised from 500 to 1,200 WCU by 02:25."
    )


def capacity_by_minute(now: Evidence) -> list[float | None]:
    track = timeline(now).track(None, WRITE)
    minutes = int((now.window.end - START) / MINUTE)
    return [track.provisioned.at(START.timestamp() + 60 * minute) for minute in range(minutes)]


def test_capacity_that_changed_within_five_minutes_is_one_number_before_and_one_after() -> None:
    """CloudWatch's average of the period, 282.5, was never in force; consumption tells the minute."""
    seen = evidence([401, 525, 465, 465], [0, 205, 305, 304])
    now = with_capacity(seen, Average=(282.5,), Minimum=(100,), Maximum=(465,))
    table = now.table.model_copy(update={"provisioned": Capacity(read=5.0, write=465.0)})
    now = now.model_copy(update={"table": table})
    assert capacity_by_minute(now) == [100, 465, 465, 465]
    assert "Capacity was raised from 100 to 465 WCU." in words(now, first=1)


def test_a_throttled_minute_that_burst_served_does_not_show_that_capacity_was_raised() -> None:
    """882 of 300 WCU/s: 600, which were provisioned three minutes later, are no nearer to that."""
    seen = evidence([882, 300, 308, 600, 600], [20, 600, 600, 300, 300])
    now = with_capacity(seen, Average=(450,), Minimum=(300,), Maximum=(600,))
    assert capacity_by_minute(now) == [300, 300, 300, 600, 600]


@pytest.mark.parametrize(
    ("then", "now", "said"),
    [
        (4_000, 2_000, "Capacity was lowered from 4,000 to 2,000 WCU."),
        (4_000, None, "It is on demand now, and had 4,000 WCU provisioned."),
    ],
)
def test_a_limit_that_changed_is_said(then: float, now: float | None, said: str) -> None:
    before = evidence([900] * 20, [0] * 20, start=START - DAY, provisioned=then)
    found = words(evidence([900] * 20, [6] * 20, provisioned=now), ("a day before", before), first=0)
    assert found == f"Writes were at 900 WCU/s a day before as well. {said}"


def test_capacity_that_was_raised_while_it_throttled_did_change() -> None:
    throttled = evidence([310] * 10 + [1_900] * 10, [0] * 10 + [6] * 10, provisioned=600)
    raised = with_capacity(throttled, Average=(300, 300, 300, 600))
    found = changes(raised, [label(10, 20)], WRITES, [])
    assert found is not None
    assert changed_words(found).endswith("Capacity was raised from 300 to 600 WCU while it throttled.")
    assert changed_rows(found)[1]["while throttled"] == "300 → 600"


def test_a_new_index_and_another_mix_of_operations_are_said() -> None:
    def puts(start: datetime, put: float, update: float) -> tuple[Series, ...]:
        return tuple(
            series(metrics.LATENCY, [count] * 20, start, statistic="SampleCount", operation=operation)
            for operation, count in (("PutItem", put), ("UpdateItem", update))
        )

    index = series(metrics.consumed(WRITE), [60.0] * 20, index="by_day")
    now = evidence([900] * 20, [6] * 20, *puts(START, 20, 80), index, indexes=("by_day",))
    before = evidence([900] * 20, [0] * 20, *puts(START - DAY, 100, 0), start=START - DAY)
    found = words(now, ("a day before", before), first=0)
    assert "Index by_day is new." in found
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
    rose = evidence([0.5, 360, 360] + [1_900] * 17, [0] * 3 + [6] * 17, indexes=("by_day",))
    index = series(metrics.consumed(WRITE), [60.0] * 17, START + 3 * MINUTE, index="by_day")
    now = rose.model_copy(update={"series": (*rose.series, index)})
    assert words(now, ("a week before", evidence([], [])), first=3) == (
        "Writes rose at 02:03, from 360 WCU/s (median) in the 3 min before to at least 1,900 WCU/s; "
        "capacity did not change."
    ), "three minutes do not show that an index is new"
    with_a_day = words(now, ("a day before", STEADY), first=3)
    assert with_a_day.startswith("Writes rose at 02:03, from 310 WCU/s (median) a day before")


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


def calm(*more: Series) -> Evidence:
    return evidence([10] * 20, [0] * 20, *more)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            series("SystemErrors", [0.0] * 5 + [17.0] * 2, operation="GetItem"),
            "34 GetItem requests failed inside DynamoDB (SystemErrors) from 02:05 to 02:07 UTC",
        ),
        (
            series(
                metrics.LATENCY, [4.0] * 12 + [90.0] * 4 + [4.0] * 4, statistic="Average", operation="Query"
            ),
            "DynamoDB took 90 ms for a Query from 02:12 to 02:16 UTC, and 4 ms otherwise",
        ),
        (
            series(metrics.THROTTLED_REQUESTS, [45.0] * 2, operation="GetRecords"),
            "90 GetRecords requests were; look at the readers of its stream",
        ),
    ],
)
def test_what_else_troubled_an_application_is_a_clause_of_the_first_sentence(more: Series, said: str) -> None:
    (clause,) = other_causes(calm(more))
    assert clause.startswith(said)


def test_a_service_that_answers_as_ever_leaves_the_client_to_look_at() -> None:
    quick = series(metrics.LATENCY, [4.0] * 19 + [6.0], statistic="Average", operation="GetItem")
    assert other_causes(calm(quick)) == ()
    assert usual_latency_ms(calm(quick)) == 6.0
    assert usual_latency_ms(calm()) is None
