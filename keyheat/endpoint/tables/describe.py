"""Tables and their account as DescribeTable, ListTables and DescribeLimits show them.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TableDescription.html
"""

from typing import Any

from keyheat.endpoint.requests import page
from keyheat.endpoint.schema import IndexSchema, KeySchema, used_attributes
from keyheat.endpoint.service import Context
from keyheat.endpoint.tables.catalog import Table, TableDefinition
from keyheat.model import limits
from keyheat.model.resources import IndexCapacity
from keyheat.words import Capacity

Body = dict[str, Any]
NAMES_PER_PAGE = 100
UNLIMITED = -1  # how a request removes an on-demand maximum, and how a description shows that there is none


def describe_table(context: Context, request: Body) -> Body:
    return {"Table": describe(context.service.catalog.find(request["TableName"]), context.now_s)}


def list_tables(context: Context, request: Body) -> Body:
    after, limit = request.get("ExclusiveStartTableName") or "", request.get("Limit") or NAMES_PER_PAGE
    names = [name for name in context.service.catalog.names() if name > after]
    return page("TableNames", names, limit, "LastEvaluatedTableName")


def describe_limits(context: Context, request: Body) -> Body:
    """DescribeLimits: the quotas of a new account."""
    return {
        "AccountMaxReadCapacityUnits": limits.ACCOUNT_READ_UNITS_PER_S,
        "AccountMaxWriteCapacityUnits": limits.ACCOUNT_WRITE_UNITS_PER_S,
        "TableMaxReadCapacityUnits": limits.TABLE_READ_UNITS_PER_S,
        "TableMaxWriteCapacityUnits": limits.TABLE_WRITE_UNITS_PER_S,
    }


def describe_endpoints(context: Context, request: Body) -> Body:
    """DescribeEndpoints: the service's own name, as it gives it to clients that discover endpoints."""
    address = f"dynamodb.{context.service.region}.amazonaws.com"
    return {"Endpoints": [{"Address": address, "CachePeriodInMinutes": 1_440}]}


def describe(table: Table, now_s: float) -> Body:
    """The TableDescription at `now_s`. While a change is under way it shows what still holds."""
    schema, capacity = table.schema, table.definition.capacity
    body: Body = {
        "TableName": table.name,
        "TableArn": table.arn,
        "TableId": table.table_id,
        "TableStatus": table.status,
        "CreationDateTime": round(table.created_s, 3),
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": kind} for name, kind in used_attributes(schema).items()
        ],
        "KeySchema": key_schema(schema.keys),
        "ItemCount": len(table.items),
        "TableSizeBytes": table.items.total_bytes,
        "ProvisionedThroughput": _provisioned(table, None, capacity.provisioned, now_s),
        "WarmThroughput": _warm(table, None, table.status),
        "DeletionProtectionEnabled": table.definition.settings.deletion_protection,
        "OnDemandThroughput": _max_on_demand(capacity.max_on_demand),
        "LocalSecondaryIndexes": [_local(table, index) for index in schema.indexes if index.local],
        "GlobalSecondaryIndexes": _globals(table, now_s),
    }
    settings, stream = table.definition.settings, table.stream
    if switches_s := table.history.to_on_demand_s:  # it is or was in on-demand mode
        body["BillingModeSummary"] = {
            "BillingMode": capacity.billing_mode,
            "LastUpdateToPayPerRequestDateTime": round(switches_s[-1], 3),
        }
    if settings.table_class:
        body["TableClassSummary"] = {"TableClass": settings.table_class}
    if settings.encrypted_by:
        key = {"KMSMasterKeyArn": settings.encrypted_by}
        body["SSEDescription"] = {"Status": "ENABLED", "SSEType": "KMS", **key}
    if stream is not None:  # it is named even after it was disabled
        body |= {"LatestStreamArn": stream.arn, "LatestStreamLabel": stream.label}
        if stream.disabled_s is None:
            body["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": stream.view}
    return _without_empty(body)


def _globals(table: Table, now_s: float) -> list[Body]:
    """The existing global indexes, and those in creation."""
    there = [index for index in table.schema.indexes if not index.local]
    now = _by_name(table.definition)
    coming = table.change.becomes if table.change is not None else None
    if coming is None or table.status == "CREATING":
        status = "ACTIVE" if table.change is None else table.status
        return [_global(table, index, now[index.name], status, now_s) for index in there]
    later = _by_name(coming)
    statuses = {
        name: "DELETING" if name not in later else "ACTIVE" if now[name] == later[name] else "UPDATING"
        for name in now
    }
    new = [index for index in coming.schema.indexes if not index.local and index.name not in now]
    return [_global(table, index, now[index.name], statuses[index.name], now_s) for index in there] + [
        _global(table, index, later[index.name], "CREATING", now_s, backfilling=True) for index in new
    ]


def _by_name(definition: TableDefinition) -> dict[str, IndexCapacity]:
    return {index.name: index for index in definition.capacity.indexes}


def _global(
    table: Table,
    index: IndexSchema,
    capacity: IndexCapacity,
    status: str,
    now_s: float,
    *,
    backfilling: bool = False,
) -> Body:
    """A global index; one that UpdateTable is making has no entries that could be counted yet."""
    named = _named(table, index) | {"Backfilling": True, "ItemCount": 0, "IndexSizeBytes": 0}
    return _without_empty(
        (named if backfilling else _local(table, index))
        | {
            "IndexStatus": status,
            "ProvisionedThroughput": _provisioned(table, index.name, capacity.provisioned, now_s),
            "OnDemandThroughput": _max_on_demand(capacity.max_on_demand),
            "WarmThroughput": None if backfilling else _warm(table, index.name, status),
        }
    )


def _named(table: Table, index: IndexSchema) -> Body:
    projection: Body = {"ProjectionType": index.projection}
    if index.include:
        projection["NonKeyAttributes"] = sorted(index.include)
    return {
        "IndexName": index.name,
        "IndexArn": table.resource_arn(index.name),
        "KeySchema": key_schema(index.keys),
        "Projection": projection,
    }


def _local(table: Table, index: IndexSchema) -> Body:
    entries = table.items.index(index.name)
    return _named(table, index) | {"ItemCount": len(entries), "IndexSizeBytes": entries.total_bytes}


def key_schema(keys: KeySchema) -> list[Body]:
    kinds = (("HASH", keys.partitions), ("RANGE", keys.sorts))
    return [
        {"AttributeName": element.name, "KeyType": kind} for kind, elements in kinds for element in elements
    ]


def _provisioned(table: Table, index: str | None, units: Capacity | None, now_s: float) -> Body:
    history = table.history.of(index)
    body: Body = {
        "NumberOfDecreasesToday": len(history.decreases_today(now_s)),
        "ReadCapacityUnits": 0 if units is None else units.read,
        "WriteCapacityUnits": 0 if units is None else units.write,
    }
    if history.last_increase_s is not None:
        body["LastIncreaseDateTime"] = round(history.last_increase_s, 3)
    if history.decreases_s:
        body["LastDecreaseDateTime"] = round(history.decreases_s[-1], 3)
    return body


def _max_on_demand(units: Capacity | None) -> Body | None:
    if units is None:
        return None
    return {
        "MaxReadRequestUnits": UNLIMITED if units.read is None else units.read,
        "MaxWriteRequestUnits": UNLIMITED if units.write is None else units.write,
    }


def _warm(table: Table, index: str | None, status: str) -> Body:
    read, write = table.model.warm_throughput(index)
    warm_status = "UPDATING" if status == "UPDATING" else "ACTIVE"
    return {"ReadUnitsPerSecond": round(read), "WriteUnitsPerSecond": round(write), "Status": warm_status}


def _without_empty(body: Body) -> Body:
    return {name: value for name, value in body.items() if value is not None and value != []}
