"""A plan as a person reads it, and as a program does."""

import json
import tomllib
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from keyheat.plan.plan import ScenarioPlan, planned
from keyheat.plan.prices import load_prices
from keyheat.plan.quotas import quotas_of, unknown_quotas
from keyheat.scenario.scenario import Scenario, load_scenario, scenario_from_dict
from keyheat.terminal.plan import TICKS, picture, plan_text
from keyheat.terminal.plan_json import plan_json

SCENARIOS = Path(__file__).parents[2] / "configs" / "scenarios"
SINE = 'duration_s = 50\nshape = { kind = "sine", low_per_s = 0, high_per_s = 3_000, period_s = 50 }'


def plan_of(scenario: Scenario, **wanted: Any) -> ScenarioPlan:
    return planned(scenario, load_prices(), margin=1.5, folder=SCENARIOS, **wanted)


def shipped(name: str, load: str = "duration_s = 50", **wanted: Any) -> ScenarioPlan:
    text = (SCENARIOS / f"{name}.toml").read_text()
    if load != "duration_s = 50":
        assert "duration_s = 50" in text
    return plan_of(scenario_from_dict(tomllib.loads(text.replace("duration_s = 50", load)), name), **wanted)


def on_paper(plan: ScenarioPlan) -> str:
    console = Console(width=80, file=StringIO())
    console.print(plan_text(plan))
    return console.file.getvalue()  # type: ignore[attr-defined]


def said(plan: ScenarioPlan) -> str:
    """What a plan says, however it is broken into lines."""
    return " ".join(on_paper(plan).split())


@pytest.mark.slow
def test_every_shipped_scenario_has_a_plan_within_80_columns_and_as_json() -> None:
    for path in sorted(SCENARIOS.glob("*.toml")):
        plan = plan_of(load_scenario(path), metric_requests=3_000, throttled_keys=True)
        text = on_paper(plan)
        assert max(map(len, text.splitlines())) <= 80, path
        assert "dollars" in text
        content = plan_json(plan)
        assert json.loads(json.dumps(content, allow_nan=False)) == content, path


def test_the_verdict_comes_before_the_picture() -> None:
    text = on_paper(shipped("hotkey"))
    order = [
        "does its partition throttle",
        "expect throttles",
        "At most $2.67",
        "Demand, ",
        "Sends",
    ]
    places = [text.index(words) for words in order]
    assert places == sorted(places)


def test_the_hot_key_is_said_with_what_will_come_of_it() -> None:
    text = said(shipped("hotkey"))
    assert "1,800 WCU/s at the peak" in text
    assert "sustains 1,000 WCU/s: it takes 180 % of that" in text
    assert "ceil(1,800 / 1,000) = 2; with a margin of 1.5: 3" in text
    assert "the hottest of 5 partitions is asked for 1,840 WCU/s, and one sustains 1,000" in text
    assert "expect throttles with the constraint partition" in text
    small = said(shipped("too-small"))
    assert (
        "The table has 40 WCU/s and is asked for 800 WCU/s: its burst is used up 15 s into the run" in small
    )
    assert "at the latest; then expect throttles with the constraint table" in small
    assert "expect" not in said(shipped("sharded"))
    assert "No part of the table is asked for more than it has" in said(shipped("sharded"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("country-index", "Index by-country: the hottest of 5 partitions is asked for 2,500 WCU/s"),
        ("country-index", "which hold back every write to the table"),
        ("aggregate-transaction", "TransactWriteItems 1,000/s of 2 items, 2 WCU each"),
        ("read-hot", "copies or a cache help, no split does"),
        ("hotkey", "shards help, a split between its items does after minutes"),
        ("table-per-period-on-demand", "A new on-demand table starts so, and grows in minutes"),
        ("table-per-period", "PutItem to keyheat-events-2026-11 200/s"),
        ("operations", "Hottest key none: keys are too many to meet on one"),
        ("auto-scaling-late", "Auto scaling is left out"),
        ("pre-warmed", "Not priced, and so not in the sum: pre-warming to 8,000 WCU/s, the table"),
        ("pre-warmed", "a new table, and each index, starts with 4,000 WCU/s and 12,000 RCU/s"),
        ("pre-warmed", "Provisioned for its peak, the table would be $1.0400"),
        ("dynamic-sharding", "RCU consumed on demand, table"),
        ("hotkey", "On demand, the table's units would be $0.0625"),
    ],
)
def test_what_a_reader_should_know_is_said(name: str, words: str) -> None:
    assert words in said(plan_of(load_scenario(SCENARIOS / f"{name}.toml")))


def test_a_load_test_that_nobody_knows_is_planned_by_its_numbers() -> None:
    raw = load_scenario(SCENARIOS / "hotkey.toml").model_dump(mode="json") | {"loadtest": "mine"}
    plan = plan_of(scenario_from_dict(raw, "mine"))
    text = said(plan)
    assert "What mine sends is not known here" in text
    assert "2,000 WCU/s, 100,000 in all if every request writes" in text
    assert "At the peak the hottest key is asked for 1,800 WCU/s" in text
    assert "No part of the table" not in text
    assert plan_json(plan)["sent"] is None


def test_a_key_that_is_too_hot_is_named_behind_a_table_that_is_too_small() -> None:
    raw = load_scenario(SCENARIOS / "hotkey.toml").model_dump(mode="json")
    raw["table"]["provisioned"]["write"] = 100  # its burst is spent within the run
    plan = plan_of(scenario_from_dict(raw, "hotkey"))
    text = said(plan)
    behind = text.index("Behind that: The table: its only partition")
    assert text.index("expect throttles with the constraint table") < behind
    assert [one.constraint for one in plan.foretold] == ["table", "partition"]
    raw["table"]["provisioned"]["write"] = 900  # burst carries the table through the run, and not the key
    plan = plan_of(scenario_from_dict(raw, "hotkey"))
    assert [(one.constraint, one.behind) for one in plan.foretold] == [("partition", False), ("table", False)]


def test_a_load_of_days_is_planned_by_its_first_hour() -> None:
    text = said(shipped("hotkey", "duration_s = 100_000"))
    assert "Assumed: a load of more than 12 h goes on as its first hour does." in text
    assert "250 requests/s, 25,000,000 in all" in text


def test_quotas_are_said_with_who_said_them() -> None:
    answer = {"TableMaxWriteCapacityUnits": 3_000, "TableMaxReadCapacityUnits": 40_000}
    text = said(shipped("hotkey", quotas=quotas_of(answer), region="eu-west-1"))
    assert "! Over quota: the table is to have 4,000 WCU/s, and the quota of a table is 3,000" in text
    assert "No part of the table" not in text
    assert "those of eu-west-1 may differ" in text
    assert "Quotas unknown: nobody answered" in said(
        shipped("hotkey", quotas=unknown_quotas("nobody answered"))
    )


def test_a_maximum_and_a_quota_that_are_too_low_are_said() -> None:
    raw = load_scenario(SCENARIOS / "hotkey.toml").model_dump(mode="json")
    raw["table"] |= {"billing_mode": "PAY_PER_REQUEST", "max_on_demand": {"write": 1_500}}
    raw["table"].pop("provisioned")
    quotas = quotas_of({"TableMaxWriteCapacityUnits": 1_900, "TableMaxReadCapacityUnits": 1_900})
    text = said(plan_of(scenario_from_dict(raw, "capped"), quotas=quotas))
    assert (
        "! From 3 s on, the table is asked for 2,000 WCU/s and has a maximum of 1,500: expect throttles"
        in text
    )
    assert "! The table with its indexes is asked for 2,000 WCU/s, and the quota of a table is 1,900" in text
    assert "with the constraint account" in text


def test_a_plan_above_the_budget_is_said_with_what_would_allow_it() -> None:
    raw = load_scenario(SCENARIOS / "hotkey.toml").model_dump(mode="json")
    raw["budget"] = {"dollars": 1.5, "units": 99_999, "minutes": 0.5}
    text = said(plan_of(scenario_from_dict(raw, "dear")))
    assert "Over budget: a run in AWS costs up to 2.67 dollars, and budget.dollars is 1.5" in text
    assert "consumes 100,000 units, and budget.units is 99,999: it is refused unless --max-units" in text
    assert "lasts 0.83 minutes, and budget.minutes is 0.5" in text
    assert "Over budget" not in said(shipped("hotkey"))


def test_a_table_that_is_kept_is_said_with_what_it_costs() -> None:
    raw = load_scenario(SCENARIOS / "hotkey.toml").model_dump(mode="json")
    raw["table"]["on_end"] = "keep"
    assert "stays after the run (on_end = keep), at $2.67 an hour" in said(
        plan_of(scenario_from_dict(raw, "kept"))
    )


def test_the_picture_rises_and_falls_with_the_load() -> None:
    drawn = picture(shipped("hotkey", SINE).forecast, 60).plain
    heights = [TICKS.index(sign) for sign in drawn]
    assert heights[:28] == sorted(heights[:28])
    assert heights[32:] == sorted(heights[32:], reverse=True)
    assert heights[30] == len(TICKS) - 1 > heights[15] > heights[1]
    assert drawn in on_paper(shipped("hotkey", SINE))
    assert TICKS[-1] not in on_paper(shipped("hotkey")), "a constant load has no picture"


def test_mean_and_peak_stand_above_the_picture() -> None:
    assert "1,500 on average, 3,000 at the peak" in on_paper(shipped("hotkey", SINE))


def test_the_plan_as_plain_values_survives_json() -> None:
    content = json.loads(json.dumps(plan_json(shipped("sharded", metric_requests=1_000))))
    assert content["format"] == "keyheat.plan/1"
    assert content["write_units"] == {"mean_per_s": 2_000, "peak_per_s": 2_000, "total": 100_000}
    assert content["hot_key"]["shards_by_formula"] == 2
    assert content["hot_key"]["shard_units_per_s"] == 90
    assert content["load"] == [{"at_s": 0, "per_s": 250}, {"at_s": 50, "per_s": 250}]
    assert content["dollars"]["on_demand"] == pytest.approx(0.0625)
    assert content["bill"]["dollars"] == pytest.approx(2.6 + 0.39 + 0.01)
    assert content["bill"]["other_mode"]["billing_mode"] == "PAY_PER_REQUEST"
    assert [one["operation"] for one in content["sent"]["operations"]] == ["PutItem", "Query", "GetItem"]
    (writes, reads) = content["sent"]["sides"]
    assert (writes["direction"], reads["direction"]) == ("write", "read")
    assert writes["hottest_partition"]["partitions"] == 5
    assert (content["quotas"]["source"], content["over_quota"], content["foretold"]) == ("default", [], [])
