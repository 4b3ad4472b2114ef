"""`keyheat plan`: what a plan says, whom it asks, and what it refuses."""

import shlex
from pathlib import Path

import pytest
import yaml
from moto import mock_aws

from keyheat.endpoint.process import EndpointProcess
from tests.conftest import ROOT, Verb


def test_a_plan_is_written_for_a_pull_request(verb: Verb) -> None:
    said = verb("plan", "country-index", "--markdown")
    assert (said.code, said.err) == (0, "")
    text = said.out
    assert text.startswith("## country-index: Partition limit of index by-country")
    assert "| index by-country, WCU | 2,940 | 2,940 | 4,000 | 5 | 2,500 of 1,000 |" in text
    assert "A month: \\$4,128 for the provisioned capacity" in text


@pytest.mark.opens
def test_a_local_table_is_asked_for_its_quotas(verb: Verb) -> None:
    with EndpointProcess.start(scale=0.5) as endpoint:
        said = verb("plan", "sharded", "--target", endpoint.url)
    assert (said.code, said.err) == (0, "")
    assert said.says("Of the account, in this Region")
    assert said.says("At scale 0.5 the local table multiplies every limit by it")  # the endpoint's own scale
    assert said.says("a table and its indexes 40,000 WCU/s and 40,000 RCU/s")


@pytest.mark.slow
def test_an_account_is_asked_for_its_quotas(verb: Verb, no_account: None, some_account: None) -> None:
    with mock_aws():
        said = verb("plan", "pre-warmed", "--target", "aws", "--region", "eu-west-1")
    assert (said.code, said.err) == (0, "")
    assert said.says("Of the account, in this Region")
    assert said.says("Prices are those of us-east-1, and may differ in eu-west-1")
    assert said.says("Not priced, so not in the total: pre-warming to 8,000 WCU/s, the table.")
    assert "At scale" not in said.out  # limits of AWS, not of the local table


@pytest.mark.opens
def test_a_plan_is_made_without_quotas(verb: Verb, no_account: None, some_account: None) -> None:
    said = verb("plan", "hotkey", "--target", "http://127.0.0.1:9")
    assert said.code == 0
    assert said.says("Unknown: Could not connect")
    said = verb("plan", "hotkey", "--target", "aws")  # without a region
    assert said.code == 0
    assert said.says("Unknown: You must specify a region")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--region", "eu-west-1"), "add --target aws, too"),
        (("--target", "nowhere"), "is not an endpoint's URL"),
        (("--target", "http://dynamodb.eu-west-1.amazonaws.com"), "over plain HTTP"),
        (("--target", "aws", "--profile", "no-such"), "no-such"),
    ],
)
def test_a_wrong_target_is_exit_2(verb: Verb, no_account: None, options: tuple[str, ...], words: str) -> None:
    said = verb("plan", "hotkey", *options)
    assert said.code == 2
    assert words in said.err


@pytest.mark.slow
def test_the_workflow_of_ones_own_repository_plans_and_simulates_ones_own_scenario(
    verb: Verb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    workflow = yaml.safe_load((ROOT / "deploy" / "review" / "github-actions.yml").read_text(encoding="utf-8"))
    job = workflow["jobs"]["review"]
    steps = {step.get("name", step.get("uses", step.get("run"))): step for step in job["steps"]}
    own = Path(job["env"]["SCENARIO"])
    own.parent.mkdir()
    shipped = (ROOT / "configs" / "scenarios" / "hotkey.toml").read_text(encoding="utf-8")
    own.write_text(shipped, encoding="utf-8")
    for name in ("Plan", "Simulate"):
        command, _, file = steps[name]["run"].replace('"$SCENARIO"', str(own)).partition(" > ")
        program, *words = shlex.split(command)
        said = verb(*words)
        assert (program, said.code) == ("keyheat", 0)
        if file:
            Path(file).write_text(said.out, encoding="utf-8")
    kept = steps["Keep the page"]["with"]["path"].split()
    assert all(Path(path).exists() for path in kept)
    assert f"--body-file {kept[0]}" in steps["Say it in the pull request"]["run"]
    assert "pull_request_target" not in workflow[True], "a fork's code would run with our rights"
