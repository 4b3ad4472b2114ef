"""What a table looks like to a request: its key attributes and its indexes; and how CreateTable says it.

Rules and limits: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html and
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from keyheat.endpoint.errors import ServiceError, validation_error
from keyheat.model import limits

KeyType = Literal["S", "N", "B"]
Projection = Literal["ALL", "KEYS_ONLY", "INCLUDE"]


@dataclass(frozen=True, slots=True)
class KeySchemaElement:
    name: str
    type: KeyType


@dataclass(frozen=True, slots=True)
class KeySchema:
    """The partition key and, where there is one, the sort key.

    Each key of a global index may be of several attributes, up to four: the first one, and `more`.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.DesignPattern.MultiAttributeKeys.html
    """

    partition: KeySchemaElement
    sort: KeySchemaElement | None = None
    more_partition: tuple[KeySchemaElement, ...] = ()
    more_sort: tuple[KeySchemaElement, ...] = ()
    attributes: tuple[KeySchemaElement, ...] = field(init=False, repr=False, compare=False)
    """All of them, the partition key's first."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", (*self.partitions, *self.sorts))

    @property
    def partitions(self) -> tuple[KeySchemaElement, ...]:
        return (self.partition, *self.more_partition)

    @property
    def sorts(self) -> tuple[KeySchemaElement, ...]:
        return () if self.sort is None else (self.sort, *self.more_sort)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSchema:
    """A secondary index: local ones share the table's partition key, partitions and capacity."""

    name: str
    keys: KeySchema
    projection: Projection
    include: frozenset[str] = frozenset()
    local: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSchema:
    name: str
    keys: KeySchema
    indexes: tuple[IndexSchema, ...] = ()


NAME = re.compile(r"[a-zA-Z0-9_.-]{3,255}")
Types = Mapping[str, KeyType]


def invalid(message: str) -> ServiceError:
    """ValidationException with the words that the service puts before most messages."""
    return validation_error(f"One or more parameter values were invalid: {message}")


def check_name(name: str) -> None:
    """Raises ValidationException for an invalid name of a table or index."""
    if NAME.fullmatch(name) is None:
        raise validation_error(
            "Invalid table/index name.  Table/index names must be between 3 and 255 characters long, "
            "and may contain only the characters a-z, A-Z, 0-9, '_', '-', and '.'"
        )


def attribute_types(definitions: Iterable[Mapping[str, Any]]) -> dict[str, KeyType]:
    """Type by attribute name, from AttributeDefinitions. Raises when a name is defined twice."""
    types: dict[str, KeyType] = {}
    for definition in definitions:
        name = definition["AttributeName"]
        if name in types:
            raise invalid(f"Duplicate AttributeName in AttributeDefinitions: {name}")
        types[name] = definition["AttributeType"]
    return types


def table_schema(request: Mapping[str, Any]) -> TableSchema:
    """Keys and indexes of a CreateTable request. Raises ValidationException."""
    name, key_elements = request["TableName"], request.get("KeySchema") or []
    check_name(name)
    types = attribute_types(request.get("AttributeDefinitions") or [])
    local, global_ = request.get("LocalSecondaryIndexes"), request.get("GlobalSecondaryIndexes")
    indexed = bool(local or global_)
    keys = key_schema(key_elements, types, indexed=indexed)
    for kind, given in (("LocalSecondaryIndexes", local), ("GlobalSecondaryIndexes", global_)):
        if given is not None and not given:
            raise invalid(f"List of {kind} is empty")
    indexes = [local_index(index, keys, types) for index in local or ()]
    indexes += [global_index(index, types) for index in global_ or ()]
    check_counts(indexes)
    schema = TableSchema(name=name, keys=keys, indexes=tuple(indexes))
    check_all_used(schema, types)
    return schema


def key_schema(
    elements: Sequence[Mapping[str, Any]], types: Types, *, indexed: bool = True, each: int = 1
) -> KeySchema:
    """One KeySchema: HASH first, then RANGE, up to `each` attributes of both, each with a defined type."""
    if not elements:
        raise validation_error(
            "1 validation error detected: Value null at 'keySchema' failed to satisfy constraint: "
            "Member must not be null"
        )
    if len(elements) > 2 * each:
        raise validation_error(
            "1 validation error detected: Value at 'keySchema' failed to satisfy constraint: "
            f"Member must have length less than or equal to {2 * each}"
        )
    names = [element["AttributeName"] for element in elements]
    if elements[0]["KeyType"] != "HASH":
        raise validation_error("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
    if len(set(names)) != len(names):
        raise validation_error(
            "Both the Hash Key and the Range Key element in the KeySchema have the same name"
        )
    kinds = [element["KeyType"] for element in elements]
    if each == 1 and kinds[1:] not in ([], ["RANGE"]):
        raise validation_error("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
    if kinds != sorted(kinds):
        raise validation_error("Invalid KeySchema: HASH key elements must come before RANGE key elements")
    for kind in ("HASH", "RANGE"):
        if kinds.count(kind) > each:
            raise invalid(f"A key schema has at most {each} {kind} key elements, and this has more")
    missing = [name for name in names if name not in types]
    if missing:
        if not indexed and not types:
            raise validation_error("Invalid KeySchema: Some index key attribute have no definition")
        raise invalid(
            f"Some index key attributes are not defined in AttributeDefinitions. Keys: {_listed(missing)}, "
            f"AttributeDefinitions: {_listed(types)}"
        )
    attributes = [KeySchemaElement(name, types[name]) for name in names]
    (first, *partitions), sorts = attributes[: kinds.count("HASH")], attributes[kinds.count("HASH") :]
    return KeySchema(first, sorts[0] if sorts else None, tuple(partitions), tuple(sorts[1:]))


def local_index(request: Mapping[str, Any], table: KeySchema, types: Types) -> IndexSchema:
    """A LocalSecondaryIndex: the table's partition key with another sort key."""
    name = request["IndexName"]
    check_name(name)
    keys = key_schema(request["KeySchema"], types)
    if table.sort is None:
        raise invalid(
            "Table KeySchema does not have a range key, "
            "which is required when specifying a LocalSecondaryIndex"
        )
    if keys.sort is None:
        raise invalid(f"Index KeySchema does not have a range key for index: {name}")
    if keys.partition != table.partition:
        raise invalid(
            f"Index KeySchema does not have the same leading hash key as table KeySchema for index: {name}. "
            f"index hash key: {keys.partition.name}, table hash key: {table.partition.name}"
        )
    return _index(request, keys, local=True)


def global_index(request: Mapping[str, Any], types: Types) -> IndexSchema:
    """A GlobalSecondaryIndex: keys of its own."""
    check_name(request["IndexName"])
    return _index(request, key_schema(request["KeySchema"], types, each=limits.KEY_ATTRIBUTES), local=False)


def _index(request: Mapping[str, Any], keys: KeySchema, *, local: bool) -> IndexSchema:
    projection = request.get("Projection") or {}
    kind, include = projection.get("ProjectionType"), projection.get("NonKeyAttributes")
    if kind is None:
        raise invalid("Unknown ProjectionType: null")
    if kind == "INCLUDE" and not include:
        raise invalid("ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
    if kind != "INCLUDE" and include is not None:
        raise invalid(f"ProjectionType is {kind}, but NonKeyAttributes is specified")
    name = request["IndexName"]
    return IndexSchema(name=name, keys=keys, projection=kind, include=frozenset(include or ()), local=local)


def check_counts(indexes: Sequence[IndexSchema]) -> None:
    """Raises when there are too many indexes or projected attributes, or two indexes of one name."""
    names = [index.name for index in indexes]
    for name in names:
        if names.count(name) > 1:
            raise invalid(f"Duplicate index name: {name}")
    local = sum(index.local for index in indexes)
    if local > limits.LSI_PER_TABLE:
        raise invalid(f"Number of LocalSecondaryIndexes exceeds per-table limit of {limits.LSI_PER_TABLE}")
    if len(indexes) - local > limits.GSI_PER_TABLE:
        raise invalid(f"GlobalSecondaryIndex count exceeds the per-table limit of {limits.GSI_PER_TABLE}")
    if sum(len(index.include) for index in indexes) > limits.PROJECTED_ATTRIBUTES:
        raise invalid(
            f"Number of NonKeyAttributes exceeds the per-table limit of {limits.PROJECTED_ATTRIBUTES}"
        )


def used_attributes(schema: TableSchema) -> dict[str, KeyType]:
    """The key attributes of the table and its indexes with their types: what AttributeDefinitions holds."""
    schemas = [schema.keys, *(index.keys for index in schema.indexes)]
    return {attribute.name: attribute.type for keys in schemas for attribute in keys.attributes}


def check_all_used(schema: TableSchema, types: Types) -> None:
    """Raises when an attribute is defined that no key uses."""
    used = used_attributes(schema)
    if used.keys() == types.keys():
        return
    if not schema.indexes:
        raise invalid(
            "Number of attributes in KeySchema does not exactly match number of attributes "
            "defined in AttributeDefinitions"
        )
    raise invalid(
        f"Some AttributeDefinitions are not used. AttributeDefinitions: {_listed(types)}, "
        f"keys used: {_listed(used)}"
    )


def _listed(names: Iterable[str]) -> str:
    return f"[{', '.join(names)}]"
