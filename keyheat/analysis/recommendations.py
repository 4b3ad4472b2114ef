"""What to do about each constraint: a mitigation that helps now, a cure that lasts, with measured numbers.

Shards, for writes to one hot key:

    shards = ceil(margin × writes/s of the key × ceil(item KB) / 1,000)

writes/s × ceil(item KB) is what the key asks for in write units/s; 1,000 is what a partition sustains.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-sharding.html
"""

from collections.abc import Callable, Iterator
from typing import Final

from keyheat.analysis.advising import capacity_advice
from keyheat.analysis.advising.cases import Case, meeting_chance
from keyheat.analysis.rules import NOT_GROWN
from keyheat.analysis.words import key_name
from keyheat.numbers import percent, some, units, whole
from keyheat.runs.formats import HotKey, Recommendation
from keyheat.words import Constraint

LATE_SPLIT = "until DynamoDB splits it."
SPLIT: Final = ("key-range-split", "key-range-split-seen")


def recommend(case: Case) -> tuple[Recommendation, ...]:
    """Mitigations first, then cures. Never more capacity of the table for a key range's limit."""
    return tuple(_ADVICE[case.constraint](case))


def _partition(case: Case) -> Iterator[Recommendation]:
    if case.rule == NOT_GROWN:
        yield from _not_grown(case)
        return
    if case.rule not in SPLIT:  # then it is over by itself
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
    return Recommendation(
        action="back_off",
        kind="mitigation",
        why=f"One partition of {case.whose} sustains {case.sustained}, however much {case.whose} has in all: "
        "more capacity would change nothing.",
        expected="A short peak is ridden out, because each request waits until its partition has room; "
        "demand that stays above that has to be spread.",
    )


def _shard(case: Case, key: HotKey) -> Recommendation:
    """Suffixes on the hot key; where the heat moves from key to key, on every one of them."""
    moves = case.heat is not None and case.heat.moves
    story = "The heat moves from key to key, as with a date" if moves else "One key takes the heat"
    per_s, count = key.units_per_s, max(2, case.shards(key.units_per_s))
    return Recommendation(
        action="shard_date_key" if moves else "shard_writes",
        kind="cure",
        shards=count,
        why=f"{story}: {_named(key)} asks for {units(per_s, 'write')}, and a partition "
        f"sustains {whole(case.ceiling)}, so it takes {_formula(case, per_s, 'shards')}.",
        expected=f"Each of {count:,} keys then takes {units(per_s / count, 'write')}, and reading the whole "
        f"collection costs {count:,} queries. {_meeting(case, count)}",
    )


def _named(key: HotKey) -> str:
    return key_name(key.key, None) if key.shown is None else f"“{key.shown}”"


def _formula(case: Case, per_s: float, of_what: str) -> str:
    least = case.shards(per_s)
    found = f"ceil({case.numbers.shard_margin:g} × {whole(per_s)} / {whole(case.ceiling)})"
    return f"{found} = {least:,} {of_what}" if least > 1 else f"{found} = 1, so 2 {of_what}"


def _meeting(case: Case, count: int) -> str:
    if case.partitions is None:
        return f"Shards may share a partition {LATE_SPLIT}"
    chance = percent(meeting_chance(count, case.partitions))
    return (
        f"With about {some(case.partitions, 'partition')}, shards share a partition with a chance of "
        f"{chance} {LATE_SPLIT}"
    )


def _raise_cardinality(case: Case) -> Recommendation:
    known = "no single key stands out" if case.heat and case.heat.hottest else "the hot keys are not known"
    return Recommendation(
        action="raise_cardinality",
        kind="cure",
        why=f"A key range of {case.whose} is at its ceiling of {case.sustained}, and {known}.",
        expected="With more distinct values, evenly used, the load reaches every partition. Contributor "
        "Insights in throttled-keys mode names the keys that are hot today.",
    )


def _relieve_reads(case: Case) -> Iterator[Recommendation]:
    key = case.hottest
    who = "A few keys take the reads"
    if key is not None:
        who = f"Key {_named(key)} is asked for {units(key.units_per_s, 'read')}"
    yield Recommendation(
        action="read_eventually_consistent",
        kind="mitigation",
        why=f"{who}, and strongly consistent reads take twice their units from the {case.sustained} "
        "of a partition.",
        expected="Reads that were strongly consistent take half the units.",
    )
    yield Recommendation(
        action="cache_reads",
        kind="cure",
        why=f"{who}, and popular items are read over and over.",
        expected="A cache in front (DAX, or one in the client) answers repeated reads: the table sees about "
        "one read of each item per time to live.",
    )
    if key is not None and key.units_per_s > case.ceiling:
        yield _replicate(case, key, who)


def _replicate(case: Case, key: HotKey, who: str) -> Recommendation:
    copies = max(2, case.shards(key.units_per_s))
    return Recommendation(
        action="replicate_reads",
        kind="cure",
        shards=copies,
        why=f"{who}, and a partition sustains {whole(case.ceiling)}, so it takes "
        f"{_formula(case, key.units_per_s, 'copies')}.",
        expected=f"Each copy takes {units(key.units_per_s / copies, 'read')}, and every write to the item is "
        f"paid {copies:,} times.",
    )


def _reshape_index(case: Case) -> Recommendation:
    count = None
    if case.demand is not None and case.direction == "write":
        count = max(2, case.shards(case.demand.units_per_s))
    return Recommendation(
        action="change_index_key",
        kind="cure",
        shards=count,
        why=f"{case.asked}, and one key range of {case.whose} is at its ceiling of {case.sustained}.",
        expected=f"A prefix from 0 to {'N - 1' if count is None else count - 1} on the index's partition key "
        "spreads the entries, and a query then asks for each prefix. The table's key may stay as it is; an "
        "index that nobody queries can be dropped.",
    )


def _not_grown(case: Case) -> Iterator[Recommendation]:
    warm = units(case.warm, case.direction) if case.warm else "a demand that is not known"
    yield Recommendation(
        action="ramp",
        kind="mitigation",
        why=f"{case.asked}, and {case.whose} absorbs {warm} at once and grows with its peaks.",
        expected="Demand that at most doubles every 30 minutes is followed without throttling.",
    )
    yield _pre_warm(case)


def _pre_warm(case: Case) -> Recommendation:
    target = case.with_headroom
    more = units(target, case.direction) if target else "more units"
    return Recommendation(
        action="pre_warm",
        kind="cure",
        units=target,
        why=f"{case.asked}, and no key stands out: what is lacking is partitions.",
        expected=f"A warm throughput of {more} makes the partitions beforehand, for a one-time charge.",
    )


def _undetermined(case: Case) -> Iterator[Recommendation]:
    yield Recommendation(
        action="collect_evidence",
        kind="mitigation",
        why=f"What throttled {case.whose} cannot be told from this evidence.",
        expected="A client with an AWS SDK of August 2025 or later keeps ThrottlingReasons, and `keyheat "
        "collect` asks CloudWatch for the cause-specific metrics and for what is provisioned.",
    )


def _nothing(_case: Case) -> Iterator[Recommendation]:
    return iter(())


_ADVICE: Final[dict[Constraint, Callable[[Case], Iterator[Recommendation]]]] = {
    "partition": _partition,
    "table": capacity_advice.table,
    "max_on_demand": capacity_advice.maximum,
    "account": capacity_advice.account,
    "undetermined": _undetermined,
    "none": _nothing,
}
