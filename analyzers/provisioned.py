"""The inferred grade for provisioned capacity: consumed against provisioned.

    consumed / provisioned   burst          throttled by
    well below               in hand        a partition: the table had room
    well below               just spent     the table: the minute is only partly loaded, at its limit
    about equal              spent          the table
    above                    spent by then  the table
    above                    in hand        a partition: the table was still giving more than is provisioned

A minute's average hides bursts within the minute, so the client's seconds are looked at first.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from analyzers.burst import Bank
from analyzers.formats import Constraint
from analyzers.opinions import Opinion, undecided
from analyzers.thresholds import Thresholds
from analyzers.timeline import Track
from tablemodel import limits

FIRST_CELL = 0.85  # factor: nothing shows what the burst was before the first known minute
ALONE = 0.9  # factor: a single throttled minute may hold a short burst that its average hides


def by_seconds(
    track: Track,
    throttled: Sequence[tuple[int, int]],
    rates: Mapping[int, float],
    bank: Mapping[int, Bank],
    numbers: Thresholds,
) -> Opinion:
    """What the client's seconds say of one cell.

    `throttled`: (epoch second, throttles); `rates`: consumed units/s around each of those seconds;
    `bank`: the burst at each recorded second.
    """
    votes: defaultdict[Constraint, float] = defaultdict(float)
    used_units = capacity_units = 0.0
    for second, count in throttled:
        rate, capacity = rates.get(second), track.provisioned.at(second)
        if rate is None or capacity is None:
            votes["undetermined"] += count
            continue
        votes[_second_says(rate / capacity, bank.get(second), numbers)] += count
        used_units += rate * count
        capacity_units += capacity * count
    total = sum(votes.values())
    constraint = max(votes, key=lambda name: votes[name])
    share = votes[constraint] / total
    if constraint == "undetermined" or share < numbers.inferred.majority:
        return undecided("undetermined-seconds", _split(votes, total))
    used = f"{used_units / total:,.0f} of {capacity_units / total:,.0f} provisioned units/s"
    return Opinion(
        rule=f"seconds-{'below' if constraint == 'partition' else 'at'}-provisioned",
        constraint=constraint,
        confidence=numbers.confidence.seconds * (0.7 + 0.3 * share),
        because=f"in the throttled seconds {used} were consumed ({used_units / capacity_units:.0%}), "
        f"{share:.0%} of the throttles agreeing",
    )


def _second_says(share: float, bank: Bank | None, numbers: Thresholds) -> Constraint:
    spent = bank is not None and bank.spent_before(numbers.inferred.burst_spent_share / 10)
    if share < numbers.inferred.at_provisioned_low:
        return "partition"
    if spent or share <= numbers.inferred.at_provisioned_high:
        return "table"
    return "partition"


def _split(votes: Mapping[Constraint, float], total: float) -> str:
    parts = ", ".join(f"{name} {count / total:.0%}" for name, count in sorted(votes.items()))
    return f"the client's throttled seconds do not agree: {parts}"


def by_minutes(track: Track, cell: int, bank: Mapping[int, Bank], numbers: Thresholds) -> Opinion:
    """What a minute's average (or that of a longer period) says of one cell."""
    used, capacity = track.consumed_per_s(cell), track.provisioned.at(cell)
    if used is None:
        return undecided(
            "undetermined-no-consumed", "throttled, but the consumed units of that time are not known"
        )
    if capacity is None:
        return undecided(
            "undetermined-no-provisioned",
            f"{used:,.0f} units/s consumed, but what is provisioned is not known",
        )
    numbers_said = (
        f"{used:,.0f} of {capacity:,.0f} provisioned units/s consumed on average ({used / capacity:.0%})"
    )
    share, held = used / capacity, bank[cell]
    if share < numbers.inferred.at_provisioned_low:
        opinion = _below(track, cell, held, numbers, numbers_said, share)
    elif share <= numbers.inferred.at_provisioned_high:
        opinion = _at(used, held, numbers, numbers_said)
    else:
        opinion = _above(track, cell, held, numbers, numbers_said)
    return opinion


def _below(track: Track, cell: int, held: Bank, numbers: Thresholds, said: str, share: float) -> Opinion:
    base = numbers.confidence.minutes
    if held.spent_before(numbers.inferred.burst_spent_share):
        because = f"{said}, and the burst had been spent before: a partly loaded period at the table's limit"
        return Opinion(rule="minutes-burst-spent", constraint="table", confidence=base * 0.9, because=because)
    room = 1 - share / numbers.inferred.at_provisioned_low
    opinion = Opinion(
        rule="minutes-below-provisioned",
        constraint="partition",
        confidence=base + (0.9 - base) * room,
        because=f"{said}, with {held.after:,.0f} units of burst in hand by estimate",
    )
    neighbours = [track.cell_of(cell + way * track.step_s) for way in (-1, 1)]
    if not any(_throttled(track, near) for near in neighbours):
        opinion = opinion.weaker(ALONE, "one period alone, whose average may hide a short burst")
    return opinion


def _at(used: float, held: Bank, numbers: Thresholds, said: str) -> Opinion:
    base = numbers.confidence.minutes
    if held.spent_after(numbers.inferred.burst_spent_share):
        because = f"{said}, and its burst is spent"
        return Opinion(
            rule="minutes-at-provisioned", constraint="table", confidence=base + 0.15, because=because
        )
    opinion = Opinion(rule="minutes-at-provisioned", constraint="table", confidence=base * 0.9, because=said)
    ceilings = (limits.PARTITION_WRITE_UNITS_PER_S, limits.PARTITION_READ_UNITS_PER_S)
    near = [c for c in ceilings if abs(used - c) <= 0.1 * c]
    if near:
        return opinion.weaker(0.75, f"but {near[0]:,} units/s is one partition's ceiling, too")
    return opinion


def _above(track: Track, cell: int, held: Bank, numbers: Thresholds, said: str) -> Opinion:
    base, inferred = numbers.confidence.minutes, numbers.inferred
    if held.spent_after(inferred.burst_spent_share):
        because = f"{said}: the burst was spent within the period"
        return Opinion(rule="minutes-burst-spent", constraint="table", confidence=base, because=because)
    following = track.cell_of(cell + track.step_s)
    used, capacity = track.consumed_per_s(following), track.provisioned.at(following)
    after = used / capacity if used is not None and capacity is not None else 0.0
    in_reach = inferred.at_provisioned_low <= after <= inferred.at_provisioned_high
    if in_reach and _throttled(track, following):
        because = f"{said}, and {used:,.0f} units/s in the period after: the burst ran out"
        return Opinion(rule="minutes-burst-spent", constraint="table", confidence=base * 0.9, because=because)
    because = f"{said}: the table was still giving burst, {held.after:,.0f} units of it left by estimate"
    opinion = Opinion(
        rule="minutes-burst-in-hand", constraint="partition", confidence=base * 0.95, because=because
    )
    if track.consumed is not None and cell == min(track.consumed):
        opinion = opinion.weaker(FIRST_CELL, "what burst there was before is not known")
    return opinion


def _throttled(track: Track, cell: int) -> bool:
    return bool(track.events and track.events.get(cell))
