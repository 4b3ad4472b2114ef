"""Every recommended action as a change of the scenario, or as words for what is to be done by hand."""

from types import SimpleNamespace
from typing import Any

import pytest

from keyheat.analysis.advice.actions import ACTIONS, Applied, ByHand, Setting, apply, in_order
from keyheat.analysis.advice.fix import chosen
from keyheat.runs.formats import Recommendation
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.variants import changes
from keyheat.words import TITLES, WRITE, Constraint
from tests.make import a_diagnosis, a_shipped


def advice(action: str, **facts: Any) -> Recommendation:
    return Recommendation(action=action, kind="cure", why="Because.", expected="More.", **facts)


Case = tuple[list[Recommendation], Scenario, Setting]


def asked(name: str, action: str, *settings: str, simulated: bool = False, **facts: Any) -> Case:
    of = {"resource": "table", "direction": "write"} | facts
    on = Setting(target_utilisation=0.7, simulated=simulated, whole=True)
    return [advice(action, **of)], a_shipped(name, *settings), on


def changed(found: Case) -> dict[str, tuple[str, str]]:
    """What the action changes, field by field."""
    made = apply(*found)
    assert isinstance(made, Applied), made
    assert made.scenario.expects is None
    return {one.path: (one.before, one.after) for one in changes(found[1], made.scenario)}


def test_every_action_that_can_be_recommended_is_known() -> None:
    assert set(TITLES) == set(ACTIONS)


READER = {"load.users": ("50", "51"), "load.requests_per_s": ("250", "255")}
CHANGES: list[tuple[Case, dict[str, tuple[str, str]]]] = [
    (
        asked("hotkey", "shard_writes", shards=4),
        {"loadtest": ("hotkey", "sharded"), "keys.shards": ("1", "4"), **READER},
    ),
    (
        asked("datekey", "shard_date_key", shards=9),
        {"loadtest": ("datekey", "random_shards"), "keys.shards": ("1", "9"), **READER},
    ),
    (
        asked("audit-log", "shard_writes", shards=3),  # it has its reader
        {"loadtest": ("audit_log", "random_shards"), "keys.shards": ("1", "3")},
    ),
    (asked("sharded", "shard_writes", shards=40), {"keys.shards": ("20", "40")}),
    (
        asked("aggregate-transaction", "shard_writes", shards=3, simulated=True),
        {"keys.shards": ("1", "3")},
    ),
    (
        asked("country-index", "change_index_key", shards=5, resource="by-country"),
        {
            "loadtest": ("country_index", "country_index_sharded"), "keys.shards": ("1", "5"),
            "table.indexes[0].partition_key": ("country", "prefix"),
            "table.indexes[0].sort_key": ("invoiced_at", "country"),
        },
    ),
    (
        asked("too-small", "raise_capacity", units=1_142.2),
        {"table.provisioned.write": ("40", "1,143")},
    ),
    (
        asked("country-index", "raise_capacity", units=9_000, resource="by-country"),
        {"table.indexes[0].provisioned.write": ("4,000", "9,000")},
    ),
    (
        asked("scale-down", "raise_capacity", units=572),  # never less than there is
        {"timeline[0].at_s": ("20", "–"), "timeline[0].provisioned.write": ("60", "–")},
    ),
    (
        asked("auto-scaling-late", "raise_minimum", units=1_286),
        {"table.provisioned.write": ("400", "1,286"), "table.auto_scaling.write.min": ("100", "1,286")},
    ),
    (
        asked(
            "auto-scaling-late", "raise_maximum", "table.auto_scaling.write.max=420", units=1_286,
            simulated=True,
        ),
        {"table.auto_scaling.write.max": ("420", "1,286")},
    ),
    (
        asked("table-per-period-on-demand", "pre_warm", units=9_143),
        {"table.warm.write": ("–", "9,143")},
    ),
    (
        asked(
            "too-small", "raise_max_on_demand", 'table.billing_mode="PAY_PER_REQUEST"', "table.provisioned=",
            "table.max_on_demand={write=100}", units=1_143,
        ),
        {"table.max_on_demand.write": ("100", "1,143")},
    ),
    (
        asked("on-demand-switch", "on_demand"),
        {
            "table.billing_mode": ("PROVISIONED", "PAY_PER_REQUEST"),
            "table.provisioned.read": ("40", "–"), "table.provisioned.write": ("40", "–"),
            "timeline[0].at_s": ("45", "–"), "timeline[0].billing_mode": ("PAY_PER_REQUEST", "–"),
        },
    ),
    (
        asked("read-hot", "cache_reads", direction="read"),
        {"cache.ttl_s": ("–", "1"), "cache.items": ("–", "10,000")},
    ),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("found", "wanted"), CHANGES, ids=[f"{one[1].name}-{one[0][0].action}" for one, _ in CHANGES]
)
def test_an_action_changes_this_and_nothing_else(found: Case, wanted: dict[str, tuple[str, str]]) -> None:
    assert changed(found) == wanted


def test_copies_are_indexes_with_the_tables_own_keys() -> None:
    made = apply(*asked("read-hot", "replicate_reads", shards=3, direction="read"))
    assert isinstance(made, Applied)
    copies = made.scenario.table.indexes
    assert [(one.name, one.partition_key, one.projection) for one in copies] == [
        ("copy-1", "pk", "ALL"), ("copy-2", "pk", "ALL"),
    ]  # fmt: skip
    assert made.scenario.loadtest == "read_spread"


@pytest.mark.slow
def test_the_reader_gets_the_capacity_that_it_takes() -> None:
    made = apply(*asked("hotkey", "shard_writes", "table.provisioned.read=5", shards=4))
    assert isinstance(made, Applied)
    assert (made.scenario.table.provisioned.read or 0) > 100
    assert "which had 5" in made.notes[-1]
    assert made.queries_per_read == (1, 4)


BY_HAND: list[tuple[Case, str]] = [
    *(
        (asked("hotkey", action), word)
        for action, word in {
            "back_off": "keyheat whatif NAME retries",
            "read_eventually_consistent": "load test",
            "cache_reads": "cannot read through a cache",
            "replicate_reads": "cannot read from copies",
            "shard_writes": "how many shards",
            "raise_capacity": "the demand is not known",
        }.items()
    ),
    (asked("too-small", "raise_capacity", units=10_000_000.5), "has 10,000,000 WCU/s at most"),
    (asked("too-small", "auto_scaling", units=1_143), "sets up no auto scaling"),
    (asked("too-small", "auto_scaling", units=1_143, simulated=True), "acts after minutes"),
    (asked("dynamic-sharding", "shard_writes", shards=3), "add shards by themselves"),
    (asked("aggregate-transaction", "shard_writes", shards=3), "--target simulated"),
    (asked("hotkey", "shard_writes", "table.sort_key=", shards=3), "spreads no key"),
    (asked("sequence-key", "change_index_key", shards=3, resource="by-order"), "no load test sends"),
    (asked("country-index", "change_index_key", resource="by-country", direction="read"), "whatif"),
    (asked("too-small", "raise_max_on_demand", units=5), "the changed scenario is invalid"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("found", "word"), BY_HAND, ids=[f"{one[1].name}-{one[0][0].action}" for one, _ in BY_HAND]
)
def test_what_no_rerun_can_show_is_said_in_words(found: Case, word: str) -> None:
    made = apply(*found)
    assert isinstance(made, ByHand)
    assert word in made.words
    assert made.words.startswith(TITLES[made.action])


def test_the_first_that_a_rerun_can_show_is_tried_and_another_where_it_is_asked_for() -> None:
    advised = [
        advice("back_off"), advice("auto_scaling", units=900), advice("on_demand"),
        advice("raise_capacity", units=900),
    ]  # fmt: skip
    found = a_diagnosis("table", recommendations=[one.model_dump() for one in advised])
    tried = found, a_shipped("too-small"), Setting(target_utilisation=0.7, whole=True)
    assert chosen(*tried).actions == ("raise_capacity",)
    assert chosen(*tried, action="on_demand").scenario.table.billing_mode == "PAY_PER_REQUEST"


@pytest.mark.parametrize(
    ("constraint", "first"), [("table", "raise_capacity"), ("partition", "change_index_key")]
)
def test_what_lifts_the_verdicts_own_limit_comes_first(constraint: Constraint, first: str) -> None:
    """Some writes of the index met its capacity, and others a partition."""
    of = {"resource": "by-grid", "direction": "write"}
    of_table = advice("raise_capacity", units=900, **of | {"resource": "table"})
    of_index = [advice("change_index_key", shards=2, **of), advice("raise_capacity", units=1_226, **of)]
    verdict = SimpleNamespace(resource="by-grid", direction=WRITE, constraint=constraint)
    found = in_order([of_table, *of_index], SimpleNamespace(verdict=verdict))[0]
    assert (found.resource, found.action) == ("by-grid", first)
