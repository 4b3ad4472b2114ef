"""keyheat retries, and docs/retries.md: what its commands say, and its numbers are those of the code."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keyheat.load.run.jobs import find_scenario
from keyheat.model.retries import NONE, POLICIES, QUOTA_TOKENS, USUAL, policy_named
from keyheat.numbers import percent
from keyheat.scenario.scenario import scenario_from_dict
from keyheat.simulator.clients import SERVICE_S
from keyheat.simulator.retrying import MOST_REQUESTS, RetriedRun, demand_of, retried
from keyheat.wording.retries import FORMAT, feeds_on_itself, recovery_s, sentence_of

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[1] / "docs" / "retries.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^```sh\n(.*?)\n```$", PAGE, re.DOTALL | re.MULTILINE)
SHORT = ("--duration", "20")  # until burst is spent


def run(name: str, policy: str, *settings: str, clients: int = 10) -> Any:
    loaded, path = find_scenario(name, ("load.duration_s=8", *settings))
    return retried(loaded, demand_of(loaded, path.parent), policy_named(policy), clients=clients)


@pytest.mark.parametrize("command", COMMANDS)
def test_its_commands_say_what_is_lost(
    verb: Callable[..., Any], command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _program, *words = shlex.split(command)
    fewer = ("--sdk", "boto3-2026") if "--out" in words else ()  # the page is of what the first command says
    said = verb(*words, *SHORT, *fewer)
    assert said.code == 0
    if words[0] == "simulate":
        assert verb("analyze", next((tmp_path / "reports" / "out").iterdir())).says("with retries: 1.")
        return
    assert said.says("are given up") or said.says("is given up")
    assert said.says("goodput")


def test_its_numbers_are_those_of_the_code() -> None:
    for policy in POLICIES:
        assert f"`{policy.name}`" in PAGE
    assert f"{QUOTA_TOKENS:.0f} tokens a client" in PAGE
    assert f"takes {SERVICE_S * 1000:.0f} ms" in PAGE
    assert MOST_REQUESTS == 500_000


def test_every_policy_meets_the_same_demand_and_none_is_a_run_without_retries() -> None:
    runs = {policy.name: run("hotkey", policy.name) for policy in map(policy_named, ("none", *USUAL))}
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


def test_every_policy_meets_the_same_random_arrivals() -> None:
    asked = {name: run("hotkey", name, "load.arrivals='poisson'") for name in ("none", *USUAL)}
    assert len({one.requests for one in asked.values()}) == 1
    assert asked["boto3-2025"].attempts > asked["none"].attempts


def test_a_quota_runs_out_by_client() -> None:
    few, many = (run("hotkey", "boto3-2026", clients=clients) for clients in (1, 1_000))
    assert few.quota_ran_out > 0
    assert many.quota_ran_out == 0
    assert few.attempts < many.attempts
    assert few.attempts - few.requests <= QUOTA_TOKENS / 5 + few.accepted


def test_the_same_seed_gives_the_same_answer() -> None:
    first, again = (run("too-small", "boto3-2026-adaptive") for _ in range(2))
    assert first.attempts_per_s == again.attempts_per_s
    assert first.response_s.tolist() == again.response_s.tolist()


def test_what_is_not_throttled_is_not_retried() -> None:
    calm = [run("sharded", name) for name in ("none", "boto3-2026")]
    assert calm[1].attempts == calm[1].requests == calm[1].accepted
    assert sentence_of(calm).startswith("Nothing is throttled, so nobody retries")


def test_transactions_that_meet_are_said_in_the_terminal_on_the_page_and_to_programs(
    verb: Callable[..., Any], tmp_path: Path
) -> None:
    asked = ("retries", "aggregate-transaction", "--duration", "8", "--sdk", "boto3-2026")
    met = (*asked, "--set", "local.transaction_s=0.018")
    said = "of the requests are cancelled for a conflict with another transaction on the same item"
    assert verb(*met, "--out", tmp_path / "page.html").says(said)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert said in page
    assert "conflicts, no throttles" in page  # those that meet ask for nothing, which leaves enough
    policies = json.loads(verb(*met, "--json").out)["policies"]
    assert all(one["conflicts"] == sum(one["conflicts_per_s"]) > 0 for one in policies)
    assert not verb(*asked).says("conflict with")


ORDERS = {"name": "orders", "provisioned": {"read": 10, "write": 20}}


def tried(table: dict[str, Any], **load: Any) -> list[RetriedRun]:
    """A design that is not in the box, without retries and with the usual policies."""
    raw = {
        "format": "keyheat.scenario/1", "name": "own", "question": "Do retries carry it?", "table": table,
        "keys": {"kind": "uniform", "keys": 1_000}, "tasks": [{"operation": "put"}],
        "load": {"duration_s": 20, "item_bytes": 900, **load},
    }  # fmt: skip
    scenario = scenario_from_dict(raw, "own")
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


def test_far_from_its_limit_nobody_retries() -> None:
    runs = tried({**ORDERS, "provisioned": {"read": 10, "write": 200}}, requests_per_s=20)
    assert {run.attempts for run in runs} == {400}
    assert not any(recovery_s(run, runs[0]) or feeds_on_itself(run, runs[0]) for run in runs)
    assert sentence_of(runs) == "Nothing is throttled, so nobody retries: all 400 requests are accepted."


def test_for_programs_it_is_one_object(verb: Callable[..., Any]) -> None:
    said = json.loads(verb("retries", "hotkey", "--json", "--sdk", "boto3-2026", *SHORT).out)
    assert (said["format"], said["scenario"], said["clients"]) == (FORMAT, "hotkey", 10)
    assert [one["sdk"] for one in said["policies"]] == [NONE.name, "boto3-2026"]
    assert all(one["requests"] == one["accepted"] + one["given_up"] for one in said["policies"])


def test_the_answer_as_a_page(
    verb: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = verb(
        "retries", "hotkey", "--sdk", "boto3-2026", "--out", "retries.html", "--json", "--duration", "4"
    )
    answer = json.loads(said.out)
    assert answer["page"] == "retries.html"
    text = (tmp_path / "retries.html").read_text(encoding="utf-8").replace("\u00a0", " ")
    assert f'<h1 id="verdict">{answer["sentence"]}</h1>' in text
    again = "keyheat retries hotkey --set load.duration_s=4.0 --sdk boto3-2026"
    assert f"<code>{again}</code>" in text


def test_a_page_that_cannot_be_written_is_said(verb: Callable[..., Any], tmp_path: Path) -> None:
    said = verb("retries", "hotkey", "--out", str(tmp_path), "--duration", "2")
    assert said.code == 2
    assert str(tmp_path) in "".join(said.err.split())


def test_more_than_can_be_tried_is_refused_with_what_to_do(verb: Callable[..., Any]) -> None:
    said = verb("retries", "hotkey", "--duration", "3200")
    assert said.code == 2
    assert "at most 500,000 are tried one by one" in " ".join(said.err.split())
    assert "--duration S" in said.err


@pytest.mark.parametrize("name", ["operations", "country-index", "replay", "read-hot"])
def test_every_kind_of_request_is_one(name: str) -> None:
    one = run(name, "boto3-2026")
    assert one.requests > 0
    assert one.accepted + one.given_up + one.waiting == one.requests


def test_a_cure_is_tried_of_a_run_with_retries_too_and_says_that_it_is_without_them(
    verb: Callable[..., Any], tmp_path: Path
) -> None:
    """The share of attempts that was throttled is another one with retries: it is repeated with them."""
    settings = ("--set", 'client.sdk="boto3-2026"', "--duration", "8")
    said = verb("simulate", "hotkey", *settings, "--out", tmp_path)
    assert said.says("cure: shard the hot key (4 shards)")
    cure = json.loads((tmp_path / "diagnosis.json").read_bytes())["cure"]
    assert cure["sent_once"]
    assert cure["bill"]
    said = verb("analyze", tmp_path)
    assert said.says("Simulated without retries: no attempt throttled then")
    assert said.says("What it costs")


def test_a_page_that_cannot_be_written_is_said_before_anything_is_simulated(
    verb: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    said = verb("retries", "hotkey", "--out", str(tmp_path / "file" / "retries.html"))
    assert (said.code, said.out) == (2, "")
    assert said.err.strip() == f"keyheat: cannot write {tmp_path / 'file' / 'retries.html'}: Not a directory"
