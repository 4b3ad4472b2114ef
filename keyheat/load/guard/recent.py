"""The last seconds of a record: attempts, throttled and failed ones, and the p99 of those accepted.

A record only grows, so a histogram of the last seconds is the difference of two: the one of now and the one
of then. Few are kept, however long the window is.
"""

from collections import deque
from dataclasses import dataclass, field
from math import ceil
from typing import Final

import numpy as np

from keyheat.load.guard.stop_rules import Recent
from keyheat.load.record.latency import Counts, no_counts, percentile_of
from keyheat.load.record.record import Record
from keyheat.load.record.seconds import ATTEMPTS, ERRORS, THROTTLED

KEPT: Final = 30  # histograms, each of the time since the one before


@dataclass(slots=True)
class RecentLooks:
    """Looks at a record once a second, and knows what was in it `over_s` ago."""

    over_s: float
    timed: bool  # whether anybody asks for the p99: else no histogram is copied
    _then: deque[tuple[float, Counts]] = field(default_factory=deque)

    def look(self, record: Record, now_s: float, *, until: int) -> Recent:
        """The last `over_s` seconds; of counts, whole ones before the second `until`."""
        seconds = [record.seconds.in_second(second) for second in range(until - ceil(self.over_s), until)]
        timed, p99_us = self._timed(record, now_s) if self.timed else (0, 0)
        return Recent(
            attempts=int(sum(counts[ATTEMPTS] for counts in seconds)),
            throttled=int(sum(counts[THROTTLED] for counts in seconds)),
            errors=int(sum(counts[ERRORS] for counts in seconds)),
            timed=timed,
            p99_ms=p99_us / 1000,
        )

    def _timed(self, record: Record, now_s: float) -> tuple[int, int]:
        """How many accepted requests the window has, and their p99 in microseconds."""
        now = no_counts()
        for tag, latency in record.latencies.items():
            if tag.endswith(".accepted"):
                now += latency.counts()
        while len(self._then) > 1 and self._then[1][0] <= now_s - self.over_s:
            self._then.popleft()
        then = self._then[0][1] if self._then else no_counts()
        if not self._then or now_s - self._then[-1][0] >= self.over_s / KEPT:
            self._then.append((now_s, now))
        recent = np.maximum(now - then, 0)
        return int(recent.sum()), percentile_of(recent, 99)
