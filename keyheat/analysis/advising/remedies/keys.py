"""Remedies that are other keys: suffixes on those of the table, prefixes on that of an index."""

from collections.abc import Sequence
from math import ceil
from typing import Any, Final

from keyheat.analysis.advising.remedies.remedy import Asked, Outcome, Remedy, by_hand, raw_of, remedied
from keyheat.numbers import some
from keyheat.plan.totals import ResourceSide, expected
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.alterations import spreads_itself
from keyheat.words import Direction, whose

SHARDED_TWINS: Final = {
    "audit_log": "audit_log_random",
    "datekey": "date_suffix",
    **dict.fromkeys(
        ("device_id", "hot_device", "hotkey", "product_sku", "status_code", "too_small", "user_id"), "sharded"
    ),
}
"""Load tests, and those that send the same to keys with a suffix and read it back."""
READS_ALREADY: Final = frozenset({"audit_log"})
INDEX_TWINS: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "country_index": ("country_index_sharded", {"partition_key": "prefix", "sort_key": "country"}),
    "leaderboard": ("leaderboard_sharded", {}),
}
"""Load tests of an index, and those that spread its partition key; with the index's keys there."""


def in_shards(asked: Asked) -> Outcome:
    """Suffixes on the keys: by the load test itself, by its twin, or on their way in a simulation."""
    scenario, count = asked.scenario, asked.shards
    if count is None:
        return by_hand(asked, "how many shards are enough is not known: `keyheat whatif` searches them.")
    if scenario.dynamic_sharding is not None:
        return by_hand(asked, "its writers add shards by themselves: see [dynamic_sharding] of the scenario.")
    total = count * scenario.keys.shards
    raw, says = raw_of(scenario), f"{some(total, 'shard')} for each key"
    raw["keys"]["shards"] = total
    queries = (scenario.keys.shards, total)
    if spreads_itself(scenario):
        return _with_room(asked, raw, says, queries)
    twin = SHARDED_TWINS.get(scenario.loadtest)
    if twin is not None and scenario.table.sort_key is not None:
        raw["loadtest"] = twin
        notes = [f"loadtests/{twin}.py sends the same to keys with a suffix."]
        if scenario.loadtest not in READS_ALREADY:
            _one_user_more(scenario, raw)
            notes.append("One user more reads the shards back: that is the price of the fix.")
        return _with_room(asked, raw, says, queries, notes)
    if asked.simulated:
        said = "Its load test spreads no key: hot keys are divided on their way, and nobody reads them back."
        return remedied(asked, raw, says, queries_per_read=queries, notes=(said,))
    return by_hand(
        asked,
        f"{scenario.loadtest_shown} spreads no key, and no other load test sends the same to shards: "
        "write one as loadtests/sharded.py is, or see it with --target simulated.",
    )


def _one_user_more(scenario: Scenario, raw: dict[str, Any]) -> None:
    """One user more, at the pace of the others: the demand of those who were there stays as it was."""
    load, users = raw["load"], scenario.load.users
    load["users"] = users + 1
    if scenario.load.target_unit != "requests":
        return  # steered by units, which a reader does not write
    more, shape = (users + 1) / users, load["shape"] or {}
    load["requests_per_s"] *= more
    for place in (shape, *(shape.get("steps") or ())):
        for field, value in place.items():
            if field.endswith("per_s") and value is not None:
                place[field] = value * more


def _with_room(
    asked: Asked, raw: dict[str, Any], says: str, queries: tuple[int, int], notes: Sequence[str] = ()
) -> Remedy:
    """The remedy, with read capacity for those who read all shards back."""
    made = remedied(asked, raw, says)
    said = list(notes)
    for owner in (raw["table"], *raw["table"]["indexes"]):
        index = None if owner is raw["table"] else owner["name"]
        has = (owner["provisioned"] or {}).get("read")
        needed = ceil(_reads_per_s(made.scenario, index) / asked.target)
        if has and needed > has:
            owner["provisioned"]["read"] = needed
            said.append(
                f"Reading all shards back takes {needed:,} RCU/s of {whose(index)}, which had {has:,}."
            )
    return remedied(asked, raw, says, queries_per_read=queries, notes=tuple(said))


def _reads_per_s(scenario: Scenario, index: str | None) -> float:
    """Read units that its load test asks for in the busiest second, of a table at scale 1."""
    sent = expected(scenario, scale=scenario.local.scale)
    asked = sent.sides.get(ResourceSide(scenario.table.name, index, Direction.READ)) if sent else None
    return float(asked.per_s.max()) / scenario.local.scale if asked else 0.0


def on_prefixes(asked: Asked) -> Outcome:
    """A prefix on the index's partition key, by the load test's twin."""
    scenario, count = asked.scenario, asked.shards
    if count is None:
        return by_hand(
            asked,
            f"reads are too many for one key of {whose(asked.resource)}, and how many prefixes are enough is "
            "not known: `keyheat whatif NAME shards --index INDEX` searches them.",
        )
    total = count * scenario.keys.shards
    raw, says = raw_of(scenario), f"{total:,} prefixes of {whose(asked.resource)}"
    raw["keys"]["shards"] = total
    queries = (scenario.keys.shards, total)
    if scenario.loadtest in {twin for twin, _keys in INDEX_TWINS.values()}:
        return _with_room(asked, raw, says, queries)
    if scenario.loadtest not in INDEX_TWINS:
        return by_hand(
            asked,
            f"no load test sends what {scenario.loadtest_shown} does to an index with a prefix: "
            "write one as loadtests/country_index_sharded.py is, its index keyed by the prefix.",
        )
    raw["loadtest"], keys = INDEX_TWINS[scenario.loadtest]
    for index in raw["table"]["indexes"]:
        if index["name"] == asked.resource:
            index |= keys
    note = f"loadtests/{raw['loadtest']}.py sends the same, its index keyed by a prefix."
    return _with_room(asked, raw, says, queries, [note])
