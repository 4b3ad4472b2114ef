"""Load tests that write to one collection each, sharded or not, and have one user who reads it back."""

from dataclasses import replace

from keyheat.simulator.masses import Masses
from keyheat.simulator.traffic.costs import QueryCost
from keyheat.simulator.traffic.puts import delete, put
from keyheat.simulator.traffic.reads import get, query
from keyheat.simulator.traffic.setting import Setting
from keyheat.simulator.traffic.users import LoadTest, Request, Task, Users, one_task

LIMIT = 50  # items of a read that wants the latest, or the first
AGO_S = 5.0  # of read_shards: how long ago the second was that is read
CLIENTS = 500  # of random_suffix: a query asks for the items of one of them


def one_key(setting: Setting) -> LoadTest:
    """Every collection is one key; a reader asks for its latest items."""

    def users() -> list[Users]:
        keys = setting.keys
        return [one_task(put(setting, keys)), Users((Task((_first(setting, keys),)),), fixed_count=1)]

    return users


def on_random_shards(setting: Setting, *, limit: int = LIMIT, consistent: bool = False) -> LoadTest:
    """A suffix at random; a reader asks all of a key's shards for its first items."""
    cost = QueryCost(item_bytes=setting.load.mean_item_bytes, limit=limit, consistent=consistent)

    def users() -> list[Users]:
        shards = setting.sharded
        reader = Task((query(setting, shards, cost, shards=setting.shards),))
        return [one_task(put(setting, shards)), Users((reader,), fixed_count=1)]

    return users


def by_client(setting: Setting) -> LoadTest:
    """A suffix at random, items sorted by client; a reader asks all of a key's shards for one client's."""
    cost = QueryCost(item_bytes=setting.load.mean_item_bytes)

    def users() -> list[Users]:
        shards = setting.sharded
        one_client = query(setting, shards, cost, part=1 / CLIENTS, shards=setting.shards)
        return [
            one_task(put(setting, shards, within="random")),
            Users((Task((one_client,)),), fixed_count=1),
        ]

    return users


def on_calculated_shards(setting: Setting, *, whole: float, single: float, writers: int = 1) -> LoadTest:
    """A suffix calculated from the sort key, which spreads as evenly as one at random.

    A reader asks with the weight `whole` for a key's first items, from all its shards, and with the weight
    `single` for an item that it has just written, from the one shard that it is on.
    """

    def users() -> list[Users]:
        shards = setting.sharded
        item = put(setting, shards)
        tasks = (
            Task((_first(setting, shards, setting.shards),), whole),
            Task((item, get(setting, shards)), single),
        )
        return [*(one_task(item) for _ in range(writers)), Users(tasks, fixed_count=1)]

    return users


def _first(setting: Setting, keys: Masses, shards: int = 1) -> Request:
    cost = QueryCost(item_bytes=setting.load.mean_item_bytes, limit=LIMIT)
    return query(setting, keys, cost, shards=shards)


def in_every_way(setting: Setting) -> LoadTest:
    """Writers put items, and delete every twentieth again; readers read whole collections, and parts."""
    bytes_ = setting.load.mean_item_bytes

    def users() -> list[Users]:
        shards, each = setting.sharded, setting.shards

        def read(cost: QueryCost, part: float = 1.0) -> tuple[Request]:
            return (query(setting, shards, cost, part=part, shards=each),)

        item = put(setting, shards)
        first = QueryCost(item_bytes=bytes_, limit=LIMIT, consistent=True)
        whole = QueryCost(item_bytes=bytes_)
        one_second = 1 / setting.at_s if setting.at_s > AGO_S else 0.0
        readers = (
            Task(read(replace(whole, consistent=True))),
            Task(read(whole)),
            Task(read(first), 8),  # the oldest and the newest
            Task(read(whole, one_second), 2),
        )
        writers = (Task((item,), 19), Task((item, delete(setting, shards))))
        return [Users(writers), Users(readers, fixed_count=3)]

    return users
