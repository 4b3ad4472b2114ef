"""Tables as other tools print them, as the requests that would create them.

aws dynamodb describe-table                 {"Table": {...}}
aws dynamodb create-table                   {"TableDescription": {...}}
aws dynamodb create-table --cli-input-json  {"TableName": ..., "KeySchema": ...}
several of either                           [...], {"Tables": [...]}
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from keyheat.endpoint.requests import Shape, shapes_of
from keyheat.endpoint.tables.catalog import region_in
from keyheat.validation import suggest, table_in

Body = dict[str, Any]
KEPT: Final = (
    "TableName", "AttributeDefinitions", "KeySchema", "BillingMode", "StreamSpecification", "Tags",
    "DeletionProtectionEnabled", "TableClass", "ProvisionedThroughput", "OnDemandThroughput",
    "WarmThroughput", "GlobalSecondaryIndexes", "LocalSecondaryIndexes",
)  # fmt: skip
OF_DYNAMODB_LOCAL: Final = "ddblocal"
"""In its ARNs, whatever Region a client is set to."""
FORMS: Final = (
    "what describe-table or create-table prints, or what create-table takes as --cli-input-json, or a list "
    "of such"
)


def described_tables(content: object) -> list[Body]:
    """The tables that a file describes. Raises `ValueError` where it has none."""
    if isinstance(content, Mapping) and isinstance(content.get("Tables"), list):
        content = content["Tables"]
    tables_given = content if isinstance(content, list) else [content]
    tables: list[Any] = [table_in(entry) for entry in tables_given]
    wrong = [
        f"{text} @ $[{number}]{path_in}"
        for number, entry in enumerate(tables)
        for text, path_in in _wrong(entry)
    ]
    if wrong or not tables:
        raise ValueError("\n".join(wrong) or f"no table; accepted is {FORMS} @ $")
    return [dict(entry) for entry in tables]


def region_of(table: Mapping[str, Any]) -> str | None:
    """The Region in the ARN of a described table; None if it has no ARN."""
    region = region_in(str(table.get("TableArn", "")))
    return None if region == OF_DYNAMODB_LOCAL else region


def _wrong(table: Any) -> Iterator[tuple[str, str]]:
    """What is wrong with what should be a table, and where in it."""
    if not (isinstance(table, Mapping) and isinstance(table.get("TableName"), str)):
        yield f"no table, for it has no TableName; accepted is {FORMS}", ""
        return
    if "TableArn" in table and not region_in(str(table["TableArn"])):
        yield f"no ARN of a table: {table['TableArn']!r}", ".TableArn"
    if not _is_described(table):
        yield from unknown_members(_creation(), table, "")


def _creation() -> Shape:
    return shapes_of().of("CreateTableInput")


def _is_described(table: Mapping[str, Any]) -> bool:
    """Whether it has what only a description has; that may also be of a later day, and have more."""
    described = shapes_of().of("TableDescription")
    return not (described.members.keys() - _creation().members.keys()).isdisjoint(table)


def unknown_members(shape: Shape, value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Members that the API does not know, and where: a request drops them, and so does every SDK."""
    if shape.type_name == "structure" and isinstance(value, Mapping):
        for name, entry in value.items():
            if name in shape.members:
                yield from unknown_members(shape.members[name], entry, f"{path}.{name}")
            else:
                yield f"unknown field, {suggest(name, shape.members)}", f"{path}.{name}"
    elif shape.type_name == "list" and isinstance(value, list):
        for number, entry in enumerate(value):
            yield from unknown_members(shape.member, entry, f"{path}[{number}]")


def creation_of(table: Mapping[str, Any]) -> Body:
    """The CreateTable request that makes a table like the one described; one that is such stays as it is.

    What is of another type than it should be stays so, for `check_shape` to say.
    """
    if not _is_described(table):
        return dict(table)
    shape, summary = _creation(), table.get("BillingModeSummary")
    mode = table.get("BillingMode") or _member(summary, "BillingMode") or "PROVISIONED"
    body = {
        name: _pruned(shape.members[name], table[name]) for name in KEPT if table.get(name) not in (None, [])
    }
    body["BillingMode"] = mode
    if (table_class := table.get("TableClassSummary")) is not None:
        body["TableClass"] = _member(table_class, "TableClass")
    # A description has zeros for the capacity of the other mode.
    other = "OnDemandThroughput" if mode == "PROVISIONED" else "ProvisionedThroughput"
    indexes = body.get("GlobalSecondaryIndexes")
    for owner in (body, *(indexes if isinstance(indexes, list) else ())):
        if isinstance(owner, dict):
            owner.pop(other, None)
    return body


def _member(owner: Any, name: str) -> Any:
    return owner.get(name) if isinstance(owner, Mapping) else owner


def _pruned(shape: Shape, value: Any) -> Any:
    """A value without the members that its shape does not have."""
    if shape.type_name == "structure" and isinstance(value, Mapping):
        members = shape.members
        return {
            name: _pruned(members[name], entry)
            for name, entry in value.items()
            if name in members and entry is not None
        }
    if shape.type_name == "list" and isinstance(value, list):
        return [_pruned(shape.member, entry) for entry in value]
    return value
