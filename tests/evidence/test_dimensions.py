"""Series that CloudWatch has with one dimension more: PartiQL's, and those of a global table's replicas.

A query without it comes back empty, and says nothing of why.
"""

from datetime import UTC, datetime
from typing import Any

import pytest

from keyheat.analysis.timeline import timeline
from keyheat.runs import metrics
from keyheat.runs.plausibility import sound
from tests.make import a_series, an_evidence

NOW = datetime(2026, 11, 20, 13, tzinfo=UTC)


def asked_of(metric: str, **more: Any) -> set[tuple[tuple[str, str], ...]]:
    """The dimensions but for the table's name that a metric is asked for with."""
    return {
        tuple((one["Name"], one["Value"]) for one in query["MetricStat"]["Metric"]["Dimensions"][1:])
        for query in metrics.request_for("orders", now=NOW, **more)["MetricDataQueries"]
        if query["MetricStat"]["Metric"]["MetricName"] == metric
    }


@pytest.mark.parametrize("metric", ["ThrottledRequests", "SystemErrors", "SuccessfulRequestLatency"])
def test_partiql_is_asked_for_with_the_dimension_that_it_is_published_with(metric: str) -> None:
    asked = asked_of(metric)
    partiql = {one for one in asked if "Execute" in one[0][1]}
    assert partiql == {
        *(
            (("Operation", "ExecuteStatement"), ("Verb", f"PartiQL{verb}"))
            for verb in ("Select", "Insert", "Update", "Delete")
        ),
        *(
            (("Operation", name), ("OperationType", kind))
            for name in ("BatchExecuteStatement", "ExecuteTransaction")
            for kind in ("Read", "Write")
        ),
    }
    assert all(len(one) == 1 for one in asked - partiql)


def test_a_global_tables_replicas_are_asked_for_where_it_has_any() -> None:
    assert asked_of("ReplicationLatency") == set()
    assert asked_of("ReplicationLatency", replicas=["eu-west-1", "us-west-2"]) == {
        (("ReceivingRegion", "eu-west-1"),), (("ReceivingRegion", "us-west-2"),),
    }  # fmt: skip
    assert asked_of("ConsumedWriteCapacityUnits", indexes=["by_day"], replicas=["eu-west-1"]) == {
        (), (("GlobalSecondaryIndexName", "by_day"),), (("Source", "GlobalTable"),),
        (("GlobalSecondaryIndexName", "by_day"), ("Source", "GlobalTable")),
    }  # fmt: skip


def test_what_is_of_a_part_of_the_table_is_not_taken_for_the_table() -> None:
    whole, of_replica = (a_series("ConsumedWriteCapacityUnits", units) for units in (6.0, 5.0))
    found = sound(an_evidence(whole, of_replica | {"dimension": "Source=GlobalTable"}, minutes=1))
    assert found.total("ConsumedWriteCapacityUnits") == 6.0
    (track,) = (one for one in timeline(found).tracks if one.direction == "write")
    assert list((track.consumed or {}).values()) == [6.0]
    with pytest.raises(ValueError, match="Name=Value, got 'Verb'"):
        sound(
            found.model_copy(update={"series": (found.series[0].model_copy(update={"dimension": "Verb"}),)})
        )
