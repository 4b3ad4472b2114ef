"""The capacity after an UpdateTable request: what is named changes, what is not named stays.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-switching-capacity-modes.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from keyheat.endpoint.errors import validation_error
from keyheat.endpoint.tables.catalog import Table
from keyheat.endpoint.tables.indexupdates import IndexUpdates
from keyheat.endpoint.tables.throughput import index_capacity, max_on_demand, provisioned, raised_warm
from keyheat.model.resources import BillingMode, IndexCapacity, TableCapacity
from keyheat.words import Capacity

Given = Mapping[str, Any]
CURRENT_WARM = ("current WarmThroughput, decreasing WarmThroughput is not supported",) * 2


def updated_capacity(table: Table, request: Given, updates: IndexUpdates) -> TableCapacity:
    """Capacity of the table and its indexes after an update. Raises ValidationException."""
    before = table.definition.capacity
    mode: BillingMode = request.get("BillingMode") or before.billing_mode
    kept = [index for index in before.indexes if index.name not in updates.delete]
    return replace(
        before,
        billing_mode=mode,
        provisioned=_reprovisioned(request, mode, before.provisioned),
        max_on_demand=max_on_demand(request, mode, before.max_on_demand),
        warm=_rewarmed(table, request, before.warm),
        indexes=tuple(
            [_updated_index(table, index, updates.update.get(index.name), mode) for index in kept]
            + [index_capacity(action, mode) for action in updates.create.values()]
        ),
    )


def _updated_index(
    table: Table, before: IndexCapacity, action: Given | None, mode: BillingMode
) -> IndexCapacity:
    named: Given = action or {}
    return replace(
        before,
        provisioned=_reprovisioned(named, mode, before.provisioned, index=before.name),
        max_on_demand=max_on_demand(named, mode, before.max_on_demand),
        warm=_rewarmed(table, named, before.warm, index=before.name),
    )


def _reprovisioned(
    request: Given, mode: BillingMode, before: Capacity | None, *, index: str | None = None
) -> Capacity | None:
    """Provisioned throughput after the update; a change that changes nothing is refused."""
    if request.get("ProvisionedThroughput") is None and mode == "PROVISIONED" and before is not None:
        return before
    after = provisioned(request, mode, index=index)
    if after is not None and after == before:
        resource = "table" if index is None else f"index {index}"
        raise validation_error(
            f"The provisioned throughput for the {resource} will not change. "
            "The requested value equals the current value. "
            f"Current ReadCapacityUnits provisioned for the {resource}: {before.read}. "
            f"Requested ReadCapacityUnits: {after.read}. "
            f"Current WriteCapacityUnits provisioned for the {resource}: {before.write}. "
            f"Requested WriteCapacityUnits: {after.write}. "
            "Refer to the Amazon DynamoDB Developer Guide for current limits "
            "and how to request higher limits."
        )
    return after


def _rewarmed(
    table: Table, request: Given, before: Capacity | None, *, index: str | None = None
) -> Capacity | None:
    given = request.get("WarmThroughput")
    if given is None:
        return before
    return raised_warm(given, table.model.warm_throughput(index), CURRENT_WARM, index=index)
