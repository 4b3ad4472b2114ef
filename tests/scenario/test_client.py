"""[client] of a scenario: whose policy it is, what may be set, and what is refused."""

from keyheat.model.retries import NONE, POLICIES, modes_of, policy_named
from keyheat.scenario.scenario import load_scenario
from keyheat.scenario.spec.tasks import ClientSpec
from keyheat.shipped import shipped

HOTKEY = shipped("configs") / "scenarios" / "hotkey.toml"


def client(path, text):
    path.write_text(f"{HOTKEY.read_text()}\n[client]\n{text}\n")
    return load_scenario(path).client


def test_without_it_nothing_is_sent_again(tmp_path):
    assert load_scenario(HOTKEY).client.policy is NONE


def test_every_policy_has_a_name_of_its_own_and_an_sdk_its_default():
    assert len({policy.name for policy in POLICIES}) == len(POLICIES)
    assert ClientSpec(sdk="boto3-2025").policy is policy_named("boto3-2025")
    assert ClientSpec(sdk="boto3-2026", mode="adaptive").policy is policy_named("boto3-2026-adaptive")
    assert modes_of("none") == ()


def test_what_the_application_sets_is_in_the_policy_and_its_name(tmp_path):
    policy = client(tmp_path / "a.toml", 'sdk = "js-v3"\nattempts = 7\nquota_tokens = 100').policy
    assert (policy.attempts, policy.quota_tokens, policy.name) == (7, 100, "js-v3, attempts 7, quota 100")
    assert client(tmp_path / "b.toml", 'sdk = "js-v3"\nattempts = 4').policy is policy_named("js-v3")
    java = client(tmp_path / "c.toml", 'sdk = "java-v2-2025"\nmode = "legacy"\nquota_tokens = 9').policy
    assert java.quota_tokens == 9, "Java has a quota in legacy mode, too"
