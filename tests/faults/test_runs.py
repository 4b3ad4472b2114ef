"""A run through every fault: it ends as it should, its files are whole, each request is accounted for."""

import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from keyheat.endpoint.process import EndpointProcess
from keyheat.load.tables.control import creation
from keyheat.load.transport.answer import IN_FLIGHT
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import target_at
from keyheat.testing.local import LocalDynamoDB
from tests.faults.rules import FAULTS, differences, rules
from tests.load.forked import Load
from tests.make import ON_DEMAND, a_scenario_file, a_spec
from tests.outside import PATIENCE_S, check_whole, eventually, free_port, run_of

pytestmark = pytest.mark.opens

FAULTY = {
    "table": {"name": "faulty-table", "provisioned": {"read": 500, "write": 4_000}},
    "keys": {"kind": "uniform", "keys": 100},
    "load": {
        "users": 30, "requests_per_s": 200, "duration_s": 3_000, "item_bytes": 3_000, "arrivals": "constant",
    },
}  # fmt: skip
TIMES = 10
OPTIONS = ("--headless", "--only-summary", "--no-report", "--stop-timeout", "1")


@pytest.fixture
def endpoint() -> Iterator[EndpointProcess]:
    with EndpointProcess.start(port=free_port()) as process:
        yield process


@pytest.fixture
def begin(
    endpoint: EndpointProcess, start_locust: Callable[..., Load], tmp_path: Path
) -> Callable[..., Load]:
    """Starts a load on the endpoint that writes its run to `run`."""

    def start(transport: str, **load: Any) -> Load:
        where = ("--host", endpoint.url, "--out", str(tmp_path / "run"), "--transport", transport)
        return start_locust(
            "hotkey.py", *OPTIONS, *where, "--scenario", str(a_scenario_file(tmp_path, FAULTY, load=load))
        )

    return start


def ended(load: Load, folder: Path) -> dict[str, Any]:
    """The totals of a run that is interrupted now."""
    load.send_signal(signal.SIGINT)
    err = load.communicate(timeout=PATIENCE_S)[1]
    assert load.returncode == 130, err
    assert "Traceback" not in err
    assert run_of(folder)["status"] == "interrupted"
    return check_whole(folder)


@pytest.mark.parametrize("transport", ["signed", "boto3"])
def test_each_request_of_a_run_through_every_fault_is_accounted_for(
    transport: str, endpoint: EndpointProcess, begin: Callable[..., Load], tmp_path: Path
) -> None:
    local = LocalDynamoDB(endpoint.url)
    faults = local.faults(*rules({"times": 2}, times=TIMES))
    load = begin(transport)
    eventually(lambda: faults.struck() == TIMES * len(FAULTS) - 2 * (TIMES - 2))
    before = local.requests()["PutItem"]
    eventually(lambda: local.requests()["PutItem"] > before + 200)  # the load goes on in peace
    totals = ended(load, tmp_path / "run")
    assert not any(differences(totals, local, faults).values()), (totals, differences(totals, local, faults))
    assert totals["throttled"] == 0
    assert totals["accepted"] > 200


def test_a_run_goes_on_when_its_endpoint_is_started_again(
    endpoint: EndpointProcess, begin: Callable[..., Load], tmp_path: Path
) -> None:
    load = begin("signed")
    eventually(lambda: LocalDynamoDB(endpoint.url).requests().get("PutItem", 0) > 100)
    assert endpoint.stop() == 0
    with EndpointProcess.start(port=int(endpoint.url.rpartition(":")[2])) as other:
        with closing(make_client(target_at(other.url))) as client:
            client.create_table(**creation(a_spec(name="faulty-table", **ON_DEMAND)))
        local = LocalDynamoDB(other.url)
        eventually(lambda: sum(row["accepted"] for row in local.decisions("faulty-table")) > 200)
        totals = ended(load, tmp_path / "run")
    assert totals["errors_by_kind"]["connection_refused"] > 0
    assert set(totals["errors_by_kind"]) <= {
        "connection_refused", "connection_reset", "ResourceNotFoundException", IN_FLIGHT,
    }  # fmt: skip
    assert totals["accepted"] > 300


def test_an_endpoint_that_hangs_makes_a_run_of_a_closed_loop_invalid(
    endpoint: EndpointProcess, begin: Callable[..., Load], tmp_path: Path
) -> None:
    """Everybody waits and nobody sends: what was asked for is what the scenario asks all the same."""
    with LocalDynamoDB(endpoint.url).faults(delay_ms=600_000, operations=["PutItem"], share=0.1):
        load = begin("signed", arrivals="closed", duration_s=8)
        err = load.communicate(timeout=PATIENCE_S)[1]
    assert load.returncode == 0, err
    run = run_of(tmp_path / "run")
    generator = run["generator"]
    assert generator["bound"]
    assert generator["asked_per_s"] == pytest.approx(200, rel=0.05)
    assert run["totals"]["attempts"] < 1_000  # of 1,600
    unanswered = ("were not answered in time", "of the time on requests that had no answer")
    assert any(words in check for check in generator["checks"] for words in unanswered), generator
