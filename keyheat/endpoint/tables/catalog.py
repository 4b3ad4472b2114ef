"""The tables of one Region, by name: how each is defined, and what is being done to it.

A table changes as DynamoDB changes it: the change is accepted, the table is CREATING, UPDATING or DELETING
for a while, and then it is what was asked for. No timer runs: a look at a table after its change
has ended sees it done.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from keyheat.endpoint.errors import ServiceError, resource_not_found, validation_error
from keyheat.endpoint.itemkeys import key_texts
from keyheat.endpoint.itemstore import ItemStore
from keyheat.endpoint.keycounts import Insights
from keyheat.endpoint.schema import IndexSchema, TableSchema
from keyheat.endpoint.stream import TableStream, View, label_at
from keyheat.model.resources import CapacityHistory, TableCapacity
from keyheat.model.table import TableModel
from keyheat.model.transactions import OngoingTransactions
from keyheat.words import Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the local table keeps and shows, though nothing about throttling follows from it."""

    deletion_protection: bool = False
    table_class: str | None = None
    encrypted_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDefinition:
    schema: TableSchema
    capacity: TableCapacity
    settings: Settings = Settings()


Status = Literal["CREATING", "UPDATING", "DELETING"]
DOING = {"CREATING": "created", "UPDATING": "updated", "DELETING": "deleted"}


@dataclass(frozen=True, slots=True)
class TableChange:
    """What is being done to a table, until when, and what the table is then (None: gone)."""

    status: Status
    ends_s: float
    becomes: TableDefinition | None


@dataclass(frozen=True, slots=True)
class Recovery:
    """Point-in-time recovery: since when it is on, and how many days it reaches back."""

    began_s: float
    days: int


@dataclass(slots=True, kw_only=True)
class Table:
    """One table: what it is defined as, the model that admits its requests, and its items."""

    definition: TableDefinition
    arn: str
    table_id: str
    created_s: float
    model: TableModel
    items: ItemStore
    schema: TableSchema = field(init=False)
    change: TableChange | None = None
    tags: dict[str, str] = field(default_factory=dict)
    history: CapacityHistory = field(default_factory=CapacityHistory)
    time_to_live: str | None = None
    recovery: Recovery | None = None  # to a point in time, where it is on
    stream: TableStream | None = None  # the latest, disabled or not
    insights: Insights = field(default_factory=Insights)
    counting: Insights | None = None  # those, while any of them is on
    ongoing: OngoingTransactions = field(default_factory=OngoingTransactions)

    def __post_init__(self) -> None:
        self.schema = self.definition.schema

    @property
    def name(self) -> str:
        return self.schema.name

    @property
    def region(self) -> str:
        return region_in(self.arn) or ""

    @property
    def status(self) -> str:
        return "ACTIVE" if self.change is None else self.change.status

    @property
    def provisioned(self) -> bool:
        return not self.definition.capacity.on_demand

    def resource_arn(self, index: str | None) -> str:
        return self.arn if index is None else f"{self.arn}/index/{index}"

    def become(self, definition: TableDefinition, now_s: float) -> None:
        """Take a new definition: fill indexes that are new, drop those that are gone, change capacity."""
        old = {index.name: index for index in self.schema.indexes}
        new = {index.name: index for index in definition.schema.indexes}
        for name in old.keys() - new.keys():
            self.items.drop_index(name)
            self.history.resources.pop(name, None)
            self.insights.watches.pop(name, None)
        for name in new.keys() - old.keys():
            self.items.add_index(new[name])
        if definition.capacity != self.definition.capacity:
            self.model.change_capacity(definition.capacity, now_s)
        self.definition = definition
        self.schema = definition.schema


@dataclass(frozen=True, slots=True)
class Aim:
    """What a request asks of a table: one item, or a page of its items or of an index's.

    `stored` is the key, or begins with its partition key; None where a page has none, as a scan's.
    """

    table: Table
    direction: Direction
    stored: bytes | None
    index: IndexSchema | None = None

    @property
    def key(self) -> str | None:
        """The partition key's value as text; where it has several attributes, that of the first one."""
        if self.stored is None:
            return None
        keys = self.table.schema.keys if self.index is None else self.index.keys
        return key_texts(keys, self.stored)[0]


class Catalog:
    """Tables by name, and streams by ARN, which outlive their tables.

    `get` is on the path of every item request, so ready tables are kept apart.
    """

    def __init__(self, clock: Callable[[], float], region: str) -> None:
        self._clock = clock
        self._region = region
        self._tables: dict[str, Table] = {}
        self._ready: dict[str, Table] = {}
        self._streams: dict[str, TableStream] = {}

    def get(self, name_or_arn: str) -> Table:
        """The table for an item request. Raises ResourceNotFoundException unless it takes such requests."""
        ready = self._ready.get(name_or_arn)
        if ready is not None:
            return ready
        table = self._settled(self._name(name_or_arn))
        if table is None or table.status in ("CREATING", "DELETING"):
            raise resource_not_found()
        return table

    def find(self, name_or_arn: str) -> Table:
        """The table in whatever status, for a control request. Raises ResourceNotFoundException."""
        name = self._name(name_or_arn)
        table = self._settled(name)
        if table is None:
            raise resource_not_found(f"Requested resource not found: Table: {name} not found")
        return table

    def names(self) -> list[str]:
        return sorted(table.name for table in self)

    def __iter__(self) -> Iterator[Table]:
        return (table for name in list(self._tables) if (table := self._settled(name)) is not None)

    def __contains__(self, name: str) -> bool:
        return self._settled(name) is not None

    def add(self, table: Table) -> None:
        self._tables[table.name] = table

    def begin(self, table: Table, change: TableChange) -> None:
        """Start a change. Raises ResourceInUseException while another is under way."""
        require_idle(table)
        table.change = change
        self._ready.pop(table.name, None)
        self._ready.pop(table.arn, None)

    def enable_stream(self, table: Table, view: View, now_s: float) -> None:
        """Start a stream of a table that has none, or none that is enabled."""
        at_s = now_s
        while f"{table.arn}/stream/{label_at(at_s)}" in self._streams:
            at_s += 0.001  # labels of one table differ
        table.stream = TableStream(
            table_arn=table.arn,
            label=label_at(at_s),
            keys=table.schema.keys,
            view=view,
            partitions=table.model.partitions,
            now_s=now_s,
        )
        self._streams[table.stream.arn] = table.stream

    def stream(self, arn: str) -> TableStream:
        """The stream of an ARN, with the partitions that its table has by now.

        Raises ResourceNotFoundException or ValidationException.
        """
        require_stream_arn(arn)
        self._settled(table_name(arn))
        self._forget_streams()
        stream = self._streams.get(arn)
        if stream is None:
            raise resource_not_found(f"Requested resource not found: Stream: {arn} not found")
        stream.follow_splits()
        stream.trim(self._clock())
        return stream

    def streams(self) -> list[TableStream]:
        self._forget_streams()
        return [stream for _, stream in sorted(self._streams.items())]

    def _forget_streams(self) -> None:
        now_s = self._clock()
        self._streams = {arn: stream for arn, stream in self._streams.items() if not stream.expired(now_s)}

    def _name(self, name_or_arn: str) -> str:
        """The table's name. Raises ValidationException for the ARN of a table in another Region."""
        if region_in(name_or_arn) not in (None, self._region):
            raise validation_error(f"1 validation error detected: Invalid AWS region in '{name_or_arn}'")
        return table_name(name_or_arn)

    def _settled(self, name: str) -> Table | None:
        """The table after all changes that have ended by now."""
        table = self._tables.get(name)
        if table is None:
            return None
        change = table.change
        if change is not None and self._clock() >= change.ends_s:
            table.change = None
            if change.becomes is None:
                del self._tables[name]
                return None
            table.become(change.becomes, change.ends_s)
        if table.change is None:
            self._ready[name] = self._ready[table.arn] = table
        return table


def require_idle(table: Table) -> None:
    """Raises ResourceInUseException while something is being done to the table."""
    if table.change is not None:
        doing = DOING[table.change.status]
        raise ServiceError(
            "ResourceInUseException",
            f"Attempt to change a resource which is still in use: Table is being {doing}: {table.name}",
        )


def require_stream_arn(arn: str) -> None:
    """Raises ValidationException for what cannot be the ARN of a stream."""
    if not arn.startswith("arn:") or ":table/" not in arn or "/stream/" not in arn:
        raise validation_error(f"Invalid StreamArn: {arn}")


def table_name(name_or_arn: str) -> str:
    """`orders` from `orders` or from the table's ARN."""
    if not name_or_arn.startswith("arn:"):
        return name_or_arn
    return name_or_arn.partition(":table/")[2].partition("/")[0]


def region_in(name_or_arn: str) -> str | None:
    """The Region that a table's ARN names; None where it is a plain name."""
    parts = name_or_arn.split(":", 5)
    return parts[3] if parts[0] == "arn" and len(parts) == 6 else None
