"""The inferred grade by the client's seconds: consumption around each throttled second, against its limit.

CloudWatch has the minute's sum, the client has its own seconds. Others consumed the difference at unknown
moments of the minute: it is spread evenly, and lowers the confidence. If the client consumed too little of
the minute, its seconds do not represent the resource.

    minute's sum, by CloudWatch    6,000      ___               the client's seconds
    the client's                   5,400     |   |
    others'                          600   __|   |__________    10 units/s below all of them

A second is short enough to show the table's limit itself: without burst, a table serves exactly its
provisioned rate, second after second. So the burst that is left (bounds.py) decides nearly everything.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from statistics import fmean
from typing import Final

from keyheat.analysis.rules import AT_CEILING, CHANGED, NEITHER, OTHERS_UNKNOWN, RULES, Thresholds
from keyheat.analysis.timeline import EvidenceTimeline
from keyheat.analysis.track import EvidenceTrack
from keyheat.numbers import consumed_units, measured, of_provisioned, some, units, whole
from keyheat.runs.formats import SecondCount
from keyheat.words import WRITE, Constraint, Direction

from .bounds import (
    FEW,
    Bank,
    Bound,
    given_at_least,
    later_spent,
    not_a_partition,
    of_whole_partitions,
)
from .minutes import later_words
from .opinion import Opinion, neither, opinion_of, undecided

RUN: Final = 8  # least throttled seconds in a row that keep their own constraint
AROUND_S: Final = 30  # seconds on both sides that decide for shorter runs
EXACT: Final = 0.02  # greatest relative difference of a second at provisioned
OTHERS_EXACT: Final = 0.05  # the same if others consume too, at unknown moments
PINNED: Final = 0.5  # least share of throttled seconds at provisioned that shows the table's limit
SOME: Final = 0.3  # the same if the mean is at provisioned
LOOSE: Final = 0.1  # a smaller share does not show it
LEAST_SHARE: Final = 1e-6  # of a client that consumes next to nothing
NOTABLE: Final = 0.01  # share of others' consumption from which the client's idle seconds are not idle
NEAR_S: Final = 2  # seconds on both sides of a throttled one that are compared
FEW_OF_THEM: Final = 0.3  # of the distance of all throttled seconds: others filled few of them
SPENT: Final = 0.1  # of a full bucket: a smaller estimate counts as none
BRIEF_S: Final = 3  # seconds of the table's rate: less burst counts as none
LITTLE: Final = 0.004  # of a full bucket: the same


@dataclass(frozen=True, slots=True)
class SecondRates:
    """Units by epoch second; others' units by cell; and the mean units of one accepted request.

    `measured` has the client's measured units; `by_second` adds those of others, spread evenly.
    """

    by_second: Mapping[int, float]
    measured: Mapping[int, float]
    others: Mapping[int, float]
    item_units: float

    def most(self, second: int) -> float:
        """The client's highest units of a second and its two neighbours."""
        return max(self.measured.get(at, 0.0) for at in range(second - 1, second + 2))

    def two(self, second: int) -> float:
        """The client's highest units of a second together with one of its neighbours."""
        before, at, after = (self.measured.get(second + by, 0.0) for by in (-1, 0, 1))
        return at + max(before, after)


def rates(timeline: EvidenceTimeline, track: EvidenceTrack, share: float) -> SecondRates:
    """Return consumption by second, in cells of which the client consumed at least `share`."""
    rows, shares = _rows(timeline, track)
    by_cell: defaultdict[int, list[int]] = defaultdict(list)
    for second in rows:
        by_cell[track.cell_of(second)].append(second)
    totals = {cell: total for cell, total in (track.consumed or {}).items() if total and cell in by_cell}
    client_share = 1.0  # of the measured consumption, assumed for minutes that CloudWatch lacks
    if totals and track.seconds:
        client_units = sum(rows[second].consumed for cell in totals for second in by_cell[cell])
        client_share = min(1.0, max(LEAST_SHARE, client_units / sum(totals.values())))
    by_second: dict[int, float] = {}
    certain: dict[int, float] = {}
    others: dict[int, float] = {}
    consumed, accepted = 0.0, 0
    for cell, seconds in by_cell.items():
        share_of_table = shares.get(cell, 0.0) if shares is not None else 1.0
        units_at = {second: rows[second].consumed * share_of_table for second in seconds}
        client_total = sum(units_at.values())
        total = (track.consumed or {}).get(cell, client_total / client_share)
        if client_total < share * total:
            continue
        unseen = max(0.0, total - client_total)
        others[cell] = unseen
        consumed += client_total
        accepted += sum(max(0, rows[second].attempts - rows[second].throttled) for second in seconds)
        others_matter = unseen > NOTABLE * total
        certain |= units_at
        for second in range(cell, cell + track.step_s) if others_matter else seconds:
            by_second[second] = units_at.get(second, 0.0) + unseen / track.step_s * others_matter
    return SecondRates(by_second, certain, others, consumed / accepted if accepted else 1.0)


def _rows(
    timeline: EvidenceTimeline, track: EvidenceTrack
) -> tuple[Mapping[int, SecondCount], Mapping[int, float] | None]:
    """Return the client's rows of a resource; for an index without rows, the table's with its share."""
    if track.seconds or track.index is None or track.direction == "read":
        return track.seconds or {}, None
    table = timeline.track(None, WRITE)
    if table is None or not table.seconds or not table.consumed or not track.consumed:
        return {}, None
    both = table.consumed.keys() & track.consumed.keys()
    return table.seconds, {
        cell: track.consumed[cell] / table.consumed[cell] for cell in both if table.consumed[cell]
    }


@dataclass(frozen=True, slots=True)
class ThrottledSecond:
    """One throttled second of the client: consumption around it, its limit, and the rule that applies."""

    second: int
    throttles: int
    rate: float  # units/s in it, including others'
    capacity: float  # units/s
    rule: str
    bound: Bound | None = None  # the inequality that proves the rule

    @property
    def constraint(self) -> Constraint:
        return RULES[self.rule].constraint


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottledMinute:
    """The throttled seconds of one cell together, and the possible consumption of others in them.

    Others consumed at unknown moments, and can have filled some of these seconds, not all. So their units are
    distributed over the seconds by the distance from a limit, as if they had filled only a few.
    """

    throttled: frozenset[int]
    mean: float  # the client's units/s in them
    others_per_s: float  # others' mean units/s over the whole cell
    of_table: float  # others' possible units for each unit by which a second misses the limit
    of_partition: float


def throttled_minute(
    used: SecondRates, seconds: Sequence[int], cell: int, track: EvidenceTrack, capacity: float
) -> ThrottledMinute:
    """Summarize the throttled seconds of one cell of a track with that capacity."""
    others = used.others.get(cell, 0.0)
    table = FEW_OF_THEM * sum(
        max(0.0, given_at_least(capacity, used.item_units) - used.most(at)) for at in seconds
    )
    partition = FEW_OF_THEM * sum(max(0.0, FEW * track.ceiling - used.two(at)) for at in seconds)
    return ThrottledMinute(
        throttled=frozenset(seconds),
        mean=sum(used.measured.get(at, 0.0) for at in seconds) / len(seconds),
        others_per_s=others / track.step_s,
        of_table=others / table if table else 0.0,
        of_partition=others / partition if partition else 0.0,
    )


@dataclass(frozen=True, kw_only=True)
class AroundSecond:
    """Measurements around one throttled second of a resource, whose capacity is known."""

    second: int
    track: EvidenceTrack
    used: SecondRates
    minute: ThrottledMinute
    capacity: float
    bank: Bank | None
    pinned: float  # share of all throttled seconds at exactly the capacity
    too_few: float  # share of all throttled seconds with too few units for a full partition

    @cached_property
    def rate(self) -> float:
        """The client's units/s in the throttled seconds around."""
        seconds = range(self.second - NEAR_S, self.second + NEAR_S + 1)
        near = [self.used.measured.get(at, 0.0) for at in seconds if at in self.minute.throttled]
        return sum(near) / len(near)

    @property
    def near(self) -> bool:
        """Whether the mean of the throttled seconds around is exactly the provisioned rate."""
        return abs(self.rate - self.capacity) <= EXACT * self.capacity + self.used.item_units

    @property
    def with_others(self) -> bool:
        """Whether the mean with others' consumption in the minute is the provisioned rate."""
        return (
            abs(self.minute.mean + self.minute.others_per_s - self.capacity) <= OTHERS_EXACT * self.capacity
        )

    @property
    def others_matter(self) -> bool:
        """Whether others may have consumed enough in one of the seconds to change its rule."""
        return self.minute.others_per_s > EXACT * self.capacity

    @cached_property
    def partition(self) -> Bound:
        two, ceiling = self.used.two(self.second), self.track.ceiling
        short = max(0.0, FEW * ceiling - two)
        return not_a_partition(two, short * self.minute.of_partition, ceiling)

    @cached_property
    def given(self) -> Bound:
        """Bound for "the table served less than its refill" in any second around the throttle."""
        most, least = self.used.most(self.second), given_at_least(self.capacity, self.used.item_units)
        others = max(0.0, least - most) * self.minute.of_table
        if self.track.index is not None and self.track.direction == WRITE:
            others = math.inf  # it lags, and throttles writes until it has caught up, at any consumption
        return Bound(most + others, least)


def rule_of(around: AroundSecond) -> tuple[str, Bound | None]:
    """Return the rule for a second of provisioned capacity, with the inequality that proves it, if any."""
    track, bank, capacity = around.track, around.bank, around.capacity
    if around.partition.holds:
        # A table that is served in chunks can be at its limit at any rate.
        is_neither = around.given.holds and capacity >= track.in_chunks_below
        return NEITHER if is_neither else "seconds-too-few-units", around.partition
    later = later_spent(bank.shown_after if bank else 0.0, capacity, around.used.item_units, 1)
    if later.holds:
        below = around.rate < capacity
        return "seconds-below-provisioned" if below else "seconds-burst-in-hand", later
    if around.given.holds:
        return "seconds-below-provisioned", around.given
    if around.near and around.pinned >= SOME:
        has_burst = bank is not None and not bank.spent_before(SPENT)
        by_partitions = has_burst and of_whole_partitions(around.rate, track.ceiling, capacity)
        return AT_CEILING if by_partitions else "seconds-at-provisioned", None
    # The estimate is an upper bound: however much was granted, it was spent.
    spent = bank is not None and bank.likely <= max(BRIEF_S * capacity, LITTLE * bank.depth)
    if around.pinned >= PINNED or around.too_few >= PINNED or spent:
        return "seconds-burst-spent", None
    if around.others_matter and around.with_others:
        return OTHERS_UNKNOWN, None
    if around.rate > capacity * (1 + EXACT):
        return "seconds-above-provisioned", None
    if around.pinned < LOOSE and not around.others_matter:
        return "seconds-near-provisioned", None
    if around.rate + around.minute.others_per_s < around.given.more:
        return "seconds-others-even", None
    return OTHERS_UNKNOWN, None


def smoothed(seconds: Sequence[ThrottledSecond]) -> list[ThrottledSecond]:
    """Give the seconds of short runs the rule of most throttles in the minute around."""
    result = list(seconds)
    dominating = _in_the_minute_around(seconds)
    for _, group in groupby(enumerate(seconds), key=lambda pair: pair[1].constraint):
        run = list(group)
        for index, second in run if len(run) < RUN else ():
            if second.rule != dominating[index]:  # an inequality proves its own rule only
                result[index] = replace(second, rule=dominating[index], bound=None)
    return result


def _in_the_minute_around(seconds: Sequence[ThrottledSecond]) -> list[str]:
    """For each second, the rule of most throttles around it."""
    rules: list[str] = []
    around: Counter[str] = Counter()
    first = past = 0
    for second in seconds:
        while past < len(seconds) and seconds[past].second <= second.second + AROUND_S:
            around[seconds[past].rule] += seconds[past].throttles
            past += 1
        while seconds[first].second < second.second - AROUND_S:
            around[seconds[first].rule] -= seconds[first].throttles
            first += 1
        by_constraint: Counter[Constraint] = Counter()
        for rule, count in around.items():
            by_constraint[RULES[rule].constraint] += count
        heaviest = by_constraint.most_common(1)[0][0]
        rules.append(max((r for r in around if RULES[r].constraint == heaviest), key=around.__getitem__))
    return rules


def by_seconds(seconds: Sequence[ThrottledSecond], track: EvidenceTrack, numbers: Thresholds) -> Opinion:
    """Return one opinion of throttled seconds that share a constraint."""
    direction = track.direction
    throttles: Counter[str] = Counter()
    for second in seconds:
        throttles[second.rule] += max(1, second.throttles)
    rule = throttles.most_common(1)[0][0]
    rate = fmean(second.rate for second in seconds)
    capacity = fmean(second.capacity for second in seconds)
    when = f"In {some(len(seconds), 'throttled second')}"
    if rule == CHANGED:
        changed = "the provisioned throughput changed at an unknown moment of these five minutes"
        return undecided(rule, f"{when}, {consumed_units(rate, direction)} were consumed, but {changed}.")
    if rule == NEITHER:
        consumed = f"{when}, {of_provisioned(rate, capacity, direction)} were consumed"
        return neither(consumed, track.ceiling, direction)
    used = of_provisioned(rate, capacity, direction)
    if rule in OF_LIMITS:  # an on-demand maximum or a quota: 980 of at most 1,000 WCU/s
        used = f"{measured(rate)} of at most {units(capacity, direction)}"
    because = f"{when}, {used} were consumed{WORDS.get(rule, '')}."
    if RULES[rule].constraint == "undetermined":
        return undecided(rule, because)
    opinion = opinion_of(rule, because, numbers)
    proof = _proof([second for second in seconds if second.rule == rule], direction)
    return replace(opinion, because=f"{opinion.because} {proof}.") if proof else opinion


def _proof(seconds: Sequence[ThrottledSecond], direction: Direction) -> str:
    """Show an inequality that holds in these seconds: what was left later, else that with the most units."""
    proved = [(second.bound, second) for second in seconds if second.bound is not None]
    if not proved:
        return ""
    if proved[0][1].constraint == "table":
        most_units = max((bound for bound, _second in proved), key=lambda bound: bound.less)
        full = units(most_units.more / FEW, direction)
        most = f"at most {whole(most_units.less)} units within two seconds, of {full}"
        return f"No partition was at its limit: {most}"
    bound, heaviest = max(proved, key=lambda pair: pair[1].throttles)
    if bound.more > heaviest.capacity:
        return later_words(bound)
    given = (pair for pair in proved if pair[0].more <= pair[1].capacity)
    bound, second = max(given, key=lambda pair: pair[0].less)
    return (
        f"The table was not at its limit: at most {whole(bound.less)} units in any of these seconds, "
        f"including others', of {units(second.capacity, direction)}"
    )


OF_LIMITS: Final = frozenset({"seconds-at-maximum", "seconds-at-quota", "seconds-below-limits"})
OF_OTHERS: Final = frozenset({"seconds-others-even", OTHERS_UNKNOWN})
"""Rules that depend on when others consumed their units."""
WORDS: Final = {
    "seconds-burst-in-hand": ", with burst left",
    "seconds-above-provisioned": ", with no sign that the burst was spent",
    "seconds-near-provisioned": ", never exactly the provisioned rate",
    AT_CEILING: ", a rate that whole partitions serve, too, with burst left by estimate",
    "seconds-burst-spent": ", with the burst spent by estimate, or most throttled seconds at exactly the "
    "provisioned rate or with too few units for a full partition",
    "seconds-others-even": ", if others consumed evenly over the minute",
    OTHERS_UNKNOWN: " by the client; when others consumed is unknown",
}
