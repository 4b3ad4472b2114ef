"""ListStreams, DescribeStream, GetShardIterator and GetRecords.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Operations_Amazon_DynamoDB_Streams.html
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_Record.html
"""

from base64 import b64decode, b64encode
from typing import Any

import orjson
from orjson import Fragment
from xxhash import xxh3_128_hexdigest

from keyheat.endpoint.errors import ServiceError, resource_not_found, validation_error
from keyheat.endpoint.itemstore import json_of, size_of
from keyheat.endpoint.requests import page
from keyheat.endpoint.service import Context, Handler
from keyheat.endpoint.stream import SHOWS_NEW, SHOWS_OLD, Shard, StreamEntry, TableStream
from keyheat.endpoint.tables.catalog import require_stream_arn
from keyheat.endpoint.tables.describe import key_schema
from keyheat.model.limits import (
    STREAM_ITERATOR_S,
    STREAM_PAGE_BYTES,
    STREAM_RECORDS_PER_PAGE,
    STREAM_SHARDS_PER_PAGE,
    STREAMS_PER_PAGE,
)
from keyheat.model.units import item_bytes

Record = dict[str, Any]


def rendered(stream: TableStream, entry: StreamEntry, region: str) -> tuple[Record, int]:
    """One record, and its size: that of its keys and of every image it shows."""
    source = entry.old if entry.new is None else entry.new
    assert source is not None, "an item that changed was there before or is there after"
    item = orjson.loads(json_of(source))
    keys = {attribute.name: item[attribute.name] for attribute in stream.keys.attributes}
    images: Record = {}
    size = item_bytes(keys)
    if stream.view in SHOWS_NEW and entry.new is not None:
        images["NewImage"] = Fragment(json_of(entry.new))
        size += size_of(entry.new)
    if stream.view in SHOWS_OLD and entry.old is not None:
        images["OldImage"] = Fragment(json_of(entry.old))
        size += size_of(entry.old)
    record = {
        "eventID": xxh3_128_hexdigest(f"{stream.arn}/{entry.sequence}".encode()),
        "eventName": entry.event,
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": region,
        "dynamodb": {
            "ApproximateCreationDateTime": int(entry.at_s),
            "Keys": keys,
            **images,
            "SequenceNumber": str(entry.sequence),
            "SizeBytes": size,
            "StreamViewType": stream.view,
        },
    }
    return record, size


SEPARATOR = "|1|"


def iterator_at(stream: TableStream, shard: Shard, sequence: int, now_s: float) -> str:
    """A shard iterator: its text holds all of it, so the endpoint remembers no iterator."""
    position = f"{shard.shard_id} {sequence} {now_s!r}"
    return f"{stream.arn}{SEPARATOR}{b64encode(position.encode()).decode()}"


def parsed_iterator(text: str, now_s: float) -> tuple[str, str, int]:
    """Stream, shard and sequence number of an iterator.

    Raises ValidationException, or ExpiredIteratorException after 15 minutes.
    """
    arn, _, position = text.partition(SEPARATOR)
    try:
        shard_id, sequence_text, issued_s = b64decode(position, validate=True).decode().split(" ")
        sequence, age_s = int(sequence_text), now_s - float(issued_s)
    except ValueError:
        raise validation_error("Invalid ShardIterator") from None
    if age_s > STREAM_ITERATOR_S:
        raise ServiceError(
            "ExpiredIteratorException", "Iterator expired: it was issued more than 15 minutes ago"
        )
    return arn, shard_id, sequence


Body = dict[str, Any]
BY_NUMBER = ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER")


def list_streams(context: Context, request: Body) -> Body:
    """ListStreams: those of one table or of all, in pages."""
    limit = _limit(request, STREAMS_PER_PAGE)
    after = request.get("ExclusiveStartStreamArn") or ""
    if after:
        require_stream_arn(after)
    table = request.get("TableName")
    shown_streams = [
        {"StreamArn": stream.arn, "TableName": stream.table_name, "StreamLabel": stream.label}
        for stream in context.service.catalog.streams()
        if stream.arn > after and table in (None, stream.table_name)
    ]
    return page("Streams", shown_streams, limit, "LastEvaluatedStreamArn", lambda stream: stream["StreamArn"])


def describe_stream(context: Context, request: Body) -> Body:
    """DescribeStream: the stream and its shards, parents before their children, in pages."""
    limit = _limit(request, STREAM_SHARDS_PER_PAGE)
    stream = context.service.catalog.stream(request["StreamArn"])
    after, of_parent = request.get("ExclusiveStartShardId") or "", request.get("ShardFilter")
    if of_parent is not None and (of_parent.get("Type") is None or of_parent.get("ShardId") is None):
        raise validation_error("ShardFilter needs a Type and a ShardId")
    shards = [
        _described(shard)
        for shard in stream.shards.values()
        if shard.shard_id > after and (of_parent is None or of_parent["ShardId"] == shard.parent)
    ]
    body: Body = {
        "StreamArn": stream.arn,
        "StreamLabel": stream.label,
        "StreamStatus": "ENABLED" if stream.disabled_s is None else "DISABLED",
        "StreamViewType": stream.view,
        "CreationRequestDateTime": round(stream.created_s, 3),
        "TableName": stream.table_name,
        "KeySchema": key_schema(stream.keys),
        **page("Shards", shards, limit, "LastEvaluatedShardId", lambda shard: shard["ShardId"]),
    }
    return {"StreamDescription": body}


def _described(shard: Shard) -> Body:
    numbers = {"StartingSequenceNumber": str(shard.starting)}
    if shard.ending is not None:
        numbers["EndingSequenceNumber"] = str(shard.ending)
    body: Body = {"ShardId": shard.shard_id, "SequenceNumberRange": numbers}
    return body if shard.parent is None else {**body, "ParentShardId": shard.parent}


def get_shard_iterator(context: Context, request: Body) -> Body:
    """GetShardIterator: a place in a shard. Raises TrimmedDataAccessException for one that is gone."""
    now_s, kind = context.now_s, request["ShardIteratorType"]
    for member, needed in (("SequenceNumber", kind in BY_NUMBER), ("Timestamp", kind == "AT_TIMESTAMP")):
        if needed != (request.get(member) is not None):
            needs = "needs" if needed else "takes no"
            raise validation_error(f"ShardIteratorType {kind} {needs} {member}")
    stream, shard = _find(context, request["StreamArn"], request["ShardId"])
    if kind == "TRIM_HORIZON":
        sequence = shard.horizon()
    elif kind == "LATEST":
        sequence = stream.next_sequence
    elif kind == "AT_TIMESTAMP":
        if request["Timestamp"] > now_s:
            raise validation_error("Timestamp is in the future")
        sequence = shard.since(float(request["Timestamp"]))
    else:
        text = request["SequenceNumber"]
        if not (text.isascii() and text.isdecimal()):
            raise validation_error(f"Invalid SequenceNumber: {text}")
        if int(text) < shard.starting or (shard.ending is not None and int(text) > shard.ending):
            raise validation_error(f"SequenceNumber {text} is not in the range of shard {shard.shard_id}")
        sequence = int(text) + (kind == "AFTER_SEQUENCE_NUMBER")
    _require_there(shard, sequence)
    return {"ShardIterator": iterator_at(stream, shard, sequence, now_s)}


def get_records(context: Context, request: Body) -> Body:
    """GetRecords: up to 1,000 records or 1 MB. Past the end of a closed shard there is no next iterator."""
    limit, now_s = _limit(request, STREAM_RECORDS_PER_PAGE), context.now_s
    arn, shard_id, start = parsed_iterator(request["ShardIterator"], now_s)
    stream, shard = _find(context, arn, shard_id)
    _require_there(shard, start)
    entries = shard.read(start, limit)
    records, total = list[Record](), 0
    for entry in entries:
        record, size = rendered(stream, entry, context.service.region)
        total += size
        if records and total > STREAM_PAGE_BYTES:
            break
        records.append(record)
    sequence = entries[len(records) - 1].sequence + 1 if records else start
    body: Body = {"Records": records}
    if not shard.ends_before(sequence):
        body["NextShardIterator"] = iterator_at(stream, shard, sequence, now_s)
    return body


def _limit(request: Body, most: int) -> int:
    stated = request.get("Limit")
    if stated is not None and stated > most:
        raise validation_error(
            f"1 validation error detected: Value '{stated}' at 'limit' failed to satisfy constraint: "
            f"Member must have value less than or equal to {most}"
        )
    return most if stated is None else int(stated)


def _find(context: Context, arn: str, shard_id: str) -> tuple[TableStream, Shard]:
    stream = context.service.catalog.stream(arn)
    shard = stream.shards.get(shard_id)
    if shard is None:
        raise resource_not_found(f"Requested resource not found: Shard: {shard_id} in {stream.arn} not found")
    return stream, shard


def _require_there(shard: Shard, sequence: int) -> None:
    """Raises TrimmedDataAccessException where what comes next has been trimmed."""
    if sequence <= shard.trimmed:
        raise ServiceError(
            "TrimmedDataAccessException", "The data you are trying to access has been trimmed."
        )


STREAMS: dict[str, Handler] = {
    "DescribeStream": describe_stream,
    "GetRecords": get_records,
    "GetShardIterator": get_shard_iterator,
    "ListStreams": list_streams,
}
