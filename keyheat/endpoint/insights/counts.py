"""How much each key had in one minute, in bounded memory.

Up to `MOST_KEYS` different keys are counted exactly. One more, and every count is lowered by that of the key
in the middle, and those that reach zero go: a count is then too low by at most the minute's total / `KEPT`.
Misra and Gries, "Finding repeated elements", 1982: https://doi.org/10.1016/0167-6423(82)90012-0
"""

from dataclasses import dataclass, field
from heapq import nlargest
from math import inf

MOST_KEYS = 2000
KEPT = MOST_KEYS // 2
SHOWN = 100  # keys kept of a minute that is over: four times as many as a report shows


@dataclass(slots=True)
class KeyCounts:
    """One minute of one rule: values by key, and what is exact whatever the number of keys."""

    values: dict[bytes, float] = field(default_factory=dict)
    total: float = 0.0
    samples: int = 0
    least: float = inf  # of a single request
    most: float = 0.0
    unique: int = 0  # different keys, once the minute is over

    def add(self, key: bytes, value: float) -> None:
        """One request's value for one key."""
        values = self.values
        values[key] = values.get(key, 0.0) + value
        self.total += value
        self.samples += 1
        self.least, self.most = min(self.least, value), max(self.most, value)
        if len(values) > MOST_KEYS:
            self._lower()

    def close(self) -> None:
        """The minute is over: keep the largest keys alone."""
        self.unique = self.contributors
        self.values = dict(nlargest(SHOWN, self.values.items(), key=lambda pair: pair[1]))

    @property
    def contributors(self) -> int:
        """How many keys are known to have contributed: a lower bound where there were too many to hold."""
        return max(self.unique, len(self.values))

    def _lower(self) -> None:
        self.unique = self.contributors
        middle = nlargest(KEPT + 1, self.values.values())[-1]
        self.values = {key: value - middle for key, value in self.values.items() if value > middle}
