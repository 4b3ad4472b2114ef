"""Write sharding for an application: a key gets more shards where one partition is not enough for it."""

from sharding.capacity import ProvisionedCapacity
from sharding.knowledge import Knowledge
from sharding.metadata import Metadata
from sharding.policy import Policy
from sharding.reader import ShardReader
from sharding.shrinker import ShardShrinker, empty_in
from sharding.writer import ShardWriter, put_item

__all__ = [
    "Knowledge",
    "Metadata",
    "Policy",
    "ProvisionedCapacity",
    "ShardReader",
    "ShardShrinker",
    "ShardWriter",
    "empty_in",
    "put_item",
]
