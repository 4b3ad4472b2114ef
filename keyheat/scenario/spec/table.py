"""The tables of a scenario: their keys, modes, capacities, indexes and streams."""

from typing import Annotated, Literal

from pydantic import Field

from keyheat.scenario.spec.keytypes import KeyType
from keyheat.scenario.spec.part import AttributeName, Part, TableName, Units
from keyheat.scenario.spec.scaling import AutoScalingSpec


class CapacityPair(Part):
    """Reads and writes per second; a side that is absent is not limited (or not stated)."""

    read: Units | None = None
    write: Units | None = None


class IndexSpec(Part):
    """One secondary index of the table."""

    name: TableName
    partition_key: AttributeName
    partition_key_type: KeyType = "S"
    sort_key: AttributeName | None = None
    sort_key_type: KeyType = Field(
        "S", description="N: a number, such as a count that updates add to; items are put without it"
    )
    sort_key_in_items: bool | None = Field(
        None, description="whether items are put with it; absent: unless it is a number"
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
    auto_scaling: AutoScalingSpec | None = Field(
        None, description="of this index by itself; simulated runs only"
    )

    @property
    def enters_items(self) -> bool:
        """Whether an item that is put has an entry in it; one that updates add to has none before."""
        if self.sort_key is None:
            return True
        return self.sort_key_type != "N" if self.sort_key_in_items is None else self.sort_key_in_items


class TableSpec(Part):
    """The table to create, in DynamoDB's own terms."""

    name: TableName
    billing_mode: Literal["PROVISIONED", "PAY_PER_REQUEST"] = "PROVISIONED"
    partition_key: AttributeName = "pk"
    partition_key_type: KeyType = Field("S", description="S: a string, N: a number, B: binary")
    sort_key: AttributeName | None = Field(
        None, description="absent: items are found by the partition key alone"
    )
    sort_key_type: KeyType = "S"
    provisioned: CapacityPair | None = Field(None, description="units per second; provisioned mode only")
    max_on_demand: CapacityPair | None = Field(None, description="self-imposed ceiling; on-demand mode only")
    warm: CapacityPair | None = Field(None, description="pre-warmed throughput, units per second")
    auto_scaling: AutoScalingSpec | None = Field(
        None, description="of the table itself, not of its indexes; simulated runs only"
    )
    indexes: tuple[IndexSpec, ...] = ()
    stream: Literal["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"] | None = Field(
        None, description="what the table's stream tells of each change; absent: it has no stream"
    )
    on_end: Literal["delete", "keep"] = Field(
        "delete",
        description="what becomes of a table that a run has created in AWS; one on this machine stays as "
        "long as its endpoint does, and one that was there before the run is never deleted",
    )
    expires_h: Annotated[float, Field(gt=0, le=8760)] = Field(
        24.0, description="hours after which a table that was left behind may be swept away; its tag says so"
    )

    @property
    def scaled(self) -> bool:
        """Whether auto scaling changes the capacity of the table or of any of its indexes."""
        return self.auto_scaling is not None or any(index.auto_scaling is not None for index in self.indexes)

    def key_types(self) -> dict[str, KeyType]:
        """The type of every attribute that is a key of the table or of an index."""
        owners: tuple[TableSpec | IndexSpec, ...] = (self, *self.indexes)
        return {
            name: kind
            for owner in owners
            for name, kind in (
                (owner.partition_key, owner.partition_key_type),
                (owner.sort_key, owner.sort_key_type),
            )
            if name is not None
        }
