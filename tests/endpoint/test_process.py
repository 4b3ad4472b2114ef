"""The endpoint as a process: it says where it is, ends when told, and does not outlive its parent."""

import os
import re
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from urllib.request import urlopen

import pytest

from keyheat.endpoint.__main__ import endpoint
from keyheat.endpoint.process import ROOT, EndpointError, EndpointProcess
from tests.conftest import Verb

pytestmark = pytest.mark.opens

COMMAND = [sys.executable, "-m", "keyheat.endpoint", "--port", "0"]
PATIENCE_S = 60


@pytest.fixture
def child() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """An endpoint started by hand, and where it says that it is."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*COMMAND, "--exit-with-stdin"], cwd=ROOT, text=True, **pipes) as process:
        line = process.stdout.readline()
        assert re.fullmatch(r"ready http://127\.0\.0\.1:\d+\n", line)
        yield process, line.removeprefix("ready ").strip()
        process.kill()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--region", "EU-WEST-1"), "not a Region name; use one such as eu-west-1 or local"),
        (("--scale", "nan"), "--scale"),
        (("--port", "70000"), "--port"),
    ],
)
def test_wrong_flags_are_refused(tool: Verb, flags: tuple[str, str], words: str) -> None:
    said = tool(endpoint, *flags)
    assert (said.code, said.out) == (2, "")
    assert words in " ".join(said.err.split())


def test_ctrl_c_ends_it_cleanly(child: tuple[subprocess.Popen[str], str]) -> None:
    process, _url = child
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out, errors) == (0, "", "")


def test_one_for_everyone_warns_and_ends_although_clients_are_connected() -> None:
    with EndpointProcess.start(host="0.0.0.0") as process:
        assert "warning: listening on 0.0.0.0" in process.complaints()
        host, port = process.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as idle:
            assert process.stop() == process.stop() == 0
            assert idle.recv(1) == b""


def test_a_request_that_has_begun_is_answered_before_the_end(
    child: tuple[subprocess.Popen[str], str],
) -> None:
    process, url = child
    host, port = url.removeprefix("http://").split(":")
    head = (
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: AWS4-HMAC-SHA256 x\r\nExpect: 100-continue\r\n"
        b"X-Amz-Target: DynamoDB_20120810.ListTables\r\nContent-Length: 2\r\n\r\n"
    )
    with (
        socket.create_connection((host, int(port)), timeout=PATIENCE_S) as half,
        half.makefile("rb") as lines,
    ):
        half.sendall(head)
        assert lines.readline() == b"HTTP/1.1 100 Continue\r\n"
        process.send_signal(signal.SIGTERM)
        half.sendall(b"{}")
        assert lines.readline() == b"\r\n"
        assert lines.readline() == b"HTTP/1.1 200 OK\r\n"
    out, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out, errors) == (0, "", "")


def test_it_ends_when_its_parent_is_killed() -> None:
    source = (
        "from keyheat.endpoint.process import EndpointProcess\n"
        "process = EndpointProcess.start()\n"
        "print(process.pid, process.url, flush=True)\n"
        "input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", source], cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        pid, url = parent.stdout.readline().split()
        with urlopen(f"{url}/_keyheat/health") as answer:
            assert answer.status == 200
        watched = os.pidfd_open(int(pid))
        parent.kill()
        assert select.select([watched], [], [], PATIENCE_S)[0]
        os.close(watched)


def test_it_runs_on_pythons_own_loop_where_uvloop_is_missing() -> None:
    without = "import sys; sys.modules['uvloop'] = None; from keyheat.endpoint.__main__ import main"
    command = [sys.executable, "-c", f"{without}; sys.exit(main())", "--port", "0", "--exit-with-stdin"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, text=True, **pipes) as child:
        assert child.stdout is not None
        address = child.stdout.readline().removeprefix("ready ").strip()
        with urlopen(f"{address}/_keyheat/requests", timeout=PATIENCE_S) as answer:
            assert answer.status == 200
        _out, said = child.communicate(timeout=PATIENCE_S)  # which ends its standard input
    assert (child.returncode, said) == (0, "")


def test_a_taken_port_is_said_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(EndpointError) as caught:
            EndpointProcess.start(port=port)
    words = f"port {port} on 127.0.0.1 is taken; choose another with --port or 0 for any free one"
    assert str(caught.value).rstrip().endswith(f"exit code 2: {words}")
