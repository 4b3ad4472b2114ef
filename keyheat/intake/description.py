"""A table that is there, as a scenario states one: made of DescribeTable's answer.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TableDescription.html
"""

from collections.abc import Mapping
from typing import Any

from keyheat.runs.table_facts import table_facts

CAPACITY = ("provisioned", "max_on_demand", "warm")


def table_of(description: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a `TableSpec` that is as the table is; a run never deletes it."""
    facts = table_facts(description).model_dump(mode="json")
    types = types_of(description)
    of_index = {index["name"]: index for index in facts["indexes"]}
    indexes = [
        *((index, True) for index in description.get("LocalSecondaryIndexes") or ()),
        *((index, False) for index in description.get("GlobalSecondaryIndexes") or ()),
    ]
    return {
        "name": description["TableName"],
        "billing_mode": facts["billing_mode"],
        **_keys(description, types),
        **_capacity(facts, facts["billing_mode"]),
        "indexes": [
            {
                "name": index["IndexName"],
                "local": local,
                **_keys(index, types),
                **_projection(index),
                **({} if local else _capacity(of_index[index["IndexName"]], facts["billing_mode"])),
            }
            for index, local in indexes
        ],
        "stream": stream_of(description),
        **_regions(facts),
        "on_end": "keep",
    }


def _regions(facts: Mapping[str, Any]) -> dict[str, list[str]]:
    """All Regions of a global table, its own first."""
    if not (facts["region"] and facts["replicas"]):
        return {}
    return {"regions": [facts["region"], *facts["replicas"]]}


def types_of(description: Mapping[str, Any]) -> dict[str, str]:
    """The types of the key attributes of a table and of its indexes."""
    return {one["AttributeName"]: one["AttributeType"] for one in description["AttributeDefinitions"]}


def _keys(part: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, Any]:
    """Each side of a key: its attributes, which are of the type of the first (`mixed_types`)."""
    names = {"HASH": "partition_key", "RANGE": "sort_key"}
    keys: dict[str, Any] = {}
    for element in part["KeySchema"]:
        name, attribute = names[element["KeyType"]], element["AttributeName"]
        if name in keys:
            keys.setdefault(f"more_{name}s", []).append(attribute)
        else:
            keys |= {name: attribute, f"{name}_type": types[attribute]}
    return keys


def mixed_types(part: Mapping[str, Any], types: Mapping[str, str]) -> bool:
    """Whether the attributes of one side of a key are of several types, which a scenario cannot say."""
    kinds: dict[str, set[str]] = {}
    for element in part["KeySchema"]:
        kinds.setdefault(element["KeyType"], set()).add(types[element["AttributeName"]])
    return any(len(found) > 1 for found in kinds.values())


def _capacity(facts: Mapping[str, Any], mode: str) -> dict[str, Any]:
    """Capacities that say something; a ceiling of on-demand mode is kept there by AWS, and means nothing."""
    found = {name: facts[name] for name in CAPACITY if facts[name] and any(facts[name].values())}
    if mode == "PROVISIONED":
        found.pop("max_on_demand", None)
    return found


def _projection(index: Mapping[str, Any]) -> dict[str, Any]:
    projection = index.get("Projection", {})
    kind = projection.get("ProjectionType", "ALL")
    return {
        "projection": kind,
        "include": projection.get("NonKeyAttributes", []) if kind == "INCLUDE" else [],
    }


def stream_of(description: Mapping[str, Any]) -> str | None:
    """What the stream of a table tells of each change; None where it has none."""
    stream = description.get("StreamSpecification") or {}
    return stream.get("StreamViewType") if stream.get("StreamEnabled") else None
