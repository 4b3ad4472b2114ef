"""What DescribeTable says of a table: whether it is there yet or gone, and what it costs while unused.

Clock and sleep are passed in: a run waits in gevent's time, a command in its own, a test in none.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any, TypeVar

from keyheat.plan.prices import Prices
from keyheat.runs.table_facts import mode_of
from keyheat.words import Capacity

Found = TypeVar("Found")
WORD_AFTER_S, WORD_EVERY_S = 3.0, 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePatience:
    """How something is waited for; `show` is told what it is and how many seconds are left at most."""

    sleep: Callable[[float], None]
    poll_s: float = 1.0
    limit_s: float = 600.0
    clock: Callable[[], float] = monotonic
    show: Callable[[str, float], None] = lambda _what, _left_s: None

    def until(self, look: Callable[[], Found | None], what: str) -> Found | None:
        """Return what `look` finds, which is asked again and again; None if the limit is reached."""
        ends_s = self.clock() + self.limit_s
        shown_s = self.clock() - WORD_EVERY_S + WORD_AFTER_S
        while (result := look()) is None:
            now_s = self.clock()
            if now_s >= ends_s:
                return None
            if now_s - shown_s >= WORD_EVERY_S:
                self.show(what, ends_s - now_s)
                shown_s = now_s
            self.sleep(self.poll_s)
        return result


LOOKS, LOOK_S = 5, 2.0


def look_again(
    look: Callable[[], Found | None], sleep: Callable[[float], None], looks: int = LOOKS
) -> Found | None:
    """Return what `look` finds; a table and its tags are seen a few seconds after they are there."""
    for number in range(looks):
        if number:
            sleep(LOOK_S)
        if (result := look()) is not None:
            return result
    return None


def describe_table(client: Any, name: str) -> dict[str, Any] | None:
    try:
        description: dict[str, Any] = client.describe_table(TableName=name)["Table"]
    except client.exceptions.ResourceNotFoundException:
        return None
    return description


def until_active(
    client: Any, name: str, patience: TablePatience, what: str = "made"
) -> dict[str, Any] | None:
    """The table once it and all its indexes are ACTIVE; None if they are not within the limit.

    A table that was made a moment ago may not be found yet: DescribeTable is eventually consistent.
    """

    def look() -> dict[str, Any] | None:
        description = describe_table(client, name)
        return description if description is not None and all_active(description) else None

    return patience.until(look, f"table {name} to be {what}")


def until_gone(client: Any, name: str, patience: TablePatience) -> bool:
    look = lambda: True if describe_table(client, name) is None else None  # noqa: E731
    return patience.until(look, f"table {name} to be deleted") is not None


def all_active(description: Mapping[str, Any]) -> bool:
    """Return whether neither the table nor any of its indexes is being made or changed."""
    states = [index["IndexStatus"] for index in description.get("GlobalSecondaryIndexes", [])]
    return {description["TableStatus"], *states} == {"ACTIVE"}


DAY_H = 24


def dollars_per_hour(description: Mapping[str, Any], prices: Prices) -> float:
    """Dollars an hour at a price list's prices, from DescribeTable's answer; nothing in on-demand mode."""
    if mode_of(description) != "PROVISIONED":
        return 0.0
    parts = [description, *(description.get("GlobalSecondaryIndexes") or ())]
    pairs = [resource.get("ProvisionedThroughput", {}) for resource in parts]
    read, write = (sum(pair.get(f"{side}CapacityUnits", 0) for pair in pairs) for side in ("Read", "Write"))
    return prices.provisioned.hourly(Capacity(read, write))


def upkeep_in_words(description: Mapping[str, Any], prices: Prices) -> str:
    """Return what a table costs by the hour and by the day, for a sentence that begins with the table."""
    hourly = dollars_per_hour(description, prices)
    if not hourly:
        return "costs only its storage while it is not used"
    return f"costs ${hourly:.4f} an hour, ${hourly * DAY_H:.2f} a day ({prices.title}), used or not"
