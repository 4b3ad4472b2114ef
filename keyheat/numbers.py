"""Numbers as text: thousands separated, no more digits than were measured, with a unit."""

import math
from collections.abc import Callable
from datetime import UTC, datetime

NOTHING = "–"
UNITS = {"read": "RCU", "write": "WCU"}


def whole(value: float | None) -> str:
    """A count or a configured capacity, every digit: 12,345."""
    return NOTHING if value is None or not math.isfinite(value) else f"{round(value):,}"


def measured(value: float | None) -> str:
    """A measured quantity in three digits: 1,803.4 -> 1,800, 12.34 -> 12.3, 0.01234 -> 0.0123."""
    if value is None or not math.isfinite(value):
        return NOTHING
    if value == 0:
        return "0"
    digits = 2 - math.floor(math.log10(abs(value)))
    rounded = round(value, digits)
    return f"{rounded:,.0f}" if digits <= 0 else f"{rounded:,.{digits}f}".rstrip("0").rstrip(".")


def percent(share: float | None) -> str:
    """A share in percent: 0.284 -> 28 %, 0.004 -> 0.4 %; 0 and 100 only if exact."""
    if share is None or not math.isfinite(share):
        return NOTHING
    value = share * 100
    if 0 < value < 0.1:
        return "under 0.1 %"
    if 0 < value < 1 or 99 < value < 100:
        return f"{min(value, 99.9):.1f} %"
    return f"{value:,.0f} %"


def exact_percent(share: float) -> str:
    """A share in percent with four digits, for comparisons: 0.0499 -> 4.99 %."""
    return f"{share * 100:.4g} %"


def percent_above(share: float, most: float) -> str:
    """A share in percent with enough digits to exceed `most`: 0.00104 above 0.001 -> 0.104 %."""
    if share <= most or percent(share) != percent(most):
        return percent(share)
    digits = next((count for count in range(2, 9) if f"{share:.{count}g}" != f"{most:.{count}g}"), 9)
    return f"{share * 100:.{digits}g} %"


def dollars(amount: float | None) -> str:
    """Dollars in three digits: $0.625, $12.3."""
    return NOTHING if amount is None else f"${measured(amount)}"


def a_month(amount: float | None) -> str:
    """Dollars per month: $22.78, $1,945."""
    if amount is None:
        return NOTHING
    return f"${amount:,.2f}" if amount < 100 else f"${amount:,.0f}"


def milliseconds(value_ms: float | None) -> str:
    """A duration: 0.84 ms, 12.3 ms, 1.2 s."""
    if value_ms is None or not math.isfinite(value_ms):
        return NOTHING
    return f"{measured(value_ms)} ms" if value_ms < 1000 else f"{measured(value_ms / 1000)} s"


def span(seconds: float) -> str:
    """A length of time in its two largest units: 75 -> 1 min 15 s."""
    total = round(seconds)
    parts = [(total // 86_400, "d"), (total // 3600 % 24, "h"), (total // 60 % 60, "min"), (total % 60, "s")]
    words = [f"{value} {unit}" for value, unit in parts if value]
    return " ".join(words[:2]) or "0 s"


def rate(value_per_s: float | None, unit: str) -> str:
    """A measured rate with its unit: 1,800 WCU/s."""
    return NOTHING if value_per_s is None else f"{measured(value_per_s)} {unit}/s"


def units(value_per_s: float, direction: str) -> str:
    """A rate of capacity units with every digit: 1,796 WCU/s."""
    return f"{whole(value_per_s)} {UNITS[direction]}/s"


def consumed_units(value_per_s: float, direction: str) -> str:
    """A measured rate of capacity units, in three digits: 1,800 WCU/s."""
    return rate(value_per_s, UNITS[direction])


def of_provisioned(used: float, capacity: float, direction: str) -> str:
    """Consumed against provisioned: 808 of 4,000 provisioned WCU/s (20 %)."""
    share = f" ({percent(used / capacity)})" if capacity else ""
    return f"{measured(used)} of {whole(capacity)} provisioned {UNITS[direction]}/s{share}"


def moment(epoch_s: float) -> str:
    """A time as sortable text: 2026-11-20 12:00:07."""
    return datetime.fromtimestamp(epoch_s, UTC).strftime("%Y-%m-%d %H:%M:%S")


def clock(epoch_s: float) -> str:
    """A time within a run: 12:00:07."""
    return datetime.fromtimestamp(epoch_s, UTC).strftime("%H:%M:%S")


def saying(start_s: float, end_s: float) -> Callable[[float], str]:
    """Format for times between two: with the date if they span several days."""
    return moment if crosses_midnight(start_s, end_s) else clock


def crosses_midnight(start_s: float, end_s: float) -> bool:
    """Whether two times are on different days (UTC)."""
    return moment(start_s)[:10] != moment(end_s)[:10]


def some(count: int, thing: str, things: str | None = None) -> str:
    """A count with its noun: 1 throttle, 2,460 throttles."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"
