"""Clients that retry, on the simulator: the comparison of policies and a simulated run are one thing."""

from typing import Any

import pytest

from keyheat.model.retries import policy_named
from keyheat.model.table import Op
from keyheat.simulator.jobs import find_scenario
from keyheat.simulator.requests import RequestQueue
from keyheat.simulator.retrying import RetriedRun, demand_of, retried
from keyheat.simulator.simulate import Simulation, simulate
from keyheat.words import Direction

pytestmark = pytest.mark.slow


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
