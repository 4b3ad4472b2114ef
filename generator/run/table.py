"""The table that is loaded: created as the scenario describes it, and never somebody else's by accident."""

from typing import Any

import gevent
from botocore.exceptions import BotoCoreError, ClientError

from generator.transport.boto import make_client
from generator.transport.target import Target
from tablemodel.spec.table import CapacityPair, IndexSpec, TableSpec

TAG = "keyheat"
ACTIVE_WITHIN_S = 600.0
POLL_S = 1.0
LOCAL_POLL_S = 0.05


class TableError(Exception):
    """The table cannot be made or described; the text is for the person who runs the load."""


class Refused(TableError):
    """The table is not ours to load."""


def prepare_table(target: Target, spec: TableSpec, run_id: str) -> dict[str, Any]:
    """Make sure that the scenario's table is there, and describe it.

    A table that exists on a target that is not local is only loaded where it carries our tag, that is, where
    an earlier run created it. Raises `Refused` where it does not, `TableError` where the target says no.
    """
    client = make_client(target)
    try:
        description = _existing(client, spec.name)
        if description is None:
            client.create_table(**_creation(spec), Tags=[{"Key": TAG, "Value": run_id}])
        elif not target.local:
            refuse_foreign(client, description)
        active = _active(client, spec.name, LOCAL_POLL_S if target.local else POLL_S)
        if active["KeySchema"] != _key_schema(spec.partition_key, spec.sort_key):
            raise TableError(f"table {spec.name} at {target.url} exists with other keys than the scenario's")
        return active
    except (ClientError, BotoCoreError) as error:
        raise TableError(f"table {spec.name} at {target.url}: {error}") from error
    finally:
        client.close()


def check_table(target: Target, name: str) -> None:
    """See, at the start, whether the target answers and the table may be loaded. Raises as above."""
    client = make_client(target)
    try:
        description = _existing(client, name)
        if description is not None and not target.local:
            refuse_foreign(client, description)
    except (ClientError, BotoCoreError) as error:
        raise TableError(f"table {name} at {target.url}: {error}") from error
    finally:
        client.close()


def refuse_foreign(client: Any, description: dict[str, Any]) -> None:
    """Raise `Refused` unless an earlier run of ours created the table."""
    tags = client.list_tags_of_resource(ResourceArn=description["TableArn"])["Tags"]
    if not any(tag["Key"] == TAG for tag in tags):
        raise Refused(
            f"table {description['TableName']} exists and was not created by a run of ours "
            f"(it has no tag {TAG!r}): it is not loaded. Give the scenario's table another name"
        )


def _existing(client: Any, name: str) -> dict[str, Any] | None:
    try:
        description: dict[str, Any] = client.describe_table(TableName=name)["Table"]
    except client.exceptions.ResourceNotFoundException:
        return None
    return description


def _active(client: Any, name: str, poll_s: float) -> dict[str, Any]:
    with gevent.Timeout(ACTIVE_WITHIN_S, TableError(f"table {name} was not active in {ACTIVE_WITHIN_S:g} s")):
        while True:
            description = _existing(client, name)
            if description and _all_active(description):
                return description
            gevent.sleep(poll_s)


def _all_active(description: dict[str, Any]) -> bool:
    states = [index["IndexStatus"] for index in description.get("GlobalSecondaryIndexes", [])]
    return {description["TableStatus"], *states} == {"ACTIVE"}


def _creation(spec: TableSpec) -> dict[str, Any]:
    """The parameters of CreateTable. Key attributes are strings, but for what an index says is a number."""
    locals_ = [_index(index) for index in spec.indexes if index.local]
    globals_ = [{**_index(index), **_capacity(index)} for index in spec.indexes if not index.local]
    names = [spec.partition_key, spec.sort_key]
    names += [name for index in spec.indexes for name in (index.partition_key, index.sort_key)]
    numbers = {index.sort_key for index in spec.indexes if index.sort_key_type == "N"}
    return {
        "TableName": spec.name,
        "BillingMode": spec.billing_mode,
        "KeySchema": _key_schema(spec.partition_key, spec.sort_key),
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": "N" if name in numbers else "S"}
            for name in dict.fromkeys(filter(None, names))
        ],
        **_capacity(spec),
        **({"LocalSecondaryIndexes": locals_} if locals_ else {}),
        **({"GlobalSecondaryIndexes": globals_} if globals_ else {}),
        **({"StreamSpecification": _stream(spec.stream)} if spec.stream else {}),
    }


def _key_schema(partition_key: str, sort_key: str | None) -> list[dict[str, str]]:
    schema = [{"AttributeName": partition_key, "KeyType": "HASH"}]
    return schema + ([{"AttributeName": sort_key, "KeyType": "RANGE"}] if sort_key else [])


def _index(index: IndexSpec) -> dict[str, Any]:
    include = {"NonKeyAttributes": list(index.include)} if index.include else {}
    return {
        "IndexName": index.name,
        "KeySchema": _key_schema(index.partition_key, index.sort_key),
        "Projection": {"ProjectionType": index.projection, **include},
    }


def _capacity(owner: TableSpec | IndexSpec) -> dict[str, Any]:
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


def table_facts(description: dict[str, Any]) -> dict[str, Any]:
    """What later stages need of DescribeTable's answer, in the shape of `evidence.json`'s table."""
    mode = description.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED")
    return {
        "name": description["TableName"],
        "arn": description.get("TableArn"),
        "billing_mode": mode,
        **_capacity_facts(description, mode),
        "has_lsi": bool(description.get("LocalSecondaryIndexes")),
        "indexes": [
            {"name": index["IndexName"], **_capacity_facts(index, mode)}
            for index in description.get("GlobalSecondaryIndexes", [])
        ],
    }


def _capacity_facts(part: dict[str, Any], mode: str) -> dict[str, Any]:
    def pair(member: str, words: str, before: str = "") -> dict[str, Any] | None:
        found = part.get(member)
        if not found:
            return None
        sides = {"read": found.get(f"{before}Read{words}"), "write": found.get(f"{before}Write{words}")}
        return {side: units if units and units > 0 else None for side, units in sides.items()}

    return {
        "provisioned": pair("ProvisionedThroughput", "CapacityUnits") if mode == "PROVISIONED" else None,
        "max_on_demand": pair("OnDemandThroughput", "RequestUnits", "Max"),
        "warm": pair("WarmThroughput", "UnitsPerSecond"),
    }
