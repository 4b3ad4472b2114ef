"""What AWS does not publish, or only shows: the model's parameters, each with its default and why."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import inf, isfinite
from statistics import fmean
from typing import Any, Final

from keyheat.model import limits

TRANSACTION_S: Final = 0.018
"""Seconds between a transaction's prepare and its commit, as far as it shows from outside: one of five items
was answered after 25.3 ms in the median, a put after 7.6 ms, in 400 calls each from Lambda
(github.com/alexdebrie/dynamodb-performance-testing). AWS publishes none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """How an account's DynamoDB behaves beyond the published limits. Units and rates are before `scale`."""

    burst_s: float = limits.BURST_S
    """Seconds of unused provisioned capacity a table may save and spend later."""

    burst_floor_units: float = 2_600.0
    """Least burst of a provisioned table or index: small ones are served more generously than documented. An
    AWS workshop put 2,500 items into a table of 5 write units within 134 s, on one connection."""

    burst_at_start_share: float = 1.0
    """Part of a full burst that a table or index has at first. Burst is best effort: a new table has been
    seen with all of it, one that others loaded just before has none."""

    burst_kept_share: float = 1.0
    """Part of what was saved that outlasts a change of the provisioned throughput."""

    nodes: int = 6
    """Admission nodes that hand out a small table's capacity. On a new table of 1 write unit one of them was
    spent, and of twelve updates of 351 units that came at once on connections of their own four were served
    and a fifth reached the partition (github.com/radkawar/stackd, testdata/aws/dynamodb)."""

    nodes_below_units_per_s: float = 25.0
    """Rate from which a table behaves as one bucket: chunks show at 5 units per second, not at 100."""

    node_chunk_units: float = 100.0
    """Least chunk that a node is handed: at 5 write units, 100 puts at full speed between two pauses."""

    node_chunk_s: float = 20.0
    """Seconds of the whole rate in one chunk, where that is more; a chunk must outlast `node_grant_s`."""

    node_grant_s: tuple[float, float] = (1.0, 7.0)
    """Seconds from a node's first spending to its next chunk, drawn evenly: "every few seconds". Pauses of
    0.4 to 6 s were seen after the 0.8 s in which a client had spent a chunk."""

    partition_depth_s: float = 1.5
    """Seconds of its ceiling that one partition may serve in an instant. Ceilings hold per second, but one
    item of a new table was seen to take 1,404 write units at once, and no fifth update of 351."""

    quota_depth_s: float = 1.0
    """Seconds of its rate that an on-demand maximum or the account's quota may let through in an instant."""

    maximum_nodes: int = 14
    """Admission nodes that enforce an on-demand maximum without waiting for one another: of six requests at
    once, each larger than a second of the maximum, five pass. Maxima are "best-effort targets, not ceilings"
    (on-demand-capacity-mode-max-throughput.html, beside the pages below). With a maximum of 1 unit/s 60 of
    72 updates of 351 units passed it, six every ten seconds, 74 of 96 reads of up to 88 units of a table, and
    69 of 72 queries of 44 units of an index (github.com/radkawar/stackd, testdata/aws/dynamodb)."""

    index_buffer_units: float = 16_900.0
    """Index writes that may wait before the table is held back. An index of 1 write unit took about 19,560
    units in a minute (AWS workshop, github.com/aws-samples/amazon-dynamodb-labs): 2,600 + 60 + this. Another
    measurement has less: with a maximum of 1 unit/s an on-demand index took 12,250 units in 71 s, in 35
    entries of 350, before it held back its table (stackd, as above). 48 writes were sent by then, which would
    make 16,800 units, but the table's own partition had refused 13 of them."""

    index_rest_units: tuple[float, float] = (10.0, 45.0)
    """Units by which a full buffer drains before writes to the table are let in again, drawn evenly.
    In the same workshop a client whose nine retries took 25 s gave up on an index of 1 unit."""

    split_heat_s: tuple[float, float] = (240.0, 600.0)
    """Seconds for which a partition is hot before it splits for heat, drawn evenly from this span. AWS says
    "minutes"; one public measurement of a read-hot key shows eight."""

    split_busy_share: float = 0.65
    """Part of its ceiling from which a partition is hot without a throttle: AWS goes by consumption. A key
    that had been written at 900 a second was then read at 6,000 at once, which takes two partitions; one
    that had come to 1,385 by steps was then written at 2,000 without a throttle, which takes more than two
    (github.com/andrestone/dynamodb-load-test)."""

    transaction_s: float = 0.0
    """Seconds for which a transaction holds its items, and another one on any of them is cancelled for the
    conflict; 0: transactions never meet. `TRANSACTION_S` is what a table in AWS shows."""

    heat_memory_s: float = 60.0
    """A partition that was not hot for so long is cool again, and its heat starts from nothing."""

    split_least_share: float = 0.1
    """Least part of the heat that the lighter side of a split must take, or the split would not help."""

    sampled_positions: int = 256
    """How many of its refused positions a hot partition remembers: the observed key distribution."""

    sequence_share: float = 0.8
    """An item collection is ever-increasing when this share of its later positions lies above its earlier."""

    growth_delay_s: tuple[float, float] = (240.0, 600.0)
    """Seconds from a new on-demand peak to the partitions that carry twice as much, drawn evenly."""

    update_s: tuple[float, float] = (100.0, 300.0)
    """Seconds that an UpdateTable takes which needs new partitions, or provisioned mode, drawn evenly:
    "several minutes" (docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html).
    A switch to 1 unit took 104 s, and one of a table with two indexes 207 s (stackd, as above)."""

    update_warm_s: tuple[float, float] = (5.0, 30.0)
    """Seconds that an UpdateTable takes within the warm throughput, which needs no new partition, drawn
    evenly: "instantly" (warm-throughput-scenarios.html, beside the page above); users saw 5 to 10 seconds
    (github.com/cortexproject/cortex/issues/1108), and 8 s to switch a warm table back to on-demand mode
    (stackd, as above)."""

    alarm_delay_s: tuple[float, float] = (60.0, 180.0)
    """Seconds from the end of a minute until the alarms of auto scaling act on it, drawn evenly for each of
    them: "a short delay of up to a few minutes" (metrics-dimensions.html, as above)."""

    def saved_units(self, rate: float, *, index_writes: bool, on_demand: bool = False) -> float:
        """Most units that a capacity of `rate` serves at once: burst, and an index's write buffer."""
        saved = rate * self.quota_depth_s if on_demand else max(rate * self.burst_s, self.burst_floor_units)
        return saved + self.index_buffer_units * index_writes

    def partition_units(self, ceiling: float, *, index_writes: bool) -> float:
        """The same of one partition, before each of which an index has a write buffer."""
        return ceiling * self.partition_depth_s + self.index_buffer_units * index_writes


DEFAULT = Behaviour()


def behaving(settings: Sequence[str]) -> Behaviour:
    """The default with other parameters, `burst_s=120` or `node_grant_s=2,9`. Raises `ValueError`."""
    kinds = {field.name: field.type for field in fields(Behaviour)}
    changed: dict[str, Any] = {}
    for setting in settings:
        name, _, text = setting.partition("=")
        if name not in kinds:
            raise ValueError(f"unknown behaviour parameter {name!r}; use one of {', '.join(kinds)}")
        changed[name] = _value(name, text, kinds[name])
    return replace(DEFAULT, **changed)


def _value(name: str, text: str, kind: object) -> Any:
    """What is said of one parameter: a whole number, a number, or the two ends of a span."""
    takes = {int: "a whole number from 1", float: "a number"}.get(kind, "two numbers such as 2,9")  # type: ignore[call-overload]
    try:
        numbers = [int(piece) if kind is int else float(piece) for piece in text.split(",")]
    except ValueError:
        numbers = []
    right = len(numbers) == (1 if kind in (int, float) else 2) and numbers == sorted(numbers)
    if not (right and all(isfinite(number) and number >= (kind is int) for number in numbers)):
        raise ValueError(f"{name} takes {takes}, got {text!r}")
    return numbers[0] if len(numbers) == 1 else tuple(numbers)


ROUNDING: Final = 1e-9  # relative difference at which numbers count as equal


def last_change(rates: Sequence[float]) -> int:
    """The second since which the rate is what it is at the end."""
    return next((at for at in range(len(rates) - 1, 0, -1) if rates[at] != rates[at - 1]), 0)


def exhaustion_s(
    demand: Sequence[float], rates: Sequence[float], most_saved: Sequence[float]
) -> float | None:
    """Second at which burst capacity is spent; past the end in a longer load; None: never.

    `demand` and `rates` in units/s, `most_saved` in units, of each second. A longer load goes on as it did
    since the last change of the rate.
    """
    saved, since = inf, last_change(rates)
    for second, (demand_per_s, rate, most) in enumerate(zip(demand, rates, most_saved, strict=True)):
        saved = min(saved, most) + rate - demand_per_s
        if saved < -ROUNDING * rate:
            return second
    beyond_per_s = fmean(demand[since:]) - rates[-1]
    if beyond_per_s <= ROUNDING * rates[-1]:
        return None
    return len(rates) + saved / beyond_per_s if since else fmean(most_saved) / beyond_per_s
