"""How quickly and how far keys get more shards: the numbers that an application chooses."""

from dataclasses import dataclass

LEAST_HISTORY = 2  # the highest number ever used, and the newest


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The numbers of dynamic sharding; all writers, readers and shrinkers of a table use the same ones.

    Raises `ValueError` where they contradict each other.
    """

    cooldown_s: float = 60.0
    """After a change, a key's number of shards is left alone for so long: its effect has to show first."""

    backoff_low_s: float = 1.0
    backoff_high_s: float = 10.0
    """Many writers see the same error at once: each waits so long after the cooldown, drawn evenly."""

    cache_s: float = 5.0
    """For so long a writer goes by what it knows of a key, without reading the metadata again."""

    max_shards: int = 100
    """A key never gets more shards than this: each one is a query for every reader."""

    history: int = 20
    """Entries of `shard_history`; beyond them the oldest is dropped, but never the highest."""

    settle_s: float = 60.0
    """Higher shards are only forgotten when the last change is so long ago that no writer goes by an older
    one. A write that took half as long is confirmed first, so that clocks may differ by the other half."""

    retry_low_s: float = 0.05
    retry_high_s: float = 1.0
    """The pause before a throttled write is tried again: drawn up to `retry_low_s`, doubled each time."""

    def __post_init__(self) -> None:
        if wrong := self._contradictions():
            raise ValueError("; ".join(wrong))

    def _contradictions(self) -> list[str]:
        checks = [
            (self.cooldown_s > 0, "cooldown_s has to be above 0"),
            (0 <= self.backoff_low_s <= self.backoff_high_s, "the back-off is not a span of seconds"),
            (0 <= self.cache_s <= self.cooldown_s, "cache_s is longer than cooldown_s"),
            (2 * self.cache_s <= self.settle_s, "settle_s is less than twice cache_s"),
            (self.max_shards >= 1, "max_shards is below 1"),
            (self.history >= LEAST_HISTORY, f"history is below {LEAST_HISTORY}"),
            (0 <= self.retry_low_s <= self.retry_high_s, "the pause of a retry is not a span of seconds"),
        ]
        return [message for holds, message in checks if not holds]
