"""What AWS does not publish, or only shows: the model's parameters, each with its default and why."""

from dataclasses import dataclass

from tablemodel import limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """How an account's DynamoDB behaves beyond the published limits. Units and rates are before `scale`."""

    burst_s: float = limits.BURST_S
    """Seconds of unused provisioned capacity a table may save and spend later."""

    burst_floor_units: float = 1_500.0
    """Least depth of a provisioned bucket: very small tables are served more generously than documented. A
    new table of 1 write unit was seen to serve an item of 350 KB five times within three seconds, between
    refusals (github.com/radkawar/stackd, testdata/aws/dynamodb/fresh_provisioned_throttling.json)."""

    partition_depth_s: float = 1.0
    """Seconds of its ceiling that one partition may serve in an instant: ceilings hold per second."""

    quota_depth_s: float = 1.0
    """Seconds of its rate that an on-demand maximum or the account's quota may let through in an instant."""

    index_buffer_units: float = 18_000.0
    """Index writes that may wait before the table is held back. An index of 1 write unit took about 19,560
    units in a minute (AWS workshop, github.com/aws-samples/amazon-dynamodb-labs): 1,500 + 60 + this."""

    split_heat_s: tuple[float, float] = (240.0, 600.0)
    """Seconds in which a partition throttled before it splits for heat, drawn evenly from this span. AWS says
    "minutes"; one public measurement of a read-hot key shows eight."""

    heat_memory_s: float = 60.0
    """A partition that did not throttle for so long is cool again, and its heat starts from nothing."""

    split_least_share: float = 0.1
    """Least part of the heat that the lighter side of a split must take, or the split would not help."""

    sampled_positions: int = 256
    """How many of its refused positions a hot partition remembers: the observed key distribution."""

    sequence_share: float = 0.8
    """An item collection is ever-increasing when this share of its later positions lies above its earlier."""

    growth_delay_s: tuple[float, float] = (240.0, 600.0)
    """Seconds from a new on-demand peak to the partitions that carry twice as much, drawn evenly."""


DEFAULT = Behaviour()
