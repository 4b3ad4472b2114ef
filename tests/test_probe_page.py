"""docs/endpoints.md and the verb that it is about: what an endpoint can do, in words and as JSON."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from keyheat.endpoint.process import EndpointProcess
from keyheat.runs.capabilities import QUESTIONS
from tests.load.probe.endpoints import dynoxide
from tests.outside import free_port
from tests.test_readme import ROOT, commands_in

Verb = Callable[..., Any]
PAGE = ROOT / "docs" / "endpoints.md"


@pytest.fixture(scope="module")
def foreign() -> Iterator[str]:
    with dynoxide() as url:
        yield url


@pytest.mark.opens
@pytest.mark.nightly
def test_the_pages_command_prints_both_lists_first(verb: Verb, foreign: str) -> None:
    """The endpoint's address is another one; everything else is as the page says."""
    (command,) = commands_in(PAGE)
    program, name, url = command.split()
    assert (program, url) == ("keyheat", "http://127.0.0.1:8000")
    said = verb(name, foreign)
    assert said.code == 0
    assert said.says(f"{foreign} calls itself Dynoxide/1.2.1 (probed)")
    parts = [
        "A run there can prove",
        "It cannot prove",
        "What it can do",
        *QUESTIONS.values(),
    ]
    places = ["".join(said.out.split()).find("".join(part.split())) for part in parts]
    assert places == sorted(places)
    assert places[0] > 0


@pytest.mark.opens
def test_ours_and_aws_are_known_and_not_asked(verb: Verb) -> None:
    with EndpointProcess.start() as process:
        assert verb("probe", process.url).says("Keyheat's local endpoint (known)")
    said = verb("probe", "https://dynamodb.eu-west-1.amazonaws.com")
    assert said.code == 0
    assert said.says("DynamoDB in AWS (known)")
    assert said.says("latency, as a client there sees it")


@pytest.mark.opens
def test_nobody_answers(verb: Verb) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    said = verb("probe", url)
    assert (said.code, said.out) == (3, "")
    assert f"{url} does not answer" in said.line


def test_an_address_that_is_none(verb: Verb) -> None:
    said = verb("probe", "nowhere")
    assert said.code == 2
    assert "is not an endpoint's URL such as http://127.0.0.1:8000" in said.line


@pytest.mark.opens
@pytest.mark.nightly
def test_another_machine_needs_consent(verb: Verb, foreign: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody can be asked, the refusal names the option; with it, the probe goes on."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    elsewhere = foreign.replace("127.0.0.1", "0.0.0.0")
    said = verb("probe", elsewhere)
    assert (said.code, said.out) == (4, "")
    assert "Say --yes to go on" in said.line
    found = json.loads(verb("probe", elsewhere, "--yes", "--json").out)
    assert (found["url"], found["source"]) == (elsewhere, "probed")
    assert set(found["findings"]) == set(QUESTIONS)
    never = found["findings"]["throttles"]["answer"] == "no"  # "unknown" where this machine is too slow
    assert ("partition or table: there are no throttles to label" in found["cannot_prove"]) == never
