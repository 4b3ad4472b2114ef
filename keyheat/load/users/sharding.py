"""Users of keys that get more shards as they need them: the `sharding` package, sending as a user does.

Where a scenario has no `[dynamic_sharding]`, the same users write to as many shards as `keys.shards` says.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import orjson
from botocore.exceptions import ClientError

from keyheat.load.transport.answer import Answer
from keyheat.load.users.collections import Collected, Item, read_collection
from keyheat.load.users.outcomes import Conditional
from keyheat.load.users.readers import Incomplete, Reader
from keyheat.load.users.user import TableUser
from keyheat.scenario.keys import random_suffix, shard_key
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.keys import ShardingSpec
from keyheat.sharding import Knowledge, Metadata, Policy, ShardReader, ShardWriter
from keyheat.words import DirectionName

COUNTED = (
    "shards.increments", "shards.conflicts", "shards.cooling", "shards.capacity_asked",
    "metadata.read_units", "metadata.write_units",
)  # fmt: skip
METADATA_UNITS = 1.0  # what one read or write of a key's metadata costs: they are far below 1 KB


class Unanswered(Exception):
    """No answer came, so it is unknown whether the request was carried out."""


class UserClient:
    """A user, as the `sharding` package sees a client of DynamoDB: it raises botocore's errors."""

    def __init__(self, user: TableUser, spec: ShardingSpec) -> None:
        self._user = user
        self._table = spec.table

    def get_item(self, **request: Any) -> Mapping[str, Any]:
        return self._send("GetItem", request, request["Key"], "read")

    def put_item(self, **request: Any) -> Mapping[str, Any]:
        return self._send("PutItem", request, request["Item"], "write")

    def update_item(self, **request: Any) -> Mapping[str, Any]:
        return self._send("UpdateItem", request, request["Key"], "write")

    def query(self, **request: Any) -> Mapping[str, Any]:
        raise NotImplementedError("collections are read, and checked, by the generator's own readers")

    def _send(
        self, operation: str, request: Mapping[str, Any], item: Mapping[str, Any], direction: DirectionName
    ) -> Mapping[str, Any]:
        (key, *_others) = (value["S"] for value in item.values() if "S" in value)
        answer = self._user.send(
            operation, orjson.dumps(request), key=key, direction=direction, units=METADATA_UNITS,
            table=self._table, note=Conditional(METADATA_UNITS, METADATA_UNITS),
        )  # fmt: skip
        return accepted(operation, answer).content()


def accepted(operation: str, answer: Answer) -> Answer:
    """The answer, if it is no error. Raises botocore's `ClientError`, and `Unanswered`."""
    if answer.accepted:
        return answer
    if answer.failure:
        raise Unanswered(answer.failure)
    content = answer.content()
    error = {"Code": answer.failure_name, "Message": content.get("message", "")}
    raise ClientError({**content, "Error": error}, operation)


def policy_of(spec: ShardingSpec) -> Policy:
    """The numbers of a scenario, as the package takes them."""
    settle_s = max(Policy().settle_s, 2 * spec.cache_s)
    return Policy(settle_s=settle_s, **spec.model_dump(exclude={"table"}))


class ShardingUser(TableUser):
    """A user whose keys are sharded, dynamically or not."""

    abstract = True

    @classmethod
    def not_sampled(cls, scenario: Scenario) -> str:
        return "" if scenario.dynamic_sharding is None else "gives keys shards as they throttle"

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self._sharding = self.load.order.scenario.dynamic_sharding
        for name in COUNTED:  # what did not happen is said, too: runs are compared by it
            self.count(name, 0)
        if self._sharding is None:
            self.count("shards.ended_with", self.shards if self.number == 0 else 0)  # one in all processes
        else:
            self._client = UserClient(self, self._sharding)
            keys = {table.name: table.partition_key for table in self.load.order.scenario.companions}
            table = self._sharding.table
            self._metadata = Metadata(self._client, table, partition_key=keys[table], note=self.count)


class ShardedWriter(ShardingUser):
    """Writes to keys' shards. What is throttled is not written again: the next item is the next try."""

    abstract = True

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        spec = self._sharding
        if spec is None:
            return
        if self.load.knowledge is None:  # shared by those of its process, as by an application's threads
            self.load.knowledge = Knowledge()
        self._writer = ShardWriter(
            self._metadata, policy_of(spec), knowledge=self.load.knowledge, note=self.count, rng=self.rng,
        )  # fmt: skip

    def put_sharded(self, key: str) -> None:
        if self._sharding is None:
            self.put(random_suffix(key, self.shards, self.rng))
            return
        with suppress(ClientError, Unanswered):  # the record has them
            self._writer.write(key, lambda shard: accepted("PutItem", self.put(shard)), within_s=0)


class ShardedReader(ShardingUser, Reader):
    """Reads keys back from however many shards they have, and checks that nothing is missing."""

    abstract = True
    needs_sort_key = True

    def read_newest(self, key: str, limit: int) -> Collected:
        """The newest items of a key, from all its shards."""
        if self._sharding is None:
            return self.read_collection(key, limit=limit, descending=True, consistent=True)
        query = replace(self._query(None), limit=limit, descending=True, consistent=True)
        # Items must be found in whichever shard they are, in those that the metadata do not name, too.
        possible = [shard_key(key, number) for number in range(self._sharding.max_shards)]
        reader = ShardReader(self._client, self.table.name, self._metadata)

        def collect(read: Collected) -> list[Item]:
            try:
                shards = reader.shard_keys(key)
            except (ClientError, Unanswered) as error:
                raise Incomplete from error
            return read_collection(shards, query, partial(self._page, query, read))

        return self._finish(possible, query, collect, "ReadCollection")
