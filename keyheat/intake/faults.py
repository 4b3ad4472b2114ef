"""What is wrong with a description, in its own words: each reason for which a table cannot be taken."""

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


def lacks(description: Attributes) -> Iterator[str]:
    """Why a description is of no use: what every table has, and this one does not say."""
    if source := description.get("GlobalTableSourceArn"):
        yield f"it is a replica, with the keys and the capacity of {source}: describe its source table"
        return
    indexes = indexes_of(description)
    owners = {"its": description, **{f"its index {named(one)}'s": one for one in indexes}}
    mode = mode_of(description)
    if not re.fullmatch(r"[\w.-]{1,255}", str(description.get("TableName")), re.ASCII):
        yield from ill_named("its TableName", description.get("TableName"))
    for whose, owner in owners.items():
        yield from _wrong_keys(whose, owner)
        yield from _wrong_units(whose, owner, 1 if mode == "PROVISIONED" else 0)
    for index in indexes:
        yield from ill_named("the IndexName of one of its indexes", index.get("IndexName"))
        yield from _wrong_projection(f"its index {named(index)}'s", index.get("Projection") or {})
    if mode not in ("PROVISIONED", "PAY_PER_REQUEST"):
        yield f"its billing mode is {mode!r}, and should be PROVISIONED or PAY_PER_REQUEST"
    elif mode == "PROVISIONED":
        yield from _unprovisioned(description.get("ProvisionedThroughput") or {})
    yield from _untyped(description, owners.values())
    yield from _wrong_stream(stream_of(description))
    regions = [one.get("RegionName") for one in description.get("Replicas") or ()]
    if regions and "TableArn" in description:
        regions.append("".join(str(description["TableArn"]).split(":")[3:4]))
    for region in regions:
        if not re.fullmatch(REGION, str(region)):
            yield f"one of its Regions is {region!r}, and should be {IN_WORDS[REGION]}"


def _wrong_stream(view: object) -> Iterator[str]:
    if view is not None and view not in VIEWS:
        yield f"its StreamViewType is {view!r}, and should be one of {', '.join(VIEWS)}"


def ill_named(what: str, name: object) -> Iterator[str]:
    """A name that DynamoDB refuses. A table's may be a stand-in, too short for one: it is not made by it."""
    if not (isinstance(name, str) and re.fullmatch(TABLE, name)):
        yield f"{what} is {name!r}, and should be {IN_WORDS[TABLE]}"


def _wrong_keys(whose: str, owner: Attributes) -> Iterator[str]:
    keys = owner.get("KeySchema")
    if not _rows(keys):
        yield f"{whose} keys (KeySchema) are not said, or not as a list"
    elif wrong := [one for one in keys if one.get("KeyType") not in ("HASH", "RANGE")]:
        yield f"{whose} KeySchema has a KeyType {wrong[0].get('KeyType')!r}: HASH and RANGE are known"
    elif keys[0]["KeyType"] != "HASH":
        yield f"{whose} partition key is not said first"


def _wrong_units(whose: str, owner: Attributes, provisioned: int) -> Iterator[str]:
    """Units that are no number of them; -1 and 0 are said where there is no limit, or nothing provisioned."""
    for part, words in CAPACITY.items():
        for name, value in (owner.get(part) or {}).items():
            least = provisioned if part == "ProvisionedThroughput" else -1
            if words.get(name) is int and value is not None and not is_units(value, least):
                yield f"{whose} {name} is {value!r}, and should be 1 to {MOST_UNITS:,}"


def _unprovisioned(units: Attributes) -> Iterator[str]:
    """What a provisioned table does not say of its capacity."""
    unsaid = [name for name in SIDES if units.get(name) is None]
    if len(unsaid) == len(SIDES):
        yield "it is provisioned, and its throughput is not said"
    else:
        yield from (f"it is provisioned, and its {name} is not said" for name in unsaid)


def _wrong_projection(whose: str, projection: Attributes) -> Iterator[str]:
    kind = projection.get("ProjectionType")
    if kind is None:
        yield f"{whose} ProjectionType is not said"
    elif kind not in PROJECTIONS:
        yield f"{whose} ProjectionType is {kind!r}, and should be one of {', '.join(PROJECTIONS)}"
    elif kind == "INCLUDE" and not projection.get("NonKeyAttributes"):
        yield f"{whose} projection is INCLUDE, and its NonKeyAttributes are not said"


def _untyped(description: Attributes, owners: Iterable[Attributes]) -> Iterator[str]:
    """Key attributes of which name or type is not said."""
    definitions = description.get("AttributeDefinitions") or ()
    types = {one.get("AttributeName"): one.get("AttributeType") for one in definitions if _rows([one])}
    keys = [one for owner in owners if _rows(owner.get("KeySchema")) for one in owner["KeySchema"]]
    for name in dict.fromkeys(one.get("AttributeName") for one in keys):
        if not isinstance(name, str):
            yield "the name of one of its key attributes is not known here"
        elif not 0 < len(name.encode(errors="replace")) <= MOST_NAME:
            yield f"a key attribute's name of {len(name):,} characters: 1 to {MOST_NAME} bytes are taken"
        elif types.get(name) not in ("S", "N", "B"):
            said = f"is {types[name]!r}, and should be S, N or B" if name in types else "is not said"
            yield f"the type of its key attribute {name} {said}"


def indexes_of(description: Attributes) -> Sequence[Attributes]:
    """Global and local indexes."""
    kinds = (description.get(f"{kind}SecondaryIndexes") for kind in ("Global", "Local"))
    return [one for found in kinds if _rows(found) for one in found]


def named(index: Attributes) -> str:
    """An index, by its name if it has one."""
    return str(index.get("IndexName") or "(no name)")


def _rows(value: Any) -> TypeGuard[Sequence[Attributes]]:
    """Whether it is what a list of a description is: members by their names."""
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(one, Mapping) for one in value)
