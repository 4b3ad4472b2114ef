"""Every client that is installed does on a local table what docs/data/clients.json says."""

import re
import subprocess
import sys

import pytest

from keyheat.endpoint.process import EndpointProcess
from tests.clients.kept import kept
from tests.clients.programs import CLIENTS, GO, ROOT, ClientProgram, told_by, two_endpoints
from tests.outside import a_readers_environment

PAGE = ROOT / "docs" / "applications.md"
WAITS_LONG = ("aioboto3", "AWS CLI")  # ten attempts take half a minute, nearly all of it without work


def marks_of(client: ClientProgram) -> list[pytest.MarkDecorator]:
    """One client runs by day, the others at night."""
    marks = [] if client.name == "boto3" else [pytest.mark.nightly]
    return [*marks, pytest.mark.long] if client.name in WAITS_LONG else marks


@pytest.mark.opens
@pytest.mark.slow
@pytest.mark.parametrize("client", [pytest.param(one, id=one.name, marks=marks_of(one)) for one in CLIENTS])
def test_a_client_does_what_the_page_says(client: ClientProgram) -> None:
    if client.missing is not None:
        pytest.skip(client.missing)
    with two_endpoints() as urls:
        told = told_by(client, urls)
    said = kept()[client.name]
    assert [one for one in told if one.outcome == "no"] == []
    if client is GO and told[0] != said["client"]:
        pytest.skip(f"the page is of {said['client'].words}, here is {told[0].words}: `make clients`")
    assert {one.check: one for one in told} == said, "`make clients` keeps it"


@pytest.mark.opens
def test_the_variables_of_the_page_send_a_client_that_is_told_nothing_there() -> None:
    (exports,) = re.findall(
        r"^```sh\n(export .*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    asks = "import boto3; print(boto3.client('dynamodb').list_tables()['TableNames'])"
    with EndpointProcess.start() as local:
        script = exports.replace("http://127.0.0.1:8000", local.url) + f'{sys.executable} -c "{asks}"'
        done = subprocess.run(
            ["sh", "-c", script], env=a_readers_environment(), capture_output=True, text=True
        )
    assert done.stdout == "[]\n", done.stderr
