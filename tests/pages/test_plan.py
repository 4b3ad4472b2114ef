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
from keyheat.show.data import json_of
from keyheat.show.markdown import markdown_of
from keyheat.show.plan import TICKS, WIDTH, picture, plan_answer
from keyheat.show.text import text_of

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
    console.print(text_of(plan_answer(plan)))
    return console.file.getvalue()  # type: ignore[attr-defined]


def said(plan: ScenarioPlan) -> str:
    """What a plan says, however it is broken into lines."""
    return " ".join(on_paper(plan).split())


@pytest.mark.slow
def test_every_shipped_scenario_has_a_plan_within_80_columns_as_json_and_as_markdown() -> None:
    for path in sorted(SCENARIOS.glob("*.toml")):
        plan = plan_of(load_scenario(path), metric_requests=3_000, throttled_keys=True)
        text = on_paper(plan)
        assert max(map(len, text.splitlines())) <= 80, path
        assert "dollars" in text
        content = json_of(plan_answer(plan))
        assert json.loads(json.dumps(content, allow_nan=False)) == content, path
        assert markdown_of(plan_answer(plan)).startswith(f"## {plan.scenario.name}: ")


def test_the_verdict_comes_before_its_reasons() -> None:
    answer = plan_answer(shipped("hotkey"), "./mine.toml")
    assert (answer.label, answer.tone) == ("Partition limit", "partition")
    assert [fact.name for fact in answer.facts] == [
        "A run", "A month", "Demand", "Sends", "Hottest key", "Shards", "Quotas",
    ]  # fmt: skip
    assert "keyheat whatif ./mine.toml shards" in [fact.command for fact in answer.facts]
    calm = plan_answer(shipped("sharded"))
    assert (calm.label, calm.tone) == ("Within every limit", "none")
    assert calm.sentence == "Demand is within every limit."


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("hotkey", "1,800 WCU/s at the peak · one partition sustains 1,000 WCU/s: it takes 180 % of that"),
        ("hotkey", "At least ceil(1,800 / 1,000) = 2; with a margin of 1.5: 3"),
        ("hotkey", "on the hottest of 5 partitions is 1,840 WCU/s, and one sustains 1,000: expect throttles"),
        ("too-small", "The table has 40 WCU/s, and the demand is 800 WCU/s: its burst is used up 15 s into"),
        ("country-index", "Index by-country: the demand on the hottest of 5 partitions is 2,500 WCU/s"),
        ("country-index", "expect throttles with the constraint partition, of every write to the table"),
        ("aggregate-transaction", "TransactWriteItems 1,000/s of 2 items, 2 WCU each"),
        ("read-hot", "copies or a cache help, no split does"),
        ("hotkey", "shards help, and so does a split between its items, after minutes"),
        ("table-per-period-on-demand", "A new on-demand table starts small and grows in minutes"),
        ("table-per-period", "PutItem to keyheat-events-2026-11 200/s"),
        ("operations", "Hottest key None: there are too many keys to collide on one"),
        ("auto-scaling-late", "Auto scaling is not in the plan"),
        ("pre-warmed", "Not priced, so not in the total: pre-warming to 8,000 WCU/s, the table"),
        ("pre-warmed", "A new table, and each index, starts with 4,000 WCU/s and 12,000 RCU/s"),
        ("pre-warmed", "provisioned for its peak $1.0400"),
        ("dynamic-sharding", "RCU consumed on demand, table"),
        ("hotkey", "on demand $0.0625 for its units"),
    ],
)
def test_what_a_reader_should_know_is_said(name: str, words: str) -> None:
    assert words in said(plan_of(load_scenario(SCENARIOS / f"{name}.toml")))


def test_a_load_test_that_nobody_knows_is_planned_by_its_numbers() -> None:
    raw = load_scenario(SCENARIOS / "hotkey.toml").model_dump(mode="json") | {"loadtest": "mine"}
    plan = plan_of(scenario_from_dict(raw, "mine"))
    text = said(plan)
    assert "The requests of mine are not known: the plan assumes" in text
    assert "2,000 WCU/s, 100,000 in all if every request writes" in text
    assert "At the peak the hottest key takes 1,800 WCU/s" in text
    assert json_of(plan_answer(plan))["data"]["sent"] is None


def test_a_key_that_is_too_hot_is_named_behind_a_table_that_is_too_small() -> None:
    raw = load_scenario(SCENARIOS / "hotkey.toml").model_dump(mode="json")
    raw["table"]["provisioned"]["write"] = 100  # its burst is spent within the run
    plan = plan_of(scenario_from_dict(raw, "hotkey"))
    text = said(plan)
    behind = text.index("Behind that: The table: the demand on its only partition")
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
    assert "Over quota: the table is to have 4,000 WCU/s, and the quota of a table is 3,000" in text
    assert "and may differ in eu-west-1" in text
    assert "Quotas Unknown: nobody answered" in said(
        shipped("hotkey", quotas=unknown_quotas("nobody answered"))
    )


def test_a_maximum_and_a_quota_that_are_too_low_are_said() -> None:
    raw = load_scenario(SCENARIOS / "hotkey.toml").model_dump(mode="json")
    raw["table"] |= {"billing_mode": "PAY_PER_REQUEST", "max_on_demand": {"write": 1_500}}
    raw["table"].pop("provisioned")
    quotas = quotas_of({"TableMaxWriteCapacityUnits": 1_900, "TableMaxReadCapacityUnits": 1_900})
    text = said(plan_of(scenario_from_dict(raw, "capped"), quotas=quotas))
    assert (
        "After 3 s the table has a maximum of 1,500, and the demand is 2,000 WCU/s: expect throttles" in text
    )
    assert "The table with its indexes has a quota of 1,900, and the demand is 2,000 WCU/s" in text
    assert "with the constraint account" in text


def test_a_plan_above_the_budget_is_said_with_what_would_allow_it() -> None:
    raw = load_scenario(SCENARIOS / "hotkey.toml").model_dump(mode="json")
    raw["budget"] = {"dollars": 1.5, "units": 99_999, "minutes": 0.5}
    text = said(plan_of(scenario_from_dict(raw, "dear")))
    assert "Over budget: a run in AWS costs up to 2.67 dollars, and budget.dollars is 1.5" in text
    assert "consumes 100,000 units, and budget.units is 99,999; allow it with --max-units" in text
    assert "lasts 0.83 minutes, and budget.minutes is 0.5" in text
    assert "Over budget" not in said(shipped("hotkey"))


def test_a_table_that_is_kept_is_said_with_what_it_costs() -> None:
    raw = load_scenario(SCENARIOS / "hotkey.toml").model_dump(mode="json")
    raw["table"]["on_end"] = "keep"
    assert "stays after the run (on_end = keep), at $2.67 an hour" in said(
        plan_of(scenario_from_dict(raw, "kept"))
    )


def test_the_picture_rises_and_falls_with_the_load() -> None:
    drawn = picture(shipped("hotkey", SINE).forecast, WIDTH)
    heights = [TICKS.index(sign) for sign in drawn]
    assert heights[:18] == sorted(heights[:18])
    assert heights[22:] == sorted(heights[22:], reverse=True)
    assert heights[20] == len(TICKS) - 1 > heights[10] > heights[1]
    assert drawn in on_paper(shipped("hotkey", SINE))
    assert TICKS[-1] not in on_paper(shipped("hotkey")), "a constant load has no picture"


def test_mean_and_peak_stand_above_the_picture() -> None:
    assert "1,500 requests/s, 3,000 requests/s at the peak" in said(shipped("hotkey", SINE))


def test_a_program_gets_the_whole_plan() -> None:
    content = json.loads(json.dumps(json_of(plan_answer(shipped("sharded", metric_requests=1_000)))))["data"]
    assert content["write_units"] == {"mean_per_s": 2_000, "peak_per_s": 2_000, "total": 100_000}
    assert (content["hot_key"]["needed"], content["hot_key"]["needed_with_margin"]) == (2, 3)
    assert content["load"] == [{"at_s": 0, "per_s": 250}, {"at_s": 50, "per_s": 250}]
    assert content["dollars"] == pytest.approx(2.6 + 0.39 + 0.01)
    assert content["bill"]["other_mode"][0] == "PAY_PER_REQUEST"
    assert [one["name"] for one in content["sent"]["operations"]] == ["PutItem", "Query", "GetItem"]
    (writes, reads) = content["sent"]["sides"]
    assert (writes["side"]["direction"], reads["side"]["direction"]) == ("write", "read")
    assert writes["hottest_partition"]["partitions"] == 5
    assert (content["quotas"]["source"], content["over_quota"], content["foretold"]) == ("default", [], [])
