"""Check a table's description by botocore's service model, and convert it to scenario fields.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TableDescription.html ; CloudFormation's
further properties: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_DynamoDB.html
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any, Final, TypeGuard

from keyheat.intake.scaling import SIDES, Attributes, as_number, is_units
from keyheat.runs.table_facts import (
    IndexFacts,
    KeyAttribute,
    TableFacts,
    mode_of,
    region_of_arn,
    table_facts,
)
from keyheat.runs.table_facts import indexes_of as index_facts
from keyheat.scenario.spec.part import IN_WORDS, MOST_UNITS, REGION, TABLE
from keyheat.words import Direction

MOST_NAME: Final = 255
THROUGHPUT: Final = ("ProvisionedThroughput", "OnDemandThroughput", "WarmThroughput")
LOOKED_INTO: Final = frozenset({
    *THROUGHPUT, "ProvisionedThroughputOverride", "OnDemandThroughputOverride", "AttributeDefinitions",
    "KeySchema", "Projection", "GlobalSecondaryIndexes", "LocalSecondaryIndexes", "Replicas",
    "BillingModeSummary", "StreamSpecification", "TableClassSummary",
})  # fmt: skip
"""Properties whose own properties are read; any other may have any value."""
_CLOUDFORMATION: Final[Mapping[type | None, str]] = {
    int: "MinCapacity MaxCapacity SeedCapacity",
    dict: "ReadProvisionedThroughputSettings ReadCapacityAutoScalingSettings ReadOnDemandThroughputSettings "
    "WriteProvisionedThroughputSettings WriteCapacityAutoScalingSettings WriteOnDemandThroughputSettings "
    "TargetTrackingScalingPolicyConfiguration",
    None: "Arn ContributorInsightsSpecification DeletionProtectionEnabled DisableScaleIn "
    "DisassociationProtectionEnabled ImportSourceSpecification KinesisStreamSpecification "
    "PointInTimeRecoverySpecification PrimaryKey Region ReplicaStreamSpecification ResourcePolicy "
    "SSESpecification ScaleInCooldown ScaleOutCooldown StreamArn TableClass TableType Tags TargetValue "
    "TimeToLiveSpecification",
}
"""Properties that CloudFormation has beyond DynamoDB's API, by kind as in `_properties`."""


@cache
def _model() -> Any:
    from botocore.session import get_session  # here: a load reads descriptions and no templates

    return get_session().get_service_model("dynamodb")


@cache
def _properties() -> Mapping[str, type | None]:
    """Every property of a table by its name: `list` or `dict` of properties, `int`, or None for anything."""
    kinds = {name: kind for kind, names in _CLOUDFORMATION.items() for name in names.split()}
    shapes = [_model().shape_for(name) for name in ("CreateTableInput", "TableDescription")]
    for shape in shapes:  # grows by the properties of each
        for name, member in shape.members.items():
            if name in LOOKED_INTO:
                kinds[name] = list if member.type_name == "list" else dict
                shapes.append(member.member if member.type_name == "list" else member)
            elif member.type_name in ("long", "integer"):
                kinds[name] = int
            else:
                kinds.setdefault(name, None)
    return kinds


def checked_properties(value: Any, path: str) -> tuple[Any, list[str], list[str]]:
    """A description with its numbers as numbers; its unknown properties; and what makes it malformed."""
    unknown, malformed = list[str](), list[str]()
    return _checked(value, path, dict, unknown, malformed), unknown, malformed


def _checked(value: Any, path: str, kind: type | None, unknown: list[str], malformed: list[str]) -> Any:
    if kind is int:
        return as_number(value)
    if kind is list and isinstance(value, list | tuple):
        parts = ({} if part is None else part for part in value)
        return [_checked(part, f"{path}[{n}]", dict, unknown, malformed) for n, part in enumerate(parts)]
    if kind is dict and isinstance(value, Mapping):
        kinds = _properties()
        for name in (name for name in value if name not in kinds):
            near = get_close_matches(str(name), kinds, n=1)
            unknown.append(f"{path}.{name} is unknown" + (f": did you mean {near[0]}?" if near else ""))
        return {
            name: part
            if part is None
            else _checked(part, f"{path}.{name}", kinds.get(name), unknown, malformed)
            for name, part in value.items()
        }
    if kind is not None:
        malformed.append(f"{path} is not a {'list' if kind is list else 'mapping of properties'}")
    return value


def table_of(description: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a `TableSpec` equal to the table; a run never deletes it."""
    fields = fields_of(table_facts(description))
    local = [{**_index(index, None), "local": True} for index in index_facts(description, "Local")]
    return fields | {"indexes": [*local, *fields["indexes"]], "stream": stream_of(description)}


def fields_of(facts: TableFacts) -> dict[str, Any]:
    """Fields of a `TableSpec` for the known facts; unknown keys and projections are assumed."""
    home = facts.region or region_of_arn(facts.arn or "")
    return {
        "name": facts.name,
        "billing_mode": facts.billing_mode,
        **_keys(facts, "pk"),
        **_capacity(facts, facts.billing_mode),
        "indexes": [
            _index(index, facts.billing_mode, f"index_{number}")
            for number, index in enumerate(facts.indexes, 1)
        ],
        "stream": None,
        **({"regions": [home, *facts.replicas]} if home and facts.replicas else {}),  # its own first
        "on_end": "keep",
    }


def _index(index: IndexFacts, mode: str | None, assumed_key: str = "") -> dict[str, Any]:
    return {
        "name": index.name, "local": False, **_keys(index, assumed_key),
        "projection": index.projection or "ALL",
        "include": list(index.include) if index.projection == "INCLUDE" else [],
        **(_capacity(index, mode) if mode else {}),
    }  # fmt: skip


def _keys(owner: TableFacts | IndexFacts, assumed: str) -> dict[str, Any]:
    """Each side of a key: its attributes, with the type of the first (see `mixed_types`)."""
    keys: dict[str, Any] = {}
    for key in owner.keys or (KeyAttribute(name=assumed, type="S", role="HASH"),):
        name = "partition_key" if key.role == "HASH" else "sort_key"
        if name in keys:
            keys.setdefault(f"more_{name}s", []).append(key.name)
        else:
            keys |= {name: key.name, f"{name}_type": key.type}
    return keys


def _capacity(owner: TableFacts | IndexFacts, mode: str | None) -> dict[str, dict[str, int]]:
    """Whole units of the capacities in force; AWS keeps those of the other mode, without effect."""
    stated = {}
    for name in ("provisioned", "max_on_demand", "warm"):
        pair = getattr(owner, name)
        units = {side.value: max(1, round(rate)) for side in Direction if pair and (rate := pair.of(side))}
        if units and name != ("max_on_demand" if mode == "PROVISIONED" else "provisioned"):
            stated[name] = units
    return stated


def mixed_types(owner: Mapping[str, Any], types: Mapping[str, str]) -> bool:
    """Whether one side of a key has several types, which a scenario cannot express."""
    kinds: dict[str, set[str]] = {}
    for element in owner["KeySchema"]:
        kinds.setdefault(element["KeyType"], set()).add(types[element["AttributeName"]])
    return any(len(types_of_side) > 1 for types_of_side in kinds.values())


def stream_of(description: Mapping[str, Any]) -> str | None:
    """The view type of a table's stream; None without a stream."""
    stream = description.get("StreamSpecification") or {}
    return stream.get("StreamViewType") if stream.get("StreamEnabled") else None


def find_faults(description: Attributes) -> Iterator[str]:
    """Explain what makes a description unusable: required properties that are missing or wrong."""
    if source := description.get("GlobalTableSourceArn"):
        yield f"it is a replica, with the keys and the capacity of {source}: describe its source table"
        return
    indexes, mode = indexes_of(description), mode_of(description)
    owners = {"its": description, **{f"its index {index_name(index)}'s": index for index in indexes}}
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
        units = description.get("ProvisionedThroughput") or {}
        missing = [name for name in SIDES if units.get(name) is None]
        if missing:
            yield f"it is provisioned, without {' and '.join(missing)}"
    yield from _wrong_attributes(description, owners.values())
    if (view := stream_of(description)) is not None:
        yield from _wrong_word("its", "StreamViewType", view)
    regions = [replica.get("RegionName") for replica in description.get("Replicas") or ()]
    if regions and "TableArn" in description:
        regions.append("".join(str(description["TableArn"]).split(":")[3:4]))
    for region in regions:
        if not re.fullmatch(REGION, str(region)):
            yield f"one of its Regions is {region!r}; it must be {IN_WORDS[REGION]}"


def check_name(what: str, name: object) -> Iterator[str]:
    """Check a table name against DynamoDB's rules, except the length of a placeholder."""
    if not (isinstance(name, str) and re.fullmatch(TABLE, name)):
        yield f"{what} is {name!r}; it must be {IN_WORDS[TABLE]}"


def _wrong_word(subject: str, name: str, word: object) -> Iterator[str]:
    if word not in (words := _model().shape_for(name).enum):
        yield f"{subject} {name} is {word!r}; it must be one of {', '.join(words)}"


def _wrong_projection(subject: str, projection: Attributes) -> Iterator[str]:
    if (kind := projection.get("ProjectionType")) is None:
        yield f"{subject} ProjectionType is missing"
    elif kind == "INCLUDE" and not projection.get("NonKeyAttributes"):
        yield f"{subject} projection is INCLUDE, without NonKeyAttributes"
    else:
        yield from _wrong_word(subject, "ProjectionType", kind)


def _wrong_keys(subject: str, owner: Attributes) -> Iterator[str]:
    keys = owner.get("KeySchema")
    if not _is_rows(keys):
        yield f"{subject} keys (KeySchema) are missing or not a list"
        return
    for key in keys:
        yield from _wrong_word(subject, "KeyType", key.get("KeyType"))
    if keys[0].get("KeyType") == "RANGE":
        yield f"{subject} partition key must come first"


def _wrong_units(subject: str, owner: Attributes, provisioned: int) -> Iterator[str]:
    """Find values that are not capacity units; -1 means no limit, and 0 not provisioned."""
    for block in THROUGHPUT:
        for name, value in (owner.get(block) or {}).items():
            least = provisioned if block == "ProvisionedThroughput" else -1
            if "Units" in name and value is not None and not is_units(value, least):
                yield f"{subject} {name} is {value!r}; it must be 1 to {MOST_UNITS:,}"


def _wrong_attributes(description: Attributes, owners: Iterable[Attributes]) -> Iterator[str]:
    """Find key attributes without a valid name or type."""
    definitions = description.get("AttributeDefinitions")
    types = {
        definition.get("AttributeName"): definition.get("AttributeType")
        for definition in (definitions if _is_rows(definitions) else ())
    }
    keys = [key for owner in owners if _is_rows(owner.get("KeySchema")) for key in owner["KeySchema"]]
    for name in dict.fromkeys(key.get("AttributeName") for key in keys):
        if not (isinstance(name, str) and 0 < len(name.encode(errors="replace")) <= MOST_NAME):
            yield f"a key attribute's name is {str(name)[:80]!r}; it must have 1 to {MOST_NAME} bytes"
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
