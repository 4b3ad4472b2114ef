"""How often the capacity of a table was changed: the service allows only so many decreases and switches."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tablemodel import limits
from tablemodel.endpoint.errors import ServiceError

DAY_S = 86_400


@dataclass(slots=True)
class ResourceHistory:
    """When the capacity of the table, or of one index, went up and down; epoch seconds."""

    decreases_s: list[float] = field(default_factory=list)
    last_increase_s: float | None = None

    def decreases_today(self, now_s: float) -> list[float]:
        """The decreases since 00:00 UTC."""
        midnight_s = now_s // DAY_S * DAY_S
        return [at_s for at_s in self.decreases_s if at_s >= midnight_s]


@dataclass(slots=True)
class History:
    """The changes of one table. Key None is the table itself, others are its global indexes."""

    resources: dict[str | None, ResourceHistory] = field(default_factory=dict)
    to_on_demand_s: list[float] = field(default_factory=list)

    def of(self, index: str | None) -> ResourceHistory:
        """The changes of the table itself (None) or of one index."""
        return self.resources.setdefault(index, ResourceHistory())


def next_decrease_s(today: Sequence[float], now_s: float) -> float:
    """When the next decrease is allowed, epoch seconds; `now_s` if it is now.

    Four at any time of a UTC day; after those, one whenever there was none in the hour before: 27 at most.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
    """
    if len(today) < limits.DECREASES_FIRST_HOUR:
        return now_s
    if len(today) >= limits.DECREASES_PER_DAY:
        return (now_s // DAY_S + 1) * DAY_S
    return max(now_s, today[-1] + limits.DECREASE_SPACING_S)


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
    recent = [at_s for at_s in to_on_demand_s if at_s > now_s - limits.ON_DEMAND_SWITCH_WINDOW_S]
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
