"""Write sharding for an application: a key gets more shards where one partition is not enough for it."""

from keyheat.sharding.knowledge import Knowledge, Policy
from keyheat.sharding.metadata import Metadata
from keyheat.sharding.reader import ShardReader, ShardShrinker, empty_in
from keyheat.sharding.writer import ShardWriter, put_item

__all__ = [
    "Knowledge",
    "Metadata",
    "Policy",
    "ShardReader",
    "ShardShrinker",
    "ShardWriter",
    "empty_in",
    "put_item",
]
