"""What a table costs while nobody uses it: what it and its indexes have provisioned, without storage."""

from collections.abc import Mapping
from typing import Any

from keyheat.plan.prices import HOUR_S, Prices, provisioned_dollars
from keyheat.runs.table_facts import mode_of

DAY_H = 24


def dollars_per_hour(description: Mapping[str, Any], prices: Prices) -> float:
    """Dollars an hour at a price list's prices, from DescribeTable's answer; nothing in on-demand mode."""
    if mode_of(description) != "PROVISIONED":
        return 0.0
    parts = [description, *(description.get("GlobalSecondaryIndexes") or ())]
    pairs = [part.get("ProvisionedThroughput", {}) for part in parts]
    return provisioned_dollars(
        prices.provisioned,
        HOUR_S,
        write_per_s=sum(pair.get("WriteCapacityUnits", 0) for pair in pairs),
        read_per_s=sum(pair.get("ReadCapacityUnits", 0) for pair in pairs),
    )


def in_words(description: Mapping[str, Any], prices: Prices) -> str:
    """What a table costs by the hour and by the day, for a sentence that begins with the table."""
    hourly = dollars_per_hour(description, prices)
    if not hourly:
        return "costs nothing but its storage while nobody uses it"
    return f"costs ${hourly:.4f} an hour, ${hourly * DAY_H:.2f} a day ({prices.shown}), used or not"
