"""Clients that retry: every policy meets the same requests, in a comparison and in a simulated run."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keyheat.model.retries import QUOTA_TOKENS, USUAL, policy_named
from keyheat.model.table import Op
from keyheat.numbers import percent
from keyheat.show.retries import sentence_of
from keyheat.simulator.jobs import find_scenario
from keyheat.simulator.requests import RequestQueue
from keyheat.simulator.retrying import RetriedRun, demand_of, feeds_on_itself, recovery_s, retried
from keyheat.simulator.simulate import Simulation, simulate
from keyheat.words import Direction
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


def simulated(*settings: str) -> Simulation:
    scenario, path = find_scenario("hotkey", ("load.duration_s=8", *settings))
    return simulate(scenario, folder=path.parent, policy=scenario.client.retries)


def both(name: str, *settings: str) -> tuple[RetriedRun, Simulation]:
    """What the comparison says of ten clients of boto3, and a simulated run of them."""
    scenario, path = find_scenario(name, ("load.duration_s=8", "client.sdk='boto3-2026'", *settings))
    compared = retried(scenario, demand_of(scenario, path.parent), scenario.client.policy, clients=10)
    return compared, simulate(scenario, folder=path.parent, policy=scenario.client.retries)


def test_a_simulated_run_is_what_the_comparison_says_of_its_policy() -> None:
    compared, run = both("hotkey", "client.clients=10")
    assert run.client.attempts[Direction.WRITE] == sum(compared.attempts_per_s[:8])
    assert run.client.throttled[Direction.WRITE] == sum(compared.throttled_per_s[:8])
    counted = run.counted
    assert counted["retries.requests"] == compared.requests
    assert counted["retries.requests"] + counted["retries.attempts"] == run.client.attempts[Direction.WRITE]
    assert 0 < counted["retries.given_up"] <= compared.given_up


def test_transactions_meet_as_often_in_a_comparison_as_in_a_simulated_run() -> None:
    compared, run = both("aggregate-transaction", "local.transaction_s=0.018")
    assert run.client.conflicts == compared.conflicts == sum(compared.conflicts_per_s[:8])
    assert compared.conflicts > 0.5 * compared.requests  # 700 a second share one total
    assert run.counted["retries.requests"] == compared.requests
    fates = compared.accepted, compared.conflicts, compared.given_up, compared.waiting
    assert sum(fates) == compared.requests


def test_every_policy_meets_the_same_requests_at_the_same_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of few requests a policy that was luckier with its keys would be taken for a better one."""
    scenario, path = find_scenario("hotkey", ("load.duration_s=3", "load.requests_per_s=4000"))
    demand, asked_of_table = demand_of(scenario, path.parent), RequestQueue._admit
    arrived: dict[str, dict[int, tuple[float, list[Op]]]] = {}

    def of_policy(policy: str) -> list[tuple[float, list[Op]]]:
        asked: dict[int, tuple[float, list[Op]]] = arrived.setdefault(policy, {})

        def note(queue: RequestQueue, request: Any, at_s: float) -> object:
            asked.setdefault(id(request.ops), (at_s, request.ops))  # the first attempt of a request
            return asked_of_table(queue, request, at_s)

        monkeypatch.setattr(RequestQueue, "_admit", note)
        run = retried(scenario, demand, policy_named(policy), clients=3)
        assert len(asked) == run.requests
        assert run.attempts > run.requests or policy == "none"
        return [*asked.values()]

    alone, again, held = map(of_policy, ("none", "boto3-2026", "boto3-2026-adaptive"))
    assert alone == again
    assert sorted(str(ops) for _at_s, ops in alone) == sorted(str(ops) for _at_s, ops in held)


def test_hot_keys_have_their_own_retries() -> None:
    run = simulated("client.sdk='boto3-2025'")
    (name, (asked, throttles, consumed)), *_ = sorted(
        run.client.keys[None, Direction.WRITE].run.items(), key=lambda item: -item[1][0]
    )
    attempts, throttled = run.client.attempts[Direction.WRITE], run.client.throttled[Direction.WRITE]
    assert name == "hot"
    assert throttles >= 0.9 * throttled > 0
    units = 8  # of each item
    assert asked > 0.9 * units * attempts  # 0.9 of the requests, and nearly all that are sent again
    assert asked == pytest.approx(consumed + units * throttles)


def test_who_is_held_back_until_the_end_was_never_sent_and_is_still_waiting() -> None:
    run = simulated("client.sdk='boto3-2026'", "client.mode='adaptive'", "client.clients=3")
    counted, sent = run.counted, run.client.attempts[Direction.WRITE]
    assert counted["retries.requests"] + counted["retries.attempts"] == sent
    assert counted["retries.attempts"] >= 0
    plain = simulated().client.attempts[Direction.WRITE]  # each request of the same demand once
    assert counted["retries.requests"] + counted["retries.waiting"] >= plain > counted["retries.requests"]
