"""The first Ctrl-C interrupts Locust, the next one ends everything that this process has started."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gevent
import msgpack  # type: ignore[import-untyped]
import psutil
import pytest
import zmq
from gevent.event import Event

from keyheat.load.run.kill_switch import KillSwitch, tell_to_quit
from keyheat.load.run.launch import PASSED_ON
from keyheat.load.run.watch import MASTER_SILENT_S, watch_master
from keyheat.words import INTERRUPTED
from tests.endpoint.clients import FakeClock
from tests.outside import PATIENCE_S

CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, PASSED_ON)


def run_in(folder: Path, told: list[str]) -> Any:
    """A run, and what may have to be left as it is."""
    left = "table t is there, and costs. Delete it with: aws dynamodb delete-table --table-name t"
    return SimpleNamespace(
        folder=lambda: folder, left_behind=lambda: [left], tell_workers=lambda: told.append("told")
    )


def locust() -> gevent.Greenlet:
    """Locust's greenlet, which loads until it is interrupted."""

    def load() -> str:
        try:
            Event().wait()
        except KeyboardInterrupt:
            return "ends"
        return "was not interrupted"

    main = gevent.spawn(load)
    gevent.sleep(0)
    return main


@pytest.fixture
def signals() -> Iterator[None]:
    """Handlers are put back."""
    before = {number: signal.getsignal(number) for number in CAUGHT}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.opens
@pytest.mark.usefixtures("signals")
def test_the_second_one_leaves_at_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    gone, told = list[int](), list[str]()
    (tmp_path / "run.json").write_text("whole")
    (tmp_path / ".run.json.abc.tmp").write_text("ha")
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    main = locust()
    switch = KillSwitch(main, run_in(tmp_path, told), gone.append, lambda: [psutil.Process(child.pid)])
    switch._first()
    assert (main.get(), gone) == ("ends", [])
    os.kill(os.getpid(), signal.SIGTERM)  # says nothing new
    assert gone == []
    os.kill(os.getpid(), signal.SIGINT)
    assert gone == [INTERRUPTED]
    assert child.wait(PATIENCE_S) == -signal.SIGKILL
    child.communicate()
    assert told == ["told"]
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]
    said = capfd.readouterr().err.splitlines()
    assert said[0] == "keyheat: ending; what was recorded is kept. Ctrl-C again leaves at once"
    assert said[1] == "keyheat: left at once; what was written is kept"
    assert said[2].endswith("aws dynamodb delete-table --table-name t")


@pytest.mark.usefixtures("signals")
@pytest.mark.parametrize("ways", [(signal.SIGINT, PASSED_ON), (PASSED_ON, signal.SIGINT)])
def test_a_ctrl_c_that_comes_two_ways_is_one(ways: tuple[int, int]) -> None:
    """A terminal sends it to the run and to who started it, who passes it on."""
    gone: list[int] = []
    switch = KillSwitch(locust(), None, gone.append, list)
    first, echo = ways
    switch._pressed(first)
    os.kill(os.getpid(), echo)
    assert gone == []
    os.kill(os.getpid(), echo)
    assert gone == [INTERRUPTED]
    os.kill(os.getpid(), first)
    assert gone == [INTERRUPTED]


@pytest.mark.usefixtures("signals")
def test_two_at_once_are_two() -> None:
    gone: list[int] = []
    switch = KillSwitch(locust(), None, gone.append, list)
    switch._pressed(signal.SIGINT)
    switch._pressed(signal.SIGINT)  # gevent had both before it looked
    assert gone == [INTERRUPTED]


@pytest.mark.usefixtures("signals")
def test_a_closed_terminal_is_a_first_one_however_often_it_is_told() -> None:
    gone: list[int] = []
    main = locust()
    switch = KillSwitch(main, None, gone.append, list)
    switch._hung_up()
    switch._hung_up()
    os.kill(os.getpid(), signal.SIGHUP)
    assert (main.get(), gone) == ("ends", [])


@pytest.mark.usefixtures("signals")
def test_nohup_is_kept() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    switch = KillSwitch(None)
    switch.install()
    switch.arm()
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


@pytest.mark.usefixtures("signals")
def test_it_leaves_even_where_it_cannot_say_why() -> None:
    gone: list[int] = []
    switch = KillSwitch(None, SimpleNamespace(), gone.append, list)
    switch.arm()
    with pytest.raises(AttributeError):
        signal.raise_signal(signal.SIGINT)
    assert gone == [INTERRUPTED]


def test_every_worker_is_told_and_one_that_is_gone_stops_nothing() -> None:
    sent: list[Any] = []

    def send_multipart(parts: list[bytes], flags: int) -> None:
        if parts[0] == b"gone":
            raise zmq.ZMQError
        sent.append((msgpack.unpackb(parts[1]), flags))

    clients = SimpleNamespace(all=[SimpleNamespace(id=name) for name in ("gone", "here")])
    server = SimpleNamespace(socket=SimpleNamespace(send_multipart=send_multipart))
    tell_to_quit(SimpleNamespace(clients=clients, server=server))
    assert sent == [(["quit", None, "here"], zmq.NOBLOCK)]


@pytest.mark.parametrize("newest_s", [103.0, 103.0 + 3_600.0, 103.0 - 3_600.0])
def test_a_worker_whose_master_is_silent_sends_no_more(newest_s: float) -> None:
    """Silent by this machine's monotonic clock: that of what was heard may have been set meanwhile."""
    clock, stopped = FakeClock(100.0), list[float]()
    heard: list[Any] = [None, None, 102.0, newest_s]
    watch_master(
        lambda: heard.pop(0) if len(heard) > 1 else heard[0],
        lambda: stopped.append(clock()),
        clock=clock,
        sleep=clock.advance,
    )
    assert stopped == [pytest.approx(103.0 + MASTER_SILENT_S + 1.0)]
