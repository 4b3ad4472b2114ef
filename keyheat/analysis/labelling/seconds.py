"""The inferred grade by the client's seconds: what was consumed around each throttled second, and of what.

A second is short enough to show the table's limit as it is: once the burst is spent, what is consumed is what
is provisioned, second after second. So the burst in hand (burst.py) decides nearly everything.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from keyheat.analysis.labelling.burst import Bank
from keyheat.analysis.labelling.opinions import Opinion, opinion_of, undecided
from keyheat.analysis.labelling.rules import RULES
from keyheat.analysis.thresholds import Thresholds
from keyheat.numbers import of_provisioned, some, units, whole
from keyheat.words import Constraint, Direction

RUN: Final = 8  # throttled seconds of one constraint on end that stand by themselves
AROUND_S: Final = 30  # seconds on both sides whose throttles say what dominated in shorter ones
BRIEF_S: Final = 3  # seconds of the table's rate: so little burst is as good as none
LITTLE: Final = 0.004  # of a full bucket: the same
PINNED_S: Final = 150  # seconds over which burst does not stay down by chance
PAUSE_S: Final = 200  # seconds without a throttle after which a run of them is over
SPENT: Final = 0.1  # of a full bucket: so little by estimate is as good as none
UNSPENT: Final = 0.3  # of a full bucket: so much by estimate makes a table's limit unlikely
CHANGED: Final = "undetermined-capacity-changed"


@dataclass(frozen=True, slots=True)
class Second:
    """One throttled second as the client saw it: what was consumed around it, of what, and what that says."""

    second: int
    throttles: int
    rate: float  # units/s
    capacity: float  # units/s
    rule: str

    @property
    def constraint(self) -> Constraint:
        return RULES[self.rule].constraint


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What is known around one throttled second of a provisioned resource."""

    rate: float
    capacity: float
    bank: Bank | None
    others: float  # units that somebody else consumed within the minute, nobody knows when
    flat: bool  # whether the seconds around are at what is provisioned, each by itself, or their minute is
    pinned: bool  # whether the burst was at its lowest at every throttled second of minutes around
    held: bool  # whether nearly all throttled seconds of the minute are at just what is provisioned
    whole_partitions: bool  # whether the rate is what a number of partitions serves at their ceiling
    too_few: bool  # whether the minute's units are fewer than one partition serves in a second
    slight: bool  # whether each second around has far fewer units than one partition serves


def rule_of(around: Around, numbers: Thresholds) -> str:
    """The rule that says what was the limit in this second."""
    inferred, share = numbers.inferred, around.rate / around.capacity
    depth = around.bank.depth if around.bank else 0.0
    least, likely = (around.bank.least, around.bank.likely) if around.bank else (0.0, depth)
    none = little(around.bank, around.capacity, around.others)
    room = "seconds-below-provisioned" if share < 1 else "seconds-burst-in-hand"
    if around.too_few:
        return "seconds-too-few-units"
    if around.held:
        return "seconds-at-provisioned"
    if around.slight and share > inferred.at_second_high:  # a small table that is given burst, but slowly
        return "seconds-too-few-units"
    if least > none:
        return room
    if inferred.at_second_low <= share <= inferred.at_second_high:
        if likely <= UNSPENT * depth or around.pinned:
            return "seconds-at-provisioned"
        if around.whole_partitions:
            return "seconds-at-ceiling"
        return "seconds-at-provisioned" if around.flat else room
    return "seconds-burst-spent" if around.pinned or likely <= max(none, SPENT * depth) else room


def little(bank: Bank | None, capacity: float, others: float) -> float:
    """So little burst is as good as none, units."""
    return max(BRIEF_S * capacity, LITTLE * (bank.depth if bank else 0.0)) + others


def pinned(moments: Sequence[tuple[int, bool]]) -> frozenset[int]:
    """The throttled seconds of long runs in which each had next to no burst, at least.

    `moments`: throttled seconds in order, and whether the burst certainly in hand was little. With room in
    the table the burst grows or is spent between one throttle and the next: a table's limit pins it down.
    """
    found: list[int] = []
    run: list[int] = []
    for second, low in (*moments, (2**53, False)):
        if run and (not low or second - run[-1] > PAUSE_S):
            found += run if run[-1] - run[0] >= PINNED_S else []
            run = []
        if low:
            run.append(second)
    return frozenset(found)


def smoothed(seconds: Sequence[Second]) -> list[Second]:
    """The seconds; those of short runs take the rule that speaks for most throttles in the minute around."""
    found: list[Second] = []
    dominating = _in_the_minute_around(seconds)
    for _, run in groupby(enumerate(seconds), key=lambda placed: placed[1].constraint):
        placed = list(run)
        long = len(placed) >= RUN
        found += (one if long else replace(one, rule=dominating[place]) for place, one in placed)
    return found


def _in_the_minute_around(seconds: Sequence[Second]) -> list[str]:
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


def by_seconds(seconds: Sequence[Second], direction: Direction, numbers: Thresholds) -> Opinion:
    """The opinion of throttled seconds that all say one constraint."""
    throttles: Counter[str] = Counter()
    for second in seconds:
        throttles[second.rule] += max(1, second.throttles)
    rule = throttles.most_common(1)[0][0]
    total = throttles.total()
    rate = sum(second.rate * max(1, second.throttles) for second in seconds) / total
    capacity = sum(second.capacity * max(1, second.throttles) for second in seconds) / total
    when = f"In {some(len(seconds), 'throttled second')}"
    if rule == CHANGED:
        changed = "what is provisioned was changed within these five minutes, and nobody knows when"
        return undecided(rule, f"{when}, {units(rate, direction)} were consumed, but {changed}.")
    used = (
        of_provisioned(rate, capacity, direction)
        if rule not in OF_LIMITS
        else of_limit(rate, capacity, direction)
    )
    return opinion_of(rule, f"{when}, {used} were consumed{WORDS.get(rule, '')}.", numbers)


def of_limit(used: float, capacity: float, direction: Direction) -> str:
    """Consumed against an on-demand maximum or a quota: 980 of at most 1,000 WCU/s."""
    return f"{whole(used)} of at most {units(capacity, direction)}"


OF_LIMITS: Final = frozenset({"seconds-at-maximum", "seconds-at-quota", "seconds-below-limits"})
WORDS: Final = {
    "seconds-burst-in-hand": ", with burst still in hand",
    "seconds-at-ceiling": ", which is what whole partitions serve, too, with burst left by estimate",
    "seconds-burst-spent": ", after the burst was spent",
    "seconds-too-few-units": ": fewer units than one partition serves within a second",
}
