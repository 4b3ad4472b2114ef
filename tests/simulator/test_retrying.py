"""What retries make of a demand: every policy meets the same requests, and what each makes of them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keyheat.model.retries import QUOTA_TOKENS, USUAL, policy_named
from keyheat.numbers import percent
from keyheat.show.retries import sentence_of
from keyheat.simulator.jobs import find_scenario
from keyheat.simulator.retrying import RetriedRun, demand_of, feeds_on_itself, recovery_s, retried
from tests.make import a_scenario

pytestmark = pytest.mark.slow


def run(name: str, policy: str, *settings: str, clients: int = 10) -> Any:
    loaded, path = find_scenario(name, ("load.duration_s=8", *settings))
    return retried(loaded, demand_of(loaded, path.parent), policy_named(policy), clients=clients)


@pytest.mark.parametrize("arrivals", ["constant", "poisson"])
def test_every_policy_meets_the_same_demand_and_none_is_a_run_without_retries(arrivals: str) -> None:
    runs = {name: run("hotkey", name, f"load.arrivals='{arrivals}'") for name in ("none", *USUAL)}
    assert len({one.requests for one in runs.values()}) == 1
    none = runs["none"]
    assert none.attempts == none.requests == none.accepted + none.given_up
    assert none.amplification == 1.0
    for one in runs.values():
        assert one.accepted + one.given_up + one.waiting == one.requests
        assert sum(one.attempts_per_s) == one.attempts
        assert sum(one.throttled_per_s) == one.attempts - one.accepted
    assert runs["boto3-2025"].attempts > 2 * none.attempts
    assert runs["boto3-2026-adaptive"].given_up < none.given_up / 10
    assert runs["boto3-2026-adaptive"].within_s(0.5) > none.within_s(0.5)


def test_a_quota_runs_out_by_client() -> None:
    few, many = (run("hotkey", "boto3-2026", clients=clients) for clients in (1, 1_000))
    assert few.quota_ran_out > 0
    assert many.quota_ran_out == 0
    assert few.attempts < many.attempts
    assert few.attempts - few.requests <= QUOTA_TOKENS / 5 + few.accepted


def test_transactions_that_meet_are_counted(verb: Callable[..., Any]) -> None:
    asked = ("whatif", "aggregate-transaction", "retries", "--duration", "8", "--sdk", "boto3-2026", "--json")
    met = json.loads(verb(*asked, "--set", "local.transaction_s=0.018").out)
    assert "cancelled for a conflict with another transaction on the same item" in met["sentence"]
    assert met["label"].endswith("conflicts, no throttles")  # those that meet ask for nothing
    policies = met["data"]["policies"]
    assert all(one["conflicts"] == sum(one["conflicts_per_s"]) > 0 for one in policies)
    assert "conflict with" not in json.loads(verb(*asked).out)["sentence"]


ORDERS = {"name": "orders", "provisioned": {"read": 10, "write": 20}}


def tried(table: dict[str, Any], **load: Any) -> list[RetriedRun]:
    """A design that is not in the box, without retries and with the usual policies."""
    keys, load = {"kind": "uniform", "keys": 1_000}, {"duration_s": 20, "item_bytes": 900, **load}
    scenario = a_scenario(table=table, keys=keys, load=load)
    demand = demand_of(scenario)
    return [retried(scenario, demand, policy_named(name), clients=5) for name in ("none", *USUAL)]


def test_what_stays_above_a_limit_is_carried_by_no_policy() -> None:
    none, usual, older, held = runs = tried(ORDERS, requests_per_s=400)
    assert {round(run.goodput_per_s / none.goodput_per_s, 1) for run in runs} == {1.0}
    assert none.given_up_share > 0.2
    assert usual.given_up_share > 0.2
    assert older.amplification > held.amplification
    assert sentence_of(runs).startswith(f"With boto3-2026 {percent(usual.given_up_share)} of 8,000 requests")


def test_a_short_peak_is_over_when_the_retries_are() -> None:
    capped = {"name": "orders", "billing_mode": "PAY_PER_REQUEST", "max_on_demand": {"write": 200}}
    peak = {"kind": "spike", "peak_per_s": 400, "at_s": 2, "for_s": 2}
    none, usual, older, held = runs = tried(capped, requests_per_s=20, shape=peak)
    assert none.calm_from_s == 4
    assert [run.given_up > 0 for run in runs] == [True, False, False, False], "a few seconds carry it"
    assert 0 < recovery_s(usual, none) < 4
    assert feeds_on_itself(usual, none)
    assert held.attempts < usual.attempts < older.attempts
    assert sentence_of(runs).startswith(
        "With boto3-2026 none of 1,160 requests are given up; boto3-2025 loses none either, and takes "
    )


@pytest.mark.parametrize("name", ["operations", "country-index", "replay", "read-hot"])
def test_every_kind_of_request_is_one(name: str) -> None:
    one = run(name, "boto3-2026")
    assert one.requests > 0
    assert one.accepted + one.given_up + one.waiting == one.requests


@pytest.mark.usefixtures("no_page")
def test_a_cure_of_a_run_with_retries_is_without_them(verb: Callable[..., Any], tmp_path: Path) -> None:
    """The share of attempts that was throttled is another one with retries: it is repeated with them."""
    settings = ("--set", 'client.sdk="boto3-2026"', "--duration", "8")
    said = verb("simulate", "hotkey", *settings, "--out", tmp_path)
    assert said.says("Shard the hot key (4 shards)")
    cure = json.loads((tmp_path / "diagnosis.json").read_bytes())["cure"]
    assert cure["sent_once"]
    assert cure["bill"]
    said = verb("analyze", tmp_path)
    assert said.says("Simulated without retries: no attempt throttled then")
    assert said.says("What it costs")
