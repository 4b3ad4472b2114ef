"""A table as a file or an account describes it, whatever the format: what was taken, and what was not."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Final, TypeGuard

from keyheat.intake.description import mixed_types, types_of
from keyheat.model.limits import PARTITION_BYTES

Attributes = Mapping[str, Any]
"""A table in the words of DescribeTable: what every format is brought into."""
Scaling = Mapping[tuple[str | None, str], Mapping[str, float]]
"""Auto scaling by index (None: the table) and side: min, max and, where known, target and cooldowns."""
SCALED: Final = re.compile(r"table/([^/]+)(?:/index/(.+))?")
"""What a scalable target names: a table, or one of its indexes."""
SIDES: Final[Mapping[str, str]] = {"ReadCapacityUnits": "read", "WriteCapacityUnits": "write"}


_POLICY: Final = {
    "TargetValue": "target",
    "ScaleOutCooldown": "scale_out_cooldown_s",
    "ScaleInCooldown": "scale_in_cooldown_s",
}


def tracked(policy: Mapping[str, Any]) -> dict[str, float]:
    """What a target tracking policy says, in the words of a scenario: a target as a share, and cooldowns."""
    found = {ours: float(policy[name]) for name, ours in _POLICY.items() if policy.get(name) is not None}
    return found | ({"target": found["target"] / 100} if "target" in found else {})


class NotTaken(ValueError):
    """A source of which nothing could be taken, with every reason why."""


@dataclass(frozen=True, slots=True)
class SourceTable:
    """One table of a source."""

    description: Attributes
    scaling: Scaling = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what was not taken, and why

    @property
    def name(self) -> str:
        """The table's name."""
        return str(self.description["TableName"])

    @property
    def item_bytes(self) -> int | None:
        """The size of an item in the mean; None where nobody has counted."""
        items, size = self.description.get("ItemCount"), self.description.get("TableSizeBytes")
        return round(size / items) if items and size else None


@dataclass(frozen=True, slots=True)
class Source:
    """What a file holds: its tables, and what is in it that is none."""

    format: str  # in words
    tables: tuple[SourceTable, ...]
    notes: tuple[str, ...] = ()


def described(requested: Attributes) -> dict[str, Any]:
    """A CreateTable request, or what is written as one, as DescribeTable would answer it."""
    mode = requested.get("BillingMode") or "PROVISIONED"
    return {
        **{name: value for name, value in requested.items() if value is not None},
        "BillingModeSummary": {"BillingMode": mode},
        "GlobalSecondaryIndexes": list(requested.get("GlobalSecondaryIndexes") or ()),
        "LocalSecondaryIndexes": list(requested.get("LocalSecondaryIndexes") or ()),
    }


def lacks(description: Attributes) -> Iterator[str]:
    """Why a description is of no use: what every table has, and this one does not say."""
    owners = {"its": description, **{f"its index {_named(one)}'s": one for one in _indexes(description)}}
    for whose, owner in owners.items():
        keys = owner.get("KeySchema")
        if not _rows(keys):
            yield f"{whose} keys (KeySchema) are not said, or not as a list"
        elif wrong := [one for one in keys if one.get("KeyType") not in ("HASH", "RANGE")]:
            yield f"{whose} KeySchema has a KeyType {wrong[0].get('KeyType')!r}: HASH and RANGE are known"
        elif keys[0]["KeyType"] != "HASH":
            yield f"{whose} partition key is not said first"
        for units, value in (owner.get("ProvisionedThroughput") or {}).items():
            if units in SIDES and not (isinstance(value, int | float) and value >= 0):
                yield f"{whose} {units} is {value!r}, and should be 1 or more"
    mode = (description.get("BillingModeSummary") or {}).get("BillingMode", "PROVISIONED")
    if mode not in ("PROVISIONED", "PAY_PER_REQUEST"):
        yield f"its billing mode is {mode!r}, and should be PROVISIONED or PAY_PER_REQUEST"
    elif mode == "PROVISIONED" and not description.get("ProvisionedThroughput"):
        yield "it is provisioned, and its throughput is not said"
    yield from _untyped(description, owners.values())


def _untyped(description: Attributes, owners: Iterable[Attributes]) -> Iterator[str]:
    """Key attributes of which name or type is not said."""
    definitions = description.get("AttributeDefinitions") or ()
    types = {one.get("AttributeName"): one.get("AttributeType") for one in definitions if _rows([one])}
    keys = [one for owner in owners if _rows(owner.get("KeySchema")) for one in owner["KeySchema"]]
    for name in dict.fromkeys(one.get("AttributeName") for one in keys):
        if not isinstance(name, str):
            yield "the name of one of its key attributes is not known here"
        elif types.get(name) not in ("S", "N", "B"):
            said = f"is {types[name]!r}, and should be S, N or B" if name in types else "is not said"
            yield f"the type of its key attribute {name} {said}"


def _rows(value: Any) -> TypeGuard[Sequence[Attributes]]:
    """Whether it is what a list of a description is: members by their names."""
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(one, Mapping) for one in value)


def _named(index: Attributes) -> str:
    return str(index.get("IndexName") or "(no name)")


def left_out(description: Attributes) -> Iterator[str]:
    """What of a table a scenario has no place for."""
    types = types_of(description)
    for index in _indexes(description):
        if mixed_types(index, types):
            yield f"index {index['IndexName']}: attributes of one key are of several types: the first one's"
    size = description.get("TableSizeBytes") or 0
    if size > PARTITION_BYTES and not description.get("WarmThroughput"):
        least = ceil(size / PARTITION_BYTES)
        yield (
            f"its size, {size / 1e9:,.0f} GB: it has {least:,} partitions at least, and the scenario's table "
            "as many as its capacity makes, so keys share partitions more often there"
        )
    yield from (said for field, said in UNUSED.items() if description.get(field))
    if description.get("TableClass") not in (None, "STANDARD"):
        yield f"its class {description['TableClass']}: costs are those of the standard class"


UNUSED: Final[Mapping[str, str]] = {
    "TimeToLiveSpecification": "its time to live: deletions by it cost nothing, and are not played",
    "PointInTimeRecoverySpecification": "its point-in-time recovery: it costs, and is not counted",
    "KinesisStreamSpecification": "its Kinesis stream: it costs, and is not counted",
    "ImportSourceSpecification": "its import: a run begins with an empty table",
    "ContributorInsightsSpecification": "its Contributor Insights: see --throttled-keys",
}
"""Parts of a table that change nothing of what throttles."""


def _indexes(description: Attributes) -> Sequence[Attributes]:
    kinds = (description.get(f"{kind}SecondaryIndexes") for kind in ("Global", "Local"))
    return [one for found in kinds if _rows(found) for one in found]
