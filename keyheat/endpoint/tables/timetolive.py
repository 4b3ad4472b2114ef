"""UpdateTimeToLive and DescribeTimeToLive: the setting is kept; items do not expire here.

The service deletes expired items within a few days of their time, so a client has to filter them in any case.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/TTL.html
"""

from typing import Any

from keyheat.endpoint.errors import validation_error
from keyheat.endpoint.service import Service


def update_time_to_live(service: Service, request: dict[str, Any]) -> dict[str, Any]:
    """UpdateTimeToLive."""
    table, wanted = service.catalog.find(request["TableName"]), request["TimeToLiveSpecification"]
    if wanted["Enabled"]:
        if table.time_to_live == wanted["AttributeName"]:
            raise validation_error("TimeToLive is already enabled")
        if table.time_to_live is not None:
            raise validation_error(
                "TimeToLive is active on a different AttributeName: "
                f"current AttributeName is {table.time_to_live}"
            )
        table.time_to_live = wanted["AttributeName"]
    else:
        if table.time_to_live is None:
            raise validation_error("TimeToLive is already disabled")
        table.time_to_live = None
    return {"TimeToLiveSpecification": wanted}


def describe_time_to_live(service: Service, request: dict[str, Any]) -> dict[str, Any]:
    """DescribeTimeToLive."""
    attribute = service.catalog.find(request["TableName"]).time_to_live
    if attribute is None:
        return {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
    return {"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": attribute}}
