"""The date as a key: all requests of one day, hour or minute meet on one key, and then move to the next."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from random import Random
from typing import Literal

import numpy as np

from keyheat.scenario.patterns.base import Keys, Times

FIRST_DAY = date(2026, 1, 1)
Period = Literal["day", "hour", "minute"]
LENGTH: dict[Period, timedelta] = {
    "day": timedelta(days=1),
    "hour": timedelta(hours=1),
    "minute": timedelta(minutes=1),
}
SPELT: dict[Period, str] = {"day": "%Y-%m-%d", "hour": "%Y-%m-%dT%H", "minute": "%Y-%m-%dT%H:%M"}


@dataclass(frozen=True, slots=True)
class DateKey:
    """The present date is the key, so all requests meet on it; the heat moves at the rollover.

    `day_s` seconds of the run stand for one day (or hour, or minute: `rounded_to`).
    """

    day_s: float
    first_day: date = FIRST_DAY
    rounded_to: Period = "day"
    prefix: str | None = None

    def draw(self, rng: Random, at_s: float) -> str:
        return self.period(int(at_s // self.day_s))

    def draw_many(self, rng: np.random.Generator, at_s: Times) -> Keys:
        periods, of_request = np.unique((at_s // self.day_s).astype(int), return_inverse=True)
        return np.array([self.period(int(number)) for number in periods])[of_request]

    @property
    def hottest_share(self) -> float:
        return 1.0

    def period(self, number: int) -> str:
        """The key of the run's `number`-th day, hour or minute, counted from 0."""
        start = datetime.combine(self.first_day, time()) + number * LENGTH[self.rounded_to]
        spelt = start.strftime(SPELT[self.rounded_to])
        return f"{self.prefix}-{spelt}" if self.prefix else spelt
