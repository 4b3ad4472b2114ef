"""Load tests that a scenario states in full: its listed tasks, and puts under its keys.

They need no dry run. `tests/simulator/test_dryrun.py` compares them with dry runs of the same load tests.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from keyheat.model.limits import BATCH_WRITE_ITEMS
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.tasks import MIXED, TaskSpec
from keyheat.simulator.dryrun.requests import (
    FRESH,
    PATTERN,
    WRITTEN,
    KeyLaw,
    LoadTest,
    RequestKind,
    Task,
    UserClass,
    What,
    Within,
    sharded_law,
)

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
        self._scenario, self._table, self._new = scenario, scenario.table, sharded_law(shards)
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
