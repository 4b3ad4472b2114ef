"""The inferred grade for on-demand capacity: consumed against the limits that such a table has.

An on-demand table has no provisioned throughput. What is left to throttle it: the maximum that its owner set,
the quota of the account for one table with its indexes, and its partitions. None of them can be saved up for
longer than a second, so that a minute's average shows them only where the load filled the minute.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from keyheat.analysis.rules import OTHERS_UNKNOWN
from keyheat.analysis.thresholds import Thresholds
from keyheat.analysis.timeline import EvidenceTimeline, EvidenceTrack
from keyheat.evidence.settings import QUOTAS, partition_ceiling
from keyheat.model import limits
from keyheat.numbers import consumed_units, measured, span, units

from .bounds import Bound
from .minutes import LONG
from .opinion import Opinion, leaning, opinion_of, undecided
from .seconds import PINNED, AroundSecond

BURSTY: Final = 0.2  # of a limit: with less on average, bursts that reached it would have to be very short


@dataclass(frozen=True, slots=True, kw_only=True)
class OnDemandUse:
    """What a resource consumed within a second or a minute, and what it may consume at most, units/s."""

    timeline: EvidenceTimeline
    track: EvidenceTrack
    cell: int
    rate: float
    total: float  # of the table and all its indexes
    maximum: float | None
    quota: float
    quota_known: bool
    ceiling: float  # of one partition
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
    """The use of one resource at a rate within a cell; the others of its table are in proportion."""
    own, quota = track.consumed_per_s(cell), timeline.quota.of(track.direction)
    together = sum(t.consumed_per_s(cell) or 0.0 for t in timeline.tracks if t.direction == track.direction)
    return OnDemandUse(
        timeline=timeline,
        track=track,
        cell=cell,
        rate=rate,
        total=rate * max(1.0, together / own) if own else max(rate, together),
        maximum=track.maximum.at(cell),
        quota=quota or QUOTAS[track.direction] * timeline.scale,
        quota_known=bool(quota),
        ceiling=partition_ceiling(track.direction, timeline.scale),
        numbers=numbers,
    )


def rule_of(around: AroundSecond, *, maximum: bool) -> tuple[str, Bound | None]:
    """The rule that says what was the limit in a throttled second; its capacity is the maximum or the quota.

    Both are limits like a table's provisioned throughput, of which nothing is saved for longer than a second.
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
    """What a minute's average says of one cell."""
    rate = track.consumed_per_s(cell)
    if rate is None:
        return undecided(
            "undetermined-no-consumed", "The consumed units of the throttled time are not known."
        )
    seen = use(timeline, track, cell, rate, numbers)
    return next(opinion for rule in IN_ORDER if (opinion := rule(seen)) is not None)


def _at_maximum(seen: OnDemandUse) -> Opinion | None:
    if not seen.at_maximum:
        return None
    return seen.says("on-demand-at-maximum", f"{seen.of_maximum} set as the on-demand maximum were consumed.")


def _small_maximum(seen: OnDemandUse) -> Opinion | None:
    if not seen.maximum or seen.maximum >= seen.ceiling:
        return None
    why = f"a maximum below the {units(seen.ceiling, seen.track.direction)} that one partition serves"
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
    return opinion.weaker(0.85, "The account's own quota is not known; this is the default.")


def _beside_the_limit(seen: OnDemandUse) -> Opinion | None:
    """A partly loaded minute beside a throttled one at the maximum or the quota."""
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
    """The table and an index refused in the same minute: what they share is the account's quota."""
    track = seen.track
    both = [t for t in seen.timeline.tracks if t.direction == track.direction and t.throttled(seen.cell)]
    if len(both) < 2 or all(t.index for t in both) or not _in_reach(seen):
        return None
    quota = f"the account's {units(seen.quota, track.direction)}"
    used = f"{measured(seen.total)} of {quota} were consumed on average"
    return seen.says(
        "on-demand-together", f"{used}, and {len(both)} resources that share it throttled in one minute."
    )


def _in_reach(seen: OnDemandUse, times: float = 1.0) -> bool:
    """Whether a short burst may have reached the quota: enough partitions, and enough consumed.

    `times`: by how much the busiest throttled minute consumed more.
    """
    served = seen.track.warm is None or seen.track.warm >= seen.numbers.inferred.at_limit * seen.quota
    return served and times * seen.total >= BURSTY * seen.quota


def _below(seen: OnDemandUse) -> Opinion:
    """Below every limit on average: a partition, unless a short burst may have reached a limit."""
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
    cap = (
        f"far below its maximum of {units(seen.maximum, track.direction)}"
        if seen.maximum
        else "with no maximum set"
    )
    opinion = seen.says("on-demand-below-limits", f"{used}, {cap} and below the account's quota.")
    if seen.maximum and track.step_s > limits.BURST_S:
        opinion = opinion.weaker(LONG, f"An average of {span(track.step_s)} shows no bursts of minutes.")
    if seen.maximum is None and not track.maximum_asked:
        opinion = opinion.weaker(0.85, "Whether a maximum is set is not known.")
    return opinion


IN_ORDER: Final[tuple[Callable[[OnDemandUse], Opinion | None], ...]] = (
    _at_maximum,
    _small_maximum,
    _at_quota,
    _beside_the_limit,
    _together,
    _below,
)
"""The first that has an opinion decides."""
