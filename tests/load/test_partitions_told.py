"""The endpoint tells of partitions and faults when a run is over; what is no answer is taken for none."""

from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

import pytest

from keyheat.endpoint.process import EndpointProcess
from keyheat.load.record.generator import Health
from keyheat.load.run.testbed import LOCAL
from keyheat.load.run.testbed import Testbed as Bed
from keyheat.load.transport.endpoint_pages import NotTold, faults_of, partitions_of
from keyheat.load.transport.target import Target, target_at
from keyheat.testing.local import LocalDynamoDB
from tests.endpoint.clients import client

pytestmark = pytest.mark.opens


class Odd(BaseHTTPRequestHandler):
    """A server that answers by the name of the table: with its status, or with that text."""

    def do_GET(self) -> None:
        asked = unquote(self.path).partition("table=")[2].rpartition("table/")[2]
        self.send_response(int(asked) if asked.isdigit() else 200)
        self.end_headers()
        self.wfile.write(asked.replace("_", '"').encode())

    def log_message(self, *_words: Any) -> None:
        """A test says nothing."""


@pytest.fixture
def odd() -> Iterator[Target]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Odd) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield target_at(f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("table", "said"),
    [("404", "did not answer"), ("500", "did not answer"), ("coffee", "something else"),
     ("{_a_: 1}", "something else")],
)  # fmt: skip
def test_another_answer_is_none(odd: Target, table: str, said: str) -> None:
    with pytest.raises(NotTold, match=said):
        partitions_of(odd, table, 0.0, 10.0)


def test_nobody_there_is_said() -> None:
    with pytest.raises(NotTold, match="did not answer"):
        partitions_of(target_at("http://127.0.0.1:9"), "orders", 0.0, 10.0)


@pytest.mark.parametrize("page", ["404", "coffee", "{_rules_: [{_name_: 1}]}"])
def test_rules_of_faults_that_are_not_told_are_not_taken_for_none(odd: Target, page: str) -> None:
    with pytest.raises(NotTold):
        faults_of(replace(odd, url=f"{odd.url}/table={page.replace(' ', '%20')}"))


@pytest.fixture
def endpoint() -> Iterator[LocalDynamoDB]:
    with EndpointProcess.start() as process:
        yield LocalDynamoDB(process.url)


@pytest.mark.parametrize("region", ["us-east-1", "eu-west-1"])
def test_the_table_is_that_of_the_region_which_is_signed_for(endpoint: LocalDynamoDB, region: str) -> None:
    target = target_at(endpoint.url, region=region)
    with pytest.raises(NotTold, match="404"):
        partitions_of(target, "orders", 0.0, 10.0)
    client("dynamodb", endpoint.url, region=region).create_table(
        TableName="orders",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    partitions_of(target, "orders", 0.0, 10.0)
    other = {"us-east-1": "eu-west-1", "eu-west-1": "us-east-1"}[region]
    with pytest.raises(NotTold, match="404"):
        partitions_of(target_at(endpoint.url, region=other), "orders", 0.0, 10.0)


def test_a_run_says_which_rules_struck_while_it_loaded_and_how_often(endpoint: LocalDynamoDB) -> None:
    said: list[str] = []
    bed = Bed(plan=Any, progress=SimpleNamespace(say=said.append), run_id="mine")  # type: ignore[arg-type]
    bed.target = target_at(endpoint.url)
    bed._folder = SimpleNamespace(manifest={"target": LOCAL})  # type: ignore[assignment]
    health = Health()
    bed.see_faults(health)
    assert (said, health.missing) == ([], [])
    with endpoint.faults({"name": "mine", "delay_ms": 1, "times": 3}, {"delay_ms": 1}) as faults:
        endpoint._ask("ListTables", {})
        bed._struck = faults_of(bed.target)
        for _ in range(4):
            endpoint._ask("ListTables", {})
        bed.see_faults(health)
        assert faults.struck() == 8
    assert health.missing == said
    assert said[0].endswith("labels take for the table's own doing: mine 2 times, rule-2 4 times")
    bed.target = target_at("http://127.0.0.1:9")
    bed.see_faults(health)
    assert health.missing[1].startswith("whether rules of faults struck: the endpoint did not answer")
