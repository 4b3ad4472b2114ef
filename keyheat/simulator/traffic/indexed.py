"""Load tests of global indexes: entries that meet on one key, that prefixes spread, that counters move."""

from keyheat.scenario.keys import Uniform, calculated_suffix, shard_key
from keyheat.simulator.flow import IndexFlow
from keyheat.simulator.masses import Masses, even_masses, masses_of, masses_of_shares
from keyheat.simulator.traffic.costs import SMALL_ITEM, QueryCost
from keyheat.simulator.traffic.puts import put
from keyheat.simulator.traffic.reads import query
from keyheat.simulator.traffic.setting import Setting
from keyheat.simulator.traffic.users import LoadTest, Request, Task, Users, one_task
from keyheat.words import Direction

LIMIT = 50
ORDERS = 10_000  # of sequence_key
BOARD = "IMAGES"
TOP = 10
ENTRY_BYTES = 100  # of a leaderboard: the keys of the table and of the index


def by_country(setting: Setting) -> LoadTest:
    """Ids that are even, in an index by country; a reader asks for the latest of a country."""
    invoices, index = even_masses(), setting.index("country")
    cost = QueryCost(item_bytes=setting.load.mean_item_bytes, limit=LIMIT)

    def users() -> list[Users]:
        country = setting.placed(setting.keys, "rising")
        latest = query(setting, country, cost, index=index.name)
        return [
            one_task(put(setting, invoices, chosen={"country": country})),
            Users((Task((latest,)),), fixed_count=1),
        ]

    return users


def by_prefix(setting: Setting) -> LoadTest:
    """The same on prefixes drawn at random, country and time as sort key; a reader asks all prefixes."""
    invoices, index = even_masses(), setting.index("prefix")
    prefixes = masses_of_shares({str(prefix): 1.0 for prefix in range(setting.shards)}, within="random")
    cost = QueryCost(item_bytes=setting.load.mean_item_bytes, limit=LIMIT)

    def users() -> list[Users]:
        countries = setting.written(setting.keys)
        latest = query(
            setting, prefixes, cost, of=countries, part=1 / setting.shards, shards=setting.shards,
            index=index.name,
        )  # fmt: skip
        invoice = put(setting, invoices, chosen={"prefix": prefixes}, also=(countries,))
        return [one_task(invoice), Users((Task((latest,)),), fixed_count=1)]

    return users


def by_order(setting: Setting) -> LoadTest:
    """Numbers that mean nothing, and an index by order; a reader asks for all transactions of an order."""
    orders, index = masses_of(Uniform(ORDERS, "order"), within="rising"), setting.index("order_id")
    cost = QueryCost(item_bytes=setting.load.mean_item_bytes)

    def users() -> list[Users]:
        transaction = put(setting, setting.keys, chosen={"order_id": orders})
        whole = query(setting, orders, cost, index=index.name)
        return [one_task(transaction), Users((Task((whole,)),), fixed_count=1)]

    return users


def leaderboard(setting: Setting) -> LoadTest:
    """Counts are the sort key of an index with one partition key; a reader asks for the top."""
    return _ranked(setting, masses_of_shares({BOARD: 1.0}, within="random"), boards=1)


def sharded_leaderboard(setting: Setting) -> LoadTest:
    """The same on as many partition keys as the scenario says; an item's own key decides on which."""
    keys = setting.keys
    shares: dict[str, float] = {shard_key(BOARD, shard): 0.0 for shard in range(setting.shards)}
    for number, share in enumerate(keys.shares.tolist()):
        shares[calculated_suffix(BOARD, keys.name(number), setting.shards)] += share
    for board in shares:
        shares[board] += keys.even / setting.shards
    return _ranked(setting, masses_of_shares(shares, within="random"), boards=setting.shards)


def _ranked(setting: Setting, boards_keys: Masses, *, boards: int) -> LoadTest:
    """An update moves an entry: one index write deletes it, one puts it; of a new item there is only that."""
    index = setting.index()
    cost = QueryCost(item_bytes=ENTRY_BYTES, limit=TOP)

    def users() -> list[Users]:
        keys = setting.keys
        seen = setting.written(keys)
        moves = 1 + seen.there(setting.coming)
        update = Request(
            operation="UpdateItem",
            direction=Direction.WRITE,
            keys=keys,
            units=SMALL_ITEM,
            index_writes=(IndexFlow(index=index.name, units=SMALL_ITEM * moves, keys=boards_keys),),
            told=seen.told,
        )
        top = query(setting, boards_keys, cost, of=seen, shards=boards, index=index.name)
        return [one_task(update), Users((Task((top,)),), fixed_count=1)]

    return users
