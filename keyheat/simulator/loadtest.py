"""The requests of a load test as plain values, of which the simulator makes flows.

LoadTest --> UserClass --> Task (by its weight) --> RequestKind (so often in each task)

Load tests that a scenario states in full, its listed tasks and puts under its keys, need no dry run;
`tests/simulator/test_dryrun.py` compares them with dry runs of the same load tests.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Final, Literal

from keyheat.model.limits import BATCH_WRITE_ITEMS
from keyheat.scenario.keys import shard_keys
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.keys import AttributeSpec, combined
from keyheat.scenario.spec.tables import IndexSpec
from keyheat.scenario.spec.tasks import MIXED, TaskSpec

Within = Literal["point", "random", "rising"]
What = Literal["put", "update", "delete", "get", "query"]
KEY: Final = "{key}"
"""In the text of a key: what the scenario's pattern draws."""
DIGITS: Final = re.compile(r"\d+", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLaw:
    """How the keys of requests are distributed: named texts with their shares, and the rest spread evenly."""

    texts: tuple[tuple[str, float], ...] = ()
    distinct: float | None = None  # keys that the rest is spread over; None: a new key each time
    family: str = ""  # texts that look alike are keys of the same items
    attribute: str | None = None  # the values of an attribute, as the scenario describes them
    owners: int | None = None  # number of users, each of which draws one key by `texts` and keeps it
    written: bool = False  # of items that the user wrote before


PATTERN: Final = KeyLaw(texts=((KEY, 1.0),))
FRESH: Final = KeyLaw()
WRITTEN: Final = KeyLaw(written=True)


def family_of(text: str) -> str:
    """The texts that look like this one; around a drawn key, the text itself says which items are meant."""
    return "" if KEY in text else DIGITS.sub("0", text)


def even_law(texts: Sequence[str]) -> KeyLaw:
    """These texts, all equally likely."""
    shares = tuple((text, 1 / len(texts)) for text in sorted(texts))
    return KeyLaw(texts=shares, family=family_of(texts[0]))


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexKey:
    """A key attribute of a global index, as items have it."""

    key: KeyLaw
    within: Within  # where entries go within their collection
    present: float = 1.0  # the part of the items that has it
    of_drawn_key: bool = False  # its index sorts by the key that was drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix:
    """The part of a collection that a query reads: sort keys that begin with some text."""

    share: float = 1.0
    of_drawn_key: bool = False  # it begins with a drawn key, and the collection does not


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestKind:
    """Requests of one kind that a task sends."""

    operation: str  # DynamoDB's name: PutItem, BatchGetItem ...
    what: What  # is done to each item
    key: KeyLaw
    times: float = 1.0  # items per task, in the mean
    items: float = 1.0  # per request
    together: bool = False  # a transaction
    beside: bool = False  # of a batch or transaction: items that go with those of the kind before
    table: str | None = None  # a companion
    index: str | None = None
    within: Within = "point"
    alone: bool = False  # the partition key alone names the item
    exists_share: float = 0.0  # the share of the requests whose item was there
    just_written: bool = False  # of items that the same task wrote before
    if_absent: bool = False  # a condition: nothing is there
    if_missing: bool = False  # sent where a read of the same key found nothing
    own_bytes: float | None = None  # the item's size, where it is not the scenario's
    more_bytes: int = 0  # that an update adds
    attributes: tuple[tuple[str, IndexKey], ...] = ()  # key attributes of indexes that the load test sets
    removed: tuple[tuple[str, IndexKey], ...] = ()  # those that an update removes
    consistent: bool = False
    limit: int | None = None
    prefix: Prefix | None = None
    reads: float = 0.0  # reads as an application counts them, per task: each may take many requests
    from_s: float = 0.0
    until_s: float | None = None  # None: to the end of the run


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What one user does at a time."""

    name: str
    weight: float
    kinds: tuple[RequestKind, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserClass:
    """Users of one class."""

    weight: float = 1.0
    fixed_count: int | None = None
    tasks: tuple[Task, ...]
    cached: bool = False  # reads go through a cache, where the scenario has one


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadTest:
    """All that a load test sends."""

    users: tuple[UserClass, ...]
    asks_for_shards: bool  # what it sends follows from the scenario's number of shards


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """The result of a dry run: a load test, or every mistake in it."""

    loadtest: LoadTest | None = None
    wrong: tuple[str, ...] = ()  # mistakes in the file, which cannot be run
    unsampled: tuple[str, ...] = ()  # reasons why a sample does not show what it sends; Locust may run it


MOST_COMBINATIONS: Final = 50_000
OTHERS: Final = 1_000  # values that stand for all rarer combinations


class Combination(AttributeSpec):
    """The values that several attributes have together."""

    crosses_key: bool = False  # whether the table's own partition key is one of the attributes


def with_combinations(scenario: Scenario) -> Scenario:
    """Return the scenario with a single attribute as the key of each index."""
    if not any(index.more_partition_keys or index.more_sort_keys for index in scenario.table.indexes):
        return scenario
    attributes, indexes = dict(scenario.attributes), []
    for index in scenario.table.indexes:
        name = combined(index.partition_keys)
        if index.more_partition_keys:
            attributes[name] = _combination(scenario, index)
        plain = {"partition_key": name, "more_partition_keys": (), "more_sort_keys": ()}
        indexes.append(index.model_copy(update=plain))
    table = scenario.table.model_copy(update={"indexes": tuple(indexes)})
    return scenario.model_copy(update={"attributes": attributes, "table": table})


def _combination(scenario: Scenario, index: IndexSpec) -> Combination:
    table, values = scenario.table, scenario.attribute_values
    of_key = {table.partition_key: "partition_key", table.sort_key: "sort_key"}
    copies = {of_key.get(name) or values[name].copy_of for name in index.partition_keys}
    if "sort_key" in copies:
        return Combination(count=MOST_COMBINATIONS)  # every item has a value of its own
    described = [values[name] for name in index.partition_keys if name in values]
    shares = [attribute.shares for attribute in described if attribute.shares]
    crosses = "partition_key" in copies
    return Combination(values=_together(shares) or {"now": 1.0}, crosses_key=crosses)


def _together(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Weigh the combinations; of too many keep the heaviest, and a number that stands for the others."""
    if not parts:
        return {}
    most = max(1, int(MOST_COMBINATIONS ** (1 / len(parts))))
    whole = [sum(weights.values()) for weights in parts]
    heaviest = [sorted(weights.items(), key=lambda item: -item[1])[:most] for weights in parts]
    shares = {
        combined(name for name, _ in chosen): prod(
            weight / total for (_, weight), total in zip(chosen, whole, strict=True)
        )
        for chosen in product(*heaviest)
    }
    if (rest := 1.0 - sum(shares.values())) > 1e-9:
        shares |= {f"another {number}": rest / OTHERS for number in range(OTHERS)}
    return shares


PUTS: Final = ("hotkey", "datekey")
"""Load tests with one task: a put under a key of the scenario's pattern."""
WRITERS: Final = {"put", "put_if_absent", "batch_write", "transact_write"}
PAGE_ITEMS: Final = 25
TRANSACTION_ITEMS: Final = 4
COUNTER_BYTES: Final = 9  # of the counter that an update adds


def stated_loadtest(scenario: Scenario) -> LoadTest | None:
    """Return the load test of a scenario that states it in full; None if its file has to run."""
    if scenario.loadtest in PUTS:
        put = _Kinds(scenario, 1).put()
        tasks: tuple[Task, ...] = (Task(name="put", weight=1.0, kinds=(put,)),)
    elif scenario.loadtest == MIXED:
        kinds = _Kinds(scenario, scenario.keys.shards)
        tasks = tuple(kinds.task(spec) for spec in scenario.tasks if spec.share)
    else:
        return None
    return LoadTest(users=(UserClass(tasks=tasks),), asks_for_shards=scenario.loadtest == MIXED)


class _Kinds:
    """The requests of each operation that a scenario can list."""

    def __init__(self, scenario: Scenario, shards: int) -> None:
        self._scenario, self._table = scenario, scenario.table
        self._new = even_law(shard_keys(KEY, shards))
        sent = {spec.operation for spec in scenario.tasks if spec.share}
        self._remembers = bool(sent & WRITERS)  # whether users come back to items that they wrote
        self._alone = self._table.sort_key is None
        self._only_updates = sent == {"update"}

    def task(self, spec: TaskSpec) -> Task:
        """What one task sends."""
        return Task(name=spec.operation, weight=spec.share, kinds=tuple(self._of(spec)))

    def put(self, operation: str = "PutItem", *, items: int = 1, beside: bool = False) -> RequestKind:
        """A put of new items."""
        return RequestKind(
            operation=operation, what="put", key=self._new, times=items, items=items, beside=beside,
            within="point" if self._alone else "rising", alone=self._alone,
        )  # fmt: skip

    def _of(self, spec: TaskSpec) -> Sequence[RequestKind]:
        match spec.operation:
            case "put":
                return [self.put()]
            case "put_if_absent":
                again = replace(self._old("PutItem", "put"), exists_share=1.0)
                return [replace(kind, times=0.5, if_absent=True) for kind in (self.put(), again)]
            case "update":
                return [self._update()]
            case "delete":
                return [self._old("DeleteItem", "delete")]
            case "get":
                return [replace(self._old("GetItem", "get"), consistent=spec.consistent)]
            case "query":
                return [self._query(spec)]
            case "batch_write":
                return [self.put("BatchWriteItem", items=BATCH_WRITE_ITEMS)]
            case "batch_get":
                return [self._old("BatchGetItem", "get", items=BATCH_WRITE_ITEMS)]
            case "transact_get":
                read = self._old("TransactGetItems", "get", items=TRANSACTION_ITEMS)
                return [replace(read, together=True, consistent=True)]
            case "transact_write":
                return self._transaction()

    def _old(self, operation: str, what: What, *, items: int = 1) -> RequestKind:
        """A request for an item that a user remembers; without puts, for a key without an item."""
        if not self._remembers:
            kind = self.put(operation)
            return replace(kind, what=what)
        within: Within = "point" if self._alone else "random"
        return RequestKind(
            operation=operation, what=what, key=WRITTEN, times=items, items=items, within=within,
            alone=self._alone, exists_share=1.0,
        )  # fmt: skip

    def _update(self, operation: str = "UpdateItem") -> RequestKind:
        """An update. If nothing puts items, each user keeps to its own item."""
        kind = replace(self._old(operation, "update"), more_bytes=COUNTER_BYTES)
        if not self._only_updates:
            return kind
        own_item = replace(self._new, owners=self._scenario.load.users)
        return replace(kind, key=own_item, exists_share=1.0, within="point" if self._alone else "random")

    def _transaction(self) -> Sequence[RequestKind]:
        """One update, one delete and two puts, together."""
        operation = "TransactWriteItems"
        delete = replace(self._old(operation, "delete"), beside=True)
        kinds = (self._update(operation), delete, self.put(operation, items=2, beside=True))
        return [replace(kind, together=True) for kind in kinds]

    def _query(self, spec: TaskSpec) -> RequestKind:
        return RequestKind(
            operation="Query", what="query", key=self._collection(spec.index), index=spec.index,
            alone=True, limit=spec.limit or PAGE_ITEMS, consistent=spec.consistent,
        )  # fmt: skip

    def _collection(self, index: str | None) -> KeyLaw:
        """The partition keys of the table or of an index, as users query them."""
        name = next((spec.partition_key for spec in self._table.indexes if spec.name == index), None)
        if name in (None, self._table.partition_key):
            return self._new
        if name == self._table.sort_key:
            return FRESH
        copied = self._scenario.attribute_values[name].copy_of is not None
        return PATTERN if copied else KeyLaw(attribute=name)
