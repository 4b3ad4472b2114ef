"""The tables of a scenario: keys, modes, capacities, indexes, auto scaling, and what is changed in a run.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html

Steps with the same `at_s` are one request, as one UpdateTable may change a table together with its indexes.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import inf
from typing import Annotated, Any, Literal

from pydantic import Field

from keyheat.model import limits
from keyheat.scenario.spec.capacity import SIDES, Walk, pair_of
from keyheat.scenario.spec.part import AttributeName, ScenarioPart, TableName, Units, is_number

KeyType = Literal["S", "N", "B"]
IN_WORDS: dict[str, str] = {"S": "a string", "N": "a number", "B": "binary"}
KEYS = (("partition_key", "pk"), ("sort_key", None))


def broken_types(
    path: str, table: Mapping[str, Any], indexes: list[tuple[str, Mapping[str, Any]]]
) -> Iterator[str]:
    """Key attributes with two types, and types of keys that are not there, as `message @ $.path`."""
    types: dict[str, str] = {}
    for where, owner in [(path, table), *indexes]:
        for key, default in KEYS:
            name, kind = owner.get(key, default if owner is table else None), owner.get(f"{key}_type", "S")
            if kind not in IN_WORDS:
                continue  # the field's own check has said so
            if name is None:
                if kind != "S":
                    yield f"{IN_WORDS[kind]} needs a {key} that it is the type of @ {where}.{key}_type"
            elif isinstance(name, str) and types.setdefault(name, kind) != kind:
                said = f"{name!r} is {IN_WORDS[types[name]]} where it is another key"
                yield f"{said}, and {IN_WORDS[kind]} here @ {where}.{key}_type"


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
        0.7, description="consumed as a share of provisioned that it steers for"
    )
    scale_out_cooldown_s: Cooldown = Field(
        0.0, description="after adding capacity, only a larger addition is made for so long"
    )
    scale_in_cooldown_s: Cooldown = Field(
        0.0, description="after taking capacity away, no more is taken away for so long"
    )


class AutoScalingSpec(ScenarioPart):
    """Which sides of a table or of an index are scaled; one that is absent keeps its capacity."""

    read: ScalingSpec | None = None
    write: ScalingSpec | None = None

    def sides(self) -> dict[str, ScalingSpec]:
        """The sides that are scaled."""
        return {side: spec for side in SIDES if (spec := getattr(self, side)) is not None}


def broken_scaling(path: str, owner: Mapping[str, Any]) -> Iterator[str]:
    """What the auto scaling of a table or of an index disagrees with, as `message @ $.path`."""
    scaling, provisioned = owner.get("auto_scaling"), pair_of(owner, "provisioned")
    sides = scaling if isinstance(scaling, Mapping) else {}
    for side in SIDES:
        bounds = sides.get(side)
        least, most = (bounds.get("min"), bounds.get("max")) if isinstance(bounds, Mapping) else (None, None)
        if not (is_number(least) and is_number(most)):
            continue
        where = f"{path}.auto_scaling.{side}"
        if least > most:
            yield f"min = {least} is more than max = {most} @ {where}.min"
        elif side in provisioned and not least <= provisioned[side] <= most:
            units = provisioned[side]
            yield f"provisioned.{side} = {units} is not between min = {least} and max = {most} @ {where}"


class CapacityPair(ScenarioPart):
    """Reads and writes per second; a side that is absent is not limited (or not stated)."""

    read: Units | None = None
    write: Units | None = None


class IndexSpec(ScenarioPart):
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


class TableSpec(ScenarioPart):
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

    @property
    def index_attributes(self) -> list[str]:
        """The attributes that only indexes are keyed by, and that items are put with."""
        pairs = ((one.partition_key, one.sort_key if one.enters_items else None) for one in self.indexes)
        return sorted({name for pair in pairs for name in pair if name} - {self.partition_key, self.sort_key})

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


Mode = Literal["PROVISIONED", "PAY_PER_REQUEST"]


class ChangeSpec(ScenarioPart):
    """One change of the table's capacity, or of an index's. What is not named stays as it is."""

    at_s: Annotated[float, Field(ge=0, le=7 * 86_400)] = Field(
        description="seconds into the run; steps of the same moment are one request"
    )
    index: TableName | None = Field(None, description="a global secondary index; absent: the table itself")
    billing_mode: Mode | None = Field(None, description="of the table together with its indexes")
    provisioned: CapacityPair | None = Field(None, description="units per second; a side not named stays")
    max_on_demand: CapacityPair | None = Field(
        None, description="self-imposed ceiling; a side not named stays"
    )
    warm: CapacityPair | None = Field(
        None, description="pre-warming: throughput to be ready for, units per second; it only ever rises"
    )


def requests_of(steps: Sequence[ChangeSpec]) -> list[tuple[float, tuple[ChangeSpec, ...]]]:
    """The steps as requests, each with its moment: those of the same moment are asked together."""
    return [(at_s, tuple(same)) for at_s, same in groupby(steps, key=lambda step: step.at_s)]


def broken_timeline(raw: Mapping[str, Any], default_duration_s: float) -> Iterator[str]:
    """Every step that cannot be, as `message @ $.path`; `raw` is the whole scenario."""
    table, listed = raw.get("table"), raw.get("timeline")
    steps = listed if isinstance(listed, list | tuple) else ()
    placed = [(f"$.timeline[{n}]", step) for n, step in enumerate(steps) if isinstance(step, Mapping)]
    yield from _times(placed, _duration_s(raw, default_duration_s))
    if not isinstance(table, Mapping):
        return
    walk = Walk.of(table)
    for at_s, same in groupby(placed, key=lambda one: one[1].get("at_s")):
        yield from walk.request(at_s, list(same))
    yield from walk.unused_scaling()


def _times(placed: Sequence[tuple[str, Mapping[str, Any]]], duration_s: float) -> Iterator[str]:
    before_s = -inf
    for path, step in placed:
        at_s = step.get("at_s")
        if not is_number(at_s):
            continue
        if at_s < before_s:
            yield f"the steps are in order of time, and the one before is at {before_s:g} s @ {path}.at_s"
        if at_s >= duration_s:
            yield f"the load ends after {duration_s:g} s @ {path}.at_s"
        before_s = max(before_s, at_s)


def _duration_s(raw: Mapping[str, Any], default_s: float) -> float:
    load = raw.get("load")
    stated = load.get("duration_s", default_s) if isinstance(load, Mapping) else default_s
    return float(stated) if is_number(stated) and stated > 0 else inf
