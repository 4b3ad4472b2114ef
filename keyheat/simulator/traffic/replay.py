"""A trace, second by second: each row's operation on its key, at the cost of the item at that moment."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from keyheat.model.units import read_units, write_units
from keyheat.scenario.trace import TraceRow, read_trace
from keyheat.simulator.flow import Flow, Traffic
from keyheat.simulator.masses import masses_of_shares
from keyheat.simulator.traffic.cost import entries
from keyheat.simulator.traffic.setting import TrafficSetting
from keyheat.words import Direction

PAGE_ITEMS = 25  # of a query
READS = ("GetItem", "Query")


@dataclass(slots=True)
class Replay(Traffic):
    """The rows of a trace, at their times, whatever the answers are."""

    setting: TrafficSetting
    counts: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    _rows: Iterator[TraceRow] = field(init=False)
    _next: TraceRow | None = field(init=False)
    _items: dict[str, dict[str | None, int]] = field(default_factory=lambda: defaultdict(dict), init=False)
    """Bytes of each item, by key and sort key."""

    def __post_init__(self) -> None:
        keys = self.setting.scenario.keys
        self._rows = read_trace(
            keys.trace_path(self.setting.folder),
            has_sort_key=self.setting.table.sort_key is not None,
        )
        self._next = next(self._rows, None)

    def second(self, at_s: float) -> Sequence[Flow]:
        """The rows of the second, those of one operation and price together."""
        sent: dict[tuple[str, float, float], Counter[str]] = defaultdict(Counter)
        for row in self._due(at_s + 1.0):
            units, entry_writes = self._cost(row)
            sent[row.operation, units, entry_writes][row.key] += 1
        return [self._flow(*kind, keys) for kind, keys in sent.items()]

    def _due(self, until_s: float) -> Iterator[TraceRow]:
        speed = self.setting.scenario.keys.speed or 1.0
        end_s = min(until_s, self.setting.load.duration_s)
        while self._next is not None and self._next.at_s / speed < end_s:
            yield self._next
            self._next = next(self._rows, None)

    def _cost(self, row: TraceRow) -> tuple[float, float]:
        """Return units of the table, and writes of each index entry; update the item."""
        items = self._items[row.key]
        old = items.get(row.sort_key, 0)
        if row.operation == "GetItem":
            return read_units(old, consistent=False), 0.0
        if row.operation == "Query":
            page = sum(islice(items.values(), PAGE_ITEMS))
            return read_units(page, consistent=False), 0.0
        new = 0 if row.operation == "DeleteItem" else row.size_bytes or 0
        items.pop(row.sort_key, None)
        if new:
            items[row.sort_key] = new
        moves = 2.0 if row.operation == "PutItem" and old else 1.0
        return write_units(old, new), moves if old or new else 0.0

    def _flow(self, operation: str, units: float, writes: float, keys: Counter[str]) -> Flow:
        read = operation in READS
        masses = masses_of_shares(keys, within="random" if self.setting.table.sort_key else "point")
        written = () if read or not writes else entries(self.setting, masses, self.setting.load.item_size())
        return Flow(
            operation=operation,
            direction=Direction.READ if read else Direction.WRITE,
            requests=float(keys.total()),
            keys=masses,
            units=units,
            eventual=read,
            index_writes=tuple(replace(entry, units=entry.units * writes) for entry in written),
        )
