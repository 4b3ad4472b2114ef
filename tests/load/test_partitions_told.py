"""The endpoint tells of partitions and faults when a run is over; what is no answer is taken for none."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from keyheat.endpoint.process import EndpointProcess
from keyheat.load.record.record import Record
from keyheat.load.run.run import LoadRun
from keyheat.load.run.watch import Caps, Spending
from keyheat.load.transport.boto import PageUnavailable, faults_of, partitions_of
from keyheat.load.transport.target import Target, target_at
from keyheat.testing.local import LocalDynamoDB
from tests.endpoint.account import on_demand
from tests.endpoint.clients import client
from tests.load.scripted import HANG_UP, answered, serving

pytestmark = pytest.mark.opens


@contextmanager
def odd(status: str, body: bytes) -> Iterator[Target]:
    """An endpoint that answers with something else."""
    with serving(answered(status, body, "Connection: close") + HANG_UP) as server:
        yield target_at(server.url)


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        ("404 Not Found", b"[]", "did not answer"),
        ("500 Internal Server Error", b"[]", "did not answer"),
        ("200 OK", b"coffee", "something else"),
        ("200 OK", b'{"rules": [{"name": 1}]}', "something else"),
    ],
)
def test_another_answer_is_none(status: str, body: bytes, said: str) -> None:
    for ask in (faults_of, lambda target: partitions_of(target, "orders", 0.0, 10.0)):
        with odd(status, body) as target, pytest.raises(PageUnavailable, match=said):
            ask(target)


def test_the_table_is_that_of_the_region_which_is_signed_for(endpoint: EndpointProcess) -> None:
    client("dynamodb", endpoint.url, region="eu-west-1").create_table(**on_demand())
    partitions_of(target_at(endpoint.url, region="eu-west-1"), "orders", 0.0, 10.0)
    with pytest.raises(PageUnavailable, match="404"):
        partitions_of(target_at(endpoint.url), "orders", 0.0, 10.0)


def test_a_run_says_which_rules_struck_while_it_loaded_and_how_often(endpoint: EndpointProcess) -> None:
    local = LocalDynamoDB(endpoint.url)
    said: list[str] = []
    progress: Any = SimpleNamespace(say=said.append)
    run = LoadRun(Any, progress, users=1, duration_s=None, spending=Spending(Caps()))  # type: ignore[arg-type]
    run.sender = SimpleNamespace(record=Record())  # type: ignore[assignment]
    health, target = run.record.health, target_at(endpoint.url)
    run.see_faults(target)
    assert (said, health.missing) == ([], [])
    with local.faults({"name": "mine", "delay_ms": 1, "times": 3}, {"delay_ms": 1}) as faults:
        local._ask("ListTables", {})
        run._struck = faults_of(target)
        for _ in range(4):
            local._ask("ListTables", {})
        run.see_faults(target)
        assert faults.struck() == 8
    assert health.missing == said
    assert said[0].endswith("labels take for the table's own doing: mine 2 times, rule-2 4 times")
    run.see_faults(target_at("http://127.0.0.1:9"))
    assert health.missing[1].startswith("whether rules of faults struck: the endpoint did not answer")
