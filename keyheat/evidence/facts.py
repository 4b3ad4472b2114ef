"""What is known of a table before its traffic: from DescribeTable, DescribeLimits, or a run's manifest."""

from collections.abc import Mapping
from typing import Any, Final

from keyheat.masking import masked
from keyheat.model import limits
from keyheat.runs.formats import AccountFacts, IndexFacts, TableFacts
from keyheat.words import READ, WRITE, Capacity, Direction

_CEILINGS: Final[dict[Direction, int]] = {
    READ: limits.PARTITION_READ_UNITS_PER_S,
    WRITE: limits.PARTITION_WRITE_UNITS_PER_S,
}
QUOTAS: Final[dict[Direction, int]] = {
    READ: limits.TABLE_READ_UNITS_PER_S,
    WRITE: limits.TABLE_WRITE_UNITS_PER_S,
}
"""Units per second that an account allows one table with its indexes, unless the quota was raised."""


def partition_ceiling(direction: Direction, scale: float = 1.0) -> float:
    """Units per second that one partition sustains, times the scale of a local table."""
    return _CEILINGS[direction] * scale


def table_facts(described: Mapping[str, Any]) -> TableFacts:
    """Facts from the `Table` member of a DescribeTable answer.

    A table that was never on-demand has no BillingModeSummary; its mode is PROVISIONED. Source:
    https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TableDescription.html
    """
    mode = described.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED")
    provisioned = mode == "PROVISIONED"
    return TableFacts(
        name=described["TableName"],
        arn=masked(described.get("TableArn", "")) or None,
        billing_mode=mode,
        provisioned=_provisioned(described) if provisioned else None,
        max_on_demand=_maximum(described),
        warm=_warm(described),
        has_lsi=bool(described.get("LocalSecondaryIndexes")),
        indexes=tuple(
            IndexFacts(
                name=index["IndexName"],
                provisioned=_provisioned(index) if provisioned else None,
                max_on_demand=_maximum(index),
                warm=_warm(index),
            )
            for index in described.get("GlobalSecondaryIndexes", ())
        ),
    )


def account_facts(described: Mapping[str, Any]) -> AccountFacts:
    """Quotas of one table from a DescribeLimits answer."""
    return AccountFacts(
        table_read=described.get("TableMaxReadCapacityUnits"),
        table_write=described.get("TableMaxWriteCapacityUnits"),
    )


def _provisioned(part: Mapping[str, Any]) -> Capacity | None:
    return _pair(part.get("ProvisionedThroughput"), "ReadCapacityUnits", "WriteCapacityUnits")


def _maximum(part: Mapping[str, Any]) -> Capacity | None:
    return _pair(part.get("OnDemandThroughput"), "MaxReadRequestUnits", "MaxWriteRequestUnits")


def _warm(part: Mapping[str, Any]) -> Capacity | None:
    return _pair(part.get("WarmThroughput"), "ReadUnitsPerSecond", "WriteUnitsPerSecond")


def _pair(part: Mapping[str, Any] | None, read: str, write: str) -> Capacity | None:
    """A pair of rates; DynamoDB writes an unset maximum as -1."""
    if not part:
        return None
    sides = {"read": part.get(read), "write": part.get(write)}
    known = {side: value for side, value in sides.items() if value is not None and value >= 0}
    return Capacity(**known) if known else None
