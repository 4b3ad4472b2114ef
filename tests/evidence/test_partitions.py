"""What is known of a table's partitions, and clocks that differ: in evidence, in a label, in a report."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from keyheat.runs.formats import Evidence, PartitionFacts, Window
from keyheat.show.report import partition_words
from tests.endpoint.clients import FakeClock
from tests.evidence.conftest import FakeAws

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
SPLIT = NOON + timedelta(minutes=3, seconds=7)
FOUR = PartitionFacts(estimated=4, because="its warm throughput is 4,000 writes/s")

SENTENCES: list[tuple[PartitionFacts, str | None]] = [
    (PartitionFacts(), None),
    (FOUR, "The table had at least 4 partitions: its warm throughput is 4,000 writes/s."),
    (
        FOUR.model_copy(update={"open_shards": 5, "splits": (SPLIT,)}),
        "The table had about 5 partitions, by the open shards of its stream; one split, at 12:03:07.",
    ),
    (
        PartitionFacts(open_shards=1, splits=()),
        "The table had about 1 partition, by the open shards of its stream; none split.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("facts", "said"), SENTENCES)
def test_what_is_known_in_a_sentence(facts: PartitionFacts, said: str | None) -> None:
    assert partition_words(facts) == said


TABLE = {
    "TableName": "orders", "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
    "WarmThroughput": {"ReadUnitsPerSecond": 6_000, "WriteUnitsPerSecond": 2_000},
    "StreamSpecification": {"StreamEnabled": True}, "LatestStreamArn": "arn",
}  # fmt: skip


def stream(prefix: str) -> dict[str, Any]:
    """Two shards were open, one rolled over, the other split."""
    ms = int(SPLIT.timestamp() * 1000)
    closed = {"SequenceNumberRange": {"EndingSequenceNumber": "9"}}
    shards: list[dict[str, Any]] = [
        {"ShardId": "shardId-a", **closed}, {"ShardId": "shardId-b", **closed},
        {"ShardId": f"{prefix}{ms:020d}-c", "ParentShardId": "shardId-a"},
        {"ShardId": f"{prefix}{ms:020d}-d", "ParentShardId": "shardId-b"},
        {"ShardId": f"{prefix}{ms + 1:020d}-e", "ParentShardId": "shardId-b"},
    ]  # fmt: skip
    return {"StreamDescription": {"Shards": shards}}


def of_others(stream: Any, *, minutes: int = 5, later_s: float = 3_600) -> Evidence:
    """Evidence of a table that others load."""
    window = Window(start=NOON, end=NOON + timedelta(minutes=minutes))
    aws = FakeAws(table=TABLE, stream=stream, clock=FakeClock(window.end.timestamp() + later_s))
    found = aws.collected(window)
    assert aws.waited == []
    return found


@pytest.mark.parametrize(
    ("prefix", "window", "splits"),
    [
        ("shardId-", {}, (SPLIT,)),
        ("shardId-", {"minutes": 2}, ()),  # before it
        ("shardId-", {"later_s": 90_000}, None),  # shards of then are not kept
        ("shard/", {}, None),  # shards whose names tell no time
    ],
)
def test_the_shards_of_a_table_that_others_load(
    prefix: str, window: dict[str, Any], splits: tuple[datetime, ...] | None
) -> None:
    facts = of_others(stream(prefix), **window).partitions
    assert (facts.estimated, facts.splits) == (2, splits)
    if "later_s" not in window:
        assert facts.open_shards == 3


def test_a_stream_that_may_not_be_described_is_said() -> None:
    said: Any = {"Error": {"Code": "AccessDeniedException", "Message": "not you"}}
    found = of_others(ClientError(said, "DescribeStream"))
    assert (found.partitions.estimated, found.partitions.open_shards) == (2, None)
    assert any(
        line.startswith("the shards of the table's stream") and "not you" in line for line in found.missing
    )
