"""The rules that DynamoDB makes for a table or an index, and what each has counted.

    PKC  accessed, by partition key      SKC  accessed, by partition and sort key
    PKT  throttled, by partition key     SKT  throttled, by partition and sort key

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/contributorinsights_HowItWorks.html
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from keyheat.endpoint.insights.counts import KeyCounts
from keyheat.endpoint.insights.keytext import partition_end, shown, sort_end
from keyheat.endpoint.schema import KeySchema
from keyheat.model.limits import MINUTE_S

Kind = Literal["PKC", "PKT", "SKC", "SKT"]
Mode = Literal["ACCESSED_AND_THROTTLED_KEYS", "THROTTLED_KEYS"]
DEFAULT_MODE: Mode = "ACCESSED_AND_THROTTLED_KEYS"
MINUTES_KEPT = 360  # with 100 keys each some 5 MB for a rule: the endpoint's own bound, AWS keeps 15 days


@dataclass(slots=True)
class Rule:
    """One rule and its minutes."""

    name: str
    kind: Kind
    keys: KeySchema
    minutes: dict[int, KeyCounts] = field(default_factory=dict)
    _minute: int = -1

    @property
    def throttled(self) -> bool:
        """Whether it counts throttled requests; else it adds up consumed units."""
        return self.kind.endswith("T")

    @property
    def labels(self) -> list[str]:
        """The names of the key attributes that it counts by."""
        sort = [self.keys.sort.name] if self.kind.startswith("S") and self.keys.sort else []
        return [self.keys.partition.name, *sort]

    def shown(self, key: bytes) -> list[str]:
        """A counted key as text."""
        return shown(self.keys, key)

    def count(self, stored: bytes, value: float, now_s: float) -> None:
        """One request for the item under a stored key, or for its partition key alone."""
        end = partition_end(stored) if self.kind.startswith("P") else sort_end(self.keys, stored)
        if end is None:
            return
        minute = int(now_s // MINUTE_S) * MINUTE_S
        if minute != self._minute:
            self._begin(minute)
        self.minutes[minute].add(stored[:end], value)

    def _begin(self, minute: int) -> None:
        if self._minute in self.minutes:
            self.minutes[self._minute].close()
        self.minutes.setdefault(minute, KeyCounts())
        for old in [one for one in self.minutes if one <= minute - MINUTES_KEPT * MINUTE_S]:
            del self.minutes[old]
        self._minute = minute


def kinds(mode: Mode, keys: KeySchema) -> Iterator[Kind]:
    """The rules of a mode: throttled keys alone, or accessed ones too; by item where there is a sort key."""
    if mode == DEFAULT_MODE:
        yield "PKC"
        if keys.sort is not None:
            yield "SKC"
    yield "PKT"
    if keys.sort is not None:
        yield "SKT"


def rule_name(kind: Kind, resource: str, now_s: float) -> str:
    """The name that DynamoDB gives a rule: with the resource and when it was made, in milliseconds."""
    return f"DynamoDBContributorInsights-{kind}-{resource}-{round(now_s * 1000)}"
