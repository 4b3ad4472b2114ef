"""What one writer knows of a key, and what it does about a partition error. No input, no output, no clock.

   last change                  cooldown ends        this writer's turn
---|------- cooling ------------|--- backing off ----|--- raise ------->
   errors: just retry             errors: just retry   an error: update, if nothing changed since
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random

from keyheat.sharding.policy import Policy
from keyheat.sharding.state import Shards


class Step(StrEnum):
    """What to do about a partition error."""

    COOLING = "cooling"  # the last change is too new: retry
    BACKING_OFF = "backing_off"  # it is another writer's turn first: retry
    AT_MOST = "at_most"  # the key has as many shards as it may have: retry
    RAISE = "raise"  # try to give the key one shard more


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The shards of a key as one writer last read them, and when it may try to raise their number."""

    shards: Shards
    first_seen_s: float
    read_s: float  # when the last read of them began
    try_at_s: float | None = None  # None: no error was seen

    @classmethod
    def learned(cls, shards: Shards, before: "Known | None", *, read_s: float, now_s: float) -> "Known":
        """What is known after a read that began at `read_s`; an answer older than what is known is void."""
        if before is None or shards.updated_us > before.shards.updated_us:
            return cls(shards=shards, first_seen_s=now_s, read_s=read_s)
        if shards.updated_us < before.shards.updated_us:
            return before
        return replace(before, read_s=max(read_s, before.read_s))

    def cooled_s(self, policy: Policy) -> float:
        """When the cooldown ends. A change that claims to be of the future is as old as our knowing of it:
        one clock that is ahead must not stop everybody's growth."""
        return min(self.shards.updated_s, self.first_seen_s) + policy.cooldown_s

    def on_partition_error(self, policy: Policy, now_s: float, rng: Random) -> tuple["Known", Step]:
        """What to do about a partition error at `now_s`, and what is known after it.

        After `RAISE` the next turn is drawn at once, so that of the threads that share what they know only
        one goes.
        """
        if self.shards.number >= policy.max_shards:
            return self, Step.AT_MOST
        cooled_s = self.cooled_s(policy)
        known = self._with_turn(max(now_s, cooled_s), policy, now_s, rng)
        if now_s < cooled_s:
            return known, Step.COOLING
        assert known.try_at_s is not None
        if now_s < known.try_at_s:
            return known, Step.BACKING_OFF
        return replace(known, try_at_s=now_s + _backoff(policy, rng)), Step.RAISE

    def _with_turn(self, from_s: float, policy: Policy, now_s: float, rng: Random) -> "Known":
        """A turn that was drawn and not used for a whole cooldown was for another burst of errors."""
        if self.try_at_s is not None and now_s <= self.try_at_s + policy.cooldown_s:
            return self
        return replace(self, try_at_s=from_s + _backoff(policy, rng))


def _backoff(policy: Policy, rng: Random) -> float:
    return rng.uniform(policy.backoff_low_s, policy.backoff_high_s)
