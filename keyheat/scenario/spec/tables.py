"""The tables of a scenario: keys, modes, capacities, indexes, auto scaling, and what is changed in a run.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html

Steps with the same `at_s` are one request, as one UpdateTable may change a table together with its indexes.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from keyheat.model import limits
from keyheat.scenario.spec.part import (
    AttributeName,
    Mistake,
    Region,
    ScenarioPart,
    TableName,
    Units,
)
from keyheat.words import Capacity

KeyType = Literal["S", "N", "B"]
IN_WORDS: dict[str, str] = {"S": "a string", "N": "a number", "B": "binary"}

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

    def broken(self) -> Iterator[Mistake]:
        if self.min > self.max:
            yield f"min = {self.min} is more than max = {self.max}", "min"


class AutoScalingSpec(ScenarioPart):
    """Auto scaling of reads, writes or both; without a policy the capacity stays."""

    read: ScalingSpec | None = None
    write: ScalingSpec | None = None

    def sides(self) -> dict[str, ScalingSpec]:
        """The sides that are scaled."""
        return {side: spec for side in ("read", "write") if (spec := getattr(self, side)) is not None}


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

    @model_validator(mode="before")
    @classmethod
    def _split_keys(cls, raw: Any) -> Any:
        """Split keys of several attributes, `partition_key = ["a", "b"]`, into their fields."""
        if not isinstance(raw, Mapping):
            return raw
        fields = dict(raw)
        for name in ("partition_key", "sort_key"):
            if isinstance(names := fields.get(name), list | tuple) and names:
                fields |= {name: names[0], f"more_{name}s": names[1:]}
        return fields

    def broken(self) -> Iterator[Mistake]:
        if self.include and self.projection != "INCLUDE":
            yield 'only projection = "INCLUDE" names attributes', "include"
        if self.more_sort_keys and not self.sort_key:
            yield "further attributes go with a sort_key", "more_sort_keys"
        more = {"partition_key": self.more_partition_keys, "sort_key": self.more_sort_keys}
        for field, names in more.items():
            if names and self.local:
                yield "a local index has one attribute of each kind", field
            if len(names) >= MOST_KEY_ATTRIBUTES:
                yield f"{MOST_KEY_ATTRIBUTES} attributes at most, got {len(names) + 1}", field
        for name, count in Counter((*self.partition_keys, *self.sort_keys)).items():
            if count > 1:
                yield f"{name!r} is an attribute of its key twice", "partition_key"
        if self.local and self.sort_key is None:
            yield "a local index needs its own sort key", "sort_key"
        for capacity in ("provisioned", "max_on_demand", "warm", "auto_scaling") if self.local else ():
            if getattr(self, capacity) is not None:
                yield "a local index shares the table's capacity", capacity

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

    def broken(self) -> Iterator[Mistake]:
        yield from _broken_capacity(self, self.billing_mode)
        for number, index in enumerate(self.indexes):
            if not index.local:
                yield from _broken_capacity(index, self.billing_mode, "indexes", number)
                continue
            # https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html
            if self.sort_key is None:
                yield "a local index needs a table with a sort_key", "indexes", number, "local"
            if index.partition_key != self.partition_key:
                yield "a local index has the table's partition key", "indexes", number, "partition_key"
        yield from self._broken_types()
        yield from named_twice(self.indexes, "index", "indexes")
        if len(self.regions) == 1:
            yield "a global table is in two Regions and more; leave it out for a table in one", "regions"
        for region, count in Counter(self.regions).items():
            if count > 1:
                yield f"{region} is named twice", "regions"

    def _broken_types(self) -> Iterator[Mistake]:
        """Key attributes with two types, and types of keys that are not there."""
        types: dict[str, str] = {}
        indexes = ((index, ("indexes", number)) for number, index in enumerate(self.indexes))
        for owner, path in ((self, ()), *indexes):
            for key in ("partition_key", "sort_key"):
                name, kind = getattr(owner, key), getattr(owner, f"{key}_type")
                if name is None and kind != "S":
                    yield f"{IN_WORDS[kind]} needs a {key} that it is the type of", *path, f"{key}_type"
                elif name is not None and types.setdefault(name, kind) != kind:
                    conflict = f"{name!r} is {IN_WORDS[types[name]]} where it is another key"
                    yield f"{conflict}, and {IN_WORDS[kind]} here", *path, f"{key}_type"

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


def _broken_capacity(owner: TableSpec | IndexSpec, mode: str, *path: str | int) -> Iterator[Mistake]:
    """What the capacity of a table or of a global index disagrees with."""
    pair = owner.provisioned
    if mode == "PAY_PER_REQUEST" and pair is not None:
        yield "PAY_PER_REQUEST mode has no provisioned capacity", *path, "provisioned"
    elif mode == "PROVISIONED" and pair is None:
        yield "PROVISIONED mode needs provisioned = { read = .., write = .. }", *path, "provisioned"
    if mode == "PROVISIONED" and owner.max_on_demand is not None:
        yield "PROVISIONED mode has no on-demand maximum", *path, "max_on_demand"
    for side in ("read", "write") if mode == "PROVISIONED" and pair is not None else ():
        if getattr(pair, side) is None:
            yield "PROVISIONED mode needs it", *path, "provisioned", side
    for side, spec in owner.auto_scaling.sides().items() if owner.auto_scaling is not None else ():
        units = getattr(pair, side, None)
        if units is not None and not spec.min <= units <= spec.max:
            bounds = f"min = {spec.min} and max = {spec.max}"
            yield f"provisioned.{side} = {units} is not between {bounds}", *path, "auto_scaling", side


def named_twice(owners: Sequence[TableSpec | IndexSpec], what: str, *path: str | int) -> Iterator[Mistake]:
    """Tables or indexes with the name of an earlier one."""
    for number, owner in enumerate(owners):
        if owner.name in {earlier.name for earlier in owners[:number]}:
            yield f"another {what} is named {owner.name!r} too", *path, number, "name"


Mode = Literal["PROVISIONED", "PAY_PER_REQUEST"]
CHANGES: Final = ("billing_mode", "provisioned", "max_on_demand", "warm")


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

    def broken(self) -> Iterator[Mistake]:
        if not self.stated & {*CHANGES}:
            yield (f"say what to change: {', '.join(CHANGES)}",)
        if self.index is not None and self.billing_mode is not None:
            yield "it is that of the table and all its indexes: leave index out", "billing_mode"


def requests_of(steps: Sequence[ChangeSpec]) -> list[tuple[float, tuple[ChangeSpec, ...]]]:
    """Group the steps into requests, each with its moment."""
    return [(at_s, tuple(same)) for at_s, same in groupby(steps, key=lambda step: step.at_s)]
