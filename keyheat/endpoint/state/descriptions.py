"""Tables as other tools print them, as the requests that would create them.

aws dynamodb describe-table                 {"Table": {...}}
aws dynamodb create-table --cli-input-json  {"TableName": ..., "KeySchema": ...}
several of either                           [...], {"Tables": [...]}
"""

from collections.abc import Mapping
from typing import Any, Final

Body = dict[str, Any]
KEPT: Final = (
    "TableName", "AttributeDefinitions", "KeySchema", "BillingMode", "StreamSpecification", "Tags",
    "DeletionProtectionEnabled", "TableClass",
)  # fmt: skip
KEPT_OF_INDEX: Final = ("IndexName", "KeySchema", "Projection")
UNITS: Final = {
    "ProvisionedThroughput": ("ReadCapacityUnits", "WriteCapacityUnits"),
    "OnDemandThroughput": ("MaxReadRequestUnits", "MaxWriteRequestUnits"),
    "WarmThroughput": ("ReadUnitsPerSecond", "WriteUnitsPerSecond"),
}
FORMS: Final = "what describe-table prints, or what create-table takes as --cli-input-json, or a list of such"


def described_tables(content: object) -> list[Body]:
    """The tables that a file tells of. Raises `ValueError` where it tells of none."""
    if isinstance(content, Mapping) and isinstance(content.get("Tables"), list):
        content = content["Tables"]
    found = content if isinstance(content, list) else [content]
    tables: list[Any] = [one.get("Table", one) if isinstance(one, Mapping) else one for one in found]
    wrong = [
        f"no table: it has no TableName, which {FORMS} has @ $[{number}]"
        for number, one in enumerate(tables)
        if not (isinstance(one, Mapping) and isinstance(one.get("TableName"), str))
    ]
    if wrong or not tables:
        raise ValueError("\n".join(wrong) or f"no table; accepted is {FORMS} @ $")
    return [dict(one) for one in tables]


def creation_of(table: Mapping[str, Any]) -> Body:
    """The CreateTable request that makes a table like the one described."""
    mode = table.get("BillingMode") or table.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED")
    body = {name: table[name] for name in KEPT if table.get(name) not in (None, [])}
    if (summary := table.get("TableClassSummary")) is not None:
        body["TableClass"] = summary["TableClass"]
    body |= {"BillingMode": mode, **_units(table, mode)}
    for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        if table.get(kind):
            body[kind] = [_index(one, mode if kind.startswith("Global") else None) for one in table[kind]]
    return body


def _index(index: Mapping[str, Any], mode: str | None) -> Body:
    body = {name: index[name] for name in KEPT_OF_INDEX if name in index}
    return body | (_units(index, mode) if mode is not None else {})


def _units(owner: Mapping[str, Any], mode: str) -> Body:
    """What of its capacity is stated at a creation: a description has more, and zeros of the other mode."""
    other = "OnDemandThroughput" if mode == "PROVISIONED" else "ProvisionedThroughput"
    return {
        name: {unit: owner[name][unit] for unit in units if unit in owner[name]}
        for name, units in UNITS.items()
        if name != other and isinstance(owner.get(name), Mapping)
    }
