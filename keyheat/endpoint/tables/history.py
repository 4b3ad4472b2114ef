"""What the service answers when the capacity of a table was changed too often."""

from collections.abc import Sequence
from datetime import UTC, datetime

from keyheat.endpoint.errors import ServiceError
from keyheat.model import limits
from keyheat.scenario.changes import ResourceHistory, next_decrease_s, recent_switches_s


def require_decrease_allowed(history: ResourceHistory, now_s: float) -> None:
    """Raises LimitExceededException when the day's decreases are used up for now."""
    today = history.decreases_today(now_s)
    next_s = next_decrease_s(today, now_s)
    if next_s > now_s:
        raise limit_exceeded(
            "Subscriber limit exceeded: Provisioned throughput decreases are limited within a given UTC day. "
            f"After the first {limits.DECREASES_FIRST_HOUR} decreases, each subsequent decrease in the "
            f"same UTC day can be performed at most once every {limits.DECREASE_SPACING_S} seconds. "
            f"Number of decreases today: {len(today)}. "
            f"Last decrease at {_day_and_time(today[-1])}. "
            f"Next decrease can be made at {_day_and_time(next_s)}"
        )


def require_switch_allowed(to_on_demand_s: Sequence[float], now_s: float) -> None:
    """Raises LimitExceededException when the table went to on-demand mode too often in 24 hours.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-switching-capacity-modes.html
    """
    recent = recent_switches_s(to_on_demand_s, now_s)
    if len(recent) >= limits.ON_DEMAND_SWITCHES:
        raise limit_exceeded(
            "Subscriber limit exceeded: Update to PayPerRequest mode are limited to "
            f"{limits.ON_DEMAND_SWITCHES} times in 1 day(s). "
            f"Last update at {_day_and_time(recent[-1])}. "
            f"Next update can be made at {_day_and_time(recent[0] + limits.ON_DEMAND_SWITCH_WINDOW_S)}"
        )


def limit_exceeded(message: str) -> ServiceError:
    """The account has reached a quota."""
    return ServiceError("LimitExceededException", message)


def _day_and_time(at_s: float) -> str:
    """`Sunday, July 9, 2017 4:04:19 PM UTC`, as the service writes times into these messages."""
    at = datetime.fromtimestamp(at_s, UTC)
    return f"{at:%A, %B} {at.day}, {at.year} {at.hour % 12 or 12}:{at:%M:%S %p} UTC"
