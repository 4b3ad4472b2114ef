"""The keys of a scenario: which partition keys the load touches, and how often each."""

from typing import Annotated, Literal

from pydantic import Field

from tablemodel.keys import KeyPattern, build_pattern
from tablemodel.spec.part import DAY, Part, Share


class KeysSpec(Part):
    """Which partition keys the load touches, and how often each."""

    kind: Literal["uniform", "hot_key", "date"]
    keys: Annotated[int, Field(ge=1, le=1_000_000_000)] = Field(
        1_000, description="how many distinct keys there are"
    )
    share: Share | None = Field(None, description="hot_key: share of the requests that go to the one hot key")
    day_s: Annotated[float, Field(gt=0)] | None = Field(
        None,
        description="date: seconds of the run that stand for one day, so that a short run sees a rollover",
    )
    first_day: Annotated[str, Field(pattern=DAY)] | None = None
    shards: Annotated[int, Field(ge=1, le=100_000)] = Field(1, description="suffixes per key; 1: not sharded")

    def pattern(self) -> KeyPattern:
        """The key pattern that these numbers describe."""
        return build_pattern(
            self.kind, keys=self.keys, share=self.share, day_s=self.day_s, first_day=self.first_day
        )
