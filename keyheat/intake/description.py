"""Convert a table's DescribeTable response to scenario fields.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TableDescription.html
"""

from collections.abc import Mapping
from typing import Any

from keyheat.runs.table_facts import table_facts

CAPACITY = ("provisioned", "max_on_demand", "warm")


def table_of(description: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a `TableSpec` equal to the table; a run never deletes it."""
    facts, types = table_facts(description).model_dump(mode="json"), types_of(description)
    of_index = {index["name"]: index for index in facts["indexes"]}
    indexes = []
    for kind in ("Local", "Global"):
        for index in description.get(f"{kind}SecondaryIndexes") or ():
            projection, name = index.get("Projection", {}), index["IndexName"]
            projected = projection.get("ProjectionType", "ALL")
            capacity = {} if kind == "Local" else _capacity(of_index[name], facts["billing_mode"])
            indexes.append(
                {
                    "name": name, "local": kind == "Local", **_keys(index, types), "projection": projected,
                    "include": projection.get("NonKeyAttributes", []) if projected == "INCLUDE" else [],
                    **capacity,
                }
            )  # fmt: skip
    regions = (
        {"regions": [facts["region"], *facts["replicas"]]} if facts["region"] and facts["replicas"] else {}
    )
    return {
        "name": description["TableName"],
        "billing_mode": facts["billing_mode"],
        **_keys(description, types),
        **_capacity(facts, facts["billing_mode"]),
        "indexes": indexes,
        "stream": stream_of(description),
        **regions,  # its own first
        "on_end": "keep",
    }


def types_of(description: Mapping[str, Any]) -> dict[str, str]:
    """Types of the key attributes of a table and its indexes."""
    return {
        definition["AttributeName"]: definition["AttributeType"]
        for definition in description["AttributeDefinitions"]
    }


def _keys(owner: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, Any]:
    """Each side of a key: its attributes, with the type of the first (see `mixed_types`)."""
    names = {"HASH": "partition_key", "RANGE": "sort_key"}
    keys: dict[str, Any] = {}
    for element in owner["KeySchema"]:
        name, attribute = names[element["KeyType"]], element["AttributeName"]
        if name in keys:
            keys.setdefault(f"more_{name}s", []).append(attribute)
        else:
            keys |= {name: attribute, f"{name}_type": types[attribute]}
    return keys


def mixed_types(owner: Mapping[str, Any], types: Mapping[str, str]) -> bool:
    """Whether one side of a key has several types, which a scenario cannot express."""
    kinds: dict[str, set[str]] = {}
    for element in owner["KeySchema"]:
        kinds.setdefault(element["KeyType"], set()).add(types[element["AttributeName"]])
    return any(len(types_of_side) > 1 for types_of_side in kinds.values())


def _capacity(facts: Mapping[str, Any], mode: str) -> dict[str, Any]:
    """Capacities in force; AWS keeps an on-demand maximum of a provisioned table, without effect."""
    capacities = {name: facts[name] for name in CAPACITY if facts[name] and any(facts[name].values())}
    if mode == "PROVISIONED":
        capacities.pop("max_on_demand", None)
    return capacities


def stream_of(description: Mapping[str, Any]) -> str | None:
    """The view type of a table's stream; None without a stream."""
    stream = description.get("StreamSpecification") or {}
    return stream.get("StreamViewType") if stream.get("StreamEnabled") else None
