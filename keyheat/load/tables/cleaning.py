"""Clean up after a run on an existing table: delete the items that name the run, paced, at a stated cost.

The table is scanned for items with the run's mark, which is also the condition of each deletion. A batch can
have no conditions, so items are deleted one by one. Sources:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-query-scan.html
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DeleteItem.html
"""

import math
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from keyheat.addresses import endpoint_of
from keyheat.answers import member
from keyheat.load.tables.removal import by_hand, provisioned_in
from keyheat.load.transport.target import Target, target_at
from keyheat.load.users.items import RUN_ATTRIBUTE
from keyheat.numbers import span
from keyheat.plan.prices import Prices
from keyheat.runfiles import FILES, RUN
from keyheat.runs.manifest import Manifest, read_manifest
from keyheat.runs.table_facts import mode_of

AT_ONCE = 8
MOST_PAGE_ITEMS = 1_000
READ_BYTES_PER_UNIT = 8_192  # of an eventually consistent scan
MINE = "#run = :run"
FAILED_UNITS = 1.0  # of a deletion whose condition fails, of a small item
PART = 0.25  # of what a table has provisioned: the rest is for those whose table it is
ON_DEMAND_UNITS_PER_S = 500.0


@dataclass(slots=True)
class Cleaned:
    """How far the cleaning of one run is."""

    run_id: str
    table: str
    finished: bool = False  # the whole table was looked through
    looked_at: int = 0  # items
    deleted: int = 0
    read_units: float = 0.0
    write_units: float = 0.0


def clean_table(
    client: Any,
    description: Mapping[str, Any],
    cleaned: Cleaned,
    units_per_s: float | None,
    *,
    clock: Callable[[], float] = monotonic,
    sleep: Callable[[float], None] = sleep,
) -> Iterator[None]:
    """Delete the items of one run from a table, and say in `cleaned` how far that is; yields after each page.

    `description` is DescribeTable's answer, `units_per_s` the pace; None: as fast as it goes. Raises
    `DamagedAnswer`, and the SDK's errors.
    """
    keys = {f"#k{number}": each["AttributeName"] for number, each in enumerate(description["KeySchema"])}
    of_run = {
        "TableName": cleaned.table,
        "ExpressionAttributeNames": {"#run": RUN_ATTRIBUTE},
        "ExpressionAttributeValues": {":run": {"S": cleaned.run_id}},
        "ReturnConsumedCapacity": "TOTAL",
    }
    request = of_run | {
        "FilterExpression": MINE,
        "Limit": page_items(description, units_per_s),
        "ProjectionExpression": ", ".join(keys),
        "ExpressionAttributeNames": {"#run": RUN_ATTRIBUTE} | keys,
    }
    paid_s = 0.0  # when everything that was consumed so far is paid for

    def pay(units: float) -> None:
        """Wait: what a request consumes is known when it is answered, so it is the next one that is late."""
        nonlocal paid_s
        if units_per_s is not None:
            paid_s = max(paid_s, clock()) + units / units_per_s
            sleep(max(0.0, paid_s - clock()))

    def delete(key: dict[str, Any]) -> tuple[bool, float]:
        """Return whether the item still was the run's, and what it cost."""
        try:
            answer = client.delete_item(Key=key, ConditionExpression=MINE, **of_run)
        except client.exceptions.ConditionalCheckFailedException:
            return False, FAILED_UNITS
        return True, _units(answer)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        while not cleaned.finished:
            page = client.scan(**request)
            cleaned.read_units += (units := _units(page))
            pay(units)
            cleaned.looked_at += int(page.get("ScannedCount", 0))
            for first in range(0, len(page["Items"]), AT_ONCE):
                done = list(pool.map(delete, page["Items"][first : first + AT_ONCE]))
                cleaned.deleted += sum(deleted for deleted, _units in done)
                cleaned.write_units += (units := sum(units for _deleted, units in done))
                pay(units)
            yield
            request["ExclusiveStartKey"] = page.get("LastEvaluatedKey")
            cleaned.finished = request["ExclusiveStartKey"] is None


def _units(answer: Mapping[str, Any]) -> float:
    """What a call consumed. Raises `DamagedAnswer`: a pace cannot be kept, nor a price told, without it."""
    capacity = answer.get("ConsumedCapacity", {})
    return float(member("ConsumedCapacity", capacity, "CapacityUnits"))


def page_items(description: Mapping[str, Any], units_per_s: float | None) -> int:
    """How many items a page of the scan looks at: about a second's worth of units, so that it is no burst."""
    items, size_bytes = description.get("ItemCount", 0), description.get("TableSizeBytes", 0)
    if units_per_s is None or not items or not size_bytes:
        return MOST_PAGE_ITEMS
    return max(1, min(MOST_PAGE_ITEMS, int(units_per_s * READ_BYTES_PER_UNIT * items / size_bytes)))


def loaded_run(folder: Path, endpoint_url: str | None = None) -> tuple[Manifest, Target]:
    """Read the manifest of a run, and where its table is; `endpoint_url` is the user's statement of that.

    Raises `FileProblem`, `UnknownEndpoint`, and `ValueError` where no table was loaded.
    """
    run = read_manifest(folder)
    if run.simulated or run.run_id is None or run.endpoint_url is None:
        raise ValueError(f"{folder} is a simulated run: no table was loaded, and nothing is to be cleaned")
    url = endpoint_of(run.endpoint_url, endpoint_url, file=str(folder / FILES[RUN]), option="--endpoint-url")
    assert url is not None, "a run that loaded a table says where"
    return run, target_at(url, region=run.region)


def without_marks(run: Manifest, target: Target) -> str:
    """What to do where no item says whose it is."""
    return (
        f"nothing to clean: a run of ours created table {run.table.name}, and its items carry no mark. The "
        f"table itself can be deleted: {by_hand(run.table.name, target.region)}"
    )


def usual_pace(description: Mapping[str, Any], *, local: bool) -> float | None:
    """Units per second, reads and writes together, that leave a table enough; None: as fast as it goes."""
    if local:
        return None
    pairs = provisioned_in(description)
    least = min((units for pair in pairs for units in (pair.read, pair.write) if units), default=None)
    return ON_DEMAND_UNITS_PER_S if least is None else max(1.0, PART * least)


def cost_in_words(
    run: Manifest, target: Target, description: Mapping[str, Any], prices: Prices, pace: float | None
) -> str:
    """Return what cleaning costs, before it is done: the whole table is read, and each item is a write."""
    size_bytes, items = description.get("TableSizeBytes", 0), description.get("ItemCount", 0)
    reads = math.ceil(size_bytes / READ_BYTES_PER_UNIT)
    written = run.totals.consumed_units.get("write") if run.totals else None
    writes = written or 0.0
    what = "an unknown number of" if written is None else f"at most {writes:,.0f}"  # None: it was killed
    words = (
        f"Cleaning table {run.table.name} at {target.url} reads all of it ({size_bytes / 1e6:,.1f} MB and "
        f"{items:,} items when AWS last counted, which it does every six hours) for some {reads:,} read "
        f"units, and deletes what the run wrote for {what} write units."
    )
    if mode_of(description) == "PAY_PER_REQUEST":
        dollars = prices.on_demand.dollars(write_units=writes, read_units=reads)
        words += f" Together about ${dollars:,.2f} ({prices.title})."
    if pace is not None:
        words += f" At {pace:,.0f} units per second that is {span(math.ceil((reads + writes) / pace))}."
    return words
