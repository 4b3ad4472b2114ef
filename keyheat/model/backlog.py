"""The write capacity of a global secondary index: a bucket that rests once it is empty.

    held     |\\        /|        Index entries are written later, from a buffer. A full buffer (an empty
             | \\      / |        bucket) holds back every write to the table, until it has drained by so
             |  \\____/  |        many units that writes are worth letting in again: `rest`, drawn each time.
                  rest

In an AWS workshop an index of 1 unit held its table back, and a client that tried again nine times over 25 s
found no room for a single write of its batch:
https://github.com/aws-samples/amazon-dynamodb-labs (design-patterns, ex1capacity, step 7)
"""

from dataclasses import dataclass
from random import Random

from keyheat.model.bucket import ROUNDING_UNITS, TokenBucket

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
        """Units that the index writes per second."""
        return self.bucket.rate

    @property
    def depth(self) -> float:
        """The most units that may be written at once."""
        return self.bucket.depth

    @property
    def tokens(self) -> float:
        """Units that were left when it was last spent from."""
        return self.bucket.tokens

    @property
    def spent(self) -> float:
        """Units spent in all."""
        return self.bucket.spent

    def held(self, now_s: float) -> float:
        """Units that may be spent now: none while it rests."""
        held = self.bucket.held(now_s)
        return min(held, 0.0) if self._rests(held) else held

    def allows(self, units: float, now_s: float) -> bool:
        """Whether `take` would succeed. Asking never spends."""
        return not self._rests(self.bucket.held(now_s)) and self.bucket.allows(units, now_s)

    def take(self, units: float, now_s: float) -> bool:
        """Spend `units`, or nothing at all: False where they are not there."""
        if self._rests(self.bucket.held(now_s)) or not self.bucket.take(units, now_s):
            return False
        self._left(self.bucket.tokens, units)
        return True

    def spend(self, units: float, now_s: float) -> None:
        """Take `units` without asking; the bucket may be left in debt."""
        if not self._rests(self.bucket.held(now_s)):
            self.until_units = 0.0
        self.bucket.spend(units, now_s)
        self._left(self.bucket.tokens)

    def room(self, now_s: float, span_s: float) -> float:
        """Units that a demand spread evenly over the span that begins now could spend at most."""
        held = self.bucket.held(now_s + span_s)
        return 0.0 if self._rests(held) else self.bucket.room(now_s, span_s)

    def drain(self, units: float, now_s: float, span_s: float) -> None:
        """Take `units` that were spent evenly over the span that begins now."""
        if units:
            self.until_units = 0.0
            self.bucket.drain(units, now_s, span_s)
            self._left(self.bucket.held(now_s + span_s))

    def resized(self, *, rate: float, depth: float, now_s: float) -> "Backlog":
        """The bucket after a change of capacity: what was saved stays saved, as far as it fits."""
        bucket = self.bucket.resized(rate=rate, depth=depth, now_s=now_s)
        return Backlog(bucket=bucket, rest=self.rest, rng=self.rng, until_units=self.until_units)

    def _rests(self, held: float) -> bool:
        return held + ROUNDING_UNITS < min(self.until_units, self.bucket.depth)

    def _left(self, tokens: float, a_write_units: float = LEAST_UNITS) -> None:
        least = min(max(LEAST_UNITS, a_write_units), self.bucket.depth)
        if tokens + ROUNDING_UNITS >= least:
            self.until_units = 0.0
        elif not self.until_units:
            self.until_units = max(least, self.rng.uniform(*self.rest))
