"""One client of an SDK: the quota that its retries take from, and in adaptive mode the rate that it keeps to.

What they take, and give back, is the policy's: `keyheat/model/retries.py`.
"""

from dataclasses import dataclass, field
from math import floor
from typing import Final

from keyheat.model.retries import QUOTA_TOKENS


@dataclass(slots=True)
class RetryQuota:
    """The tokens of one client, which each retry takes from and accepted requests give back to."""

    most_tokens: float = QUOTA_TOKENS
    tokens: float = field(init=False)

    def __post_init__(self) -> None:
        self.tokens = self.most_tokens

    def take(self, cost_tokens: float) -> bool:
        """Whether a retry may be made; it is paid then."""
        if cost_tokens > self.tokens:
            return False
        self.tokens -= cost_tokens
        return True

    def give_back(self, tokens: float) -> None:
        """A request has been accepted; it is never more than it was."""
        self.tokens = min(self.most_tokens, self.tokens + tokens)


# AWS describes the adaptive mode in words only ("may delay the first attempt"); the numbers are those of its
# SDKs' code, the same in botocore (retries/bucket.py, throttling.py, adaptive.py) and in JavaScript.
LEAST_PER_S: Final = 0.5
KEPT_PART: Final = 0.7  # of the rate at which a throttle came
STEEPNESS: Final = 0.4
NEWEST_PART: Final = 0.8
HALF_S: Final = 0.5  # the rate is measured in steps of this
MOST_TIMES: Final = 2.0  # the measured rate


@dataclass(slots=True)
class AdaptiveRate:
    """What the adaptive mode lets one client send: less after a throttle, then more along a cubic curve.

        rate = 0.4 (t - k)^3 + w        t: seconds since the last throttle, w: the rate at which it came
        k = (w (1 - 0.7) / 0.4)^(1/3)   so that it begins at 0.7 w and is w again after k seconds

    It begins with the first throttle. Who waits goes by the rate as it changes.
    """

    now_s: float
    _limits: bool = False
    _w_per_s: float = 0.0
    _measured_per_s: float = 0.0
    _fill_per_s: float = LEAST_PER_S
    _tokens: float = 0.0
    _filled_s: float = 0.0
    _throttled_s: float = 0.0
    _count: int = 0
    _step_s: float = 0.0

    def __post_init__(self) -> None:
        self._filled_s = self._throttled_s = self.now_s
        self._step_s = floor(self.now_s)

    def wait_s(self, at_s: float, before: int = 0) -> float:
        """Seconds until the next in line may send, after so many others, at the rate as it is now.

        0: at once.
        """
        if not self._limits:
            return 0.0
        self._refill(at_s)
        return max(0.0, (1.0 + before - self._tokens) / self._fill_per_s)

    def sent(self) -> None:
        """The first in line has sent, and taken its token."""
        if self._limits:
            self._tokens -= 1.0

    def answered(self, at_s: float, *, throttled: bool) -> None:
        """An attempt was answered."""
        measured = self._measure(at_s)
        if throttled:
            self._w_per_s = min(measured, self._fill_per_s) if self._limits else measured
            self._throttled_s, self._limits = at_s, True
            rate = KEPT_PART * self._w_per_s
        else:
            k = (self._w_per_s * (1 - KEPT_PART) / STEEPNESS) ** (1 / 3)
            rate = STEEPNESS * (at_s - self._throttled_s - k) ** 3 + self._w_per_s
        self._refill(at_s)
        self._fill_per_s = max(LEAST_PER_S, min(rate, MOST_TIMES * measured))
        self._tokens = min(self._tokens, max(1.0, self._fill_per_s))

    def _measure(self, at_s: float) -> float:
        step_s = floor(at_s / HALF_S) * HALF_S
        self._count += 1
        if step_s > self._step_s:
            newest = self._count / (step_s - self._step_s)
            self._measured_per_s = NEWEST_PART * newest + (1 - NEWEST_PART) * self._measured_per_s
            self._count, self._step_s = 0, step_s
        return self._measured_per_s

    def _refill(self, at_s: float) -> None:
        earned = (at_s - self._filled_s) * self._fill_per_s
        self._tokens = min(max(1.0, self._fill_per_s), self._tokens + earned)
        self._filled_s = at_s
