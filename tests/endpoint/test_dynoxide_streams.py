"""What streams tell of the same writes, here and in dynoxide.

Only changes are compared: dynoxide also tells of writes that changed nothing, which DynamoDB does not.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html
"""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tests.endpoint.clients import client
from tests.endpoint.generated import TABLE, Operation, operations
from tests.endpoint.test_dynoxide import canonical, dynoxide, numbers, outcome

pytestmark = [pytest.mark.opens, pytest.mark.nightly]

__all__ = ["dynoxide"]

WRITES = {"put_item", "update_item", "delete_item", "batch_write_item", "transact_write_items"}
STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}


def told(streams: Any, table: str) -> list[Any]:
    """What the stream says of each item, the items in order and each one's changes as they came."""
    (stream,) = streams.list_streams(TableName=table)["Streams"]
    arn = stream["StreamArn"]
    shards = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    changes = [change for shard in shards for change in changes_of(streams, arn, shard["ShardId"])]
    return sorted(changes, key=lambda change: repr(change["Keys"]))


def changes_of(streams: Any, arn: str, shard_id: str) -> Iterator[Any]:
    request = {"StreamArn": arn, "ShardId": shard_id, "ShardIteratorType": "TRIM_HORIZON"}
    iterator = streams.get_shard_iterator(**request)["ShardIterator"]
    for record in streams.get_records(ShardIterator=iterator)["Records"]:
        body = canonical(record["dynamodb"])
        change = {name: body.get(name) for name in ("Keys", "OldImage", "NewImage", "StreamViewType")}
        if change["OldImage"] != change["NewImage"]:
            shown = {name: record[name] for name in ("eventName", "eventSource", "eventVersion")}
            yield {**shown, **change}


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@settings(
    max_examples=40,
    derandomize=True,
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
    ],
)
@given(st.lists(operations.filter(lambda one: one.name in WRITES), min_size=5, max_size=20))
def test_both_tell_the_same_changes(service_app: Any, dynoxide: Any, requests: list[Operation]) -> None:
    name = f"streamed-{next(numbers)}"
    theirs = client("dynamodbstreams", dynoxide.meta.endpoint_url, parameter_validation=False)
    ours = service_app.client("dynamodbstreams")
    for ddb in (service_app.ddb, dynoxide):
        ddb.create_table(TableName=name, **TABLE, StreamSpecification=STREAM)
    service_app.clock.advance(600)
    for operation in (one.on(name) for one in requests):
        service_app.clock.advance(10)
        both = outcome(service_app.ddb, operation), outcome(dynoxide, operation)
        note(f"{operation.name} {operation.request}\n  ours   {both[0]}\n  theirs {both[1]}")
        if both[0].get("error") != both[1].get("error"):
            break  # the tables are no longer the same
    else:
        assert told(ours, name) == told(theirs, name)
    for ddb in (service_app.ddb, dynoxide):
        ddb.delete_table(TableName=name)
