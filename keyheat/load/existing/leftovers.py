"""What a run left on a table: whose it is, what looking for it costs, and how fast that may go."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keyheat.addresses import endpoint_of
from keyheat.load.existing.cleaning import READ_BYTES_PER_UNIT
from keyheat.load.tables.removal import by_hand
from keyheat.load.transport.target import Target, target_at
from keyheat.plan.prices import Prices, consumed_dollars
from keyheat.runfiles import FILES, RUN, SIMULATED, read_json
from keyheat.runs.table_facts import mode_of, table_facts

PART = 0.25  # of what a table has provisioned: the rest is for those whose table it is
ON_DEMAND_UNITS_PER_S = 500.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """The items of one run, as `run.json` tells of them."""

    run_id: str
    table: str
    target: Target
    marked: bool  # whether they name the run
    running: bool  # as far as `run.json` knows
    write_units: float | None  # that the run consumed; None: it was killed before it could say

    @property
    def without_marks(self) -> str:
        """What to do where no item says whose it is."""
        return (
            f"nothing to clean: a run of ours created table {self.table}, and its items carry no mark. The "
            f"table itself can be deleted: {by_hand(self.table, self.target.region)}"
        )


def leftovers_of(folder: Path, endpoint_url: str | None = None) -> Leftovers:
    """What a run's folder says; `endpoint_url`: what somebody says of where the table is.

    Raises `FileProblem`, `UnknownEndpoint`, and `ValueError` where no table was loaded.
    """
    file = folder / FILES[RUN]
    manifest = read_json(file, RUN)
    if manifest.get("target") == SIMULATED:
        raise ValueError(f"{folder} is a simulated run: no table was loaded, and nothing is to be cleaned")
    url = endpoint_of(manifest["endpoint_url"], endpoint_url, file=str(file), option="--endpoint-url")
    assert url is not None, "a run that loaded a table says where"
    consumed = manifest.get("totals", {}).get("consumed_units", {})
    return Leftovers(
        run_id=manifest["run_id"],
        table=manifest["table"]["name"],
        target=target_at(url, region=manifest["region"]),
        marked=bool(manifest.get("items_marked")),
        running=manifest.get("status") == "running",
        write_units=consumed.get("write"),
    )


def usual_pace(description: Mapping[str, Any], *, local: bool) -> float | None:
    """Units per second, reads and writes together, that leave a table enough; None: as fast as it goes."""
    if local:
        return None
    facts = table_facts(description)
    pairs = [facts.provisioned, *(index.provisioned for index in facts.indexes)]
    least = min((units for pair in pairs if pair for units in (pair.read, pair.write) if units), default=None)
    return ON_DEMAND_UNITS_PER_S if least is None else max(1.0, PART * least)


def cost_in_words(left: Leftovers, description: Mapping[str, Any], prices: Prices, pace: float | None) -> str:
    """What cleaning costs, before it is done: the whole table is read, and each item is a write."""
    size_bytes, items = description.get("TableSizeBytes", 0), description.get("ItemCount", 0)
    reads = math.ceil(size_bytes / READ_BYTES_PER_UNIT)
    writes = left.write_units or 0.0
    said = (
        f"Cleaning table {left.table} at {left.target.url} reads all of it ({size_bytes / 1e6:,.1f} MB and "
        f"{items:,} items when AWS last counted, which it does every six hours): some {reads:,} read units. "
    )
    if left.write_units is None:
        said += "How much the run wrote is not known; deleting an item costs about what writing it did. "
    else:
        said += f"Deleting what the run wrote takes {writes:,.0f} write units at most, as writing it did. "
    if mode_of(description) == "PAY_PER_REQUEST":
        dollars = consumed_dollars(prices.on_demand, write_units=writes, read_units=reads)
        said += f"Together about ${dollars:,.2f} ({prices.shown}). "
    else:
        said += "They come out of what the table has provisioned. "
    if pace is not None:
        said += f"At {pace:,.0f} units per second that is {_time((reads + writes) / pace)}. "
    return said.rstrip()


def _time(seconds: float) -> str:
    return f"{seconds / 60:,.0f} minutes" if seconds >= 120 else f"{math.ceil(seconds):,} s"
