"""UpdateContributorInsights, DescribeContributorInsights and ListContributorInsights.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateContributorInsights.html
"""

from typing import TYPE_CHECKING, Any

from keyheat.endpoint.errors import resource_not_found, validation_error
from keyheat.endpoint.insights.rules import DEFAULT_MODE
from keyheat.endpoint.insights.watch import Watch
from keyheat.endpoint.schema import KeySchema

if TYPE_CHECKING:
    from keyheat.endpoint.service import Handler, Service
    from keyheat.endpoint.tables.catalog import Table

PER_PAGE = 100
Body = dict[str, Any]


def update_contributor_insights(service: "Service", request: Body) -> Body:
    """UpdateContributorInsights. ENABLE without a mode means the default mode, whatever the mode was."""
    table, index, keys = _resource(service, request)
    now_s, takes_s = service.now_s(), service.durations.insights_s
    watch = table.insights.watches.setdefault(index, Watch(keys, now_s))
    if request["ContributorInsightsAction"] == "ENABLE":
        resource = table.name if index is None else f"{table.name}-{index}"
        watch.enable(resource, request.get("ContributorInsightsMode") or DEFAULT_MODE, now_s, takes_s)
    else:
        watch.disable(now_s, takes_s)
    table.counting = table.insights if table.insights.on else None
    return _summary(table, index, watch, now_s)


def describe_contributor_insights(service: "Service", request: Body) -> Body:
    """DescribeContributorInsights: DISABLED where it was never on."""
    table, index, _keys = _resource(service, request)
    watch = table.insights.watches.get(index)
    if watch is None:
        return {**_named(table, index), "ContributorInsightsStatus": "DISABLED"}
    return {
        **_summary(table, index, watch, service.now_s()),
        "ContributorInsightsRuleList": [rule.name for rule in watch.rules.values()],
        "LastUpdateDateTime": watch.updated_s,
    }


def list_contributor_insights(service: "Service", request: Body) -> Body:
    """ListContributorInsights, in pages; NextToken names the last resource shown."""
    now_s, most = service.now_s(), request.get("MaxResults")
    most = PER_PAGE if most is None else most
    if most < 1:
        raise validation_error("MaxResults must be 1 or more")
    name, after = request.get("TableName"), _place(request.get("NextToken"))
    tables = list(service.catalog) if name is None else [service.catalog.find(name)]
    found = [
        (place, _summary(table, index, watch, now_s))
        for table in tables
        for index, watch in table.insights.watches.items()
        if (place := (table.name, index or "")) > after
    ]
    found.sort(key=lambda one: one[0])
    body: Body = {"ContributorInsightsSummaries": [summary for _place, summary in found[:most]]}
    if len(found) > most:
        body["NextToken"] = "/".join(found[most - 1][0])
    return body


HANDLERS: "dict[str, Handler]" = {
    "DescribeContributorInsights": describe_contributor_insights,
    "ListContributorInsights": list_contributor_insights,
    "UpdateContributorInsights": update_contributor_insights,
}


def _resource(service: "Service", request: Body) -> "tuple[Table, str | None, KeySchema]":
    """The table and the index that a request names, with its keys. Raises ResourceNotFoundException."""
    table, name = service.catalog.find(request["TableName"]), request.get("IndexName")
    if name is None:
        return table, None, table.schema.keys
    for index in table.schema.indexes:
        if index.name == name and not index.local:
            return table, name, index.keys
    raise resource_not_found(f"Requested resource not found: Table: {table.name} index: {name} not found")


def _named(table: "Table", index: str | None) -> Body:
    return {"TableName": table.name} if index is None else {"TableName": table.name, "IndexName": index}


def _summary(table: "Table", index: str | None, watch: Watch, now_s: float) -> Body:
    mode = {"ContributorInsightsMode": watch.mode} if watch.on else {}
    return {**_named(table, index), "ContributorInsightsStatus": watch.status(now_s), **mode}


def _place(token: str | None) -> tuple[str, str]:
    table, slash, index = (token or "/").partition("/")
    if not slash:
        raise validation_error("Invalid NextToken: give the one that came with the page before")
    return table, index
