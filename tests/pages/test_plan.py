"""A plan as a person reads it, and as a program does; `golden/` has what it says of each situation."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from keyheat.plan.plan import ScenarioPlan, plan_run
from keyheat.plan.prices import load_prices
from keyheat.plan.quotas import quotas_of, unknown_quotas
from keyheat.show.answer import json_of
from keyheat.show.plan import plan_answer
from keyheat.show.render import markdown_of
from tests.conftest import Golden
from tests.make import SCENARIOS, a_shipped
from tests.pages.conftest import on_screen, trimmed

LOW = {"TableMaxWriteCapacityUnits": 3_000, "TableMaxReadCapacityUnits": 40_000}
LOWEST = {"TableMaxWriteCapacityUnits": 1_900, "TableMaxReadCapacityUnits": 1_900}


def plan_of(name: str = "hotkey", *settings: str, loadtest: str | None = None, **wanted: Any) -> ScenarioPlan:
    """The plan of a shipped scenario, with settings as a person types them."""
    parts = {} if loadtest is None else {"loadtest": loadtest}
    scenario = a_shipped(name, *settings, **parts)
    return plan_run(scenario, load_prices(), margin=1.5, folder=SCENARIOS, **wanted)


SINE = 'load.shape={kind="sine", low_per_s=0, high_per_s=3000, period_s=50}'
STEPS = 'load.shape={kind="steps", steps=[{per_s=200, for_s=400}, {per_s=2000, for_s=100}]}'
SPIKE = 'load.shape={kind="spike", peak_per_s=700, at_s=60, for_s=60}'
OVER_MAXIMUM = (
    'table.billing_mode="PAY_PER_REQUEST"', "table.provisioned=", "table.max_on_demand={write=1500}",
)  # fmt: skip
BUDGET = "budget={dollars=1.5, units=99999, minutes=0.5}"
SHIPPED = (
    "hotkey", "too-small", "sharded", "country-index", "aggregate-transaction", "read-hot", "operations",
    "table-per-period", "table-per-period-on-demand", "auto-scaling-late", "pre-warmed",
)  # fmt: skip
PLANS: dict[str, Callable[[], ScenarioPlan]] = {
    **{name: partial(plan_of, name) for name in SHIPPED},
    "unknown load test": lambda: plan_of(loadtest="mine"),
    "too small and too hot": lambda: plan_of("hotkey", "table.provisioned.write=100"),
    "days": lambda: plan_of("hotkey", "load.duration_s=100000"),
    "sine": lambda: plan_of("hotkey", SINE),
    "over quota": lambda: plan_of(quotas=quotas_of(LOW), region="eu-west-1"),
    "unknown quotas": lambda: plan_of(quotas=unknown_quotas("nobody answered")),
    "over maximum": lambda: plan_of("hotkey", *OVER_MAXIMUM, quotas=quotas_of(LOWEST)),
    "over budget": lambda: plan_of("hotkey", BUDGET),
    "kept": lambda: plan_of("hotkey", 'table.on_end="keep"'),
    "burst carries the table": lambda: plan_of("hotkey", "table.provisioned.write=900"),
    "the table before the partition": lambda: plan_of(
        "hotkey", "table.provisioned.write=100", "load.duration_s=500", "load.item_bytes=400", STEPS
    ),
    "peaks that burst carries": lambda: plan_of(
        "too-small", "table.provisioned.write=400", "load.requests_per_s=100", "load.item_bytes=400",
        "load.duration_s=300", SPIKE,
    ),
    "unscaled index": lambda: plan_of("country-index", "table.auto_scaling={write={min=100, max=4000}}"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANS)
def test_what_a_plan_says_within_80_columns_as_json_and_as_markdown(name: str, golden: Golden) -> None:
    answer = plan_answer(PLANS[name]())
    shown = trimmed(on_screen(answer))
    golden(Path(__file__).parent / "golden" / f"plan-{name.replace(' ', '-')}.txt", shown)
    assert max(map(len, shown.splitlines())) <= 80
    content = json_of(answer)
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert markdown_of(answer).startswith(f"## {answer.title}: ")


def test_a_plan_has_the_tone_of_its_verdict_and_names_the_file_that_it_is_of() -> None:
    answer = plan_answer(plan_of(), "./mine.toml")
    assert (answer.tone, plan_answer(plan_of("sharded")).tone) == ("partition", "none")
    assert "keyheat whatif ./mine.toml shards" in [fact.command for fact in answer.facts]


def test_a_month_is_priced_and_told_at_full_size() -> None:
    """A tenth of the limits, and of the demand that a person has scaled with them."""
    small = plan_of("hotkey", "local.scale=0.1", "load.requests_per_s=9")
    whole = plan_of("hotkey", "load.requests_per_s=90")
    months = [
        next(fact for fact in plan_answer(plan).facts if fact.name == "A month").beside
        for plan in (small, whole)
    ]
    assert " at full size goes on" in months[0][0]
    assert months[0][0].replace(" at full size", "") == months[1][0]


def test_a_program_gets_the_whole_plan() -> None:
    content = json.loads(json.dumps(json_of(plan_answer(plan_of("sharded", metric_requests=1_000)))))["data"]
    assert content["target"] == {"mean_per_s": 250, "peak_per_s": 250, "total": 12_500}
    assert content["dollars"] == pytest.approx(2.6 + 0.39 + 0.01)
    assert [one["name"] for one in content["sent"]["operations"]] == ["PutItem", "Query", "GetItem"]
    (writes, reads) = content["sent"]["sides"]
    assert (writes["side"]["direction"], reads["side"]["direction"]) == ("write", "read")
    assert writes["hottest_partition"]["partitions"] == 5
    assert (content["quotas"]["source"], content["over_quota"], content["foretold"]) == ("default", [], [])
    assert json_of(plan_answer(PLANS["unknown load test"]()))["data"]["sent"] is None
