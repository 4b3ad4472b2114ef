"""The clock of a service: the wall clock, which a test can move on."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Final

MOST_S: Final = 15 * 86_400.0
"""At once: so long CloudWatch keeps minutes."""


@dataclass(slots=True)
class ServiceClock:
    """Epoch seconds, so far ahead of those of `now_s` as it was moved."""

    now_s: Callable[[], float]
    ahead_s: float = 0.0

    def __call__(self) -> float:
        return self.now_s() + self.ahead_s

    def advance(self, seconds: float) -> None:
        """Move it on. Raises `ValueError`: time goes on, and not further than 15 days at once."""
        if not (isfinite(seconds) and 0 < seconds <= MOST_S):
            raise ValueError(f"above 0, and at most {MOST_S:,.0f} (15 days); not {seconds}")
        self.ahead_s += seconds
