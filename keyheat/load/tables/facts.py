"""What later stages need of DescribeTable's answer."""

from collections.abc import Mapping
from typing import Any

from keyheat.masking import masked


def all_active(description: Mapping[str, Any]) -> bool:
    """Whether neither the table nor any of its indexes is being made or changed."""
    states = [index["IndexStatus"] for index in description.get("GlobalSecondaryIndexes", [])]
    return {description["TableStatus"], *states} == {"ACTIVE"}


def table_facts(description: dict[str, Any]) -> dict[str, Any]:
    """What later stages need of DescribeTable's answer, in the shape of `evidence.json`'s table."""
    mode = description.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED")
    return {
        "name": description["TableName"],
        "arn": masked(description.get("TableArn", "")) or None,
        "billing_mode": mode,
        **_capacity_facts(description, mode),
        "has_lsi": bool(description.get("LocalSecondaryIndexes")),
        "indexes": [
            {"name": index["IndexName"], **_capacity_facts(index, mode)}
            for index in description.get("GlobalSecondaryIndexes", [])
        ],
    }


def _capacity_facts(part: dict[str, Any], mode: str) -> dict[str, Any]:
    def pair(member: str, words: str, before: str = "") -> dict[str, Any] | None:
        found = part.get(member)
        if not found:
            return None
        sides = {"read": found.get(f"{before}Read{words}"), "write": found.get(f"{before}Write{words}")}
        return {side: units if units and units > 0 else None for side, units in sides.items()}

    return {
        "provisioned": pair("ProvisionedThroughput", "CapacityUnits") if mode == "PROVISIONED" else None,
        "max_on_demand": pair("OnDemandThroughput", "RequestUnits", "Max"),
        "warm": pair("WarmThroughput", "UnitsPerSecond"),
    }
