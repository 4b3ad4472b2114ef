"""What is known of a table: what shards and capacity tell of its partitions, and what DescribeTable answers.

What is not there is None, however an endpoint says so.
"""

from typing import Any

import pytest

from keyheat.runs.partitions import TooManyShards, all_shards, created_s, estimated, split_times_s
from keyheat.runs.table_facts import TableFacts, table_facts
from keyheat.words import Capacity

NOON_S = 1_795_176_000  # 2026-11-20T12:00:00Z
NOTHING = Capacity(None, None)
ESTIMATES: list[tuple[str, Capacity, Capacity, float, int | None, str]] = [
    ("a new on-demand table", Capacity(12_000, 4_000), NOTHING, 1.0, 4, "warm throughput is 12,000 reads"),
    ("a small table", NOTHING, Capacity(5, 5), 1.0, 1, "what is provisioned is 5 reads/s"),
    ("more is provisioned", Capacity(3_000, 1_000), Capacity(10, 2_001), 1.0, 3, "what is provisioned"),
    ("a tenth of every limit", Capacity(1_200, 400), NOTHING, 0.1, 4, "one partition serves 300 reads/s"),
    ("only writes are known", Capacity(None, 1_500), NOTHING, 1.0, 2, "serves 1,000 writes/s"),
    ("nothing is known", NOTHING, NOTHING, 1.0, None, ""),
]  # fmt: skip


@pytest.mark.parametrize(("_story", "warm", "provisioned", "scale", "count", "because"), ESTIMATES)
def test_estimate(
    _story: str, warm: Capacity, provisioned: Capacity, scale: float, count: int | None, because: str
) -> None:
    found = estimated(TableFacts(name="orders", warm=warm, provisioned=provisioned), scale)
    assert (found and found.estimated) == count
    assert found is None or because in (found.because or "")


def test_splits_are_in_order_of_time_one_of_unknown_time_is_last_and_an_open_shard_has_not_split() -> None:
    closed = {"SequenceNumberRange": {"EndingSequenceNumber": "2"}}
    late, early = (f"shardId-{NOON_S + minute * 60:017d}000" for minute in (3, 1))
    parents = [{"ShardId": name, **closed} for name in ("unknown", "of-late", "of-early")] + [
        {"ShardId": "open"}
    ]
    born = [("x", "unknown"), (late, "of-late"), (early, "of-early"), (early, "open")]
    children = [
        {"ShardId": f"{name}-{parent}{side}", "ParentShardId": parent}
        for name, parent in born
        for side in "ab"
    ]
    assert split_times_s([*parents, *children]) == [NOON_S + 60, NOON_S + 180, None]


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("shardId-00000001414576573621-f55eea83", 1_414_576_573.621),
        ("shardId-00000000000000000007-f55eea83", None),
        ("anything", None),
    ],
)
def test_an_id_says_when_the_shard_was_made(name: str, seconds: float | None) -> None:
    assert created_s(name) == seconds


class Paged:
    """A stream of so many shards, `page` at a time; every page is answered twice over, out of order."""

    def __init__(self, count: int, page: int) -> None:
        self.names = [f"s{n:05d}" for n in range(count)]
        self.page = page

    def describe_stream(self, *, StreamArn: str, ExclusiveStartShardId: str = "") -> dict[str, Any]:
        rest = [name for name in self.names if name > ExclusiveStartShardId]
        page = [{"ShardId": name} for name in rest[: self.page]]
        told: dict[str, Any] = {"Shards": [*reversed(page), *page]}
        if len(rest) > self.page:
            told["LastEvaluatedShardId"] = rest[self.page - 1]
        return {"StreamDescription": told}


def test_all_pages_of_a_stream_are_read_and_one_without_end_is_given_up() -> None:
    shards = all_shards(Paged(30, 10), "arn", pages=3)
    assert sorted(one["ShardId"] for one in shards) == Paged(30, 10).names
    with pytest.raises(TooManyShards, match="more than the 30 shards"):
        all_shards(Paged(1_000, 10), "arn", pages=3)


TABLE: dict[str, Any] = {
    "TableName": "orders",
    "TableArn": "arn:aws:dynamodb:eu-west-1:111122223333:table/orders",
    "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 7},
}
ON_DEMAND = {"BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"}}


def test_a_table_as_it_is_described() -> None:
    index = {
        "IndexName": "by_day",
        "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2},
    }
    warm = {"WarmThroughput": {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 4_000}}
    facts = table_facts({**TABLE, **warm, "GlobalSecondaryIndexes": [index], "LocalSecondaryIndexes": [{}]})
    assert (facts.name, facts.billing_mode, facts.has_lsi) == ("orders", "PROVISIONED", True)
    assert (facts.provisioned, facts.warm) == (Capacity(5, 7), Capacity(12_000, 4_000))
    assert [(one.name, one.provisioned) for one in facts.indexes] == [("by_day", Capacity(1, 2))]
    assert "111122223333" not in (facts.arn or "")
    assert facts.model_dump(mode="json")["provisioned"] == {"read": 5, "write": 7}


@pytest.mark.parametrize(
    ("said", "maximum"),
    [
        ({}, None),
        ({"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": -1}, None),
        ({"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": 100}, Capacity(None, 100)),
        ({"MaxWriteRequestUnits": 100}, Capacity(None, 100)),
    ],
)
def test_a_rate_that_is_not_set_is_none_and_never_zero(
    said: dict[str, int], maximum: Capacity | None
) -> None:
    assert table_facts({**TABLE, **ON_DEMAND, "OnDemandThroughput": said}).max_on_demand == maximum
