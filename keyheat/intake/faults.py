"""Check a table description: every reason that makes it unusable."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeGuard

from keyheat.intake.description import stream_of
from keyheat.intake.scaling import SIDES, is_units
from keyheat.intake.vocabulary import CAPACITY, Attributes
from keyheat.runs.table_facts import mode_of
from keyheat.scenario.spec.part import IN_WORDS, MOST_UNITS, REGION, TABLE

PROJECTIONS: Final = ("ALL", "KEYS_ONLY", "INCLUDE")
VIEWS: Final = ("KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES")
MOST_NAME: Final = 255


def find_faults(description: Attributes) -> Iterator[str]:
    """Explain what makes a description unusable: required properties that are missing or wrong."""
    if source := description.get("GlobalTableSourceArn"):
        yield f"it is a replica, with the keys and the capacity of {source}: describe its source table"
        return
    indexes = indexes_of(description)
    owners = {"its": description, **{f"its index {index_name(index)}'s": index for index in indexes}}
    mode = mode_of(description)
    if not re.fullmatch(r"[\w.-]{1,255}", str(description.get("TableName")), re.ASCII):
        yield from check_name("its TableName", description.get("TableName"))
    for subject, owner in owners.items():
        yield from _wrong_keys(subject, owner)
        yield from _wrong_units(subject, owner, 1 if mode == "PROVISIONED" else 0)
    for index in indexes:
        yield from check_name("the IndexName of one of its indexes", index.get("IndexName"))
        yield from _wrong_projection(f"its index {index_name(index)}'s", index.get("Projection") or {})
    if mode not in ("PROVISIONED", "PAY_PER_REQUEST"):
        yield f"its billing mode is {mode!r}; it must be PROVISIONED or PAY_PER_REQUEST"
    elif mode == "PROVISIONED":
        yield from _missing_capacity(description.get("ProvisionedThroughput") or {})
    yield from _wrong_attributes(description, owners.values())
    yield from _wrong_stream(stream_of(description))
    regions = [replica.get("RegionName") for replica in description.get("Replicas") or ()]
    if regions and "TableArn" in description:
        regions.append("".join(str(description["TableArn"]).split(":")[3:4]))
    for region in regions:
        if not re.fullmatch(REGION, str(region)):
            yield f"one of its Regions is {region!r}; it must be {IN_WORDS[REGION]}"


def _wrong_stream(view: object) -> Iterator[str]:
    if view is not None and view not in VIEWS:
        yield f"its StreamViewType is {view!r}; it must be one of {', '.join(VIEWS)}"


def check_name(what: str, name: object) -> Iterator[str]:
    """Check a table name against DynamoDB's rules, except the length of a placeholder."""
    if not (isinstance(name, str) and re.fullmatch(TABLE, name)):
        yield f"{what} is {name!r}; it must be {IN_WORDS[TABLE]}"


def _wrong_keys(subject: str, owner: Attributes) -> Iterator[str]:
    keys = owner.get("KeySchema")
    if not _is_rows(keys):
        yield f"{subject} keys (KeySchema) are missing or not a list"
    elif wrong := [key for key in keys if key.get("KeyType") not in ("HASH", "RANGE")]:
        yield f"{subject} KeySchema has a KeyType {wrong[0].get('KeyType')!r}; it must be HASH or RANGE"
    elif keys[0]["KeyType"] != "HASH":
        yield f"{subject} partition key must come first"


def _wrong_units(subject: str, owner: Attributes, provisioned: int) -> Iterator[str]:
    """Find values that are not capacity units; -1 means no limit, and 0 not provisioned."""
    for block, words in CAPACITY.items():
        for name, value in (owner.get(block) or {}).items():
            least = provisioned if block == "ProvisionedThroughput" else -1
            if words.get(name) is int and value is not None and not is_units(value, least):
                yield f"{subject} {name} is {value!r}; it must be 1 to {MOST_UNITS:,}"


def _missing_capacity(units: Attributes) -> Iterator[str]:
    """Missing capacity of a provisioned table."""
    missing = [name for name in SIDES if units.get(name) is None]
    if len(missing) == len(SIDES):
        yield "it is provisioned, without a throughput"
    else:
        yield from (f"it is provisioned, without {name}" for name in missing)


def _wrong_projection(subject: str, projection: Attributes) -> Iterator[str]:
    kind = projection.get("ProjectionType")
    if kind is None:
        yield f"{subject} ProjectionType is missing"
    elif kind not in PROJECTIONS:
        yield f"{subject} ProjectionType is {kind!r}; it must be one of {', '.join(PROJECTIONS)}"
    elif kind == "INCLUDE" and not projection.get("NonKeyAttributes"):
        yield f"{subject} projection is INCLUDE, without NonKeyAttributes"


def _wrong_attributes(description: Attributes, owners: Iterable[Attributes]) -> Iterator[str]:
    """Find key attributes without a valid name or type."""
    definitions = description.get("AttributeDefinitions") or ()
    types = {
        definition.get("AttributeName"): definition.get("AttributeType")
        for definition in definitions
        if _is_rows([definition])
    }
    keys = [key for owner in owners if _is_rows(owner.get("KeySchema")) for key in owner["KeySchema"]]
    for name in dict.fromkeys(key.get("AttributeName") for key in keys):
        if not isinstance(name, str):
            yield "the name of one of its key attributes is unknown"
        elif not 0 < len(name.encode(errors="replace")) <= MOST_NAME:
            yield f"a key attribute's name has {len(name):,} characters; it must have 1 to {MOST_NAME} bytes"
        elif types.get(name) not in ("S", "N", "B"):
            problem = f"is {types[name]!r}; it must be S, N or B" if name in types else "is missing"
            yield f"the type of its key attribute {name} {problem}"


def indexes_of(description: Attributes) -> Sequence[Attributes]:
    """Global and local indexes."""
    kinds = (description.get(f"{kind}SecondaryIndexes") for kind in ("Global", "Local"))
    return [index for indexes in kinds if _is_rows(indexes) for index in indexes]


def index_name(index: Attributes) -> str:
    """The index's name, or a placeholder."""
    return str(index.get("IndexName") or "(no name)")


def _is_rows(value: Any) -> TypeGuard[Sequence[Attributes]]:
    """Whether a value is a non-empty list of mappings."""
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(row, Mapping) for row in value)
