"""Settings of a table with operations of their own: tags, time to live, backups, Contributor Insights.

Expired items stay: the service deletes them within days, so a client has to filter them in any case.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/TTL.html
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateContinuousBackups.html
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateContributorInsights.html
"""

from collections.abc import Iterable, Mapping
from typing import Any

from keyheat.endpoint.errors import ServiceError, resource_not_found, validation_error
from keyheat.endpoint.keycounts import DEFAULT_MODE, KeyWatch
from keyheat.endpoint.requests import page
from keyheat.endpoint.schema import KeySchema, invalid
from keyheat.endpoint.service import Context
from keyheat.endpoint.tables.catalog import Recovery, Table
from keyheat.model import limits

Body = dict[str, Any]
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
