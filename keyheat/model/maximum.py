"""An on-demand maximum: what AWS calls a best-effort target, and not a ceiling.

    request of no more than a second of the maximum --> one bucket, to the unit
    a larger one -------------> node, node, node ... : each lets one through a second, and forgets the debt

A maximum is enforced by admission nodes that do not wait for one another. On a table with a maximum of 1
write unit a second, 60 of 72 updates of 351 units got past it, six at a time every ten seconds, and so did
every transaction of 704 units that followed 1.7 seconds after such a wave. A bucket with a lasting debt would
have let one through in six minutes. How a maximum of more than a request behaves is not published: it is held
to the unit. Sources:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode-max-throughput.html
https://github.com/radkawar/stackd (testdata/aws/dynamodb/on_demand_limits.json)
"""

from dataclasses import dataclass, field

from keyheat.model.bucket import TokenBucket
from keyheat.model.nodes import Caller


@dataclass(slots=True, kw_only=True)
class MaximumBucket(TokenBucket):
    """A token bucket, past which a request of more than `large_units` gets at a node that is ready for one.

    `recovery_s`: seconds until a node that let one pass is ready again. A caller of no connection finds the
    node that is ready first. Worked out second by second (`room`, `drain`) it is a token bucket.
    """

    large_units: float
    recovery_s: float
    caller: Caller
    ready_s: list[float] = field(compare=False)
    """When each node lets a large request pass again."""

    def allows(self, units: float, now_s: float) -> bool:
        """Whether `take` would succeed. Asking never spends."""
        if units <= self.large_units:
            return TokenBucket.allows(self, units, now_s)
        return now_s >= self.ready_s[self._mine()]

    def take(self, units: float, now_s: float) -> bool:
        """Spend `units`, or nothing at all; a large request leaves the bucket empty, but in no debt."""
        if units <= self.large_units:
            return TokenBucket.take(self, units, now_s)
        mine = self._mine()
        if now_s < self.ready_s[mine]:
            return False
        self.ready_s[mine] = now_s + self.recovery_s
        self.tokens = max(0.0, self.held(now_s) - units)
        self.spent += units
        self.at_s = max(self.at_s, now_s)
        return True

    def resized(self, *, rate: float, depth: float, now_s: float) -> "MaximumBucket":
        """The bucket after a change of the maximum: what was saved stays saved, as far as it fits."""
        return MaximumBucket(
            rate,
            depth,
            min(depth, self.held(now_s)),
            now_s,
            large_units=self.large_units * rate / self.rate,
            recovery_s=self.recovery_s,
            caller=self.caller,
            ready_s=self.ready_s,
        )

    def _mine(self) -> int:
        connection = self.caller.connection
        if connection is None:
            return min(range(len(self.ready_s)), key=self.ready_s.__getitem__)
        return connection % len(self.ready_s)
