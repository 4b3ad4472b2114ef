"""Remedies for reads of popular items: a cache in front of them, or copies of the table beside it."""

from typing import Final

from keyheat.analysis.advising.remedies.remedy import Asked, Outcome, by_hand, raw_of, remedied
from keyheat.numbers import some, span

CACHE: Final = {"ttl_s": 1.0, "items": 10_000}
MOST_COPIES: Final = 20  # global secondary indexes of a table


def cached(asked: Asked) -> Outcome:
    """A read-through cache, where the load test can have one."""
    scenario = asked.scenario
    if scenario.loadtest != "read_cache" or scenario.cache is not None:
        return by_hand(
            asked,
            f"{scenario.loadtest_shown} reads through no cache, or has one already; "
            "configs/scenarios/read-cache.toml shows what one saves.",
        )
    ttl_s = CACHE["ttl_s"]
    return remedied(
        asked, raw_of(scenario) | {"cache": dict(CACHE)}, f"a cache of {span(ttl_s)} in every process",
        notes=("What the cache answers does not reach the table: there, fewer reads are tried.",),
    )  # fmt: skip


def copied(asked: Asked) -> Outcome:
    """Global indexes with the table's own keys, each a copy that answers its part of the reads."""
    scenario, count = asked.scenario, asked.shards
    table = scenario.table
    if scenario.loadtest != "read_cache" or scenario.cache is not None or table.indexes or count is None:
        return by_hand(
            asked,
            f"{scenario.loadtest_shown} reads from no copies; configs/scenarios/read-spread.toml "
            "shows what they bring, and that every write is paid once for each.",
        )
    raw, number = raw_of(scenario), min(count - 1, MOST_COPIES)
    raw["loadtest"] = "read_spread"
    raw["table"]["indexes"] = [
        {"name": f"copy-{copy}", "partition_key": table.partition_key, "sort_key": table.sort_key,
         "provisioned": raw["table"]["provisioned"], "max_on_demand": raw["table"]["max_on_demand"]}
        for copy in range(1, number + 1)
    ]  # fmt: skip
    return remedied(
        asked, raw, f"the table and {some(number, 'copy', 'copies')} of it",
        notes=("Every write is paid once for the table and once for each copy.",),
    )  # fmt: skip
