"""What one run came to, in the numbers that runs are compared by: admitted, throttled, and what it cost.

Nothing here judges; `keyheat.analysis.knees.sweep` does, and the labels are the diagnosis's.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from keyheat.plan.prices import Prices, consumed_dollars, per_million, provisioned_dollars
from keyheat.runs.formats import IndexFacts, TableFacts
from keyheat.runs.manifest import Manifest
from keyheat.words import WRITE, WRITES_FIRST, Direction

STILL_S = 2.0  # a throttle this close to the end of a run: the throttling had not ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """One direction over a whole run: attempts on the table, units of the table and its indexes."""

    attempts: int
    accepted: int
    throttled: int
    units: float
    units_per_s: float

    @property
    def throttled_share(self) -> float | None:
        """Throttled attempts over all attempts; None where none was made."""
        return self.throttled / self.attempts if self.attempts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Throttling:
    """When throttling began and ended, in seconds of the run; not `ended`: it went on to the run's end."""

    first_s: float
    last_s: float
    ended: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One run in numbers. None is unknown, never zero."""

    duration_s: float
    write: Traffic
    read: Traffic
    throttling: Throttling | None  # None: no throttles
    shards: int | None
    counted: Mapping[str, float]
    on_demand_dollars: float | None  # for a million accepted writes, by their units
    provisioned_dollars: float | None  # for a million accepted writes, by what was provisioned meanwhile

    @property
    def units_per_read(self) -> float | None:
        """Read units of one checked, or simulated, read of a whole collection."""
        checked = self.ratio("reads.units", "reads.checked")
        return checked or self.ratio("simulated.read_units", "simulated.reads")

    @property
    def units_per_order(self) -> float | None:
        """All units spent for one order."""
        return self.ratio("orders.units", "orders.placed")

    def ratio(self, name: str, by: str) -> float | None:
        """One counted number over another; None where either was not counted."""
        if name not in self.counted or not self.counted.get(by):
            return None
        return self.counted[name] / self.counted[by]


def measure(manifest: Manifest, seconds: pa.Table, prices: Prices) -> Measured:
    """The numbers of a run from its manifest and its `seconds.parquet`."""
    started_s = manifest.started_at.timestamp()
    second = seconds["second"].cast(pa.int64())
    last_s = float(pc.max(second).as_py() + 1) if len(seconds) else started_s
    ended_s = manifest.ended_at.timestamp() if manifest.ended_at else last_s
    duration_s = max(1.0, ended_s - started_s)
    write, read = (_traffic(seconds, direction, duration_s) for direction in WRITES_FIRST)
    beside = sum(units for name, units in manifest.counted.items() if _written_beside(name))
    on_demand = consumed_dollars(prices.on_demand, write_units=write.units + beside)
    endpoint, indexes = manifest.endpoint, bool(manifest.table.indexes)
    counted = endpoint is None or not endpoint.wrong_units(WRITE, indexes=indexes)
    paid_per_s = _provisioned(manifest.table, WRITE) * manifest.scale  # of what a rehearsal admits
    reserved = provisioned_dollars(prices.provisioned, duration_s, write_per_s=paid_per_s)
    return Measured(
        duration_s=duration_s,
        write=write,
        read=read,
        throttling=_throttling(seconds, started_s, ended_s),
        shards=_shards(manifest),
        counted=manifest.counted,
        on_demand_dollars=per_million(on_demand, write.accepted) if counted else None,
        provisioned_dollars=per_million(reserved, write.accepted) if reserved else None,
    )


def _written_beside(name: str) -> bool:
    """Whether a counted number is the write units of a table beside the judged one."""
    return name.startswith("tables.") and name.endswith(".write_units")


def _traffic(seconds: pa.Table, direction: Direction, duration_s: float) -> Traffic:
    mine = seconds.filter(pc.equal(seconds["direction"], direction))
    own = mine.filter(pc.is_null(mine["index"]))
    units = pc.sum(mine["consumed_units"]).as_py() or 0.0
    return Traffic(
        attempts=pc.sum(own["attempts"]).as_py() or 0,
        accepted=pc.sum(own["accepted"]).as_py() or 0,
        throttled=pc.sum(own["throttled"]).as_py() or 0,
        units=units,
        units_per_s=units / duration_s,
    )


def _throttling(seconds: pa.Table, started_s: float, ended_s: float) -> Throttling | None:
    throttled = seconds.filter(pc.greater(seconds["throttled"], 0))["second"].cast(pa.int64())
    if not len(throttled):
        return None
    first, last = float(pc.min(throttled).as_py()), float(pc.max(throttled).as_py() + 1)
    return Throttling(
        first_s=max(0.0, first - started_s), last_s=last - started_s, ended=last < ended_s - STILL_S
    )


def _provisioned(table: TableFacts, direction: Direction) -> float:
    """Units per second that are paid for: the table's and its indexes'; 0 where nothing is provisioned."""
    owners: tuple[TableFacts | IndexFacts, ...] = (table, *table.indexes)
    return sum(owner.provisioned.of(direction) or 0.0 for owner in owners if owner.provisioned)


def _shards(manifest: Manifest) -> int | None:
    keys = (manifest.scenario or {}).get("keys")
    shards = keys.get("shards") if isinstance(keys, Mapping) else None
    return shards if isinstance(shards, int) else None
