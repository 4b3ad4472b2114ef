"""Advice: the formula with measured numbers, and never more capacity for a key range's limit.

`golden/advice.txt` has what is advised in each case.
"""

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from keyheat.analysis.advice.case import MeasuredRun
from keyheat.analysis.advice.demand import MeasuredDemand
from keyheat.analysis.advice.recommendations import recommend
from keyheat.analysis.diagnosis import diagnose
from keyheat.analysis.heat import RunHeat
from keyheat.analysis.timeline import timeline
from keyheat.evidence.simulated import evidence_of
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import HotKey
from keyheat.runs.manifest import Keys, Manifest
from keyheat.scenario.scenario import scenario_from_dict
from keyheat.shipped import shipped
from keyheat.simulator.folder import keys_of, manifest_of
from keyheat.simulator.simulate import simulate
from keyheat.words import Constraint
from tests.analysis.conftest import NUMBERS, advice_case
from tests.conftest import Golden
from tests.make import START, a_shipped, consumed
from tests.make import an_evidence as evidence

SCENARIOS = shipped("configs") / "scenarios"


def hot(units_per_s: float, *, share: float = 0.9, **more: Any) -> RunHeat:
    key = HotKey(key="sha256:1f3a", share=share, throttles=9, units_per_s=units_per_s, direction="write")
    return RunHeat("write", (key,), moved_over=more.pop("moved_over", ()), **more)


def of_table(demand_per_s: float, limit: float | None = None, **more: Any) -> dict[str, Any]:
    return {"constraint": "table", "demand": MeasuredDemand(demand_per_s), "limit": limit, **more}


EVEN = {"heat": hot(20, share=0.001)}
READS = {"direction": "read", "ceiling": 3_000}
HOT = {"heat": hot(1_800)}
PINNED = {"heat": hot(1_800, pinned="sha256:1f3a")}
AT_CEILING = {"constraint": "undetermined", "rule": "undetermined-at-ceiling", "limit": 2_000}
LATE = {"constraint": "table", "rule": "auto-scaling-late", "limit": 100}
RETRIES = {"heat": hot(1_800), "retries": True}
GIVES_UP = {**RETRIES, "given_up": 0.4}
CASES: dict[str, dict[str, Any]] = {
    "a key below a partition's ceiling": {"heat": hot(700)},
    "a key of 2,000": {"heat": hot(2_000)},
    "a key of 10,001": {"heat": hot(10_001)},
    "a key that changes, as a date does": {"heat": hot(1_800, moved_over=("a", "b"))},
    "a key that has shards, and takes more by simulation": {**HOT, "shards_now": 3, "enough_shards": 7},
    "no key stands out": EVEN,
    "the keys are unknown": {},
    "one key, unnamed, may fill it": {"one_key_per_s": 1_270},
    "even keys, one partition": {**EVEN, "warm": 100},
    "even keys, few partitions of a table on demand": {**HOT, "warm": 1_000, "on_demand": True},
    "hot reads": {**READS, "heat": hot(9_000)},
    "reads of one key, unnamed": {**READS, "one_key_per_s": 3_630},
    "a hot index": {**HOT, "resource": "by_country", "index_key": "country"},
    "a key range of an index is hot": {"resource": "by_country"},
    "an index whose keys were not counted": {"resource": "by_country", "counted": False, "direction": "read"},
    "a partition that was split": {**HOT, "rule": "key-range-split"},
    "on-demand, not grown": {
        "rule": "on-demand-not-grown", "limit": 4_000, "demand": MeasuredDemand(3_900, by="cloudwatch")
    },
    "too small": {"constraint": "table"},
    "no more than the quota allows": of_table(28_000, 20_000),  # 40,000 at a utilisation of 70 %
    "more than the quota allows": of_table(28_100, 20_000),
    "a raise that held": of_table(900, 300, has_now=1_200, is_over=True),
    "a raise that may not hold": of_table(900, 300, has_now=1_200),
    "a raise to what is needed": of_table(900, 300, has_now=1_300),
    "burst carries it": of_table(900, 300, carried_s=90.0),
    "an index that is too small": of_table(900, 300, resource="by_country", carried_s=90.0),
    "a table that is too small for its key, too": of_table(2_000, 1_500, **PINNED),
    "auto scaling was late": {**LATE},
    "somebody raised it late, for auto scaling is off": {**LATE, "scaled_by_hand": True},
    "auto scaling is known to be on": {"constraint": "table", "scaled_most": 9_000, "limit": 100},
    "auto scaling may go no higher": {"constraint": "table", "scaled_most": 400, "limit": 400},
    "the table was scaled down": {**LATE, "rule": "table-scaled-down"},
    "at the maximum": {"constraint": "max_on_demand"},
    "a maximum that was raised enough": {
        "constraint": "max_on_demand", "limit": 400, "has_now": 3_000, "is_over": True
    },
    "a maximum that was raised, and it is not over": {
        "constraint": "max_on_demand", "limit": 400, "has_now": 3_000
    },
    "at the quota": {"constraint": "account"},
    "undetermined": {"constraint": "undetermined"},
    "undetermined whose": {"constraint": "undetermined", "rule": "undetermined-resource"},
    "undetermined at the ceiling": AT_CEILING,
    "undetermined, with room for more partitions": {**AT_CEILING, "warm": 1_000},
    "undetermined, and a key that is hot": {**AT_CEILING, "heat": hot(1_500)},
    "undetermined for a part of the throttles": {
        "constraint": "undetermined", "only_for": "For 34 % of the throttles, from 9:00 to 9:05 UTC, "
    },
    "none": {"constraint": "none"},
    "it retries, and nothing is given up": {**RETRIES, "given_up": 0.0},
    "it retries, and nobody counted": RETRIES,
    "it gives up all the same": GIVES_UP,
    "it gives up at the quota": {**GIVES_UP, "constraint": "account"},
    "it gives up reads": {**GIVES_UP, **READS},
    "it gives up reads at a maximum": {**GIVES_UP, **READS, "constraint": "max_on_demand"},
}  # fmt: skip


def advised(facts: dict[str, Any]) -> Iterator[str]:
    """All advice in a case, each with its number, reason and effect."""
    for item in recommend(advice_case(**facts)):
        counted = {name: getattr(item, name) for name in ("shards", "units", "max_units")}
        said = "".join(f" {name}={number:g}" for name, number in counted.items() if number is not None)
        yield f"  {item.kind} {item.action}{said}\n    {item.why}\n    {item.expected}\n"


def test_what_is_advised_in_each_case(golden: Golden) -> None:
    text = "".join(f"{name}\n{''.join(advised(facts))}" for name, facts in CASES.items())
    golden("advice.txt", text)


RETRIED = {"retries.requests": 1_000, "retries.attempts": 500, "retries.given_up": 100}
BOTO3 = 'sdk = "boto3-2026"\nmode = "standard"'
KNOWN: dict[str, tuple[Constraint, str | None, dict[str, float], bool]] = {
    # of which limit, `[client]` of the scenario if there is one, what the run counted if it was ours, retries
    "evidence of CloudWatch": ("partition", None, {}, False),
    "a run that sent once": ("partition", "", {}, False),
    "a run with the installed SDK": ("partition", "", RETRIED, True),
    "a scenario's client, whoever ran it": ("partition", BOTO3, {}, True),
    "a scenario's client that tries once": ("partition", f"{BOTO3}\nattempts = 1", {}, False),
    "a client that retries all but the quota": ("partition", 'sdk = "boto3-2025"', {}, True),
    "the quota of such a client": ("account", 'sdk = "boto3-2025"', {}, False),
}


@pytest.mark.parametrize(("constraint", "client", "counted", "retries"), KNOWN.values(), ids=KNOWN)
def test_who_retries_is_known_from_the_run_and_from_its_scenario(
    constraint: Constraint, client: str | None, counted: dict[str, float], retries: bool
) -> None:
    found, scenario = evidence(consumed(400)), None
    if client is not None:
        text = (SCENARIOS / "hotkey.toml").read_text(encoding="utf-8")
        scenario = scenario_from_dict(tomllib.loads(f"{text}\n[client]\n{client}"), "test")
    cost = Manifest(started_at=START, table=found.table, counted=counted).retry_cost
    measured = MeasuredRun(timeline(found), (), NUMBERS, scenario, on_demand=False, scheduled={}, cost=cost)
    made = measured.case((constraint, "table", "write"), ())
    assert (made.retries, made.given_up) == (retries, 0.1 if counted else None)


@pytest.mark.slow
def test_a_date_as_key_gets_the_shards_that_work() -> None:
    run = simulate(a_shipped("datekey"))
    keys, manifest = Keys.model_validate(keys_of(run)), Manifest.model_validate(manifest_of(run))
    client = ClientFiles(keys=keys, manifest=manifest)
    found = diagnose(evidence_of(run), client=client, thresholds=NUMBERS, scenario=None)
    (advice,) = [advice for advice in found.recommendations if advice.kind == "cure"]
    assert (advice.action, advice.shards) == ("shard_date_key", 3)
    assert "= 3 shards." in advice.why
    assert found.hot_keys[0].units_per_s == pytest.approx(2_000, rel=0.15)
