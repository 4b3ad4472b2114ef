"""The keys of a scenario: which partition keys the load touches, and how often each."""

from datetime import date
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from keyheat.scenario.keys import DateKey, HotKey, HotSet, KeyPattern, Sequence, TraceKeys, Uniform, Zipf
from keyheat.scenario.patterns.base import PREFIX
from keyheat.scenario.patterns.dates import FIRST_DAY
from keyheat.scenario.spec.part import DAY, KEY_PREFIX, Part, Share

Number = TypeVar("Number", int, float)


class KeysSpec(Part):
    """Which partition keys the load touches, and how often each."""

    kind: Literal["uniform", "hot_key", "hot_set", "zipf", "date", "sequential", "replay"]
    keys: Annotated[int, Field(ge=1, le=1_000_000_000)] = Field(
        1_000, description="how many distinct keys there are (hot_key, hot_set: beside the hot ones)"
    )
    share: Share | None = Field(
        None, description="hot_key, hot_set: share of the requests that go to the hot key, or to the hot set"
    )
    hot_keys: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        None, description="hot_set: how many keys take the share, evenly among them"
    )
    exponent: Annotated[float, Field(gt=0, le=20)] | None = Field(
        None, description="zipf: the k-th most used key is used in proportion to 1 / k^exponent"
    )
    day_s: Annotated[float, Field(gt=0)] | None = Field(
        None,
        description="date: seconds of the run that stand for one day (or what rounded_to says), so that a "
        "short run sees a rollover",
    )
    rounded_to: Literal["day", "hour", "minute"] | None = Field(
        None, description="date: what the key is rounded to, and day_s stands for; absent: a day"
    )
    first_day: Annotated[str, Field(pattern=DAY)] | None = None
    trace: Annotated[str, Field(min_length=1, max_length=1_000)] | None = Field(
        None, description="replay: a .csv or .parquet file, its path from the scenario's folder"
    )
    speed: Annotated[float, Field(gt=0, le=1_000)] | None = Field(
        None, description="replay: 2 sends the trace twice as fast; absent: as fast as it was"
    )
    prefix: Annotated[str, Field(pattern=KEY_PREFIX)] | None = Field(
        None, description='what keys begin with, such as "device"; absent: key-7, hot, 2026-01-01'
    )
    shards: Annotated[int, Field(ge=1, le=100_000)] = Field(1, description="suffixes per key; 1: not sharded")

    def pattern(self, *, worker: int = 0, folder: Path = Path()) -> KeyPattern:
        """The key pattern that these numbers describe, as the `worker`-th process draws from it.

        `folder` is the scenario's, where its trace is.
        """
        prefix, hot = self.prefix or PREFIX, f"{self.prefix}-hot" if self.prefix else "hot"
        match self.kind:
            case "uniform":
                return Uniform(self.keys, prefix)
            case "hot_key":
                return HotKey(_stated(self.share), self.keys, hot, prefix)
            case "hot_set":
                return HotSet(_stated(self.share), _stated(self.hot_keys), self.keys, hot, prefix)
            case "zipf":
                return Zipf(_stated(self.exponent), self.keys, prefix)
            case "date":
                first = date.fromisoformat(self.first_day) if self.first_day else FIRST_DAY
                return DateKey(_stated(self.day_s), first, self.rounded_to or "day", self.prefix)
            case "sequential":
                return Sequence.of_worker(worker, prefix)
            case "replay":
                return TraceKeys(self.trace_path(folder))

    def trace_path(self, folder: Path) -> Path:
        """Where the trace is; `folder` is the scenario's."""
        assert self.trace is not None, "checked with the scenario"
        return folder / self.trace

    def hottest_share(self) -> float | None:
        """The part of the requests that meet on the most used key, before a suffix spreads it.

        None where only the trace knows.
        """
        return self.pattern().hottest_share


def _stated(value: Number | None) -> Number:
    """A field that its kind needs: the rules of a scenario have seen to it."""
    assert value is not None, "checked with the scenario"
    return value
