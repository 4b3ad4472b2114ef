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

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Final

from keyheat.analysis.rules import RULES
from keyheat.analysis.thresholds import Inferred, Thresholds
from keyheat.analysis.timeline import EvidenceTimeline, EvidenceTrack
from keyheat.numbers import of_provisioned, some, units, whole
from keyheat.runs.formats import SecondCount
from keyheat.words import Constraint, Direction

from .burst import Bank
from .opinion import Opinion, opinion_of, undecided

RUN: Final = 8  # throttled seconds of one constraint on end that stand by themselves
AROUND_S: Final = 30  # seconds on both sides whose throttles say what dominated in shorter ones
BRIEF_S: Final = 3  # seconds of the table's rate: so little burst is as good as none
LITTLE: Final = 0.004  # of a full bucket: the same
PINNED_S: Final = 150  # seconds over which burst does not stay down by chance
PAUSE_S: Final = 200  # seconds without a throttle after which a run of them is over
SPENT: Final = 0.1  # of a full bucket: so little by estimate is as good as none
UNSPENT: Final = 0.3  # of a full bucket: so much by estimate makes a table's limit unlikely
CHANGED: Final = "undetermined-capacity-changed"
LEAST_SHARE: Final = 1e-6  # of a client whose own consumption is next to nothing
NOTABLE: Final = 0.01  # share of others' consumption from which the client's idle seconds are not idle


@dataclass(frozen=True, slots=True)
class SecondRates:
    """Units by epoch second; by cell, the units of others; and the mean units of one accepted request."""

    by_second: Mapping[int, float] = field(default_factory=dict)
    others: Mapping[int, float] = field(default_factory=dict)
    item_units: float = 1.0

    def around(self, second: int, half_s: int, capacity: float | None = None) -> float:
        """Units/s in the mean of the seconds around one; of more where single requests are large."""
        if capacity:
            lumps_s = 5 * self.item_units / capacity
            half_s = max(half_s, int(min(20.0, lumps_s)))
        near = range(second - half_s, second + half_s + 1)
        known = [self.by_second[at] for at in near if at in self.by_second]
        return sum(known) / max(1, len(known))

    def most(self, second: int) -> float:
        """The most units of a second and of those before and after it."""
        return max(self.by_second.get(at, 0.0) for at in range(second - 1, second + 2))

    def flat(self, second: int, rate: float) -> bool:
        """Whether most of the seconds around one are at a rate, each by itself."""
        known = [self.by_second[at] for at in range(second - 2, second + 3) if at in self.by_second]
        return sum(abs(units - rate) <= 0.07 * rate for units in known) >= 0.6 * len(known)


def rates(timeline: EvidenceTimeline, track: EvidenceTrack, share: float) -> SecondRates:
    """Consumption by second, in the cells of which the client's record holds at least `share`."""
    rows, parts = _rows(timeline, track)
    by_cell: defaultdict[int, list[int]] = defaultdict(list)
    for second in rows:
        by_cell[track.cell_of(second)].append(second)
    found: dict[int, float] = {}
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
        for second in range(cell, cell + track.step_s) if whole else seconds:
            found[second] = own.get(second, 0.0) + unseen / track.step_s * whole
    return SecondRates(found, others, consumed / accepted if accepted else 1.0)


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
    rate: float  # units/s
    capacity: float  # units/s
    rule: str

    @property
    def constraint(self) -> Constraint:
        return RULES[self.rule].constraint


@dataclass(frozen=True, slots=True, kw_only=True)
class AroundSecond:
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
    inferred: Inferred

    @property
    def above(self) -> bool:
        """Whether more than what is provisioned was consumed."""
        return self.rate / self.capacity > self.inferred.at_second_high

    @property
    def at(self) -> bool:
        """Whether what is provisioned was consumed, no more and no less."""
        return self.inferred.at_second_low <= self.rate / self.capacity <= self.inferred.at_second_high

    @property
    def burst_for_certain(self) -> bool:
        """Whether there was burst in hand, however the bucket stood when the window began."""
        return self.bank is not None and self.bank.least > self.none

    @property
    def little_burst(self) -> bool:
        """Whether less than a third of a full bucket was left by estimate."""
        return self.bank is None or self.bank.likely <= UNSPENT * self.bank.depth

    @property
    def no_burst(self) -> bool:
        """Whether next to nothing was left by estimate."""
        return self.bank is None or self.bank.likely <= max(self.none, SPENT * self.bank.depth)

    @property
    def none(self) -> float:
        """So little burst is as good as none, units."""
        return little(self.bank, self.capacity, self.others)


ROOM: Final = "room in the table"
IN_ORDER: Final[tuple[tuple[Callable[[AroundSecond], bool], str], ...]] = (
    (lambda second: second.too_few, "seconds-too-few-units"),
    (lambda second: second.held, "seconds-at-provisioned"),
    # A small table that is given burst, but slowly.
    (lambda second: second.slight and second.above, "seconds-too-few-units"),
    (lambda second: second.burst_for_certain, ROOM),
    (lambda second: second.at and (second.little_burst or second.pinned), "seconds-at-provisioned"),
    (lambda second: second.at and second.whole_partitions, "seconds-at-ceiling"),
    (lambda second: second.at and second.flat, "seconds-at-provisioned"),
    (lambda second: not second.at and (second.no_burst or second.pinned), "seconds-burst-spent"),
)
"""The first line that holds decides; where none does, the table had room."""


def rule_of(around: AroundSecond) -> str:
    """The rule that says what was the limit in this second."""
    rule = next((rule for holds, rule in IN_ORDER if holds(around)), ROOM)
    if rule != ROOM:
        return rule
    return "seconds-below-provisioned" if around.rate < around.capacity else "seconds-burst-in-hand"


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


def smoothed(seconds: Sequence[ThrottledSecond]) -> list[ThrottledSecond]:
    """The seconds; those of short runs take the rule that speaks for most throttles in the minute around."""
    found: list[ThrottledSecond] = []
    dominating = _in_the_minute_around(seconds)
    for _, run in groupby(enumerate(seconds), key=lambda placed: placed[1].constraint):
        placed = list(run)
        long = len(placed) >= RUN
        found += (one if long else replace(one, rule=dominating[place]) for place, one in placed)
    return found


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
