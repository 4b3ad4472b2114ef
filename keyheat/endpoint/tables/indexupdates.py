"""The GlobalSecondaryIndexUpdates of an UpdateTable request: which indexes to make, change and drop.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_GlobalSecondaryIndexUpdate.html
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from keyheat.endpoint.errors import resource_not_found, validation_error
from keyheat.endpoint.schema import TableSchema
from keyheat.endpoint.tables.history import limit_exceeded
from keyheat.endpoint.tables.keyschema import (
    attribute_types,
    check_all_used,
    check_counts,
    global_index,
    invalid,
    used_attributes,
)

Given = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class IndexUpdates:
    """What is asked, by index name; one index is named once."""

    create: Mapping[str, Given]
    update: Mapping[str, Given]
    delete: Mapping[str, Given]


def index_updates(request: Given) -> IndexUpdates:
    """The updates sorted by what they do. Raises ValidationException or LimitExceededException."""
    sorted_by: dict[str, dict[str, Given]] = {"Create": {}, "Update": {}, "Delete": {}}
    names: set[str] = set()
    for update in request.get("GlobalSecondaryIndexUpdates") or ():
        kinds = [kind for kind in sorted_by if update.get(kind) is not None]
        if len(kinds) != 1:
            raise invalid(
                "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
                "GlobalSecondaryIndexUpdate.Delete must not be null"
            )
        action = update[kinds[0]]
        name = action["IndexName"]
        if name in names:
            raise invalid(
                f"Only one global secondary index update per index is allowed simultaneously. Index: {name}"
            )
        names.add(name)
        sorted_by[kinds[0]][name] = action
    updates = IndexUpdates(sorted_by["Create"], sorted_by["Update"], sorted_by["Delete"])
    if len(updates.create) + len(updates.delete) > 1:
        raise limit_exceeded(
            "Subscriber limit exceeded: "
            "Only 1 online index can be created or deleted simultaneously per table"
        )
    return updates


def updated_schema(schema: TableSchema, request: Given, updates: IndexUpdates) -> TableSchema:
    """The schema after the updates. Raises ValidationException or ResourceNotFoundException."""
    there = {index.name for index in schema.indexes}
    global_ = {index.name for index in schema.indexes if not index.local}
    if not (updates.update.keys() | updates.delete.keys()) <= global_:
        raise resource_not_found()
    if updates.create.keys() & there:
        raise validation_error("Attempting to create an index which already exists")
    known = used_attributes(schema)
    given = attribute_types(request.get("AttributeDefinitions") or ())
    for name in known.keys() & given.keys():
        if known[name] != given[name]:
            raise invalid(f"Type of key attribute {name} cannot change from {known[name]} to {given[name]}")
    kept = tuple(index for index in schema.indexes if index.name not in updates.delete)
    made = tuple(global_index(action, known | given) for action in updates.create.values())
    after = replace(schema, indexes=kept + made)
    check_counts(after.indexes)
    if made:
        check_all_used(after, used_attributes(after) | given)
    return after
