"""A cache in front of the reads of a scenario."""

from typing import Annotated

from pydantic import Field

from keyheat.scenario.spec.part import Part, Seconds


class CacheSpec(Part):
    """A read-through cache in every process that sends, for the load tests that read through one."""

    ttl_s: Seconds = Field(
        description="how long a cached item may answer reads: at most so stale is an answer"
    )
    items: Annotated[int, Field(ge=1, le=10_000_000)] = Field(
        10_000, description="how many items it holds; the one used longest ago makes room"
    )
