"""DynamoDB's operations by name: those on tables themselves, and those on items.

Each answers in the shape of https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Operations.html
"""

from typing import Any

from keyheat.endpoint.errors import validation_error
from keyheat.endpoint.items.batches import batch_get_item, batch_write_item
from keyheat.endpoint.items.reads import query, scan
from keyheat.endpoint.items.single import delete_item, get_item, put_item, update_item
from keyheat.endpoint.items.transactions import transact_get_items, transact_write_items
from keyheat.endpoint.partiql.operations import STATEMENTS
from keyheat.endpoint.requests import page, shape_checked
from keyheat.endpoint.service import Context, Handler
from keyheat.endpoint.tables.catalog import TableChange, require_idle
from keyheat.endpoint.tables.create import create_table
from keyheat.endpoint.tables.describe import describe
from keyheat.endpoint.tables.settings import CONTRIBUTOR_INSIGHTS as INSIGHTS
from keyheat.endpoint.tables.settings import (
    describe_continuous_backups,
    describe_time_to_live,
    list_tags,
    tag_resource,
    untag_resource,
    update_continuous_backups,
    update_time_to_live,
)
from keyheat.endpoint.tables.update import update_table
from keyheat.model import limits

Body = dict[str, Any]
NAMES_PER_PAGE = 100


def describe_table(context: Context, request: Body) -> Body:
    return {"Table": describe(context.service.catalog.find(request["TableName"]), context.now_s)}


def delete_table(context: Context, request: Body) -> Body:
    """DeleteTable. Raises ValidationException for a protected table."""
    now_s = context.now_s
    table = context.service.catalog.find(request["TableName"])
    require_idle(table)
    if table.definition.settings.deletion_protection:
        raise validation_error(
            "Resource cannot be deleted as it is currently protected against deletion. "
            "Disable deletion protection first."
        )
    if table.stream is not None and table.stream.disabled_s is None:
        table.stream.disable(now_s)
    ends_s = now_s + context.service.durations.delete_s
    context.service.catalog.begin(table, TableChange("DELETING", ends_s, None))
    return {"TableDescription": describe(table, now_s)}


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


HANDLERS: dict[str, Handler] = {
    "CreateTable": create_table,
    "DeleteTable": delete_table,
    "DescribeContinuousBackups": describe_continuous_backups,
    "DescribeEndpoints": describe_endpoints,
    "DescribeLimits": describe_limits,
    "DescribeTable": describe_table,
    "DescribeTimeToLive": describe_time_to_live,
    "ListTables": list_tables,
    "ListTagsOfResource": list_tags,
    "TagResource": tag_resource,
    "UntagResource": untag_resource,
    "UpdateContinuousBackups": update_continuous_backups,
    "UpdateTable": update_table,
    "UpdateTimeToLive": update_time_to_live,
    **INSIGHTS,
}

CONTROL = {operation: shape_checked(operation, handler) for operation, handler in HANDLERS.items()}


DATA: dict[str, Handler] = {
    "PutItem": put_item,
    "GetItem": get_item,
    "UpdateItem": update_item,
    "DeleteItem": delete_item,
    "Query": query,
    "Scan": scan,
    "BatchWriteItem": batch_write_item,
    "BatchGetItem": batch_get_item,
    "TransactWriteItems": transact_write_items,
    "TransactGetItems": transact_get_items,
    **STATEMENTS,
}
