"""A table as CreateTable and UpdateTable take it, made of what a scenario says."""

from typing import Any

from keyheat.scenario.spec.tables import CapacityPair, ChangeSpec, IndexSpec, TableSpec


def creation(spec: TableSpec) -> dict[str, Any]:
    """The parameters of CreateTable."""
    locals_ = [_index(index) for index in spec.indexes if index.local]
    globals_ = [{**_index(index), **capacity_parameters(index)} for index in spec.indexes if not index.local]
    return {
        "TableName": spec.name,
        "BillingMode": spec.billing_mode,
        "KeySchema": key_schema(spec.partition_key, spec.sort_key),
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": kind} for name, kind in spec.key_types().items()
        ],
        **capacity_parameters(spec),
        **({"LocalSecondaryIndexes": locals_} if locals_ else {}),
        **({"GlobalSecondaryIndexes": globals_} if globals_ else {}),
        **({"StreamSpecification": _stream(spec.stream)} if spec.stream else {}),
    }


def key_schema(partition_key: str, sort_key: str | None) -> list[dict[str, str]]:
    """The key of a table or an index, as DynamoDB takes and tells it."""
    schema = [{"AttributeName": partition_key, "KeyType": "HASH"}]
    return schema + ([{"AttributeName": sort_key, "KeyType": "RANGE"}] if sort_key else [])


def _index(index: IndexSpec) -> dict[str, Any]:
    include = {"NonKeyAttributes": list(index.include)} if index.include else {}
    return {
        "IndexName": index.name,
        "KeySchema": key_schema(index.partition_key, index.sort_key),
        "Projection": {"ProjectionType": index.projection, **include},
    }


def capacity_parameters(owner: TableSpec | IndexSpec | ChangeSpec) -> dict[str, Any]:
    """The capacity of a table or an index, as CreateTable and UpdateTable take it."""
    provisioned, ceiling, warm = owner.provisioned, owner.max_on_demand, owner.warm
    return {
        **({"ProvisionedThroughput": _pair(provisioned, "CapacityUnits")} if provisioned else {}),
        **({"OnDemandThroughput": _pair(ceiling, "RequestUnits", "Max")} if ceiling else {}),
        **({"WarmThroughput": _pair(warm, "UnitsPerSecond")} if warm else {}),
    }


def _stream(view: str) -> dict[str, Any]:
    return {"StreamEnabled": True, "StreamViewType": view}


def _pair(pair: CapacityPair, words: str, before: str = "") -> dict[str, int]:
    sides = {f"{before}Read{words}": pair.read, f"{before}Write{words}": pair.write}
    return {name: units for name, units in sides.items() if units is not None}
