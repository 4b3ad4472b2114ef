"""What to do about each constraint: a mitigation that helps now, a cure that lasts, with measured numbers.

Shards, for writes to one hot key:

    shards = ceil(margin x writes/s of the key x ceil(item KB) / 1,000)

writes/s x ceil(item KB) is what the key asks for in write units/s; 1,000 is what a partition sustains.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-sharding.html
"""

from collections.abc import Callable, Iterator
from typing import Final

from analyzers.cases import Case, meeting_chance
from analyzers.formats import Constraint, HotKey, Recommendation
from tablemodel import limits

LATE_SPLIT = "until DynamoDB splits them; more shards make that matter less."


def recommend(case: Case) -> tuple[Recommendation, ...]:
    """Mitigations first, then cures. Never more capacity of the table for a key range's limit."""
    return tuple(_ADVICE[case.constraint](case))


def _partition(case: Case) -> Iterator[Recommendation]:
    if case.rule == "on-demand-not-grown":
        yield from _not_grown(case)
        return
    yield _wait_for_the_key(case)
    if case.resource != "table":
        yield _reshape_index(case)
    elif case.direction == "read":
        yield from _relieve_reads(case)
    elif case.hottest is not None:
        yield _shard(case, case.hottest)
    elif _too_few_partitions(case):
        yield _pre_warm(case)
    else:
        yield _raise_cardinality(case)


def _too_few_partitions(case: Case) -> bool:
    """Whether the keys are known to be even and all partitions together sustain less than was asked for."""
    even = case.heat is not None and bool(case.heat.hottest)
    if not even or case.demand is None or case.partitions is None:
        return False
    return case.demand.units_per_s > case.partitions * case.ceiling


def _wait_for_the_key(case: Case) -> Recommendation:
    sustains = f"{case.ceiling:,.0f} {case.direction} units/s"
    return Recommendation(
        action="back_off",
        kind="mitigation",
        why=f"one partition of {case.whose} sustains {sustains}, whatever {case.whose} has in all",
        expected="retries with jitter, or a queue in front, lose no request: they wait until the key has "
        "room. More capacity would change nothing",
    )


def _shard(case: Case, key: HotKey) -> Recommendation:
    """Suffixes on the hot key; where the heat moves from key to key, on every one of them."""
    moves = case.heat is not None and case.heat.moves
    story = "the heat moves from key to key, as with a date" if moves else "one key takes the heat"
    per_s, margin = key.units_per_s, case.numbers.shard_margin
    least, count = case.shards(per_s, 1), max(2, case.shards(per_s))
    return Recommendation(
        action="shard_date_key" if moves else "shard_writes",
        kind="cure",
        shards=count,
        why=f"{story}: {key.shown or key.key} asks for {per_s:,.0f} write units/s "
        "(writes/s x ceil(item KB)); "
        f"ceil({per_s:,.0f} / {case.ceiling:,.0f}) = {least}, with a margin of {margin:g}: {count}",
        expected=f"{per_s / count:,.0f} units/s on each of {count} keys. {_meeting(case, count)} "
        f"A read of the whole collection costs {count} queries",
    )


def _meeting(case: Case, count: int) -> str:
    if case.partitions is None:
        return f"Shards may share a partition {LATE_SPLIT}"
    chance = meeting_chance(count, case.partitions)
    about = f"about {case.partitions} partitions (warm throughput {case.warm:,.0f} units/s)"
    return f"Shards may share a partition: with {about}, two meet with a chance of {chance:.0%}, {LATE_SPLIT}"


def _raise_cardinality(case: Case) -> Recommendation:
    known = "no single key stands out" if case.heat and case.heat.hottest else "the hot keys are not known"
    return Recommendation(
        action="raise_cardinality",
        kind="cure",
        why=f"a key range of {case.whose} is at its ceiling of {case.ceiling:,.0f} write units/s; {known}",
        expected="a partition key with more distinct values, evenly used, lets the load reach every "
        "partition. CloudWatch Contributor Insights in throttled-keys mode names the keys",
    )


def _relieve_reads(case: Case) -> Iterator[Recommendation]:
    key = case.hottest
    who = "a few keys take the reads"
    if key is not None:
        who = f"{key.shown or key.key} is read with {key.units_per_s:,.0f} units/s"
    yield Recommendation(
        action="read_eventually_consistent",
        kind="mitigation",
        why=f"{who}; strongly consistent reads cost twice the units, and a partition has "
        f"{case.ceiling:,.0f} a second",
        expected="half the units for the same reads, where they were strongly consistent",
    )
    yield Recommendation(
        action="cache_reads",
        kind="cure",
        why=f"{who}, and popular items are read over and over",
        expected="a cache in front (DAX, or one in the client) answers repeated reads; the table sees one "
        "read for each item and time to live",
    )
    if key is not None and key.units_per_s > case.ceiling:
        yield _replicate(case, key)


def _replicate(case: Case, key: HotKey) -> Recommendation:
    copies, margin = max(2, case.shards(key.units_per_s)), case.numbers.shard_margin
    return Recommendation(
        action="replicate_reads",
        kind="cure",
        shards=copies,
        why=f"ceil({margin:g} x {key.units_per_s:,.0f} units/s / {case.ceiling:,.0f}) = {copies} copies",
        expected=f"{key.units_per_s / copies:,.0f} units/s on each copy; every write is paid {copies} times",
    )


def _reshape_index(case: Case) -> Recommendation:
    count = None
    if case.demand is not None and case.direction == "write":
        count = max(2, case.shards(case.demand.units_per_s))
    return Recommendation(
        action="change_index_key",
        kind="cure",
        shards=count,
        why=f"{case.asked}; one key range of {case.whose} is at its ceiling of {case.ceiling:,.0f} units/s",
        expected="an index partition key with more values, such as a prefix 0..N-1, spreads the entries; "
        "queries then ask each prefix. An index that nobody queries can be dropped",
    )


def _not_grown(case: Case) -> Iterator[Recommendation]:
    warm = f"{case.warm:,.0f} units/s" if case.warm else "a demand that is not known"
    yield Recommendation(
        action="ramp",
        kind="mitigation",
        why=f"{case.asked}; {case.whose} absorbs {warm} at once and grows with its peaks",
        expected="demand that at most doubles every 30 minutes is followed without throttling",
    )
    yield _pre_warm(case)


def _pre_warm(case: Case) -> Recommendation:
    units = case.with_headroom
    more = f"{units:,.0f} {case.direction} units/s" if units else "more units/s"
    return Recommendation(
        action="pre_warm",
        kind="cure",
        units=units,
        why=f"{case.asked}; the keys are even, so it is not the key: the partitions are not there yet",
        expected=f"a warm throughput of {more} makes the partitions beforehand, for a one-time charge",
    )


def _table(case: Case) -> Iterator[Recommendation]:
    units, target = case.with_headroom, case.numbers.target_utilisation
    has = "what is provisioned is not known"
    if case.provisioned is not None:
        has = f"{case.provisioned:,.0f} units/s are provisioned for {case.whose}"
    room = f"{units:,.0f} units/s, of which the demand is {target:.0%}; " if units else ""
    most = f"with a maximum of at least {units:,.0f} units/s, " if units else ""
    yield Recommendation(
        action="raise_capacity",
        kind="mitigation",
        units=units,
        why=f"{case.asked}; {has}",
        expected=f"{room}UpdateTable takes effect within minutes",
    )
    yield Recommendation(
        action="auto_scaling",
        kind="cure",
        units=units,
        why=f"a fixed {case.direction} capacity of {case.whose} fits one demand only",
        expected=f"target tracking at {target:.0%}, {most}follows slow changes; it reacts after minutes, so "
        "steep ones still throttle",
    )
    yield Recommendation(
        action="on_demand",
        kind="cure",
        why="where demand cannot be foreseen, paying per request needs no capacity to plan",
        expected="no limit of the table but the account's quota; one key is still held to its partition's "
        "ceiling",
    )


def _maximum(case: Case) -> Iterator[Recommendation]:
    yield _slow_down(case, "the maximum on-demand throughput")
    yield Recommendation(
        action="raise_max_on_demand",
        kind="cure",
        units=case.with_headroom,
        why=f"{case.asked}; the maximum was set by the owner of {case.whose} and can be raised or removed",
        expected="requests are admitted up to the new maximum, and paid for",
    )


def _account(case: Case) -> Iterator[Recommendation]:
    default = limits.TABLE_WRITE_UNITS_PER_S if case.direction == "write" else limits.TABLE_READ_UNITS_PER_S
    yield _slow_down(case, "the account's quota for one table with its indexes")
    yield Recommendation(
        action="raise_account_quota",
        kind="cure",
        units=case.with_headroom,
        why=f"{case.asked}; the quota is {default:,} units/s unless it was raised",
        expected="Service Quotas grants a higher table-level throughput on request",
    )


def _slow_down(case: Case, what: str) -> Recommendation:
    return Recommendation(
        action="back_off",
        kind="mitigation",
        why=f"{what} is reached for {case.direction}s of {case.whose}",
        expected="retries with jitter, or a queue in front, spread the demand over time",
    )


def _undetermined(case: Case) -> Iterator[Recommendation]:
    yield Recommendation(
        action="collect_evidence",
        kind="mitigation",
        why=f"what throttled {case.whose} cannot be told from this evidence",
        expected="a client with an AWS SDK of August 2025 or later keeps ThrottlingReasons; `keyheat "
        "collect` adds CloudWatch's cause-specific metrics and what is provisioned",
    )


def _nothing(_case: Case) -> Iterator[Recommendation]:
    return iter(())


_ADVICE: Final[dict[Constraint, Callable[[Case], Iterator[Recommendation]]]] = {
    "partition": _partition,
    "table": _table,
    "max_on_demand": _maximum,
    "account": _account,
    "undetermined": _undetermined,
    "none": _nothing,
}
