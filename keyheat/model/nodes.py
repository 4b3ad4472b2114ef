"""What a table's admission nodes hand out: a small provisioned capacity in chunks, an on-demand maximum.

    reserve, earned at `rate` --a chunk each, every few seconds--> node, node, node ... --> requests
                                                                    a connection stays with one node

DynamoDB's request routers keep tokens of their own, which a global admission control replenishes every few
seconds; a router admits a request while it has any token left, and may end up in debt. A large table's chunks
are large and no client notices. On a table of a few units a client sees a hundred requests at full speed,
then nothing for some seconds, and another connection is served while the first one is refused. Source:
https://www.usenix.org/system/files/atc22-elhemali.pdf (section 4.3, "Global admission control")

An on-demand maximum is what AWS calls a best-effort target, and not a ceiling:

    request of no more than a second of the maximum --> one bucket, to the unit
    a larger one -------------> node, node, node ... : each lets one through a second, and forgets the debt

Its nodes do not wait for one another. On a table with a maximum of 1 write unit a second, 60 of 72 updates of
351 units got past it, six at a time every ten seconds, and so did every transaction of 704 units that
followed 1.7 seconds after such a wave. A bucket with a lasting debt would have let one through in six
minutes. How a maximum of more than a request behaves is not published: it is held to the unit. Sources:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode-max-throughput.html
https://github.com/radkawar/stackd (testdata/aws/dynamodb/on_demand_limits.json)
"""

from dataclasses import dataclass, field
from math import inf
from random import Random

from keyheat.model.behaviour import Behaviour
from keyheat.model.bucket import Bucket, TokenBucket
from keyheat.words import Direction


@dataclass(slots=True)
class Caller:
    """Whose request is being admitted: the number of the connection that it came on.

    None is a client with enough connections to find the node with the most tokens.
    """

    connection: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What all resources of one table share."""

    behaviour: Behaviour
    scale: float
    rng: Random
    account: dict[Direction, TokenBucket]
    caller: Caller


@dataclass(slots=True)
class Node:
    """One admission node: the units that it may still spend, and when it is handed more."""

    tokens: float
    due_s: float = inf


@dataclass(slots=True, kw_only=True)
class NodeBucket:
    """A bucket for a whole resource, of which every node holds a part. `take` asks the caller's node."""

    reserve: TokenBucket
    nodes: tuple[Node, ...]
    chunk_units: float
    grant_s: tuple[float, float]
    caller: Caller
    rng: Random

    @property
    def rate(self) -> float:
        """Units earned per second, by all nodes together."""
        return self.reserve.rate

    @property
    def depth(self) -> float:
        """The most units that nodes and reserve hold together."""
        return self.reserve.depth + self.chunk_units * len(self.nodes)

    @property
    def tokens(self) -> float:
        """Units that nodes and reserve held when last spent from; a node in debt counts against the rest."""
        return self.reserve.tokens + sum(node.tokens for node in self.nodes)

    def held(self, now_s: float) -> float:
        """Units that callers on all nodes together may spend now."""
        reserve_units, held = max(0.0, self.reserve.held(now_s)), 0.0
        for node in self.nodes:
            granted = min(self.chunk_units - node.tokens, reserve_units) if now_s >= node.due_s else 0.0
            reserve_units -= granted
            held += max(0.0, node.tokens + granted)
        return held

    def allows(self, units: float, now_s: float) -> bool:
        """Whether `take` would succeed: the caller's node holds any token. Asking never spends."""
        return self._of(self._mine(now_s), now_s) > 0

    def take(self, units: float, now_s: float) -> bool:
        """Spend `units` at the caller's node, which may end up in debt; False where it holds nothing."""
        node = self._mine(now_s)
        self._settle(node, now_s)
        if node.tokens <= 0:
            return False
        self._spend(node, units, now_s)
        return True

    def spend(self, units: float, now_s: float) -> None:
        """Take `units` without asking, as callers on all nodes would; what is not there is their debt."""
        for node in self.nodes:
            self._settle(node, now_s)
        for node in sorted(self.nodes, key=lambda node: -node.tokens):
            taken = min(units, max(0.0, node.tokens))
            if taken:
                self._spend(node, taken, now_s)
                units -= taken
        for node in self.nodes if units > 0 else ():
            self._spend(node, units / len(self.nodes), now_s)

    def room(self, now_s: float, span_s: float) -> float:
        """Units that callers on all nodes could spend in the span that begins now, its grants included."""
        reserve_units, room = max(0.0, self.reserve.room(now_s, span_s)), 0.0
        for node in self.nodes:
            granted = (
                min(self.chunk_units - node.tokens, reserve_units) if node.due_s < now_s + span_s else 0.0
            )
            reserve_units -= granted
            room += max(0.0, node.tokens + granted)
        return room

    def drain(self, units: float, now_s: float, span_s: float) -> None:
        """Take `units` that callers on all nodes spent in the span that begins now.

        A node is handed its chunk when that is due, for its next one is due by that moment.
        """
        if not units:
            return
        ends_s = now_s + span_s
        for node in sorted(self.nodes, key=lambda node: node.due_s):
            if node.due_s < ends_s:
                self._settle(node, max(now_s, node.due_s))
        self.spend(units, ends_s)

    def resized(self, *, rate: float, depth: float, now_s: float) -> TokenBucket:
        """All of it in one bucket, after a change of capacity: what was saved stays, as far as it fits."""
        saved = self.reserve.held(now_s) + sum(node.tokens for node in self.nodes)
        return TokenBucket(rate, depth, min(depth, saved), now_s)

    def _mine(self, now_s: float) -> Node:
        connection = self.caller.connection
        if connection is None:
            return max(self.nodes, key=lambda node: self._of(node, now_s))
        return self.nodes[connection % len(self.nodes)]

    def _of(self, node: Node, now_s: float) -> float:
        """What a node holds now, with the grant that is due."""
        if now_s < node.due_s:
            return node.tokens
        missing = self.chunk_units - node.tokens
        return node.tokens + min(missing, max(0.0, self.reserve.held(now_s)))

    def _settle(self, node: Node, now_s: float) -> None:
        if now_s < node.due_s:
            return
        tokens = self._of(node, now_s)
        self.reserve.spend(tokens - node.tokens, now_s)
        node.tokens = tokens
        node.due_s = inf if tokens >= self.chunk_units else now_s + self.rng.uniform(*self.grant_s)

    def _spend(self, node: Node, units: float, now_s: float) -> None:
        node.tokens -= units
        if node.due_s == inf:
            node.due_s = now_s + self.rng.uniform(*self.grant_s)


def provisioned_bucket(kept: Bucket | None, rate: float, around: Surroundings, now_s: float) -> Bucket:
    """The bucket of a table or index with `rate` provisioned units per second, before `scale`.

    `kept` is the one that it had: what was saved stays saved, as far as it fits.
    """
    behaviour, scale = around.behaviour, around.scale
    depth = behaviour.saved_units(rate, index_writes=False) * scale
    if kept is not None and (kept.rate, kept.depth) == (rate * scale, depth):
        return kept
    if kept is None:
        saved = depth * behaviour.burst_at_start_share
    else:
        saved = kept.resized(rate=rate * scale, depth=depth, now_s=now_s).held(now_s)
        saved *= behaviour.burst_kept_share
    whole = TokenBucket(rate * scale, depth, saved, now_s)
    if rate >= behaviour.nodes_below_units_per_s:
        return whole
    chunk_units = max(behaviour.node_chunk_units, rate * behaviour.node_chunk_s) * scale
    in_hand = min(chunk_units, whole.tokens / behaviour.nodes)
    handed_out = chunk_units * behaviour.nodes
    return NodeBucket(
        reserve=TokenBucket(
            rate * scale, depth - handed_out, whole.tokens - in_hand * behaviour.nodes, now_s
        ),
        nodes=tuple(Node(in_hand, inf if in_hand == chunk_units else now_s) for _ in range(behaviour.nodes)),
        chunk_units=chunk_units,
        grant_s=behaviour.node_grant_s,
        caller=around.caller,
        rng=around.rng,
    )


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
