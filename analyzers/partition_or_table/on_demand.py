"""The inferred grade for on-demand capacity: consumption against the limits of an on-demand table.

Three limits can throttle it: the maximum that its owner set, the account's quota for one table with its
indexes, and its partitions. Unused units of the first two expire after a second, so that a minute's average
shows them only if the load filled the minute.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from keyheat.analysis.rules import OTHERS_UNKNOWN
from keyheat.analysis.thresholds import Thresholds
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


@dataclass(frozen=True, slots=True, kw_only=True)
class OnDemandUse:
    """Consumption of a resource in a second or a minute, and its limits, units/s."""

    timeline: EvidenceTimeline
    track: EvidenceTrack
    cell: int
    rate: float
    total: float  # of the table and all its indexes
    maximum: float | None
    described: float | None  # a maximum that was not in force then, since more was consumed
    quota: float
    quota_known: bool
    numbers: Thresholds

    @property
    def at_maximum(self) -> bool:
        return self.maximum is not None and self.rate >= self.numbers.inferred.at_limit * self.maximum

    @property
    def at_quota(self) -> bool:
        return self.total >= self.numbers.inferred.at_limit * self.quota

    @property
    def of_maximum(self) -> str:
        return f"{measured(self.rate)} of the {units(self.maximum or 0.0, self.track.direction)}"

    def says(self, rule: str, because: str) -> Opinion:
        return opinion_of(rule, because, self.numbers)


def use(
    timeline: EvidenceTimeline, track: EvidenceTrack, cell: int, rate: float, numbers: Thresholds
) -> OnDemandUse:
    """Return the use of one resource at a rate within a cell, its table's other resources in proportion."""
    resource_per_s, maximum = track.consumed_per_s(cell), track.maximum.at(cell)
    published = track.maximum.published(cell)
    exceeded = maximum is not None and not published and (resource_per_s or 0.0) > ABOVE * maximum
    together = sum(t.consumed_per_s(cell) or 0.0 for t in timeline.tracks if t.direction == track.direction)
    return OnDemandUse(
        timeline=timeline,
        track=track,
        cell=cell,
        rate=rate,
        total=rate * max(1.0, together / resource_per_s) if resource_per_s else max(rate, together),
        maximum=None if exceeded else maximum,
        described=maximum if exceeded else None,
        quota=timeline.quota_of(track.direction),
        quota_known=bool(timeline.quota.of(track.direction)),
        numbers=numbers,
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
    """Judge one cell by its average."""
    rate = track.consumed_per_s(cell)
    if rate is None:
        return undecided("undetermined-no-consumed", "The consumed units of the throttled time are unknown.")
    seen = use(timeline, track, cell, rate, numbers)
    return next(opinion for rule in IN_ORDER if (opinion := rule(seen)) is not None)


def _at_maximum(seen: OnDemandUse) -> Opinion | None:
    if not seen.at_maximum:
        return None
    return seen.says("on-demand-at-maximum", f"{seen.of_maximum} set as the on-demand maximum were consumed.")


def _small_maximum(seen: OnDemandUse) -> Opinion | None:
    if not seen.maximum or seen.maximum >= seen.track.ceiling:
        return None
    why = f"a maximum below the {units(seen.track.ceiling, seen.track.direction)} that one partition serves"
    return seen.says(
        "on-demand-small-maximum",
        f"{seen.of_maximum} set as the on-demand maximum were consumed on average: {why}.",
    )


def _at_quota(seen: OnDemandUse) -> Opinion | None:
    if not seen.at_quota:
        return None
    allowed = (
        f"the {units(seen.quota, seen.track.direction)} that the account allows one table with its indexes"
    )
    opinion = seen.says("on-demand-at-quota", f"{measured(seen.total)} of {allowed} were consumed.")
    if seen.quota_known:
        return opinion
    return opinion.weaker(0.85, "The account's own quota is unknown; this is the default.")


def _beside_the_limit(seen: OnDemandUse) -> Opinion | None:
    """Judge a partly loaded minute by a neighbour that throttled at the maximum or the quota."""
    track = seen.track
    for cell in (seen.cell - track.step_s, seen.cell + track.step_s):
        rate = track.consumed_per_s(cell)
        if rate is None or not track.throttled(cell):
            continue
        near = use(seen.timeline, track, cell, rate, seen.numbers)
        if near.at_maximum or near.at_quota:
            used = f"{consumed_units(seen.rate, track.direction)} were consumed on average"
            beside = f"beside a throttled {track.cell_name} with {consumed_units(rate, track.direction)}"
            because = f"{used}, {beside}, at the limit."
            if near.at_maximum:
                return leaning(because, "max_on_demand")
            return seen.says("on-demand-near-quota", because)
    return None


def _together(seen: OnDemandUse) -> Opinion | None:
    """The table and an index throttled in the same minute: they share the account's quota."""
    track = seen.track
    throttled = [t for t in seen.timeline.tracks if t.direction == track.direction and t.throttled(seen.cell)]
    if len(throttled) < 2 or all(t.index for t in throttled) or not _in_reach(seen):
        return None
    quota = f"the account's {units(seen.quota, track.direction)}"
    used = f"{measured(seen.total)} of {quota} were consumed on average"
    return seen.says(
        "on-demand-together", f"{used}, and {len(throttled)} resources that share it throttled in one minute."
    )


def _in_reach(seen: OnDemandUse, times: float = 1.0) -> bool:
    """Whether a short burst may have reached the quota, by partitions and consumption.

    `times`: consumption of the busiest throttled minute relative to this one.
    """
    served = seen.track.warm is None or seen.track.warm >= seen.numbers.inferred.at_limit * seen.quota
    return served and times * seen.total >= BURSTY * seen.quota


def _below(seen: OnDemandUse) -> Opinion:
    """Below every limit on average: a partition, unless a short burst may have reached one."""
    track = seen.track
    used = f"The on-demand {'table' if track.index is None else 'index'} consumed "
    used += f"{consumed_units(seen.rate, track.direction)} on average"
    # One minute may be the end of a load at the limit, so the busiest one that throttled counts.
    busiest = track.busiest_throttled_per_s or seen.rate
    if seen.maximum and busiest >= BURSTY * seen.maximum:
        short = f"short bursts may have reached its maximum of {units(seen.maximum, track.direction)}"
        return leaning(f"{used}; {short}.", "partition")
    if _in_reach(seen, max(1.0, busiest / seen.rate if seen.rate else 1.0)):
        short = f"short bursts may have reached the account's quota of {units(seen.quota, track.direction)}"
        return leaning(f"{used}; {short}.", "partition")
    known = "set" if track.maximum_asked else "described" if track.described else "known"
    cap = f"with no maximum {known}"
    if seen.maximum:
        cap = f"far below its maximum of {units(seen.maximum, track.direction)}"
    elif seen.described:
        cap = (
            f"more than its maximum of {units(seen.described, track.direction)}, which was not in force then,"
        )
    opinion = seen.says("on-demand-below-limits", f"{used}, {cap} and below the account's quota.")
    if seen.maximum and track.step_s > limits.BURST_S:
        opinion = opinion.weaker(LONG, f"An average of {span(track.step_s)} shows no bursts of minutes.")
    if seen.maximum is None and seen.described is None and not track.maximum_asked:
        is_set = "one was set then" if track.described else "a maximum is set"
        opinion = opinion.weaker(0.85, f"Whether {is_set} is unknown.")
    return opinion


IN_ORDER: Final[tuple[Callable[[OnDemandUse], Opinion | None], ...]] = (
    _at_maximum,
    _small_maximum,
    _at_quota,
    _beside_the_limit,
    _together,
    _below,
)
"""The first rule with an opinion decides."""
