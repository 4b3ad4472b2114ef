"""Every recommended action as a change of the scenario, or as words for what is to be done by hand.

`golden/actions.txt` has what each changes, and nothing else.
"""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from keyheat.analysis.advice.actions import ACTIONS, Applied, Setting, apply, in_order
from keyheat.analysis.advice.fix import chosen
from keyheat.runs.formats import Recommendation
from keyheat.scenario.variants import changes
from keyheat.words import TITLES, WRITE, Constraint
from tests.conftest import Golden
from tests.make import a_diagnosis, a_shipped


def advice(action: str, **facts: Any) -> Recommendation:
    return Recommendation(action=action, kind="cure", why="Because.", expected="More.", **facts)


def test_every_action_that_can_be_recommended_is_known() -> None:
    assert set(TITLES) == set(ACTIONS)


OF_INDEX, READ = {"resource": "by-country"}, {"direction": "read"}
ON_DEMAND = ('table.billing_mode="PAY_PER_REQUEST"', "table.provisioned=")
SIMULATED = {"simulated": True}
CASES: list[tuple[str, str, dict[str, Any], tuple[str, ...]]] = [
    # a shipped scenario, the action, its facts, and what is set in the scenario
    ("hotkey", "shard_writes", {"shards": 4}, ()),
    ("hotkey", "shard_writes", {"shards": 4}, ("table.provisioned.read=5",)),  # its reader gets what it takes
    ("datekey", "shard_date_key", {"shards": 9}, ()),
    ("audit-log", "shard_writes", {"shards": 3}, ()),
    ("sharded", "shard_writes", {"shards": 40}, ()),
    ("aggregate-transaction", "shard_writes", {"shards": 3, **SIMULATED}, ()),
    ("country-index", "change_index_key", {"shards": 5, **OF_INDEX}, ()),
    ("sequence-key", "change_index_key", {"shards": 3, "resource": "by-order", **SIMULATED}, ()),
    ("too-small", "raise_capacity", {"units": 1_142.2}, ()),
    ("country-index", "raise_capacity", {"units": 9_000, **OF_INDEX}, ()),
    ("scale-down", "raise_capacity", {"units": 572}, ()),  # never less than there is
    ("auto-scaling-late", "raise_minimum", {"units": 1_286, "max_units": 1_286}, ()),
    (
        "auto-scaling-late",
        "raise_maximum",
        {"units": 1_286, **SIMULATED},
        ("table.auto_scaling.write.max=420",),
    ),
    ("too-small", "auto_scaling", {"units": 1_143, **SIMULATED}, ("load.duration_s=900",)),
    ("table-per-period-on-demand", "pre_warm", {"units": 9_143}, ()),
    ("too-small", "raise_max_on_demand", {"units": 1_143}, (*ON_DEMAND, "table.max_on_demand={write=100}")),
    ("on-demand-switch", "on_demand", {}, ()),
    ("read-hot", "cache_reads", READ, ()),
    ("read-hot", "replicate_reads", {"shards": 3, **READ}, ()),
    ("hotkey", "replicate_reads", {"shards": 3, **READ, **SIMULATED}, ()),
    # what no rerun can show
    *(("hotkey", action, {}, ()) for action in ACTIONS if action != "on_demand"),
    ("too-small", "raise_capacity", {"units": 10_000_000.5}, ()),
    ("too-small", "auto_scaling", {"units": 1_143}, ()),
    ("too-small", "auto_scaling", {"units": 1_143, **SIMULATED}, ()),
    ("dynamic-sharding", "shard_writes", {"shards": 3}, ()),
    ("aggregate-transaction", "shard_writes", {"shards": 3}, ()),
    ("hotkey", "shard_writes", {"shards": 3}, ("table.sort_key=",)),
    ("sequence-key", "change_index_key", {"shards": 3, "resource": "by-order"}, ()),
    ("country-index", "change_index_key", {**OF_INDEX, **READ}, ()),
    ("too-small", "raise_max_on_demand", {"units": 5}, ()),
    ("hotkey", "of_another_version", {}, ()),
]


def taken(name: str, action: str, facts: dict[str, Any], settings: tuple[str, ...]) -> Iterator[str]:
    """What an action does to a shipped scenario that is run whole, line by line."""
    scenario = a_shipped(name, *settings)
    of = {"resource": "table", "direction": "write"} | facts
    on = Setting(target_utilisation=0.7, simulated=of.pop("simulated", False), whole=True)
    yield " ".join((name, action, *(f"{key}={value}" for key, value in facts.items()), *settings))
    made = apply([advice(action, **of)], scenario, on)
    if isinstance(made, str):
        yield f"  by hand: {made}"
        return
    assert made.scenario.expects is None
    yield f"  with {made.says}"
    yield from (
        f"  {change.path}: {change.before} → {change.after}" for change in changes(scenario, made.scenario)
    )
    yield from (f"  note: {note}" for note in made.notes)
    yield from (f"  alters: {function.__name__}{arguments}" for function, arguments in made.alters)
    if made.queries_per_read:
        yield "  queries per read: {} → {}".format(*made.queries_per_read)


@pytest.mark.slow
def test_what_an_action_changes_or_why_no_rerun_can_show_it(golden: Golden) -> None:
    text = "".join(f"{line}\n" for case in CASES for line in taken(*case))
    golden("actions.txt", text)


def test_steps_are_taken_one_after_the_other() -> None:
    steps = [advice("raise_capacity", units=900), advice("shard_writes", shards=4)]
    made = apply(steps, a_shipped("hotkey"), Setting(target_utilisation=0.7))
    assert isinstance(made, Applied)
    assert (made.actions, made.queries_per_read) == (("raise_capacity", "shard_writes"), (1, 4))
    assert made.says == "900 WCU/s of the table provisioned and 4 shards for each key"
    assert isinstance(
        apply([*steps, advice("ramp")], a_shipped("hotkey"), Setting(target_utilisation=0.7)), str
    )


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
