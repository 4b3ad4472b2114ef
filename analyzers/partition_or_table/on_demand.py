"""The inferred grade for on-demand capacity: consumption against the limits of an on-demand table.

Three limits can throttle it: the maximum that its owner set, the account's quota for one table with its
indexes, and its partitions. Unused units of the first two expire after a second, so that a minute's average
shows them only if the load filled the minute.
"""

from dataclasses import dataclass
from typing import Final

from keyheat.analysis.rules import OTHERS_UNKNOWN, Thresholds
from keyheat.analysis.timeline import EvidenceTimeline
from keyheat.analysis.track import EvidenceTrack
from keyheat.model import limits
from keyheat.numbers import consumed_units, measured, span, units

from .bounds import Bound
from .minutes import LONG
from .opinion import Opinion, leaning, opinion_of, undecided
from .seconds import PINNED, AroundSecond

BURSTY: Final = 0.2  # of a limit: below this mean, only very short bursts can have reached it
ABOVE: Final = 1.1  # of a described maximum: it has no burst, so a mean above it shows that it was set later
UNKNOWN: Final = 0.85  # factor: the account's own quota, or whether a maximum is set


@dataclass(frozen=True, slots=True, kw_only=True)
class OnDemandUse:
    """Consumption of a resource in a second or a minute, and its limits, units/s."""

    rate: float
    total: float  # of the table and all its indexes
    maximum: float | None
    described: float | None  # a maximum that was not in force then, since more was consumed
    quota: float
    limited_from: float  # share of a limit

    @property
    def at_maximum(self) -> bool:
        return self.maximum is not None and self.rate >= self.limited_from * self.maximum

    @property
    def at_quota(self) -> bool:
        return self.total >= self.limited_from * self.quota


def use(
    timeline: EvidenceTimeline, track: EvidenceTrack, cell: int, rate: float, numbers: Thresholds
) -> OnDemandUse:
    """Return the use of one resource at a rate within a cell, its table's other resources in proportion."""
    resource_per_s, maximum = track.consumed_per_s(cell), track.maximum.at(cell)
    published = track.maximum.published(cell)
    exceeded = maximum is not None and not published and (resource_per_s or 0.0) > ABOVE * maximum
    together = sum(t.consumed_per_s(cell) or 0.0 for t in timeline.tracks if t.direction == track.direction)
    return OnDemandUse(
        rate=rate,
        total=rate * max(1.0, together / resource_per_s) if resource_per_s else max(rate, together),
        maximum=None if exceeded else maximum,
        described=maximum if exceeded else None,
        quota=timeline.quota_of(track.direction),
        limited_from=numbers.inferred.at_limit,
    )


def rule_of(around: AroundSecond, *, maximum: bool) -> tuple[str, Bound | None]:
    """Return the rule for a throttled second whose capacity is the maximum or the quota.

    Both are limits like a table's provisioned throughput, but without burst.
    """
    limit = "seconds-at-maximum" if maximum else "seconds-at-quota"
    if maximum and around.partition.holds:
        return limit, around.partition
    if around.given.holds:
        return "seconds-below-limits", around.given
    if around.near or around.with_others or around.pinned >= PINNED or around.rate > around.capacity:
        return limit, None
    return OTHERS_UNKNOWN if around.others_matter else "seconds-below-limits", None


def by_minutes(timeline: EvidenceTimeline, track: EvidenceTrack, cell: int, numbers: Thresholds) -> Opinion:
    """Judge one cell by its average; the first limit that was reached decides."""
    rate = track.consumed_per_s(cell)
    if rate is None:
        return undecided("undetermined-no-consumed", "The consumed units of the throttled time are unknown.")
    seen = use(timeline, track, cell, rate, numbers)
    side, ceiling = track.direction, units(track.ceiling, track.direction)
    used = f"{measured(rate)} of the {units(seen.maximum or 0.0, side)} set as the on-demand maximum"
    if seen.at_maximum:
        return opinion_of("on-demand-at-maximum", f"{used} were consumed.", numbers)
    if seen.maximum and seen.maximum < track.ceiling:
        because = f"{used} were consumed on average: a maximum below the {ceiling} that one partition serves."
        return opinion_of("on-demand-small-maximum", because, numbers)
    if seen.at_quota:
        allowed = f"the {units(seen.quota, side)} that the account allows one table with its indexes"
        because = f"{measured(seen.total)} of {allowed} were consumed."
        opinion = opinion_of("on-demand-at-quota", because, numbers)
        unknown = "The account's own quota is unknown; this is the default."
        return opinion if timeline.quota.of(side) else opinion.weaker(UNKNOWN, unknown)
    for beside in (cell - track.step_s, cell + track.step_s):  # of a partly loaded minute
        near_per_s = track.consumed_per_s(beside)
        if near_per_s is None or not track.throttled(beside):
            continue
        near = use(timeline, track, beside, near_per_s, numbers)
        because = (
            f"{consumed_units(rate, side)} were consumed on average, beside a throttled {track.cell_name} "
            f"with {consumed_units(near_per_s, side)}, at the limit."
        )
        if near.at_maximum:
            return leaning(because, "max_on_demand")
        if near.at_quota:
            return opinion_of("on-demand-near-quota", because, numbers)
    throttled = [other for other in timeline.tracks if other.direction == side and other.throttled(cell)]
    if len(throttled) > 1 and any(other.index is None for other in throttled) and _in_reach(seen, track):
        because = (
            f"{measured(seen.total)} of the account's {units(seen.quota, side)} were consumed on average, "
            f"and {len(throttled)} resources that share it throttled in one minute."
        )
        return opinion_of("on-demand-together", because, numbers)
    return _below(seen, track, numbers)


def _in_reach(seen: OnDemandUse, track: EvidenceTrack, times: float = 1.0) -> bool:
    """Whether a short burst may have reached the quota, by partitions and consumption.

    `times`: consumption of the busiest throttled minute relative to this one.
    """
    enough_partitions = track.warm is None or track.warm >= seen.limited_from * seen.quota
    return enough_partitions and times * seen.total >= BURSTY * seen.quota


def _below(seen: OnDemandUse, track: EvidenceTrack, numbers: Thresholds) -> Opinion:
    """Below every limit on average: a partition, unless a short burst may have reached one."""
    side = track.direction
    used = f"The on-demand {'table' if track.index is None else 'index'} consumed "
    used += f"{consumed_units(seen.rate, side)} on average"
    # One minute may be the end of a load at the limit, so the busiest one that throttled counts.
    busiest = track.busiest_throttled_per_s or seen.rate
    if seen.maximum and busiest >= BURSTY * seen.maximum:
        short = f"short bursts may have reached its maximum of {units(seen.maximum, side)}"
        return leaning(f"{used}; {short}.", "partition")
    if _in_reach(seen, track, max(1.0, busiest / seen.rate if seen.rate else 1.0)):
        short = f"short bursts may have reached the account's quota of {units(seen.quota, side)}"
        return leaning(f"{used}; {short}.", "partition")
    known = "set" if track.maximum_asked else "described" if track.described else "known"
    cap = f"with no maximum {known}"
    if seen.maximum:
        cap = f"far below its maximum of {units(seen.maximum, side)}"
    elif seen.described:
        cap = f"more than its maximum of {units(seen.described, side)}, which was not in force then,"
    because = f"{used}, {cap} and below the account's quota."
    opinion = opinion_of("on-demand-below-limits", because, numbers)
    if seen.maximum and track.step_s > limits.BURST_S:
        opinion = opinion.weaker(LONG, f"An average of {span(track.step_s)} shows no bursts of minutes.")
    if seen.maximum is None and seen.described is None and not track.maximum_asked:
        is_set = "one was set then" if track.described else "a maximum is set"
        opinion = opinion.weaker(UNKNOWN, f"Whether {is_set} is unknown.")
    return opinion
