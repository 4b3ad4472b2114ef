"""What is hidden is really gone, and nothing else is."""

from datetime import timedelta

import pytest

from keyheat.runs import metrics
from keyheat.runs.formats import Evidence, SecondCount, Series, TableFacts, ThrottleCount, Window
from tests.make import START
from tools.accuracy.draw import Loss
from tools.accuracy.score import CAUSES, left

MINUTE = timedelta(minutes=1)
KEY = ("metric", "statistic", "period_s", "index", "operation")


def everything() -> Evidence:
    """Ten minutes of a table with an index, whatever `collect` asks for and a client sees."""
    points = tuple((START + number * MINUTE, 60.0) for number in range(10))
    second = START + timedelta(seconds=7)
    reasons = (
        ("by_tag", "write", "IndexWriteProvisionedThroughputExceeded", 3),
        (None, "write", "TableWriteKeyRangeThroughputExceeded", 2),
        ("by_tag", "read", "IndexReadKeyRangeThroughputExceeded", 1),
    )
    return Evidence(
        table=TableFacts(name="orders"),
        window=Window(start=START, end=START + 10 * MINUTE),
        series=tuple(
            Series(points=points, **{name: getattr(key, name) for name in KEY})
            for key in metrics.series_keys(["by_tag"])
        ),
        throttles=tuple(
            ThrottleCount(second=second, index=index, direction=direction, reason=reason, count=count)
            for index, direction, reason, count in reasons
        ),
        seconds=tuple(
            SecondCount(
                second=second, index=index, direction="write", consumed=9.0, attempts=14, throttled=throttled
            )
            for index, throttled in ((None, 5), ("by_tag", 3))
        ),
    )


def metrics_of(evidence: Evidence) -> set[str]:
    return {series.metric for series in evidence.series}


def test_with_reasons_nothing_is_hidden() -> None:
    assert left(everything(), "reasons", client=False) == everything()


def test_without_reasons_a_client_counts_and_cannot_say_which_index() -> None:
    found = left(everything(), "causes", client=True)
    assert metrics_of(found) >= CAUSES
    assert found.throttles is not None
    counted = {(row.index, row.direction, row.reason, row.count) for row in found.throttles}
    assert counted == {(None, "write", None, 5), ("by_tag", "read", None, 1)}
    assert found.seconds is not None
    assert [(row.index, row.throttled) for row in found.seconds] == [(None, 5), ("by_tag", 0)]


def test_cloudwatch_alone_with_its_cause_metrics() -> None:
    found = left(everything(), "causes", client=False)
    assert metrics_of(found) >= CAUSES
    assert found.throttles is None
    assert found.seconds is None


def test_consumption_with_the_clients_seconds() -> None:
    found = left(everything(), "seconds", client=False)
    assert not metrics_of(found) & CAUSES
    assert {"WriteThrottleEvents", "ConsumedWriteCapacityUnits"} <= metrics_of(found)
    assert found.seconds is not None
    assert all(row.reason is None for row in found.throttles or ())


@pytest.mark.parametrize(
    ("loss", "kept"),
    [
        (Loss(), range(10)),
        (Loss(first=4), range(4, 10)),
        (Loss(minutes=frozenset({2, 3})), (0, 1, 4, 5, 6, 7, 8, 9)),
        (Loss(late=2), range(8)),
    ],
)
def test_what_is_lost_is_not_in_the_evidence_and_not_asked_of_it(loss: Loss, kept: range) -> None:
    whole = everything()
    found, seen = loss.of(whole), loss.seen(whole.window)
    for series in found.series:
        if series.period_s == 60:
            assert [at for at, _ in series.points] == [START + number * MINUTE for number in kept]
    start_s = int(START.timestamp())
    assert [number for number in range(10) if seen(start_s + 60 * number + 59)] == list(kept)
