"""Stand-ins of a dry run: for the tables, for time, and for what the users of a run share.

The tables record every request and answer as DynamoDB would, unlimited.
"""

import re
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from math import ceil
from random import Random
from types import SimpleNamespace
from typing import Any, Final

import gevent
import orjson

from keyheat.load.transport.answer import Answer
from keyheat.load.users.items import ItemTemplate, text_of
from keyheat.model import limits
from keyheat.model.units import item_bytes
from keyheat.scenario.keys import KeyPattern
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.tables import TableSpec
from keyheat.simulator.loadtest import What

MOST_REQUESTS: Final = 10_000  # of one execution of a task
STARTED_S: Final = 1_796_083_200.0
FIRST_USER: Final = 987  # not user 0, who may have more to do than others
SHOWN: Final = 3  # items in an answer, at most
LONGEST: Final = 200  # characters of a value that is kept
NOT_SENT: Final = ("UpdateTable", "DescribeTable")  # requests about a table are no part of a load
MARK: Final = re.compile(r"\{@(.+)\}")
PREFIXED: Final = re.compile(r"begins_with\(\s*(#?\w+)\s*,\s*(:\w+)\s*\)")
EQUAL: Final = re.compile(r"(#?\w+)\s*=\s*(:\w+)")
ADDED: Final = re.compile(r"\bADD\s+(#?\w+)\s+(:\w+)")
REMOVED: Final = re.compile(r"\bREMOVE\b(.*?)(?=\b(?:SET|ADD|DELETE)\b|$)", re.DOTALL)
ABSENT: Final = re.compile(r"attribute_not_exists", re.IGNORECASE)
FAILED: Final = b'{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":""}'

ACTIONS: Final = ("Put", "Update", "Delete", "Get")
WHOLE: Final[dict[str, Any]] = {"ConsumedCapacity": [{"CapacityUnits": 1.0}]}

Item = dict[str, Any]
Name = tuple[str, str, str | None]
"""An item's table, and its keys."""


class NotSampled(Exception):
    """A sample cannot show what a load test sends; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentItem:
    """One item of one request."""

    operation: str
    what: What
    request: int  # which one of its task
    table: str
    index: str | None = None
    key: str = ""
    sort: str | None = None
    size_bytes: int = 0  # of what is written
    more_bytes: int = 0  # that an update adds to what is there
    exists: bool = False  # whether the item was there
    written_before: bool = False  # in another task, by its own keys
    if_absent: bool = False
    consistent: bool = False
    limit: int | None = None
    prefix: str | None = None
    exact: bool = False
    attributes: Mapping[str, str] = field(default_factory=dict)  # key attributes of indexes, as text
    removed: Mapping[str, str] = field(default_factory=dict)  # those that an update removes, as they were


@dataclass(slots=True)
class _Kept:
    """An item that is there."""

    item: Item  # whose long values are cut
    task: int  # in which it was written
    sizes: dict[str, int]  # bytes of each attribute as it was written, with its name


class Tables:
    """The scenario's table and its companions, with what was written to them."""

    def __init__(self, tables: Sequence[TableSpec], *, drawn: Collection[str] = ()) -> None:
        """`drawn`: attributes whose values only the scenario may say, since several make up one key."""
        self._drawn = drawn
        self._specs = {table.name: table for table in tables}
        self._keys: dict[tuple[str, str | None], tuple[str, str | None]] = {
            (table.name, index.name): (index.partition_key, index.sort_key)
            for table in tables
            for index in table.indexes
        } | {(table.name, None): (table.partition_key, table.sort_key) for table in tables}
        self._indexed = {
            table.name: {name for at in table.indexes for name in (at.partition_key, at.sort_key) if name}
            for table in tables
        }
        self._items: dict[Name, _Kept] = {}
        self._by_value: defaultdict[tuple[str, str, str], dict[int, Item]] = defaultdict(dict)
        self.sent: list[SentItem] = []  # of the task that is going on
        self._task = self.requests = 0

    def begin(self) -> None:
        self.sent = []
        self._task += 1
        self.requests = 0

    def answer(self, operation: str, body: bytes) -> tuple[int, bytes]:
        """Note a request; gives the status and the body of its answer. Raises `NotSampled`."""
        if operation in NOT_SENT:
            return 200, b"{}"
        self.requests += 1
        content = self._do(operation, orjson.loads(body))
        return (400, FAILED) if content is None else (200, orjson.dumps(content))

    def _do(self, operation: str, request: Item) -> Item | None:
        """Do what is asked for; None where a condition fails."""
        answers: list[Item] = []
        match operation:
            case "PutItem" | "UpdateItem" | "DeleteItem":
                return self._write(operation, request)
            case "GetItem":
                return self._get(operation, request)
            case "Query":
                return self._query(operation, request)
            case "BatchWriteItem":
                for table, entries in request["RequestItems"].items():
                    for entry in entries:
                        ((_action, write),) = entry.items()
                        self._write(operation, {"TableName": table, **write})
                return WHOLE | {"UnprocessedItems": {}}
            case "BatchGetItem":
                items: dict[str, list[Item]] = {}
                for table, of in request["RequestItems"].items():
                    answers = [
                        self._get(operation, {**of, "TableName": table, "Key": key}) for key in of["Keys"]
                    ]
                    items[table] = [answer["Item"] for answer in answers if "Item" in answer]
                return WHOLE | {"Responses": items, "UnprocessedKeys": {}}
            case "TransactWriteItems" | "TransactGetItems":
                for entry in request["TransactItems"]:
                    ((action, of_item),) = entry.items()
                    if action not in ACTIONS:
                        raise NotSampled(
                            f"sends a {action} in a transaction, which the simulator does not have"
                        )
                    answers.append((self._get if action == "Get" else self._write)(operation, of_item) or {})
                return WHOLE | {"Responses": answers}
            case _:
                raise NotSampled(f"sends {operation}, which the simulator does not have")

    def _spec(self, request: Item) -> TableSpec:
        spec = self._specs.get(request.get("TableName", ""))
        if spec is None:
            there = ", ".join(self._specs)
            raise NotSampled(f"sends to the table {request.get('TableName')!r}; the scenario has {there}")
        return spec

    def _note(self, operation: str, what: What, name: Name, kept: _Kept | None = None, **more: Any) -> None:
        table, key, sort = name
        before = {"exists": kept is not None, "written_before": kept is not None and kept.task < self._task}
        of = {"operation": operation, "what": what, "table": table, "key": key, "sort": sort}
        self.sent.append(SentItem(request=self.requests, **(before | of | more)))

    def _name(self, spec: TableSpec, key: Item) -> Name:
        sort = text_of(key[spec.sort_key]) if spec.sort_key else None
        return spec.name, text_of(key[spec.partition_key]), sort

    def _write(self, operation: str, request: Item) -> Item | None:
        """Put, update or delete one item; None where its condition fails."""
        spec = self._spec(request)
        given = request.get("Item") or request["Key"]
        name = self._name(spec, given)
        kept = self._items.get(name)
        change = _changes(request) if "Key" in request else {}
        gone = set(_removals(request)) if "Key" in request else set()
        old = kept.item if kept else {}
        left = {name: value for name, value in old.items() if name not in gone}
        after = request.get("Item") or {**left, **given, **change}
        what: What = "put" if "Item" in request else "update" if "UpdateExpression" in request else "delete"
        if_absent = bool(ABSENT.search(request.get("ConditionExpression", "")))
        seen = after if what == "put" else change
        kept_sizes = kept.sizes if kept and "Key" in request else {}
        sizes = {name: size for name, size in kept_sizes.items() if name not in gone}
        sizes |= {name: item_bytes({name: value}) for name, value in (given | change).items()}
        size_bytes = sum(sizes.values())
        for attribute in self._drawn:
            if attribute in seen and MARK.fullmatch(text_of(seen[attribute])) is None:
                raise NotSampled(
                    f"it sets {attribute} itself, which is one of several attributes of an index's key: "
                    f"describe it under [attributes.{attribute}], and leave it to the scenario"
                )
        indexed = self._indexed[spec.name]
        attributes = {key: text_of(seen[key]) for key in indexed if key in seen}
        removed = {key: text_of(old[key]) for key in indexed & gone & old.keys()}
        more_bytes = item_bytes(change) if change else 0
        self._note(
            operation, what, name, kept, size_bytes=size_bytes, more_bytes=more_bytes, if_absent=if_absent,
            attributes=attributes, removed=removed,
        )  # fmt: skip
        if if_absent and kept is not None:
            return None
        self._keep(spec, name, None if what == "delete" else after, sizes)
        units = max(1, ceil(size_bytes / limits.WRITE_UNIT_BYTES))
        return {"ConsumedCapacity": {"CapacityUnits": units}, "Attributes": after if what != "put" else {}}

    def _keep(self, spec: TableSpec, name: Name, item: Item | None, sizes: dict[str, int]) -> None:
        old = self._items.pop(name, None)
        places = {spec.partition_key, *self._indexed[spec.name]}
        if old is not None:
            for attribute in places & old.item.keys():
                self._by_value[spec.name, attribute, text_of(old.item[attribute])].pop(id(old.item), None)
        if item is not None:
            cut = {key: {"S": text[:LONGEST]} for key, value in item.items() if (text := value.get("S"))}
            item = item | cut
            self._items[name] = _Kept(item, self._task, sizes)
            for attribute in places & item.keys():
                self._by_value[spec.name, attribute, text_of(item[attribute])][id(item)] = item

    def _get(self, operation: str, request: Item) -> Item:
        spec = self._spec(request)
        name = self._name(spec, request["Key"])
        kept = self._items.get(name)
        consistent = bool(request.get("ConsistentRead")) or operation == "TransactGetItems"
        self._note(operation, "get", name, kept, consistent=consistent)
        answer = {"Item": kept.item} if kept else {}
        return {**answer, "ConsumedCapacity": {"CapacityUnits": 0.5}}

    def _query(self, operation: str, request: Item) -> Item:
        spec, index = self._spec(request), request.get("IndexName")
        names, values = request.get("ExpressionAttributeNames", {}), request["ExpressionAttributeValues"]
        condition = request.get("KeyConditionExpression", "")
        equal = {names.get(term, term): text_of(values[value]) for term, value in EQUAL.findall(condition)}
        if (spec.name, index) not in self._keys:
            raise NotSampled(f"queries the index {index!r}, which {spec.name} does not have")
        partition, sort = self._keys[spec.name, index]
        if partition not in equal:
            raise NotSampled(f"queries {index or spec.name} by other attributes than its keys: {condition}")
        begins = [text_of(values[value]) for _name, value in PREFIXED.findall(condition)]
        items = list(self._by_value[spec.name, partition, equal[partition]].values())[-SHOWN:]
        self._note(
            operation, "query", (spec.name, equal[partition], equal.get(sort or "")), index=index,
            exists=bool(items), consistent=bool(request.get("ConsistentRead")), limit=request.get("Limit"),
            prefix=begins[0] if begins else None, exact=sort in equal,
        )  # fmt: skip
        page = items[: request.get("Limit")]
        return {"Items": page, "Count": len(page), "ConsumedCapacity": {"CapacityUnits": 0.5}}


def _changes(request: Item) -> Item:
    """The attributes that an update sets or adds to, with the values that it names."""
    names, values = request.get("ExpressionAttributeNames", {}), request.get("ExpressionAttributeValues", {})
    expression = request.get("UpdateExpression", "")
    pairs = [*EQUAL.findall(expression), *ADDED.findall(expression)]
    return {names.get(name, name): values[value] for name, value in pairs if value in values}


def _removals(request: Item) -> Iterator[str]:
    """The attributes that an update removes whole."""
    names = request.get("ExpressionAttributeNames", {})
    for clause in REMOVED.findall(request.get("UpdateExpression", "")):
        yield from (names.get(path.strip(), path.strip()) for path in clause.split(","))


class Clock:
    """The time of a dry run, epoch seconds: it stands still except while a user waits."""

    now_s = STARTED_S

    def __call__(self) -> float:
        return self.now_s

    def wait(self, seconds: float = 0.0, *_more: Any, **_options: Any) -> None:
        """Sleep, and let other greenlets run."""
        self.now_s += seconds
        _yield(0)


_yield: Final = gevent.sleep
CLOCK: Final = Clock()


def replace_time() -> None:
    """Make `time` and `gevent` follow the virtual clock; before a load test is imported."""
    for name in ("time", "monotonic", "perf_counter"):
        setattr(time, name, CLOCK)
    for module in (time, gevent):
        setattr(module, "sleep", CLOCK.wait)  # noqa: B010  (the functions are other ones)


class NotedKeys:
    """The scenario's key pattern; it notes what the current task draws."""

    def __init__(self, pattern: KeyPattern) -> None:
        self._pattern = pattern
        self.draws: set[str] = set()

    def draw(self, rng: Random, elapsed_s: float) -> str:
        """The key that is touched next."""
        key = self._pattern.draw(rng, elapsed_s)
        self.draws.add(key)
        return key


class DryLoad:
    """What the users of one run share, as far as they need it without a table."""

    cache = knowledge = retries = key_name = entries = None
    statistics = SimpleNamespace(suffice=True)

    def __init__(self, scenario: Scenario, tables: Tables, keys: NotedKeys) -> None:
        self.order = SimpleNamespace(scenario=scenario, run_id="dry-run", users=scenario.load.users)
        self.keys, self.clock, self.started_s, self.transport = keys, CLOCK, STARTED_S, self
        items: Any = ItemTemplate(scenario, now_s=CLOCK)
        self.items, self._draw_size, items.draw_size = items, items.draw_size, self._sized
        size = scenario.load.item_size()
        self.sizes = {size.least} if size.least == size.most else set[int]()
        self.numbers = chain([0], count(FIRST_USER))
        self.record = SimpleNamespace(count=self._count, timed=lambda *_what: None)
        self.ledger = SimpleNamespace(
            identity=lambda table, item: (table, *map(str, item.values())),
            required=lambda *_what, **_how: (),
        )
        self.reads: list[int] = []
        self.asked_for_shards = False
        self._tables = tables

    @property
    def shards(self) -> int:
        """The shards of each key; a load test that reads it sends by it."""
        self.asked_for_shards = True
        return self.order.scenario.keys.shards  # type: ignore[no-any-return]

    def pace(self, _rng: Random) -> Any:
        return SimpleNamespace(wait=lambda: 0.0)

    def send(self, operation: str, body: bytes) -> Answer:
        """The transport: an answer of the stand-in tables."""
        if len(self._tables.sent) > MOST_REQUESTS:
            raise NotSampled(f"sends more than {MOST_REQUESTS:,} requests in one task")
        status, content = self._tables.answer(operation, body)
        return Answer(status, content, 0.0)

    def _sized(self, rng: Random) -> int:
        self.sizes.add(size := self._draw_size(rng))
        return int(size)

    def _count(self, name: str, _number: float = 1) -> None:
        if name == "reads.checked":
            self.reads.append(self._tables.requests)
