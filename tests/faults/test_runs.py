"""A run through every fault: it ends as it should, its files are whole, each request is accounted for."""

import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from keyheat.endpoint.process import EndpointProcess
from keyheat.load.tables.control import creation
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import target_at
from tests.faults.account import asked_of, differences
from tests.faults.kinds import FAULTS, in_turn
from tests.faults.process import FaultProxy
from tests.load.forked import Load
from tests.make import ON_DEMAND, a_scenario_file, a_spec
from tests.outside import PATIENCE_S, check_whole, eventually, run_of

pytestmark = pytest.mark.opens

FAULTY = {
    "table": {"name": "faulty-table", "provisioned": {"read": 500, "write": 4_000}},
    "keys": {"kind": "uniform", "keys": 100},
    "load": {
        "users": 30, "requests_per_s": 200, "duration_s": 8, "item_bytes": 3_000, "arrivals": "constant",
    },
}  # fmt: skip
FIRST, EACH, GAP = 20, 4, 6
IN_TURN = [name for name in FAULTS if name != "silence"]
LAST = FIRST + len(IN_TURN) * (EACH + GAP)
PLAN = in_turn(IN_TURN, first=FIRST, each=EACH, gap=GAP) | {LAST + 80: "silence", LAST + 81: "silence"}


@dataclass
class Behind:
    """What a run sends to: a proxy, and the endpoint behind it."""

    endpoint: EndpointProcess
    proxy: FaultProxy
    folder: Path
    start: Callable[..., Load]
    asked_before: int = 0  # of endpoints that are gone

    def load(self, transport: str, **load: Any) -> Load:
        scenario = a_scenario_file(self.folder, FAULTY, load=load)
        options = ("--headless", "--only-summary", "--no-report", "--stop-timeout", "1")
        where = ("--host", self.proxy.url, "--scenario", str(scenario), "--out", str(self.folder / "run"))
        return self.start("hotkey.py", *options, "--transport", transport, *where)

    def restart(self, other: EndpointProcess) -> None:
        """The endpoint goes down with all connections, and another one comes up where it was."""
        self.proxy.turn_on("restart")
        eventually(self._nothing_under_way)
        before, self.endpoint = self.endpoint, other
        self.asked_before += asked_of(before.url)
        self.proxy.come_back(other.url)  # at once: the load goes on, and ending an endpoint may take its time
        before.stop()

    def has_met_all(self) -> bool:
        """Whether each fault has struck, and the load went on in peace after that."""
        counted = self.proxy.counts()
        return set(counted["by_fault"]) == set(FAULTS) and counted["answered"] > 3 * LAST

    def _nothing_under_way(self) -> bool:
        counted = self.proxy.counts()
        return bool(counted["forwarded"] == counted["answered"])


def create_table(url: str) -> None:
    with closing(make_client(target_at(url))) as client:
        client.create_table(**creation(a_spec(name="faulty-table", **ON_DEMAND)))


@pytest.fixture
def behind(tmp_path: Path, start_locust: Callable[..., Load]) -> Iterator[Callable[[str], Behind]]:
    """Makes one of them."""
    made: list[Behind] = []

    def begin(name: str) -> Behind:
        (tmp_path / name).mkdir()
        endpoint = EndpointProcess.start()
        made.append(Behind(endpoint, FaultProxy.start(endpoint.url), tmp_path / name, start_locust))
        return made[-1]

    yield begin
    for each in made:
        each.proxy.stop()
        each.endpoint.stop()


def test_an_endpoint_that_hangs_makes_a_run_of_a_closed_loop_invalid(behind: Callable[[str], Behind]) -> None:
    """Everybody waits and nobody sends: what was asked for is what the scenario asks all the same."""
    hung = behind("hung")
    hung.proxy.plan(dict.fromkeys(range(200, 10_000), "silence"))
    load = hung.load("signed", arrivals="closed")
    err = load.communicate(timeout=PATIENCE_S)[1]
    assert load.returncode == 0, err
    run = run_of(hung.folder / "run")
    generator = run["generator"]
    assert generator["bound"]
    assert generator["asked_per_s"] == pytest.approx(200, rel=0.05)
    assert run["totals"]["attempts"] < 200 + 2 * 30
    unanswered = ("were not answered in time", "of the time on requests that had no answer")
    assert any(words in check for check in generator["checks"] for words in unanswered), generator


def test_runs_through_every_fault(behind: Callable[[str], Behind]) -> None:
    signed, boto3, other = behind("signed"), behind("boto3"), EndpointProcess.start()
    create_table(other.url)
    for each in (signed, boto3):
        each.proxy.plan(PLAN)
    loads = [signed.load("signed", duration_s=3_000), boto3.load("boto3", duration_s=3_000)]
    eventually(lambda: signed.proxy.counts()["seen"] > LAST + 40)
    signed.restart(other)
    eventually(lambda: signed.has_met_all() and boto3.has_met_all())
    for load in loads:
        load.send_signal(signal.SIGINT)
    said = [load.communicate(timeout=PATIENCE_S)[1] for load in loads]
    for each, load, err in zip((signed, boto3), loads, said, strict=True):
        assert load.returncode == 130, err
        assert "Traceback" not in err
        run, counted = each.folder / "run", each.proxy.counts()
        totals = check_whole(run)
        assert run_of(run)["status"] == "interrupted"
        asked = each.asked_before + asked_of(each.endpoint.url)
        wrong = {what: number for what, number in differences(totals, counted, asked).items() if number}
        assert not wrong, (totals, counted, err)
        assert totals["throttled"] == 0
        assert min(totals["accepted"], totals["errors"]) > 0  # how many of each is the machine's
