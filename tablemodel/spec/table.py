"""The tables of a scenario: their keys, modes, capacities, indexes and streams."""

from typing import Literal

from pydantic import Field

from tablemodel.spec.part import AttributeName, Part, TableName, Units


class CapacityPair(Part):
    """Reads and writes per second; a side that is absent is not limited (or not stated)."""

    read: Units | None = None
    write: Units | None = None


class IndexSpec(Part):
    """One secondary index of the table."""

    name: TableName
    partition_key: AttributeName
    sort_key: AttributeName | None = None
    sort_key_type: Literal["S", "N"] = Field(
        "S", description="N: a number, such as a count that updates add to; items are put without it"
    )
    projection: Literal["ALL", "KEYS_ONLY", "INCLUDE"] = "ALL"
    include: tuple[AttributeName, ...] = ()
    local: bool = Field(
        False, description="true: a local index, which shares the table's partitions and capacity"
    )
    provisioned: CapacityPair | None = Field(
        None, description="units per second of its own; provisioned mode only"
    )
    max_on_demand: CapacityPair | None = None
    warm: CapacityPair | None = None


class TableSpec(Part):
    """The table to create, in DynamoDB's own terms."""

    name: TableName
    billing_mode: Literal["PROVISIONED", "PAY_PER_REQUEST"] = "PROVISIONED"
    partition_key: AttributeName = "pk"
    sort_key: AttributeName | None = Field(
        None, description="absent: items are found by the partition key alone"
    )
    provisioned: CapacityPair | None = Field(None, description="units per second; provisioned mode only")
    max_on_demand: CapacityPair | None = Field(None, description="self-imposed ceiling; on-demand mode only")
    warm: CapacityPair | None = Field(None, description="pre-warmed throughput, units per second")
    indexes: tuple[IndexSpec, ...] = ()
    stream: Literal["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"] | None = Field(
        None, description="what the table's stream tells of each change; absent: it has no stream"
    )
