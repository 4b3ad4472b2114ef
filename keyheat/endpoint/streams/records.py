"""Stream records as GetRecords shows them.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_Record.html
"""

from typing import Any

import orjson
from orjson import Fragment
from xxhash import xxh3_128_hexdigest

from keyheat.endpoint.store.itemkeys import attributes
from keyheat.endpoint.store.shelf import json_of, size_of
from keyheat.endpoint.streams.shard import Entry
from keyheat.endpoint.streams.stream import SHOWS_NEW, SHOWS_OLD, Stream
from keyheat.model.limits import STREAM_PAGE_BYTES
from keyheat.model.units import item_bytes

Record = dict[str, Any]


def rendered(stream: Stream, entry: Entry, region: str) -> tuple[Record, int]:
    """One record, and its size: that of its keys and of every image it shows."""
    source = entry.old if entry.new is None else entry.new
    assert source is not None, "an item that changed was there before or is there after"
    item = orjson.loads(json_of(source))
    keys = {attribute.name: item[attribute.name] for attribute in attributes(stream.keys)}
    images: Record = {}
    size = item_bytes(keys)
    if stream.view in SHOWS_NEW and entry.event != "REMOVE" and entry.new is not None:
        images["NewImage"] = Fragment(json_of(entry.new))
        size += size_of(entry.new)
    if stream.view in SHOWS_OLD and entry.event != "INSERT" and entry.old is not None:
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


def page(stream: Stream, entries: list[Entry], region: str) -> list[Record]:
    """The first of these as records: as many as a page has room for, and one at least."""
    records: list[Record] = []
    total = 0
    for entry in entries:
        record, size = rendered(stream, entry, region)
        total += size
        if records and total > STREAM_PAGE_BYTES:
            break
        records.append(record)
    return records
