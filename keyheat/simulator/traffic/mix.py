"""The mix of `[load.operations]`: every operation on items that users have written and remember."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from keyheat.model import limits
from keyheat.simulator.flow import Answer, IndexFlow
from keyheat.simulator.masses import Masses
from keyheat.simulator.traffic.conditions import failing_put
from keyheat.simulator.traffic.costs import QueryCost, grown_units, put_units
from keyheat.simulator.traffic.puts import CHOSEN_BY_NOBODY, delete, entries, put
from keyheat.simulator.traffic.reads import get, query
from keyheat.simulator.traffic.setting import Setting
from keyheat.simulator.traffic.users import LoadTest, Request, Task, Users
from keyheat.words import Direction

PAGE_ITEMS = 25
TRANSACTION_ITEMS = 4  # one is changed, one deleted, two are new
COUNTER_BYTES = 9  # that an update adds to an item: the name, and a number of few digits
STOCKED = (
    "put",
    "put_if_absent",
    "batch_write",
    "transact_write",
)  # after these there are items to come back to


def mixed(setting: Setting) -> LoadTest:
    """Every operation by its weight."""
    mix = setting.load.operations
    assert mix is not None, "checked with the scenario"
    weights = mix.weights()
    there = 1.0 if any(name in weights for name in STOCKED) else 0.0

    def users() -> list[Users]:
        keys = setting.keys
        return [
            Users([Task(OPERATIONS[name](setting, keys, there), weight) for name, weight in weights.items()])
        ]

    return users


def _put(setting: Setting, keys: Masses, there: float) -> tuple[Request, ...]:
    return (put(setting, keys),)


def _put_if_absent(setting: Setting, keys: Masses, there: float) -> tuple[Request, ...]:
    """Every second one is on an item that is there."""
    return (
        replace(put(setting, keys, new=True), times=1 - there / 2),
        failing_put(setting, keys, there / 2),
    )


def _update(setting: Setting, keys: Masses, there: float) -> tuple[Request, ...]:
    return (
        Request(
            operation="UpdateItem",
            direction=Direction.WRITE,
            keys=_anywhere(setting, keys),
            units=there * grown_units(setting.load, COUNTER_BYTES) + (1 - there),
            index_writes=_in_place(setting, keys),
        ),
    )


def _in_place(setting: Setting, keys: Masses) -> tuple[IndexFlow, ...]:
    """Entries whose keys stay: written again where they hold the whole item, else they are as they were."""
    whole = {one.name for one in setting.table.indexes if one.projection == "ALL"}
    return tuple(one for one in entries(setting, keys, CHOSEN_BY_NOBODY) if one.index in whole)


def _delete(setting: Setting, keys: Masses, there: float) -> tuple[Request, ...]:
    return (delete(setting, keys),)


def _get(setting: Setting, keys: Masses, there: float) -> tuple[Request, ...]:
    return (replace(get(setting, keys, there=there, consistent=False), told=_no_read),)


def _query(setting: Setting, keys: Masses, there: float) -> tuple[Request, ...]:
    cost = QueryCost(item_bytes=setting.load.mean_item_bytes, limit=PAGE_ITEMS)
    return (replace(query(setting, keys, cost), told=_no_read),)


def _batch_write(setting: Setting, keys: Masses, there: float) -> tuple[Request, ...]:
    items = put(setting, keys)

    def told(answer: Answer) -> None:
        items.told(answer)
        _count_batch(setting, answer)

    return (replace(items, operation="BatchWriteItem", items=limits.BATCH_WRITE_ITEMS, told=told),)


def _batch_get(setting: Setting, keys: Masses, there: float) -> tuple[Request, ...]:
    return (
        replace(
            get(setting, keys, there=there, consistent=False),
            operation="BatchGetItem",
            keys=_anywhere(setting, keys),
            items=limits.BATCH_WRITE_ITEMS if there else 1,
            told=lambda answer: _count_batch(setting, answer),
        ),
    )


def _transact_write(setting: Setting, keys: Masses, there: float) -> tuple[Request, ...]:
    """Twice the units of the items, and once those of their index entries."""
    load, written = setting.load, setting.written(keys)
    new = put_units(setting.table, load)
    units = 3 * new + grown_units(load, COUNTER_BYTES)
    writes = [*entries(setting, keys, CHOSEN_BY_NOBODY)]
    in_place = {one.index for one in _in_place(setting, keys)}

    def told(answer: Answer) -> None:
        written.items += answer.accepted / TRANSACTION_ITEMS  # two more, one less
        setting.counts["transactions.requests"] += answer.attempts / TRANSACTION_ITEMS

    return (
        Request(
            operation="TransactWriteItems",
            direction=Direction.WRITE,
            keys=setting.placed(keys, setting.at_the_end),
            units=limits.TRANSACTION_FACTOR * units / TRANSACTION_ITEMS,
            index_writes=tuple(
                replace(one, units=one.units * (3 + (one.index in in_place)) / TRANSACTION_ITEMS)
                for one in writes
            ),
            items=TRANSACTION_ITEMS,
            together=True,
            told=told,
        ),
    )


def _transact_get(setting: Setting, keys: Masses, there: float) -> tuple[Request, ...]:
    item = get(setting, keys, there=there)

    def told(answer: Answer) -> None:
        setting.counts["transactions.requests"] += answer.attempts / TRANSACTION_ITEMS

    return (
        replace(
            item,
            operation="TransactGetItems",
            keys=_anywhere(setting, keys),
            units=limits.TRANSACTION_FACTOR * item.units,
            sizes=tuple((limits.TRANSACTION_FACTOR * units, part) for units, part in item.sizes),
            items=TRANSACTION_ITEMS if there else 1,
            together=True,
            told=told,
        ),
    )


def _anywhere(setting: Setting, keys: Masses) -> Masses:
    """Items that were written at some time: anywhere within their collection."""
    return setting.placed(keys, "random" if setting.table.sort_key else "point")


def _count_batch(setting: Setting, answer: Answer) -> None:
    setting.counts["batch.requests"] += answer.attempts / answer.flow.items
    setting.counts["batch.items"] += answer.attempts
    setting.counts["batch.unprocessed"] += answer.attempts - answer.accepted


def _no_read(_answer: Answer) -> None:
    """These users do not read anything back as a whole."""


OPERATIONS: Mapping[str, Callable[[Setting, Masses, float], tuple[Request, ...]]] = {
    "put": _put,
    "put_if_absent": _put_if_absent,
    "update": _update,
    "delete": _delete,
    "get": _get,
    "query": _query,
    "batch_write": _batch_write,
    "batch_get": _batch_get,
    "transact_write": _transact_write,
    "transact_get": _transact_get,
}
