"""The tables of a scenario: keys, modes, capacities, indexes, auto scaling, and what is changed in a run.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html

Steps with the same `at_s` are one request, as one UpdateTable may change a table together with its indexes.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from keyheat.model import limits
from keyheat.scenario.spec.part import (
    AttributeName,
    Region,
    ScenarioPart,
    TableName,
    Units,
    numbered,
)
from keyheat.words import Capacity

KeyType = Literal["S", "N", "B"]
IN_WORDS: dict[str, str] = {"S": "a string", "N": "a number", "B": "binary"}
KEYS = ("partition_key", "sort_key")


def broken_types(path: str, table: "TableSpec", indexes: Sequence[tuple[str, "IndexSpec"]]) -> Iterator[str]:
    """Key attributes with two types, and types of keys that are not there, as `message @ $.path`."""
    types: dict[str, str] = {}
    for where, owner in [(path, table), *indexes]:
        for key in KEYS:
            name, kind = getattr(owner, key), getattr(owner, f"{key}_type")
            if kind not in IN_WORDS:
                continue  # the field's own check has said so
            if name is None:
                if kind != "S":
                    yield f"{IN_WORDS[kind]} needs a {key} that it is the type of @ {where}.{key}_type"
            elif types.setdefault(name, kind) != kind:
                conflict = f"{name!r} is {IN_WORDS[types[name]]} where it is another key"
                yield f"{conflict}, and {IN_WORDS[kind]} here @ {where}.{key}_type"


LEAST, MOST = limits.SCALING_TARGETS
Cooldown = Annotated[float, Field(ge=0, le=86_400)]


class ScalingSpec(ScenarioPart):
    """A target tracking policy for reads or writes of the table or of one index.

    Sources: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/AutoScaling.html and, for the
    cooldowns and their defaults,
    https://docs.aws.amazon.com/autoscaling/application/APIReference/API_TargetTrackingScalingPolicyConfiguration.html
    """

    min: Units = Field(description="units per second; auto scaling never asks for less")
    max: Units = Field(description="units per second; auto scaling never asks for more")
    target: Annotated[float, Field(ge=LEAST, le=MOST)] = Field(
        0.7, description="target utilization: consumed as a share of provisioned"
    )
    scale_out_cooldown_s: Cooldown = Field(
        0.0, description="seconds after an increase in which only a larger one is allowed"
    )
    scale_in_cooldown_s: Cooldown = Field(
        0.0, description="seconds after a decrease in which no other one is allowed"
    )
    scale_in: bool = Field(True, description="false: capacity is only added (DisableScaleIn of the policy)")


class AutoScalingSpec(ScenarioPart):
    """Auto scaling of reads, writes or both; without a policy the capacity stays."""

    read: ScalingSpec | None = None
    write: ScalingSpec | None = None

    def sides(self) -> dict[str, ScalingSpec]:
        """The sides that are scaled."""
        return {side: spec for side in ("read", "write") if (spec := getattr(self, side)) is not None}


def broken_scaling(path: str, owner: "TableSpec | IndexSpec") -> Iterator[str]:
    """What the auto scaling of a table or of an index disagrees with, as `message @ $.path`."""
    for side, spec in owner.auto_scaling.sides().items() if owner.auto_scaling is not None else ():
        where, units = f"{path}.auto_scaling.{side}", getattr(owner.provisioned, side, None)
        if spec.min is None or spec.max is None:
            continue  # the fields' own check has said so
        if spec.min > spec.max:
            yield f"min = {spec.min} is more than max = {spec.max} @ {where}.min"
        elif units is not None and (units < spec.min or units > spec.max):
            bounds = f"min = {spec.min} and max = {spec.max}"
            yield f"provisioned.{side} = {units} is not between {bounds} @ {where}"


class CapacityPair(ScenarioPart):
    """Reads and writes per second; a side that is absent is not limited (or not stated)."""

    read: Units | None = None
    write: Units | None = None

    @property
    def rates(self) -> Capacity:
        """The pair as the model has it."""
        return Capacity(self.read, self.write)


class IndexSpec(ScenarioPart):
    """One secondary index of the table."""

    name: TableName
    partition_key: AttributeName
    partition_key_type: KeyType = "S"
    sort_key: AttributeName | None = None
    sort_key_type: KeyType = Field("S", description="S: a string, N: a number, B: binary")
    sort_key_in_items: bool = Field(
        True, description="false: puts leave it out, such as a counter that only updates add to"
    )
    more_partition_keys: tuple[AttributeName, ...] = Field(
        (), description="further attributes of its partition key; same as partition_key = ['a', 'b']"
    )
    more_sort_keys: tuple[AttributeName, ...] = Field(
        (), description="further attributes of its sort key; same as sort_key = ['a', 'b']"
    )
    projection: Literal["ALL", "KEYS_ONLY", "INCLUDE"] = "ALL"
    include: tuple[AttributeName, ...] = ()
    local: bool = Field(
        False, description="true: a local index, which shares the table's partitions and capacity"
    )
    provisioned: CapacityPair | None = Field(
        None, description="its own units per second; provisioned mode only"
    )
    max_on_demand: CapacityPair | None = None
    warm: CapacityPair | None = None
    auto_scaling: AutoScalingSpec | None = Field(None, description="of this index; simulated runs only")

    @property
    def partition_keys(self) -> tuple[str, ...]:
        """All attributes of its partition key, one of them in most indexes."""
        return (self.partition_key, *self.more_partition_keys)

    @property
    def sort_keys(self) -> tuple[str, ...]:
        """All attributes of its sort key; none where it has none."""
        return (self.sort_key, *self.more_sort_keys) if self.sort_key else ()

    @property
    def enters_items(self) -> bool:
        """Whether an item that is put has an entry in it; one that updates add to has none before."""
        return self.sort_key is None or self.sort_key_in_items


MOST_KEY_ATTRIBUTES: Final = 4
"""Of one key of a global index, since November 2025; a table's key has one of each kind.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.DesignPattern.MultiAttributeKeys.html"""


def with_key_lists(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """A scenario; keys of several attributes (`partition_key = ["a", "b"]`) are split into their fields."""
    table = raw.get("table")
    indexes = table.get("indexes") if isinstance(table, Mapping) else None
    if not isinstance(table, Mapping) or not isinstance(indexes, list | tuple):
        return raw
    split = [_split(index) if isinstance(index, Mapping) else index for index in indexes]
    return {**raw, "table": {**table, "indexes": split}}


def _split(index: Mapping[str, Any]) -> dict[str, Any]:
    fields = dict(index)
    for field in ("partition_key", "sort_key"):
        names = fields.get(field)
        if isinstance(names, list | tuple) and names:
            fields |= {field: names[0], f"more_{field}s": list(names[1:])}
    return fields


def broken_key_lists(path: str, index: IndexSpec) -> Iterator[str]:
    """What keys of several attributes disagree with, as `message @ $.path`."""
    sides = {"partition_key": index.more_partition_keys, "sort_key": index.more_sort_keys}
    if index.more_sort_keys and not index.sort_key:
        yield f"further attributes go with a sort_key @ {path}.more_sort_keys"
    for field, more in sides.items():
        if more and index.local:
            yield f"a local index has one attribute of each kind @ {path}.{field}"
        if len(more) >= MOST_KEY_ATTRIBUTES:
            yield f"{MOST_KEY_ATTRIBUTES} attributes at most, got {len(more) + 1} @ {path}.{field}"
    names = (*index.partition_keys, *index.sort_keys)
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        yield f"{name!r} is an attribute of its key twice @ {path}.partition_key"


def broken_regions(table: "TableSpec | None", companions: "Sequence[TableSpec]") -> Iterator[str]:
    """What is wrong with a global table, as `message @ $.path`."""
    for path, companion in numbered(companions, "$.companions"):
        if companion.regions:
            yield f"only the scenario's own table can be a global one @ {path}.regions"
    regions = table.regions if table is not None else ()
    if len(regions) == 1:
        yield "a global table is in two Regions and more; leave it out for a table in one @ $.table.regions"
    for region in sorted({region for region in regions if regions.count(region) > 1}):
        yield f"{region} is named twice @ $.table.regions"


def _single(name: Any) -> Any:
    if isinstance(name, list | tuple):
        message = "a table's own key has one attribute of each kind, that of a global index up to four"
        raise PydanticCustomError("several", message)
    return name


OwnKey = Annotated[AttributeName, BeforeValidator(_single)]


class TableSpec(ScenarioPart):
    """The table to create, in DynamoDB's own terms."""

    name: TableName
    billing_mode: Literal["PROVISIONED", "PAY_PER_REQUEST"] = "PROVISIONED"
    partition_key: OwnKey = "pk"
    partition_key_type: KeyType = Field("S", description="S: a string, N: a number, B: binary")
    sort_key: OwnKey | None = Field(None, description="absent: items are found by the partition key alone")
    sort_key_type: KeyType = "S"
    provisioned: CapacityPair | None = Field(None, description="units per second; provisioned mode only")
    max_on_demand: CapacityPair | None = Field(None, description="self-imposed ceiling; on-demand mode only")
    warm: CapacityPair | None = Field(None, description="pre-warmed throughput, units per second")
    auto_scaling: AutoScalingSpec | None = Field(
        None, description="of the table itself, not of its indexes; simulated runs only"
    )
    indexes: tuple[IndexSpec, ...] = ()
    stream: Literal["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"] | None = Field(
        None, description="view type of the table's stream; absent: no stream"
    )
    regions: tuple[Region, ...] = Field(
        (),
        description="all Regions of a global table, the loaded one first; each write is replicated to every "
        "Region and paid for there; absent: one Region",
    )
    on_end: Literal["delete", "keep"] = Field(
        "delete",
        description="whether to keep a table that the run created in AWS; a local table lives as long as "
        "its endpoint, and a table that existed before the run is never deleted",
    )
    expires_h: Annotated[float, Field(gt=0, le=8760)] = Field(
        24.0, description="hours after which `clean --orphans` may delete a table that was left behind"
    )

    @property
    def copies(self) -> int:
        """How many Regions the table is in."""
        return max(1, len(self.regions))

    @property
    def scaled(self) -> bool:
        """Whether auto scaling changes the capacity of the table or of any of its indexes."""
        return self.auto_scaling is not None or any(index.auto_scaling is not None for index in self.indexes)

    @property
    def index_attributes(self) -> list[str]:
        """The attributes that only indexes are keyed by, and that items are put with."""
        keys = (
            (*index.partition_keys, *(index.sort_keys if index.enters_items else ()))
            for index in self.indexes
        )
        return sorted({name for names in keys for name in names} - {self.partition_key, self.sort_key})

    def key_types(self) -> dict[str, KeyType]:
        """The type of every attribute that is a key of the table or of an index."""
        types: dict[str, KeyType] = {self.partition_key: self.partition_key_type}
        if self.sort_key is not None:
            types[self.sort_key] = self.sort_key_type
        for index in self.indexes:
            types |= dict.fromkeys(index.partition_keys, index.partition_key_type)
            types |= dict.fromkeys(index.sort_keys, index.sort_key_type)
        return types


Mode = Literal["PROVISIONED", "PAY_PER_REQUEST"]


class ChangeSpec(ScenarioPart):
    """One change of the capacity of the table or of an index. Absent fields do not change."""

    at_s: Annotated[float, Field(ge=0, le=7 * 86_400)] = Field(
        description="seconds into the run; steps at the same time are one request"
    )
    index: TableName | None = Field(None, description="a global secondary index; absent: the table itself")
    billing_mode: Mode | None = Field(None, description="of the table and its indexes")
    provisioned: CapacityPair | None = Field(None, description="units per second; a side not named stays")
    max_on_demand: CapacityPair | None = Field(
        None, description="self-imposed ceiling; a side not named stays"
    )
    warm: CapacityPair | None = Field(
        None, description="pre-warming: warm throughput in units per second; it can only rise"
    )


def requests_of(steps: Sequence[ChangeSpec]) -> list[tuple[float, tuple[ChangeSpec, ...]]]:
    """Group the steps into requests, each with its moment."""
    return [(at_s, tuple(same)) for at_s, same in groupby(steps, key=lambda step: step.at_s)]
