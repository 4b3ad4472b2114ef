"""What one direction of one resource did, second by second and minute by minute.

A request touches one open second; the second is folded into its minute when the next one begins, so that
recording costs the same however much is kept.
"""

from collections import deque
from dataclasses import dataclass, field
from math import inf

from keyheat.model import limits
from keyheat.model.resources import Cause
from keyheat.words import Direction

KEPT_SECONDS = 7_200
_KEPT_MINUTES = limits.MINUTE_RETENTION_S // limits.MINUTE_S


@dataclass(slots=True)
class Tally:
    """Samples of one period."""

    sum: float = 0.0
    count: int = 0
    minimum: float = inf
    maximum: float = -inf

    def statistic(self, name: str) -> float | None:
        """One statistic by CloudWatch's name; None for a percentile: single values are not kept."""
        if name == "Average":
            return self.sum / self.count if self.count else None
        simple = {
            "Sum": self.sum, "SampleCount": self.count, "Minimum": self.minimum, "Maximum": self.maximum,
        }  # fmt: skip
        return simple.get(name)

    def add(self, value: float) -> None:
        self.sum += value
        self.count += 1
        if value < self.minimum:
            self.minimum = value
        if value > self.maximum:
            self.maximum = value

    def merge(self, other: "Tally") -> None:
        self.sum += other.sum
        self.count += other.count
        self.minimum = min(self.minimum, other.minimum)
        self.maximum = max(self.maximum, other.maximum)


class MinuteTallies:
    """Tallies by minute, kept as long as CloudWatch keeps one-minute datapoints."""

    __slots__ = ("_open", "_past_s", "_since_s", "tallies")

    def __init__(self) -> None:
        self.tallies: dict[int, Tally] = {}
        self._open = Tally()
        self._since_s, self._past_s = inf, -inf

    def add(self, value: float, now_s: float) -> None:
        if self._since_s <= now_s < self._past_s:
            self._open.add(value)
        else:
            self.of(int(now_s) // limits.MINUTE_S).add(value)

    def of(self, minute: int) -> Tally:
        """The tally of a minute; creates a missing one."""
        since_s = float(minute * limits.MINUTE_S)
        if since_s != self._since_s:
            self._since_s, self._past_s = since_s, since_s + limits.MINUTE_S
            self._open = self.tallies.setdefault(minute, Tally())
            self._forget(minute - _KEPT_MINUTES)
        return self._open

    def _forget(self, before: int) -> None:
        while self.tallies:
            oldest = next(iter(self.tallies))
            if oldest >= before:
                return
            del self.tallies[oldest]


@dataclass(slots=True, kw_only=True)
class MeterSecond(Tally):
    """Requests of one second: `sum` and `count` are consumed units and accepted requests."""

    start_s: int
    refused: dict[Cause, int] = field(default_factory=dict)


@dataclass(slots=True)
class LaneMeter:
    index: str | None
    direction: Direction
    since_s: float
    until_s: float = inf
    consumed: MinuteTallies = field(default_factory=MinuteTallies)
    throttles: dict[Cause, MinuteTallies] = field(default_factory=dict)
    seconds: deque[MeterSecond] = field(default_factory=lambda: deque(maxlen=KEPT_SECONDS))
    open: MeterSecond = field(default_factory=lambda: MeterSecond(start_s=-(2**62)))
    next_s: float = -inf

    def accepted(self, units: float, now_s: float) -> None:
        second = self.open if now_s < self.next_s else self._next(now_s)
        second.sum += units
        second.count += 1
        if units < second.minimum:
            second.minimum = units
        if units > second.maximum:
            second.maximum = units

    def accepted_many(
        self, count: int, units: float, now_s: float, *, least: float | None = None, most: float | None = None
    ) -> None:
        """Record `count` admitted requests that took `units` together.

        `least` and `most` are the units of the smallest and of the largest; absent: all took the same.
        """
        if not count:
            return
        second = self.open if now_s < self.next_s else self._next(now_s)
        mean = units / count
        second.sum += units
        second.count += count
        second.minimum = min(second.minimum, mean if least is None else least)
        second.maximum = max(second.maximum, mean if most is None else most)

    def refused(self, cause: Cause, now_s: float, count: int = 1) -> None:
        if count:
            second = self.open if now_s < self.next_s else self._next(now_s)
            second.refused[cause] = second.refused.get(cause, 0) + count

    def injected(self, cause: Cause, now_s: float) -> None:
        """Record a throttle event of a fault rule: it counts in its minute, but not in the second."""
        self.throttles.setdefault(cause, MinuteTallies()).of(int(now_s) // limits.MINUTE_S).merge(events(1))

    def consumed_by_minute(self) -> dict[int, Tally]:
        """Consumed units of every minute with requests, the open second included."""
        second = self.open
        tally = Tally(second.sum, second.count, second.minimum, second.maximum)
        return _with_open(self.consumed, second.start_s, tally)

    def throttles_by_minute(self) -> dict[Cause, dict[int, Tally]]:
        """Throttle events of every minute that has any, by cause, the open second included."""
        causes = self.throttles.keys() | self.open.refused.keys()
        return {
            cause: _with_open(
                self.throttles.get(cause, MinuteTallies()),
                self.open.start_s,
                events(self.open.refused.get(cause, 0)),
            )
            for cause in sorted(causes)
        }

    def _next(self, now_s: float) -> MeterSecond:
        second = self.open
        minute = second.start_s // limits.MINUTE_S
        if second.count:
            self.consumed.of(minute).merge(second)
        for cause, count in second.refused.items():
            self.throttles.setdefault(cause, MinuteTallies()).of(minute).merge(events(count))
        start_s = int(now_s // 1)
        self.open = MeterSecond(start_s=start_s)
        self.next_s = start_s + 1.0
        self.seconds.append(self.open)
        return self.open


def events(count: int) -> Tally:
    """A tally of `count` events: each is a sample of 1."""
    return Tally(float(count), count, 1.0, 1.0) if count else Tally()


def _with_open(track: MinuteTallies, second_s: int, open_tally: Tally) -> dict[int, Tally]:
    tallies = dict(track.tallies)
    if open_tally.count:
        minute = second_s // limits.MINUTE_S
        if minute in tallies:
            open_tally.merge(tallies[minute])
        tallies[minute] = open_tally
    return tallies
