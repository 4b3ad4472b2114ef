"""Values of the attributes that a scenario describes, as items are put with them."""

from bisect import bisect
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from random import Random

from keyheat.scenario.spec.keys import AttributeSpec

Part = tuple[bytes, int]
"""An attribute as it stands in the JSON of an item, and its bytes."""


@dataclass(frozen=True, slots=True)
class AttributeValues:
    """One attribute: its values made ready once, or what each item's value follows from."""

    spec: AttributeSpec
    to_part: Callable[[str], Part]
    texts: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    until: tuple[float, ...] = ()  # the shares of the values up to each; none: all are had equally often

    @classmethod
    def of(cls, spec: AttributeSpec, to_part: Callable[[str], Part]) -> "AttributeValues":
        """The values of a description; `to_part` renders the text of one."""
        shares = spec.shares
        if shares is None:
            return cls(spec, to_part)
        texts, weights = tuple(shares), list(shares.values())
        until = () if len(set(weights)) == 1 else tuple(accumulate(weights))
        return cls(spec, to_part, texts, tuple(to_part(text) for text in texts), until)

    def draw(self, rng: Random, key: str, sort_key: str, now_s: Callable[[], float]) -> Part:
        if self.parts:
            return self.parts[self._number(rng)]
        return self.to_part(self._following(key, sort_key, now_s, self._shard(rng)))

    def draw_text(self, rng: Random, key: str, now_s: Callable[[], float]) -> str:
        """A value as items have it, such as one to ask an index for."""
        return (
            self.texts[self._number(rng)]
            if self.texts
            else self._following(key, key, now_s, self._shard(rng))
        )

    def greatest_bytes(self, key: str, sort_key: str) -> int:
        """The bytes of the largest value, of an item with these keys."""
        if self.parts:
            return max(size for _, size in self.parts)
        last = self.spec.shards - 1  # which has the longest name
        return self.to_part(self._following(key, sort_key, lambda: 0.0, last))[1]

    def _number(self, rng: Random) -> int:
        if not self.until:
            return rng.randrange(len(self.texts))
        return min(bisect(self.until, rng.random() * self.until[-1]), len(self.texts) - 1)

    def _shard(self, rng: Random) -> int:
        return rng.randrange(self.spec.shards) if self.spec.shards > 1 else 0

    def _following(self, key: str, sort_key: str, now_s: Callable[[], float], shard: int) -> str:
        if self.spec.timestamp is not None:
            return self.spec.at(now_s(), shard)
        return key if self.spec.copy_of == "partition_key" else sort_key
