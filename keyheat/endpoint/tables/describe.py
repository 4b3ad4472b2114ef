"""Tables and their account as they are described, and settings that have operations of their own.

Those are tags, time to live, backups and Contributor Insights. Expired items stay: the service deletes them
within days, so a client has to filter them in any case.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TableDescription.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/TTL.html
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateContinuousBackups.html
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateContributorInsights.html
"""

from collections.abc import Iterable, Mapping
from typing import Any

from keyheat.endpoint.errors import ServiceError, resource_not_found, validation_error
from keyheat.endpoint.keycounts import DEFAULT_MODE, KeyWatch
from keyheat.endpoint.requests import page
from keyheat.endpoint.schema import IndexSchema, KeySchema, invalid, used_attributes
from keyheat.endpoint.service import Context
from keyheat.endpoint.tables.catalog import Recovery, Table, TableDefinition
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


PAGE = 10
RECOVERY_DAYS = 35  # that a table can be put back to, where a request does not say how many


def parse_tags(tags: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Value by key. Raises ValidationException when a key comes twice or there are too many."""
    parsed: dict[str, str] = {}
    for tag in tags:
        if tag["Key"] in parsed:
            raise invalid(f"Duplicate tag key: {tag['Key']}")
        parsed[tag["Key"]] = tag["Value"]
    _check_count(parsed)
    return parsed


def tag_resource(context: Context, request: Body) -> bytes:
    table = _tagged(context, request["ResourceArn"])
    tags = table.tags | parse_tags(request["Tags"])
    _check_count(tags)
    table.tags = tags
    return b""


def untag_resource(context: Context, request: Body) -> bytes:
    table = _tagged(context, request["ResourceArn"])
    for key in request["TagKeys"]:
        table.tags.pop(key, None)
    return b""


def list_tags(context: Context, request: Body) -> Body:
    """ListTagsOfResource, ten to a page; NextToken is the last key shown."""
    table = _tagged(context, request["ResourceArn"])
    after = request.get("NextToken") or ""
    tags = [{"Key": key, "Value": table.tags[key]} for key in sorted(table.tags) if key > after]
    return page("Tags", tags, PAGE, "NextToken", lambda tag: tag["Key"])


def _tagged(context: Context, arn: str) -> Table:
    if not arn.startswith("arn:"):
        raise validation_error(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
    missing = resource_not_found(f"Requested resource not found: ResourcArn: {arn} not found")
    return _find(context, arn, otherwise=missing)


def _find(context: Context, name: str, *, otherwise: ServiceError) -> Table:
    try:
        return context.service.catalog.find(name)
    except ServiceError as error:
        raise otherwise from error


def _check_count(tags: Mapping[str, str]) -> None:
    if len(tags) > limits.TAGS_PER_RESOURCE:
        raise validation_error(f"Too many tags: a resource can have at most {limits.TAGS_PER_RESOURCE} tags")


def update_time_to_live(context: Context, request: Body) -> Body:
    table = context.service.catalog.find(request["TableName"])
    specification = request["TimeToLiveSpecification"]
    current, enable = table.time_to_live, specification["Enabled"]
    if current is not None and current != specification["AttributeName"]:
        raise validation_error(
            f"TimeToLive is active on a different AttributeName: current AttributeName is {current}"
        )
    if enable == (current is not None):
        raise validation_error(f"TimeToLive is already {'enabled' if enable else 'disabled'}")
    table.time_to_live = specification["AttributeName"] if enable else None
    return {"TimeToLiveSpecification": specification}


def describe_time_to_live(context: Context, request: Body) -> Body:
    attribute = context.service.catalog.find(request["TableName"]).time_to_live
    if attribute is None:
        return {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
    return {"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": attribute}}


def update_continuous_backups(context: Context, request: Body) -> Body:
    """UpdateContinuousBackups: turns point-in-time recovery on or off, at once."""
    table, specification = _backed_up(context, request), request["PointInTimeRecoverySpecification"]
    days = specification.get("RecoveryPeriodInDays") or RECOVERY_DAYS
    began_s = table.recovery.began_s if table.recovery is not None else context.now_s
    table.recovery = Recovery(began_s, days) if specification["PointInTimeRecoveryEnabled"] else None
    return describe_continuous_backups(context, request)


def describe_continuous_backups(context: Context, request: Body) -> Body:
    """DescribeContinuousBackups: they are on for every table; recovery to a point in time is not."""
    recovery, now_s = _backed_up(context, request).recovery, context.now_s
    described: Body = {"PointInTimeRecoveryStatus": "DISABLED"}
    if recovery is not None:
        described = {
            "PointInTimeRecoveryStatus": "ENABLED",
            "RecoveryPeriodInDays": recovery.days,
            "EarliestRestorableDateTime": round(max(recovery.began_s, now_s - recovery.days * 86_400), 3),
            "LatestRestorableDateTime": round(now_s, 3),
        }
    backups = {"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": described}
    return {"ContinuousBackupsDescription": backups}


def _backed_up(context: Context, request: Body) -> Table:
    """The table. Raises TableNotFoundException, which only these operations have."""
    name = request["TableName"]
    return _find(context, name, otherwise=ServiceError("TableNotFoundException", f"Table not found: {name}"))


def update_contributor_insights(context: Context, request: Body) -> Body:
    """UpdateContributorInsights. ENABLE without a mode means the default mode, whatever the mode was.

    The answer shows the change under way, though it is done.
    """
    (table, index, keys), now_s = _counted(context, request), context.now_s
    watch = table.insights.watches.setdefault(index, KeyWatch(keys, now_s))
    if request["ContributorInsightsAction"] == "ENABLE":
        resource = table.name if index is None else f"{table.name}-{index}"
        watch.enable(resource, request.get("ContributorInsightsMode") or DEFAULT_MODE, now_s)
    else:
        watch.disable(now_s)
    table.counting = table.insights if table.insights.on else None
    answer = describe_contributor_insights(context, request)
    del answer["ContributorInsightsRuleList"], answer["LastUpdateDateTime"]
    return answer | {"ContributorInsightsStatus": "ENABLING" if watch.rules else "DISABLING"}


def describe_contributor_insights(context: Context, request: Body) -> Body:
    """DescribeContributorInsights: DISABLED where it was never on."""
    table, index, _keys = _counted(context, request)
    watch = table.insights.watches.get(index)
    answer: Body = {"TableName": table.name, "ContributorInsightsStatus": "DISABLED"}
    if index is not None:
        answer["IndexName"] = index
    if watch is not None:
        answer["ContributorInsightsRuleList"] = [rule.name for rule in watch.rules.values()]
        answer["LastUpdateDateTime"] = watch.updated_s
        if watch.rules:
            answer |= {"ContributorInsightsStatus": "ENABLED", "ContributorInsightsMode": watch.mode}
    return answer


def _counted(context: Context, request: Body) -> tuple[Table, str | None, KeySchema]:
    """The table and the index that a request names, with its keys. Raises ResourceNotFoundException."""
    table, name = context.service.catalog.find(request["TableName"]), request.get("IndexName")
    if name is None:
        return table, None, table.schema.keys
    for index in table.schema.indexes:
        if index.name == name and not index.local:
            return table, name, index.keys
    raise resource_not_found(f"Requested resource not found: Table: {table.name} index: {name} not found")
