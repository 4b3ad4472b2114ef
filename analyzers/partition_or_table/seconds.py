"""By the client's seconds: what was consumed around each throttled second, of what, and what that says.

CloudWatch knows the minute's sum, the client knows its own seconds. What the client did not consume, others
did, nobody knows when within the minute: it is spread evenly, and kept as a doubt. Where the client holds too
little of the minute, its seconds do not speak for the resource.

    minute's sum, by CloudWatch    6,000      ___               the client's seconds
    the client's own               5,400     |   |
    somebody else's                  600   __|   |__________    10 units/s below all of them

A second is short enough to show the table's limit as it is: once the burst is spent, what is consumed is what
is provisioned, second after second. So the burst in hand (burst.py) decides nearly everything.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from statistics import fmean
from typing import Final

from keyheat.analysis.rules import AT_CEILING, CHANGED, NEITHER, OTHERS_UNKNOWN, RULES
from keyheat.analysis.thresholds import Thresholds
from keyheat.analysis.timeline import EvidenceTimeline, EvidenceTrack
from keyheat.numbers import consumed_units, measured, of_provisioned, some, units
from keyheat.runs.formats import SecondCount
from keyheat.words import Constraint, Direction

from .bounds import (
    FEW,
    Bound,
    given_at_least,
    later_spent,
    later_words,
    no_partition_words,
    not_a_partition,
    not_given,
    not_given_words,
)
from .burst import Bank, of_whole_partitions
from .opinion import Opinion, neither, opinion_of, undecided

RUN: Final = 8  # throttled seconds of one constraint on end that stand by themselves
AROUND_S: Final = 30  # seconds on both sides whose throttles say what dominated in shorter ones
EXACT: Final = 0.02  # share by which seconds at what is provisioned may miss it
OTHERS_EXACT: Final = 0.05  # the same where others consume too, nobody knows when
PINNED: Final = 0.5  # of all throttled seconds: so many at what is provisioned show the table's limit
SOME: Final = 0.3  # so many, where the mean is at what is provisioned
LOOSE: Final = 0.1  # so few do not
LEAST_SHARE: Final = 1e-6  # of a client whose own consumption is next to nothing
NOTABLE: Final = 0.01  # share of others' consumption from which the client's idle seconds are not idle


@dataclass(frozen=True, slots=True)
class SecondRates:
    """Units by epoch second; by cell, the units of others; and the mean units of one accepted request.

    `own` are the client's units, which are certain; `by_second` has those of others, spread evenly, as well.
    """

    by_second: Mapping[int, float] = field(default_factory=dict)
    own: Mapping[int, float] = field(default_factory=dict)
    others: Mapping[int, float] = field(default_factory=dict)
    item_units: float = 1.0

    def most(self, second: int) -> float:
        """The client's most units of a second and of those before and after it."""
        return max(self.own.get(at, 0.0) for at in range(second - 1, second + 2))

    def two(self, second: int) -> float:
        """The client's most units of a second together with the one before or after."""
        before, at, after = (self.own.get(second + by, 0.0) for by in (-1, 0, 1))
        return at + max(before, after)


def rates(timeline: EvidenceTimeline, track: EvidenceTrack, share: float) -> SecondRates:
    """Consumption by second, in the cells of which the client's record holds at least `share`."""
    rows, parts = _rows(timeline, track)
    by_cell: defaultdict[int, list[int]] = defaultdict(list)
    for second in rows:
        by_cell[track.cell_of(second)].append(second)
    found: dict[int, float] = {}
    certain: dict[int, float] = {}
    others: dict[int, float] = {}
    consumed, accepted = 0.0, 0
    own_share = _own_share(track, by_cell, rows)
    for cell, seconds in by_cell.items():
        part = parts.get(cell, 0.0) if parts is not None else 1.0
        own = {second: rows[second].consumed * part for second in seconds}
        held = sum(own.values())
        total = (track.consumed or {}).get(cell, held / own_share)
        if held < share * total:
            continue
        unseen = max(0.0, total - held)
        others[cell] = unseen
        consumed += held
        accepted += sum(max(0, rows[second].attempts - rows[second].throttled) for second in seconds)
        whole = unseen > NOTABLE * total
        certain |= own
        for second in range(cell, cell + track.step_s) if whole else seconds:
            found[second] = own.get(second, 0.0) + unseen / track.step_s * whole
    return SecondRates(found, certain, others, consumed / accepted if accepted else 1.0)


def _own_share(
    track: EvidenceTrack, by_cell: Mapping[int, list[int]], rows: Mapping[int, SecondCount]
) -> float:
    """The client's part of all that is known to have been consumed: what it is taken to be in lost minutes.

    1 where CloudWatch says nothing at all, and for an index of which the client has no rows of its own.
    """
    known = {cell: total for cell, total in (track.consumed or {}).items() if total and cell in by_cell}
    if not known or not track.seconds:
        return 1.0
    own = sum(rows[second].consumed for cell in known for second in by_cell[cell])
    return min(1.0, max(LEAST_SHARE, own / sum(known.values())))


def _rows(
    timeline: EvidenceTimeline, track: EvidenceTrack
) -> tuple[Mapping[int, SecondCount], Mapping[int, float] | None]:
    """The client's rows of a resource; for an index that it has none of, the table's, and its part."""
    if track.seconds or track.index is None or track.direction == "read":
        return track.seconds or {}, None
    table = timeline.track(None, track.direction)
    if table is None or not table.seconds or not table.consumed or not track.consumed:
        return {}, None
    both = table.consumed.keys() & track.consumed.keys()
    return table.seconds, {
        cell: track.consumed[cell] / table.consumed[cell] for cell in both if table.consumed[cell]
    }


@dataclass(frozen=True, slots=True)
class ThrottledSecond:
    """One throttled second as the client saw it: what was consumed around it, of what, and what that says."""

    second: int
    throttles: int
    rate: float  # units/s in it, others' among them
    capacity: float  # units/s
    rule: str
    bound: Bound | None = None  # the inequality that proves it
    ceiling: float = 0.0  # of one partition, units/s

    @property
    def constraint(self) -> Constraint:
        return RULES[self.rule].constraint


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottledMinute:
    """The throttled seconds of one cell together, and what others may have consumed in them.

    When others consumed theirs is not known. They may have filled up some of the seconds, not all: so each
    second is lent a part of theirs, by what it falls short of a limit, as if they had filled up a few alone.
    """

    throttled: frozenset[int]
    mean: float  # the client's units/s in them
    others_per_s: float  # units/s of others in the mean of the whole cell
    of_table: float  # others' units that may have been consumed for each unit that a second falls short
    of_partition: float


FEW_OF_THEM: Final = 0.3  # of what all throttled seconds fall short: others made up for few of them


def throttled_minute(
    used: SecondRates, seconds: Sequence[int], cell: int, step_s: int, capacity: float, ceiling: float
) -> ThrottledMinute:
    """The throttled seconds of one cell; `capacity` and `ceiling` are what they may fall short of."""
    others = used.others.get(cell, 0.0)
    table = sum(max(0.0, given_at_least(capacity, used.item_units) - used.most(at)) for at in seconds)
    partition = sum(max(0.0, FEW * ceiling - used.two(at)) for at in seconds)
    return ThrottledMinute(
        throttled=frozenset(seconds),
        mean=sum(used.own.get(at, 0.0) for at in seconds) / len(seconds),
        others_per_s=others / step_s,
        of_table=others / (FEW_OF_THEM * table) if table else 0.0,
        of_partition=others / (FEW_OF_THEM * partition) if partition else 0.0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AroundSecond:
    """What is known around one throttled second of a provisioned resource."""

    capacity: float
    ceiling: float
    in_chunks_below: float  # units/s of a table whose capacity is handed out in chunks
    rate: float  # the client's units/s in the throttled seconds around
    most: float  # the client's most units of one second around
    two: float  # and of two on end
    minute: ThrottledMinute
    request_units: float
    bank: Bank | None
    pinned: float  # share of all throttled seconds in which just what is provisioned was consumed
    too_few: float  # share of all throttled seconds in which too little was consumed for a full partition
    rests: bool  # an index that is behind refuses writes until it has caught up, whatever it consumes then

    @property
    def near(self) -> bool:
        """Whether just what is provisioned was consumed in the mean of the throttled seconds around."""
        return abs(self.rate - self.capacity) <= EXACT * self.capacity + self.request_units

    @property
    def exact(self) -> bool:
        """Whether just what is provisioned was consumed, second by second."""
        return self.near and self.pinned >= SOME

    @property
    def with_others(self) -> bool:
        """Whether it was just what is provisioned in the mean, with what others consumed in the minute."""
        return abs(self.minute.mean + self.others_per_s - self.capacity) <= OTHERS_EXACT * self.capacity

    @property
    def others_matter(self) -> bool:
        """Whether others may have consumed enough in one of the seconds to change what it says."""
        return self.others_per_s > EXACT * self.capacity

    @property
    def others_per_s(self) -> float:
        return self.minute.others_per_s

    @property
    def partition(self) -> Bound:
        short = max(0.0, FEW * self.ceiling - self.two)
        return not_a_partition(self.two, short * self.minute.of_partition, self.ceiling)

    @property
    def later(self) -> Bound:
        return later_spent(self.bank.shown_after if self.bank else 0.0, self.capacity, self.request_units, 1)

    @property
    def given(self) -> Bound:
        short = max(0.0, given_at_least(self.capacity, self.request_units) - self.most)
        others = math.inf if self.rests else short * self.minute.of_table
        return not_given(self.most, others, self.capacity, self.request_units)

    @property
    def by_ceiling(self) -> bool:
        """Whether whole partitions serve as much, with burst left by estimate, and nothing else tells."""
        left = self.bank is not None and not self.bank.spent_before(SPENT)
        return left and of_whole_partitions(self.rate, self.ceiling, self.capacity)

    @property
    def spent(self) -> bool:
        """Whether the burst was spent, however much was granted: the estimate is the most that there was."""
        most = max(BRIEF_S * self.capacity, LITTLE * self.bank.depth) if self.bank else 0.0
        return self.bank is not None and self.bank.likely <= most

    @property
    def neither(self) -> bool:
        """Whether neither can have been at its limit; one that is served in chunks may be, at any rate."""
        return self.partition.holds and self.given.holds and self.capacity >= self.in_chunks_below


SPENT: Final = 0.1  # of a full bucket: so little by estimate is as good as none
BRIEF_S: Final = 3  # seconds of the table's rate: so little burst is as good as none
LITTLE: Final = 0.004  # of a full bucket: the same


def rule_of(around: AroundSecond) -> tuple[str, Bound | None]:
    """The rule that says what was the limit in this second, with the inequality where it is proved."""
    if around.neither:
        return NEITHER, around.partition
    if around.partition.holds:
        return "seconds-too-few-units", around.partition
    if around.later.holds:
        below = around.rate < around.capacity
        return "seconds-below-provisioned" if below else "seconds-burst-in-hand", around.later
    if around.given.holds:
        return "seconds-below-provisioned", around.given
    if around.exact:
        return AT_CEILING if around.by_ceiling else "seconds-at-provisioned", None
    if around.pinned >= PINNED or around.too_few >= PINNED or around.spent:
        return "seconds-burst-spent", None
    if around.others_matter and around.with_others:
        return OTHERS_UNKNOWN, None
    if around.rate > around.capacity * (1 + EXACT):
        return "seconds-above-provisioned", None
    if around.pinned < LOOSE and not around.others_matter:
        return "seconds-near-provisioned", None
    if around.rate + around.others_per_s < given_at_least(around.capacity, around.request_units):
        return "seconds-others-even", None
    return OTHERS_UNKNOWN, None


def smoothed(seconds: Sequence[ThrottledSecond]) -> list[ThrottledSecond]:
    """The seconds; those of short runs take the rule that speaks for most throttles in the minute around."""
    found: list[ThrottledSecond] = []
    dominating = _in_the_minute_around(seconds)
    for _, run in groupby(enumerate(seconds), key=lambda placed: placed[1].constraint):
        placed = list(run)
        long = len(placed) >= RUN
        found += (one if long else _with_rule(one, dominating[place]) for place, one in placed)
    return found


def _with_rule(second: ThrottledSecond, rule: str) -> ThrottledSecond:
    """The second with the rule of those around it; an inequality proves its own rule alone."""
    return second if rule == second.rule else replace(second, rule=rule, bound=None)


def _in_the_minute_around(seconds: Sequence[ThrottledSecond]) -> list[str]:
    """For each second, the rule that speaks for most throttles around it."""
    found: list[str] = []
    around: Counter[str] = Counter()
    first = past = 0
    for second in seconds:
        while past < len(seconds) and seconds[past].second <= second.second + AROUND_S:
            around[seconds[past].rule] += seconds[past].throttles
            past += 1
        while seconds[first].second < second.second - AROUND_S:
            around[seconds[first].rule] -= seconds[first].throttles
            first += 1
        found.append(_dominating(around))
    return found


def _dominating(throttles: Counter[str]) -> str:
    """The heaviest rule of the heaviest constraint."""
    by_constraint: Counter[Constraint] = Counter()
    for rule, count in throttles.items():
        by_constraint[RULES[rule].constraint] += count
    constraint = by_constraint.most_common(1)[0][0]
    return max((r for r in throttles if RULES[r].constraint == constraint), key=lambda r: throttles[r])


def by_seconds(seconds: Sequence[ThrottledSecond], direction: Direction, numbers: Thresholds) -> Opinion:
    """The opinion of throttled seconds that all say one constraint."""
    throttles: Counter[str] = Counter()
    for second in seconds:
        throttles[second.rule] += max(1, second.throttles)
    rule = throttles.most_common(1)[0][0]
    rate = fmean(second.rate for second in seconds)
    capacity = fmean(second.capacity for second in seconds)
    when = f"In {some(len(seconds), 'throttled second')}"
    if rule == CHANGED:
        changed = "what is provisioned was changed within these five minutes, and nobody knows when"
        return undecided(rule, f"{when}, {consumed_units(rate, direction)} were consumed, but {changed}.")
    if rule == NEITHER:
        ceiling = seconds[0].ceiling
        return neither(
            f"{when}, {of_provisioned(rate, capacity, direction)} were consumed", ceiling, direction
        )
    used = (
        of_provisioned(rate, capacity, direction)
        if rule not in OF_LIMITS
        else of_limit(rate, capacity, direction)
    )
    because = f"{when}, {used} were consumed{WORDS.get(rule, '')}."
    if RULES[rule].constraint == "undetermined":
        return undecided(rule, because)
    opinion = opinion_of(rule, because, numbers)
    proof = _proof([second for second in seconds if second.rule == rule], direction)
    return replace(opinion, because=f"{opinion.because} {proof}.") if proof else opinion


def _proof(seconds: Sequence[ThrottledSecond], direction: Direction) -> str:
    """The inequality of the heaviest second that has one."""
    proved = [second for second in seconds if second.bound is not None]
    if not proved:
        return ""
    second = max(proved, key=lambda one: one.throttles)
    assert second.bound is not None
    if second.constraint == "table":
        return no_partition_words(second.bound, direction)
    if second.bound.more > second.capacity:
        return later_words(second.bound)
    return not_given_words(second.bound, second.capacity, direction)


def of_limit(used: float, capacity: float, direction: Direction) -> str:
    """Consumed against an on-demand maximum or a quota: 980 of at most 1,000 WCU/s."""
    return f"{measured(used)} of at most {units(capacity, direction)}"


OF_LIMITS: Final = frozenset({"seconds-at-maximum", "seconds-at-quota", "seconds-below-limits"})
OF_OTHERS: Final = frozenset({"seconds-others-even", OTHERS_UNKNOWN})
"""Rules that hang on when others consumed what the client did not."""
WORDS: Final = {
    "seconds-burst-in-hand": ", with burst still in hand",
    "seconds-above-provisioned": ", and nothing shows that the burst was spent",
    "seconds-near-provisioned": ", never just what is provisioned",
    AT_CEILING: ", which is what whole partitions serve, too, with burst left by estimate",
    "seconds-burst-spent": ", with the burst spent by estimate, or others at just what is provisioned, or "
    "with too few units for a full partition",
    "seconds-others-even": ", if others consumed theirs evenly",
    OTHERS_UNKNOWN: " by the client; when others consumed theirs is not known",
}
