"""Continuous backups as a setting, from which nothing is restored.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateContinuousBackups.html
"""

from typing import Any

from keyheat.endpoint.errors import ServiceError
from keyheat.endpoint.service import Service
from keyheat.endpoint.tables.catalog import Recovery, Table

RECOVERY_DAYS = 35  # that a table can be put back to, where a request does not say how many


def describe_continuous_backups(service: Service, request: dict[str, Any]) -> dict[str, Any]:
    """DescribeContinuousBackups: they are on for every table; recovery to a point in time is not."""
    return _described(_table(service, request), service.now_s())


def update_continuous_backups(service: Service, request: dict[str, Any]) -> dict[str, Any]:
    """UpdateContinuousBackups: turns point-in-time recovery on or off, at once."""
    table, now_s = _table(service, request), service.now_s()
    wanted = request["PointInTimeRecoverySpecification"]
    days = wanted.get("RecoveryPeriodInDays") or RECOVERY_DAYS
    began_s = table.recovery.began_s if table.recovery is not None else now_s
    table.recovery = Recovery(began_s, days) if wanted["PointInTimeRecoveryEnabled"] else None
    return _described(table, now_s)


def _described(table: Table, now_s: float) -> dict[str, Any]:
    recovery = table.recovery
    described: dict[str, Any] = {"PointInTimeRecoveryStatus": "DISABLED"}
    if recovery is not None:
        described = {
            "PointInTimeRecoveryStatus": "ENABLED",
            "RecoveryPeriodInDays": recovery.days,
            "EarliestRestorableDateTime": round(max(recovery.began_s, now_s - recovery.days * 86_400), 3),
            "LatestRestorableDateTime": round(now_s, 3),
        }
    return {
        "ContinuousBackupsDescription": {
            "ContinuousBackupsStatus": "ENABLED",
            "PointInTimeRecoveryDescription": described,
        }
    }


def _table(service: Service, request: dict[str, Any]) -> Table:
    """The table; the error where there is none has a name of its own here."""
    name = request["TableName"]
    try:
        return service.catalog.find(name)
    except ServiceError as error:
        raise ServiceError("TableNotFoundException", f"Table not found: {name}") from error
