"""Evidence written by hand, in few words: a table called `orders`, minutes and seconds from 12:00 on."""

from datetime import UTC, datetime, timedelta
from typing import Any

from keyheat.analysis.diagnosis import diagnose
from keyheat.analysis.thresholds import Thresholds
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import Diagnosis, Evidence

START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
KEY_RANGE = "TableWriteKeyRangeThroughputExceeded"
PROVISIONED = "TableWriteProvisionedThroughputExceeded"


def series(
    metric: str, *per_minute: float | None, index: str | None = None, statistic: str = "Sum"
) -> dict[str, Any]:
    """One value a minute from 12:00 on; None: CloudWatch has no point there."""
    points = [
        (START + timedelta(minutes=n), value) for n, value in enumerate(per_minute) if value is not None
    ]
    return {"metric": metric, "statistic": statistic, "period_s": 60, "index": index, "points": points}


def consumed(*per_s: float | None, index: str | None = None) -> dict[str, Any]:
    """Consumed write units per second, minute by minute."""
    return series("ConsumedWriteCapacityUnits", *(p if p is None else p * 60 for p in per_s), index=index)


def events(*per_minute: float | None, index: str | None = None) -> dict[str, Any]:
    return series("WriteThrottleEvents", *per_minute, index=index)


def provisioned(units: float, index: str | None = None) -> dict[str, Any]:
    return series("ProvisionedWriteCapacityUnits", units, index=index, statistic="Average")


def evidence(*found: dict[str, Any], minutes: int = 5, indexes: int = 0, **more: Any) -> Evidence:
    names = [{"name": f"by_{n}"} for n in range(indexes)]
    table = {"name": "orders", "billing_mode": "PROVISIONED", "indexes": names, **more.pop("table", {})}
    window = {"start": START, "end": START + timedelta(minutes=minutes)}
    return Evidence.model_validate({"table": table, "window": window, "series": found, **more})


def throttled(
    reason: str | None, seconds: range, count: int = 100, index: str | None = None
) -> list[dict[str, Any]]:
    return [
        {
            "second": START + timedelta(seconds=s),
            "index": index,
            "direction": "write",
            "reason": reason,
            "count": count,
        }
        for s in seconds
    ]


def client_seconds(*stretches: tuple[range, float, int]) -> list[dict[str, Any]]:
    """(seconds, units consumed in each, attempts throttled in each)."""
    return [
        {
            "second": START + timedelta(seconds=s), "direction": "write", "consumed": units,
            "attempts": int(units) + refused, "throttled": refused,
        }
        for stretch, units, refused in stretches
        for s in stretch
    ]  # fmt: skip


def diagnosed(found: Evidence, numbers: Thresholds, client: ClientFiles | None = None) -> Diagnosis:
    return diagnose(found, client=client, thresholds=numbers, scenario=None)


ON_DEMAND = {"billing_mode": "PAY_PER_REQUEST"}
