r"""Token buckets: capacity units that are earned with time and spent by requests.

    tokens
    depth ______        ____            earned at `rate` units per second,
                \      /                never above `depth`
                 \    /
                  \__/  spent

Over any span of t seconds a bucket spends at most depth + rate x t units, and beyond that at most one request
that is larger than the whole depth: such a request is admitted when the bucket is full, and leaves a debt.

    held     |\        /|        Index entries are written later, from a buffer. A full buffer (an empty
             | \      / |        bucket) holds back every write to the table, until it has drained by so
             |  \____/  |        many units that writes are worth letting in again: `rest`, drawn each time.
                  rest

In an AWS workshop an index of 1 unit held its table back, and a client that tried again nine times over 25 s
found no room for a single write of its batch:
https://github.com/aws-samples/amazon-dynamodb-labs (design-patterns, ex1capacity, step 7)
"""

from dataclasses import dataclass, field
from random import Random
from typing import Final, Protocol

TOLERANCE_UNITS: Final = 1e-6
"""A unit earned in many small steps may fall short by rounding alone; so little is not worth a refusal."""


def refilled(tokens: float, *, rate: float, depth: float, elapsed_s: float) -> float:
    """Units held after `elapsed_s` of refill, never above `depth`; time gone backwards earns none."""
    filled = tokens + rate * elapsed_s if elapsed_s > 0 else tokens
    return filled if filled < depth else depth


class Bucket(Protocol):
    """Units that are earned with time and spent by requests."""

    @property
    def rate(self) -> float:
        """Units earned per second."""

    @property
    def depth(self) -> float:
        """The most units that it holds."""

    @property
    def tokens(self) -> float:
        """Units that it held when last spent from."""

    def held(self, now_s: float) -> float:
        """Units that may be spent now."""

    def allows(self, units: float, now_s: float) -> bool:
        """Whether `take` would succeed. Asking never spends."""

    def take(self, units: float, now_s: float) -> bool:
        """Spend `units`, or nothing at all: False where that is refused."""

    def spend(self, units: float, now_s: float) -> None:
        """Take `units` without asking."""

    def room(self, now_s: float, span_s: float) -> float:
        """Units that a demand spread evenly over the span that begins now could spend at most."""

    def drain(self, units: float, now_s: float, span_s: float) -> None:
        """Take `units` that were spent evenly over the span that begins now."""

    def resized(self, *, rate: float, depth: float, now_s: float) -> "Bucket":
        """The bucket after a change of capacity: what was saved stays saved, as far as it fits."""


@dataclass(slots=True)
class TokenBucket:
    """Capacity units that may still be spent. `take`, `spend` and `drain` are its only mutators."""

    rate: float
    depth: float
    tokens: float
    at_s: float
    spent: float = field(default=0.0, compare=False)
    """Units spent in all, by which a partition near its ceiling is known."""

    @classmethod
    def full(cls, *, rate: float, depth: float, now_s: float) -> "TokenBucket":
        """A bucket nothing was spent from yet: `rate` in units per second, `depth` in units."""
        return cls(rate, depth, depth, now_s)

    def held(self, now_s: float) -> float:
        """Units held now; negative after a request that was larger than the depth."""
        return refilled(self.tokens, rate=self.rate, depth=self.depth, elapsed_s=now_s - self.at_s)

    def allows(self, units: float, now_s: float) -> bool:
        tokens = self.tokens
        elapsed_s = now_s - self.at_s
        if elapsed_s > 0:
            tokens += self.rate * elapsed_s
        tokens += TOLERANCE_UNITS
        return tokens >= units or tokens >= self.depth

    def take(self, units: float, now_s: float) -> bool:
        tokens = self.tokens
        elapsed_s = now_s - self.at_s
        if elapsed_s > 0:
            tokens += self.rate * elapsed_s
            self.at_s = now_s
        if tokens > self.depth:
            tokens = self.depth
        self.tokens = tokens
        enough = tokens + TOLERANCE_UNITS
        if enough < units and enough < self.depth:
            return False
        self.tokens = tokens - units
        self.spent += units
        return True

    def spend(self, units: float, now_s: float) -> None:
        self.tokens = self.held(now_s) - units
        self.spent += units
        self.at_s = max(self.at_s, now_s)

    def room(self, now_s: float, span_s: float) -> float:
        return max(0.0, self.held(now_s) + self.rate * span_s)

    def drain(self, units: float, now_s: float, span_s: float) -> None:
        # At the start of the span, so that units earned meanwhile are not lost to a full bucket.
        self.spend(units, now_s)

    def resized(self, *, rate: float, depth: float, now_s: float) -> "TokenBucket":
        return TokenBucket(rate, depth, min(depth, self.held(now_s)), now_s)


LEAST_UNITS = 1.0
"""Units that the smallest write takes."""


@dataclass(slots=True, kw_only=True)
class Backlog:
    """A token bucket that, once full for another such write, refuses until it holds `until_units`."""

    bucket: TokenBucket
    rest: tuple[float, float]
    rng: Random
    until_units: float = 0.0

    @property
    def rate(self) -> float:
        return self.bucket.rate

    @property
    def depth(self) -> float:
        return self.bucket.depth

    @property
    def tokens(self) -> float:
        return self.bucket.tokens

    @property
    def spent(self) -> float:
        return self.bucket.spent

    def held(self, now_s: float) -> float:
        """Units that may be spent now: none while it rests."""
        units = self.bucket.held(now_s)
        return min(units, 0.0) if self._rests(units) else units

    def allows(self, units: float, now_s: float) -> bool:
        return not self._rests(self.bucket.held(now_s)) and self.bucket.allows(units, now_s)

    def take(self, units: float, now_s: float) -> bool:
        if self._rests(self.bucket.held(now_s)) or not self.bucket.take(units, now_s):
            return False
        self._left(self.bucket.tokens, units)
        return True

    def spend(self, units: float, now_s: float) -> None:
        if not self._rests(self.bucket.held(now_s)):
            self.until_units = 0.0
        self.bucket.spend(units, now_s)
        self._left(self.bucket.tokens)

    def room(self, now_s: float, span_s: float) -> float:
        balance = self.bucket.held(now_s + span_s)
        return 0.0 if self._rests(balance) else self.bucket.room(now_s, span_s)

    def drain(self, units: float, now_s: float, span_s: float) -> None:
        if units:
            self.until_units = 0.0
            self.bucket.drain(units, now_s, span_s)
            self._left(self.bucket.held(now_s + span_s))

    def resized(self, *, rate: float, depth: float, now_s: float) -> "Backlog":
        bucket = self.bucket.resized(rate=rate, depth=depth, now_s=now_s)
        return Backlog(bucket=bucket, rest=self.rest, rng=self.rng, until_units=self.until_units)

    def _rests(self, balance: float) -> bool:
        return balance + TOLERANCE_UNITS < min(self.until_units, self.bucket.depth)

    def _left(self, tokens: float, a_write_units: float = LEAST_UNITS) -> None:
        least = min(max(LEAST_UNITS, a_write_units), self.bucket.depth)
        if tokens + TOLERANCE_UNITS >= least:
            self.until_units = 0.0
        elif not self.until_units:
            self.until_units = max(least, self.rng.uniform(*self.rest))
