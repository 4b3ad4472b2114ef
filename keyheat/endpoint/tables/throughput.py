"""The capacity in a CreateTable request: what each mode allows to be said, and what it means.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html
"""

from collections.abc import Mapping
from typing import Any

from keyheat.endpoint.schema import TableSchema, invalid
from keyheat.model import limits
from keyheat.model.resources import BillingMode, IndexCapacity, TableCapacity
from keyheat.words import Capacity

Given = Mapping[str, Any]
MOST_WARM_UNITS = (
    10_000_000  # per second; this endpoint's own bound, since it holds every partition in memory
)
UNLIMITED = -1  # how a request takes an on-demand maximum away again, and how a description shows none


def table_capacity(request: Given, schema: TableSchema) -> TableCapacity:
    """Capacity of a table to be created and of its global indexes. Raises ValidationException."""
    mode: BillingMode = request.get("BillingMode") or "PROVISIONED"
    return TableCapacity(
        billing_mode=mode,
        indexes=tuple(index_capacity(index, mode) for index in request.get("GlobalSecondaryIndexes") or ()),
        has_lsi=any(index.local for index in schema.indexes),
        **_capacities_of(request, mode, None),
    )


def index_capacity(request: Given, mode: BillingMode) -> IndexCapacity:
    """Capacity of a global index to be created. Raises ValidationException."""
    name = request["IndexName"]
    return IndexCapacity(name=name, **_capacities_of(request, mode, name))


def _capacities_of(request: Given, mode: BillingMode, index: str | None) -> dict[str, Any]:
    return {
        "provisioned": provisioned(request, mode, index=index),
        "max_on_demand": max_on_demand(request, mode),
        "warm": _warm(request, mode, index),
    }


def provisioned(request: Given, mode: BillingMode, *, index: str | None = None) -> Capacity | None:
    """Provisioned units per second: stated in provisioned mode, and only there."""
    given = request.get("ProvisionedThroughput")
    if mode == "PROVISIONED":
        if given is not None:
            return Capacity(given["ReadCapacityUnits"], given["WriteCapacityUnits"])
        if index is not None:
            raise invalid(f"ProvisionedThroughput is not specified for index: {index}")
        raise invalid(
            "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"
        )
    if given is None:
        return None
    if index is not None:
        raise invalid(
            f"ProvisionedThroughput should not be specified for index: {index} "
            "when BillingMode is PAY_PER_REQUEST"
        )
    raise invalid(
        "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified "
        "when BillingMode is PAY_PER_REQUEST"
    )


def max_on_demand(request: Given, mode: BillingMode, before: Capacity | None = None) -> Capacity | None:
    """The self-imposed on-demand maximum; a side that is not named stays as `before`."""
    given = request.get("OnDemandThroughput")
    if given is None:
        return before if mode == "PAY_PER_REQUEST" else None
    if mode == "PROVISIONED":
        raise invalid("OnDemandThroughput cannot be specified when BillingMode is PROVISIONED")
    old = before or Capacity(None, None)
    read = _maximum("MaxReadRequestUnits", given.get("MaxReadRequestUnits"), old.read)
    write = _maximum("MaxWriteRequestUnits", given.get("MaxWriteRequestUnits"), old.write)
    return None if read is None and write is None else Capacity(read, write)


def _maximum(member: str, given: int | None, before: float | None) -> float | None:
    if given is None:
        return before
    if given != UNLIMITED and given < 1:
        raise invalid(f"{member} must be greater than or equal to 1, or -1 to remove the maximum")
    return None if given == UNLIMITED else given


def _warm(request: Given, mode: BillingMode, index: str | None) -> Capacity | None:
    """Pre-warmed units per second of a new table or index: never below what it starts with anyway."""
    given = request.get("WarmThroughput")
    if given is None:
        return None
    if mode == "PAY_PER_REQUEST":
        start = (limits.ON_DEMAND_START_READ, limits.ON_DEMAND_START_WRITE)
        return raised_warm(given, start, ("initial throughput for OnDemand",) * 2, index=index)
    stated, sides = request["ProvisionedThroughput"], ("ReadCapacityUnits", "WriteCapacityUnits")
    floors = (f"{sides[0]} of ProvisionedThroughput", f"{sides[1]} of ProvisionedThroughput")
    return raised_warm(given, (stated[sides[0]], stated[sides[1]]), floors, index=index)


def raised_warm(
    given: Given, floor: tuple[float, float], floors: tuple[str, str], *, index: str | None
) -> Capacity:
    """Warm throughput as a request states it; a side not stated is at its floor.

    Raises ValidationException where a side is below its `floor`, which `floors` names.
    """
    resource = "table" if index is None else f"index {index}"
    units_wanted = []
    for side, least, named in zip(("Read", "Write"), floor, floors, strict=True):
        units = given.get(f"{side}UnitsPerSecond")
        if units is not None and units < least:
            raise invalid(
                f"Requested {side}UnitsPerSecond for WarmThroughput for {resource} is lower than {named}"
            )
        if units is not None and units > MOST_WARM_UNITS:
            raise invalid(
                f"Requested {side}UnitsPerSecond for WarmThroughput for {resource} is above "
                f"{MOST_WARM_UNITS}, the most that the local endpoint can hold"
            )
        units_wanted.append(least if units is None else units)
    return Capacity(*units_wanted)
