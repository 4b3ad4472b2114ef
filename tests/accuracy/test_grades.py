"""What is hidden is really gone, and nothing else is."""

from datetime import timedelta

import pytest

from keyheat.runs import metrics
from keyheat.runs.formats import Evidence
from tests.make import START, an_evidence, client_seconds, throttled
from tools.accuracy.draw import Loss
from tools.accuracy.score import left
from tools.accuracy.worlds import CAUSES

MINUTE = timedelta(minutes=1)
KEY = ("metric", "statistic", "period_s", "index", "operation")


def everything() -> Evidence:
    """Ten minutes of a table with an index, whatever `collect` asks for and a client sees."""
    points = [(START + number * MINUTE, 60.0) for number in range(10)]
    seen = range(7, 8)
    throttles = [
        *throttled("IndexWriteProvisionedThroughputExceeded", seen, 3, index="by_tag"),
        *throttled("TableWriteKeyRangeThroughputExceeded", seen, 2),
        {**throttled("IndexReadKeyRangeThroughputExceeded", seen, 1, index="by_tag")[0], "direction": "read"},
    ]
    (second,) = client_seconds((seen, 9.0, 5))
    return an_evidence(
        *({"points": points, **{name: getattr(key, name) for name in KEY}}
          for key in metrics.series_keys(["by_tag"])),
        throttles=throttles, seconds=[second, second | {"index": "by_tag", "throttled": 3}], minutes=10,
    )  # fmt: skip


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


def test_consumption_with_the_clients_seconds() -> None:
    found = left(everything(), "seconds", client=False)
    assert not metrics_of(found) & CAUSES
    assert {"WriteThrottleEvents", "ConsumedWriteCapacityUnits"} <= metrics_of(found)
    assert found.seconds is not None
    assert all(row.reason is None for row in found.throttles or ())
    alone = left(everything(), "minutes", client=True)
    assert metrics_of(alone) == metrics_of(found)
    assert (alone.throttles, alone.seconds) == (None, None)


@pytest.mark.parametrize(
    ("loss", "kept"),
    [
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
