"""What to do about a partition at its ceiling: spread its keys, copy what is read, or have more partitions.

Shards, for writes to one hot key:

    shards = ceil(margin × writes/s of the key × ceil(item KB) / 1,000)

writes/s × ceil(item KB) is what the key asks for in write units/s; 1,000 is what a partition sustains.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-sharding.html
"""

from collections.abc import Iterator
from math import prod
from typing import Final

from keyheat.analysis.advice.case import AdviceCase
from keyheat.analysis.heat import INDEX_NOT_COUNTED
from keyheat.analysis.rules import NOT_GROWN
from keyheat.numbers import consumed_units, measured, percent, some, units, whole
from keyheat.plan.quotas import shards_needed
from keyheat.runs.formats import HotKey, Recommendation
from keyheat.words import key_name

UNNAMED: Final = "No key is named. If one key fills the partition"
SPLIT: Final = ("key-range-split", "key-range-split-seen")


def hot_partition(case: AdviceCase) -> Iterator[Recommendation]:
    """Mitigations first. Never more capacity of the table for a key range's limit."""
    if case.rule == NOT_GROWN:
        warm = units(case.warm, case.direction) if case.warm else "a demand that is not known"
        yield case.advise(
            "ramp",
            why=f"{case.demand_words}, and {case.whose} absorbs {warm} at once and grows with its peaks.",
            expected="Demand that at most doubles every 30 minutes is followed without throttling.",
        )
        yield pre_warm(case)
        return
    if case.rule not in SPLIT:  # then it is over by itself
        more = "helps only if it adds partitions and the hot keys land on different ones."
        if (case.heat and case.heat.pinned) or (case.hottest and case.hottest.units_per_s > case.ceiling):
            more = "alone would change nothing."  # for one key that is above its ceiling
        yield from case.wait(
            why=f"One partition of {case.whose} sustains {case.sustained}, however much {case.whose} has in "
            f"all: more capacity {more}",
            expected="Requests of a short peak wait until the partition has room. Demand that stays above "
            "its limit has to be spread over more keys.",
        )
    if case.resource != "table":
        if not case.counted:
            yield case.advise(
                "collect_evidence",
                why=INDEX_NOT_COUNTED,
                expected=f"Contributor Insights on {case.whose} names its hot keys. If none stands out, more "
                "partitions help (pre-warm, or ramp up slowly); if one does, only another key of the index "
                "helps.",
            )
        yield _reshape_index(case)
        if too_few_partitions(case):
            yield pre_warm(case)
    elif case.direction == "read":
        yield from _relieve_reads(case)
    elif case.hottest is not None:
        yield _shard(case, case.hottest) if case.alone else _shard_all(case, case.hottest)
        if case.on_demand and too_few_partitions(case):
            yield pre_warm(case)
    elif too_few_partitions(case):
        yield pre_warm(case)
    else:
        yield from _spread_range(case)


def too_few_partitions(case: AdviceCase, share: float = 1.0) -> bool:
    """Whether the keys are known, and more is asked for than a share of what all partitions sustain."""
    has_keys = case.heat is not None and bool(case.heat.hottest)
    if not has_keys or case.demand is None or case.partitions is None:
        return False
    return case.demand.units_per_s > share * case.partitions * case.ceiling


def _shard(case: AdviceCase, key: HotKey) -> Recommendation:
    """Suffixes on the hot key; where the heat moves from key to key, on every one of them."""
    moves = case.heat is not None and case.heat.moves
    hot = sum(other.units_per_s > case.ceiling for other in case.heat.hottest) if case.heat else 1
    story = "One key is hot" if hot < 2 else f"{hot} keys are hot"
    if moves:
        story = "The hot key changes over time, as with a date"
    count, of_each, formula = _shards(case, key.units_per_s)
    asks = f"asks for {consumed_units(key.units_per_s, 'write')}"
    if key.units_per_s < case.ceiling and not moves:
        asks = f"{asks} on average over the counted periods"
    now = f" It has {some(case.shards_now, 'shard')} now." if case.shards_now > 1 else ""
    meeting = "Shards may share a partition"
    if (partitions := case.partitions) is not None:
        chance = 1.0  # that at least two of them are on the same of equal partitions
        if count <= partitions:
            chance -= prod((partitions - n) / partitions for n in range(count))
        meeting = (
            f"With about {some(partitions, 'partition')}, shards share a partition with a chance of "
            f"{percent(chance)}"
        )
    return case.advise(
        "shard_date_key" if moves else "shard_writes",
        shards=count,
        why=f"{story}: {_named(key)} {asks}, and a partition sustains {whole(case.ceiling)}. {formula}{now}",
        expected=f"Each of {count:,} keys then takes {units(of_each, 'write')}, and reading the whole "
        f"collection costs {count:,} queries. {meeting} until DynamoDB splits it.",
    )


def _shard_all(case: AdviceCase, key: HotKey) -> Recommendation:
    """Suffixes on every key, where none is too hot by itself: several of them share a partition."""
    count, of_each, _ = _shards(case, key.units_per_s)
    return case.advise(
        "shard_writes",
        shards=count,
        why=f"No key alone is over the {case.sustained} of a partition (the hottest, {_named(key)}, asks for "
        f"{consumed_units(key.units_per_s, 'write')}): several used keys share a partition.",
        expected=f"With {count:,} shards of each key the hottest takes {units(of_each, 'write')}, "
        f"and partitions share the load evenly; reading one value back costs {count:,} queries. DynamoDB "
        "splits a hot partition between keys by itself, after minutes of such a load.",
    )


def _spread_range(case: AdviceCase) -> Iterator[Recommendation]:
    """More values of the key, or suffixes, where no key stands out."""
    if case.heat is not None and case.heat.hottest:
        yield _shard_all(case, case.heat.hottest[0])
    elif (per_s := case.one_key_per_s) is not None:  # which it is, no evidence says
        count, of_each, formula = _shards(case, per_s)
        yield case.advise(
            "shard_writes",
            shards=count,
            why=f"{UNNAMED}, it asks for {consumed_units(per_s, 'write')}, and a partition sustains "
            f"{whole(case.ceiling)}. {formula}",
            expected=f"Each of {count:,} keys then takes {units(of_each, 'write')}. Contributor Insights "
            "in throttled-keys mode names the key; if several share the partition, more values of the key "
            "help.",
        )
    about_keys, names = "no single key stands out", ""
    if not (case.heat and case.heat.hottest):
        about_keys = "the hot keys are not known"
        names = " Contributor Insights in throttled-keys mode names the keys that are hot today."
    yield case.advise(
        "raise_cardinality",
        why=f"A key range of {case.whose} is at its ceiling of {case.sustained}, and {about_keys}.",
        expected=f"With more distinct values, evenly used, the load reaches every partition.{names}",
    )


def _shards(case: AdviceCase, per_s: float, of_what: str = "shards") -> tuple[int, float, str]:
    """How many shards of each key, in all; what each of them is then asked for; and the formula in words.

    `per_s` is asked of one of now. The words have the simulator's number where it is another.
    """
    in_all, margin = per_s * case.shards_now, case.numbers.shard_margin
    least = shards_needed(in_all, case.ceiling, margin)
    by_formula = max(case.shards_now + 1, least)
    count = case.enough_shards or by_formula
    demand = measured(in_all)  # as everywhere, unless the rounded number would need others
    if shards_needed(float(demand.replace(",", "")), case.ceiling, margin) != least:
        demand = whole(in_all)
    words = f"By the formula it takes ceil({margin:g} × {demand} / {whole(case.ceiling)}) = {least:,}"
    more = "" if by_formula == least else f", so {by_formula:,}"
    simulated = "" if count == by_formula else f"; simulated, {count:,} are enough"
    return count, in_all / count, f"{words}{more} {of_what}{simulated}."


def _named(key: HotKey) -> str:
    return key_name(key.key, None) if key.shown is None else f"“{key.shown}”"


def _relieve_reads(case: AdviceCase) -> Iterator[Recommendation]:
    key = case.hottest
    who = "A few keys take the reads"
    if key is not None:
        who = f"Key {_named(key)} is asked for {consumed_units(key.units_per_s, 'read')}"
    yield case.advise(
        "read_eventually_consistent",
        why=f"{who}, and strongly consistent reads take twice their units from the {case.sustained} "
        "of a partition.",
        expected="Reads that were strongly consistent take half the units.",
    )
    yield case.advise(
        "cache_reads",
        why=f"{who}, and popular items are read over and over.",
        expected="A cache in front (DAX, or one in the client) answers repeated reads: the table sees about "
        "one read of each item per time to live.",
    )
    per_s = key.units_per_s if key else case.one_key_per_s
    if per_s is None or (key and per_s <= case.ceiling):
        return
    copies, of_each, formula = _shards(case, per_s, "copies")
    if key is None:
        who = f"{UNNAMED}, it asks for {consumed_units(per_s, 'read')}"
    yield case.advise(
        "replicate_reads",
        shards=copies,
        why=f"{who}, and a partition sustains {whole(case.ceiling)}. {formula}",
        expected=f"Each copy takes {units(of_each, 'read')}, and every write to the item is "
        f"paid {copies:,} times.",
    )


def _reshape_index(case: AdviceCase) -> Recommendation:
    count, formula, key = None, "", case.hottest
    why = f"{case.demand_words}, and one key range of {case.whose} is at its ceiling of {case.sustained}."
    if key is not None:
        asks = f"asks for {consumed_units(key.units_per_s, case.direction)}"
        why = f"{_named(key)} of {case.whose} {asks}, and a partition sustains {whole(case.ceiling)}."
    per_s = key.units_per_s if key else case.demand.units_per_s if case.demand else None
    if per_s is not None and case.direction == "write":
        count, _, formula = _shards(case, per_s)
    on_key = f"{case.index_key}, its partition key," if case.index_key else "the index's partition key"
    return case.advise(
        "change_index_key",
        shards=count,
        why=f"{why} {formula}".strip(),
        expected=f"A prefix from 0 to {'N - 1' if count is None else count - 1} on {on_key} "
        "spreads the entries; a query then reads each prefix. Joining an attribute of many values to it "
        "spreads them, too. A sparse index takes fewer writes, and an unused one can be dropped. The table's "
        "key can stay as it is.",
    )


def pre_warm(case: AdviceCase) -> Recommendation:
    """More partitions at once, by a warm throughput."""
    target, partitions = case.with_headroom, case.partitions
    more = units(target, case.direction) if target else "more units"
    lacking = "no key stands out: there are too few partitions"
    if case.hottest is not None and partitions is not None:
        have = units(partitions * case.ceiling, case.direction)
        theirs = (
            "its only partition sustains" if partitions == 1 else f"its {partitions:,} partitions sustain"
        )
        lacking = f"{theirs} {have}{'' if partitions == 1 else ' together'}, however well keys are spread"
    return case.advise(
        "pre_warm",
        units=target,
        why=f"{case.demand_words}, and {lacking}.",
        expected=f"A warm throughput of {more} makes the partitions beforehand, for a one-time "
        "charge; it cannot be lowered afterwards.",
    )
