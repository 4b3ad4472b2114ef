"""Tables as other tools print them, as the requests that would create them.

aws dynamodb describe-table                 {"Table": {...}}
aws dynamodb create-table                   {"TableDescription": {...}}
aws dynamodb create-table --cli-input-json  {"TableName": ..., "KeySchema": ...}
several of either                           [...], {"Tables": [...]}
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from keyheat.bounds import parsed_json
from keyheat.endpoint.requests import Shape, shapes_of
from keyheat.endpoint.tables.catalog import region_in
from keyheat.model.resources import CAPACITIES
from keyheat.validation import suggest, table_in

Body = dict[str, Any]
KEPT: Final = (
    "TableName", "AttributeDefinitions", "KeySchema", "BillingMode", "StreamSpecification", "Tags",
    "DeletionProtectionEnabled", "TableClass",
)  # fmt: skip
KEPT_OF_INDEX: Final = ("IndexName", "KeySchema", "Projection")
OF_DYNAMODB_LOCAL: Final = "ddblocal"
"""In its ARNs, whatever Region a client is set to."""
FORMS: Final = (
    "what describe-table or create-table prints, or what create-table takes as --cli-input-json, or a list "
    "of such"
)


def read_tables(content: bytes) -> list[Body]:
    """The tables that a file of JSON describes. Raises `ValueError`."""
    return described_tables(parsed_json(content))


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
    summary, table_class = table.get("BillingModeSummary"), table.get("TableClassSummary")
    mode = table.get("BillingMode") or _member(summary, "BillingMode") or "PROVISIONED"
    body = {name: table[name] for name in KEPT if table.get(name) not in (None, [])}
    if table_class is not None:
        body["TableClass"] = _member(table_class, "TableClass")
    body |= {"BillingMode": mode, **_units(table, mode)}
    for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        if indexes := table.get(kind):
            of_mode = mode if kind.startswith("Global") else None
            body[kind] = [_index(each, of_mode) for each in indexes] if isinstance(indexes, list) else indexes
    return body


def _member(owner: Any, name: str) -> Any:
    return owner.get(name) if isinstance(owner, Mapping) else owner


def _index(index: Any, mode: str | None) -> Any:
    if not isinstance(index, Mapping):
        return index
    body = {name: index[name] for name in KEPT_OF_INDEX if name in index}
    return body | (_units(index, mode) if mode is not None else {})


def _units(owner: Mapping[str, Any], mode: str) -> Body:
    """What of its capacity is stated at a creation: a description has more, and zeros of the other mode."""
    other = "OnDemandThroughput" if mode == "PROVISIONED" else "ProvisionedThroughput"
    return {
        name: {unit: text[unit] for unit in units if unit in text} if isinstance(text, Mapping) else text
        for name, *units in CAPACITIES.values()
        if name != other and (text := owner.get(name)) is not None
    }
