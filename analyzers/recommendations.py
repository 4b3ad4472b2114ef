"""What to do about each constraint: a mitigation that helps now, a cure that lasts, with the measured numbers.

Shards, for writes to one hot key:

    shards = ceil(margin x writes/s of the key x ceil(item KB) / 1,000)

writes/s x ceil(item KB) is what the key asks for in write units/s; 1,000 is what a partition sustains.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-sharding.html
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil, prod
from typing import Final

from analyzers.demand import Demand
from analyzers.formats import Constraint, Direction, HotKey, Recommendation
from analyzers.heat import Heat
from analyzers.thresholds import Recommend
from tablemodel import limits

MOST_SHARDS: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One constraint of one resource and direction, with everything that was measured about it."""

    constraint: Constraint
    resource: str
    direction: Direction
    rule: str | None
    demand: Demand | None
    provisioned: float | None
    warm: float | None
    heat: Heat | None
    ceiling: float  # units/s of one partition; other than DynamoDB's own only on a scaled local table
    numbers: Recommend

    @property
    def whose(self) -> str:
        return "the table" if self.resource == "table" else f"index {self.resource}"

    @property
    def hottest(self) -> HotKey | None:
        """The key that is hot enough to be named: on the table's own keys, with a notable share."""
        keys = self.heat.hottest if self.heat and self.resource == "table" else ()
        named = [key for key in keys if key.share >= self.numbers.hot_share or key.units_per_s > self.ceiling]
        return max(named, key=lambda key: key.units_per_s, default=None)


def recommend(case: Case) -> tuple[Recommendation, ...]:
    """Mitigations first, then cures. Never more capacity of the table for a key range's limit."""
    return tuple(_ADVICE[case.constraint](case))


def shards(units_per_s: float, ceiling: float, margin: float) -> int:
    """The formula: how many keys share a demand of `units_per_s` so that each stays below `ceiling` / `margin`."""
    return max(1, min(MOST_SHARDS, ceil(margin * units_per_s / ceiling)))


def meeting_chance(count: int, partitions: int) -> float:
    """The chance that at least two of `count` keys fall on one of so many equal partitions."""
    if count > partitions:
        return 1.0
    return 1.0 - prod((partitions - n) / partitions for n in range(count))


def _partition(case: Case) -> Iterator[Recommendation]:
    if case.rule == "on-demand-not-grown":
        yield from _not_grown(case)
        return
    yield _back_off(case)
    if case.resource != "table":
        yield _reshape_index(case)
    elif case.direction == "read":
        yield from _relieve_reads(case)
    elif case.hottest is None:
        yield _raise_cardinality(case)
    elif case.heat is not None and case.heat.moves:
        yield _shard(
            case,
            case.hottest,
            "shard_date_key",
            "the heat moves from key to key over time, as with a date in the key",
        )
    else:
        yield _shard(case, case.hottest, "shard_writes", "one key takes the heat")


def _back_off(case: Case) -> Recommendation:
    return Recommendation(
        action="back_off", kind="mitigation",
        why=f"one partition of {case.whose} sustains {case.ceiling:,.0f} {case.direction} units/s, whatever {case.whose} has",
        expected="retries with jitter, or a queue in front, lose no request; they wait until the key has room. "
        "More capacity of the table would change nothing",
    )  # fmt: skip


def _shard(case: Case, key: HotKey, action: str, story: str) -> Recommendation:
    count = shards(key.units_per_s, case.ceiling, case.numbers.shard_margin)
    least = shards(key.units_per_s, case.ceiling, 1)
    count = max(count, 2)
    return Recommendation(
        action=action, kind="cure", shards=count,
        why=f"{story}: {key.shown or key.key} asks for {key.units_per_s:,.0f} write units/s (writes/s x ceil(item KB)); "
        f"ceil({key.units_per_s:,.0f} / {case.ceiling:,.0f}) = {least}, with a margin of {case.numbers.shard_margin:g}: {count}",
        expected=f"{key.units_per_s / count:,.0f} units/s on each of {count} keys. {_sharing(case, count)} "
        f"A read of the whole collection costs {count} queries",
    )  # fmt: skip


def _sharing(case: Case, count: int) -> str:
    if not case.warm:
        return "Shards may share a partition until DynamoDB splits it; more shards make that matter less."
    partitions = max(1, round(case.warm / case.ceiling))
    chance = meeting_chance(count, partitions)
    return (
        f"Shards may share a partition: with about {partitions} partitions (warm throughput {case.warm:,.0f} units/s) "
        f"at least two meet with a chance of {chance:.0%}, until DynamoDB splits them; more shards make that matter less."
    )


def _raise_cardinality(case: Case) -> Recommendation:
    known = (
        "no single key stands out" if case.heat and case.heat.hottest else "which keys are hot is not known"
    )
    return Recommendation(
        action="raise_cardinality", kind="cure",
        why=f"a key range of {case.whose} is at its ceiling of {case.ceiling:,.0f} write units/s, and {known}",
        expected="a partition key with more distinct values, evenly used, lets the load reach every partition; "
        "throttled-keys mode of CloudWatch Contributor Insights names the keys",
    )  # fmt: skip


def _relieve_reads(case: Case) -> Iterator[Recommendation]:
    key = case.hottest
    who = (
        f"{key.shown or key.key} is read with {key.units_per_s:,.0f} units/s"
        if key
        else "a few keys take the reads"
    )
    yield Recommendation(
        action="read_eventually_consistent", kind="mitigation",
        why=f"{who}; a strongly consistent read costs twice the units, and its partition sustains {case.ceiling:,.0f} a second",
        expected="half the units for the same reads",
    )  # fmt: skip
    yield Recommendation(
        action="cache_reads", kind="cure", why=f"{who}, and popular items are read over and over",
        expected="a cache in front (DAX, or one in the client) answers repeated reads; the table sees one read per item and time to live",
    )  # fmt: skip
    if key is not None and key.units_per_s > case.ceiling:
        copies = max(2, shards(key.units_per_s, case.ceiling, case.numbers.shard_margin))
        yield Recommendation(
            action="replicate_reads", kind="cure", shards=copies,
            why=f"{key.units_per_s:,.0f} units/s x {case.numbers.shard_margin:g} / {case.ceiling:,.0f} = {copies} copies",
            expected=f"{key.units_per_s / copies:,.0f} units/s on each copy; every write is paid {copies} times",
        )  # fmt: skip


def _reshape_index(case: Case) -> Recommendation:
    per_s = case.demand.units_per_s if case.demand else None
    count = (
        shards(per_s, case.ceiling, case.numbers.shard_margin)
        if per_s and case.direction == "write"
        else None
    )
    said = f"{per_s:,.0f} units/s {case.demand.measured}; " if per_s and case.demand else ""
    return Recommendation(
        action="change_index_key", kind="cure", shards=count if count and count > 1 else None,
        why=f"{said}one key range of {case.whose} is at its ceiling of {case.ceiling:,.0f} units/s",
        expected="an index partition key with more values, such as a prefix 0..N-1 before it, spreads the entries; "
        "queries then ask each prefix. An index that nobody queries can be dropped",
    )  # fmt: skip


def _not_grown(case: Case) -> Iterator[Recommendation]:
    units = _with_headroom(case)
    warm = f"{case.warm:,.0f}" if case.warm else "an unknown number of"
    asked = f"{case.demand.units_per_s:,.0f} units/s were {case.demand.measured}; " if case.demand else ""
    yield Recommendation(
        action="ramp", kind="mitigation",
        why=f"{asked}{case.whose} can absorb {warm} units/s at once and grows with its peaks, at most to twice the last within 30 min",
        expected="demand that at most doubles every 30 minutes is followed without throttling",
    )  # fmt: skip
    yield Recommendation(
        action="pre_warm", kind="cure", units=units,
        why=f"{asked}the keys are even, so it is not a matter of the key: the partitions are not there yet",
        expected=f"warm throughput of {units:,.0f} {case.direction} units/s makes the partitions beforehand"
        if units else "a higher warm throughput makes the partitions beforehand",
    )  # fmt: skip


def _table(case: Case) -> Iterator[Recommendation]:
    units = _with_headroom(case)
    has = (
        f"{case.provisioned:,.0f} units/s are provisioned"
        if case.provisioned is not None
        else "what is provisioned is not known"
    )
    asked = (
        f"{case.demand.units_per_s:,.0f} {case.direction} units/s were {case.demand.measured}"
        if case.demand
        else "the demand is not known"
    )
    yield Recommendation(
        action="raise_capacity", kind="mitigation", units=units,
        why=f"{asked}; {has} for {case.whose}",
        expected=f"{units:,.0f} units/s leave {1 - case.numbers.target_utilisation:.0%} of headroom; UpdateTable takes effect within minutes"
        if units else "UpdateTable takes effect within minutes",
    )  # fmt: skip
    yield Recommendation(
        action="auto_scaling", kind="cure", units=units,
        why=f"a fixed {case.direction} capacity of {case.whose} fits one demand only; {asked}",
        expected=f"target tracking at {case.numbers.target_utilisation:.0%}, with a maximum of at least {units:,.0f} units/s, follows slow changes; "
        "it reacts after minutes, so steep ones still throttle" if units else "target tracking follows slow changes",
    )  # fmt: skip
    yield Recommendation(
        action="on_demand", kind="cure", why="where demand cannot be foreseen, paying per request needs no capacity to plan",
        expected="no table limit but the account's quota; a single key is still held to its partition's ceiling",
    )  # fmt: skip


def _maximum(case: Case) -> Iterator[Recommendation]:
    units = _with_headroom(case)
    asked = (
        f"{case.demand.units_per_s:,.0f} units/s were {case.demand.measured}"
        if case.demand
        else "the demand is not known"
    )
    yield _slow_down(case, "the maximum on-demand throughput")
    yield Recommendation(
        action="raise_max_on_demand", kind="cure", units=units,
        why=f"{asked}; the maximum was set by the owner of {case.whose} and can be raised or removed",
        expected="requests are admitted up to the new maximum, and paid for",
    )  # fmt: skip


def _account(case: Case) -> Iterator[Recommendation]:
    units = _with_headroom(case)
    asked = (
        f"{case.demand.units_per_s:,.0f} units/s were {case.demand.measured}"
        if case.demand
        else "the demand is not known"
    )
    yield _slow_down(case, "the account's quota for one table with its indexes")
    yield Recommendation(
        action="raise_account_quota", kind="cure", units=units,
        why=f"{asked}; the quota is {limits.TABLE_WRITE_UNITS_PER_S:,} units/s unless it was raised",
        expected="Service Quotas grants a higher table-level throughput on request",
    )  # fmt: skip


def _slow_down(case: Case, what: str) -> Recommendation:
    return Recommendation(
        action="back_off", kind="mitigation", why=f"{what} is reached for {case.direction}s of {case.whose}",
        expected="retries with jitter, or a queue in front, spread the demand over time",
    )  # fmt: skip


def _undetermined(case: Case) -> Iterator[Recommendation]:
    yield Recommendation(
        action="collect_evidence", kind="mitigation", why=f"what throttled {case.whose} cannot be told from this evidence",
        expected="a client with botocore of August 2025 or later keeps ThrottlingReasons; `keyheat collect` adds "
        "CloudWatch's cause-specific metrics and what is provisioned",
    )  # fmt: skip


def _nothing(_case: Case) -> Iterator[Recommendation]:
    return iter(())


def _with_headroom(case: Case) -> float | None:
    return (
        None
        if case.demand is None
        else float(ceil(case.demand.units_per_s / case.numbers.target_utilisation))
    )


_ADVICE: Final[dict[Constraint, Callable[[Case], Iterator[Recommendation]]]] = {
    "partition": _partition,
    "table": _table,
    "max_on_demand": _maximum,
    "account": _account,
    "undetermined": _undetermined,
    "none": _nothing,
}
