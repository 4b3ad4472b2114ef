"""Locust without importing it each time: a server that has imported it forks for each load.

A load is a process of its own all the same, with its own arguments, folder, environment, pipes and end. The
server forks a keeper, which forks the load, tells its pid, waits for it, and tells its exit code.
"""

import json
import os
import resource
import runpy
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import IO, Any, Self

ROOT = Path(__file__).parents[2]


@dataclass(slots=True)
class Load:
    """A load test under way; what a test asks of `subprocess.Popen`."""

    args: Sequence[str]
    stdout: IO[str]
    stderr: IO[str]
    status: IO[bytes]
    pid: int
    returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        return self._await(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the exit code."""
        if self._await(timeout) is None:
            raise subprocess.TimeoutExpired(list(self.args), timeout or 0.0)
        return self.returncode  # type: ignore[return-value]

    def _await(self, within_s: float | None) -> int | None:
        if self.returncode is None and select.select([self.status], [], [], within_s)[0]:
            self.returncode = int(self.status.readline())
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Read what it still writes, and wait for its end."""
        if self.status.closed:
            return "", ""
        with ThreadPoolExecutor(2) as pool:
            out, err = pool.map(lambda pipe: pipe.read(), (self.stdout, self.stderr))
        self.wait(timeout)
        for pipe in (self.stdout, self.stderr, self.status):
            pipe.close()
        return out, err

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.communicate()

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)

    def close(self) -> None:
        """End it if it still runs, and close its pipes."""
        self.kill()
        self.communicate()


class LocustServer:
    """The server, as a child process of the tests: it begins with the first load."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._child: subprocess.Popen[bytes] | None = None

    def _begin(self) -> None:
        self._channel, theirs = socket.socketpair()
        command = [sys.executable, "-m", "tests.load.forked", str(theirs.fileno())]
        self._child = subprocess.Popen(command, cwd=ROOT, pass_fds=[theirs.fileno()])
        theirs.close()

    def start(
        self, arguments: Sequence[str], folder: Path, env: Mapping[str, str], *, module: str = "locust",
        new_session: bool = False, file_bytes: int | None = None,
    ) -> Load:  # fmt: skip
        """Start `python -m MODULE ARGUMENTS` in a folder; `file_bytes` bounds each file that it writes."""
        out, err, status = (os.pipe() for _ in range(3))
        theirs = [out[1], err[1], status[1]]
        order = {
            "module": module, "arguments": list(arguments), "folder": str(folder), "env": dict(env),
            "new_session": new_session, "file_bytes": file_bytes,
        }  # fmt: skip
        text = json.dumps(order).encode()
        with self._lock:
            if self._child is None:
                self._begin()
            socket.send_fds(self._channel, [len(text).to_bytes(4)], theirs)
            self._channel.sendall(text)
        for pipe in (out, err, status):
            os.close(pipe[1])
        told, said = os.fdopen(status[0], "rb", buffering=0), os.fdopen(err[0])
        return Load(arguments, os.fdopen(out[0], errors="replace"), said, told, pid=int(told.readline()))

    def launch(
        self, command: Sequence[str], *, env: Mapping[str, str], **streams: Any
    ) -> "Load | subprocess.Popen[bytes]":
        """Start what `keyheat run` starts as it does by `subprocess.Popen`."""
        _python, option, module, *arguments = command
        if option != "-m":
            return subprocess.Popen(command, env=env, **streams)
        sys.audit("subprocess.Popen", module, arguments, None, env)
        return self.start(arguments, Path.cwd(), env, module=module)

    def stop(self) -> None:
        """End the server; loads go on."""
        if self._child:
            self._channel.close()
            self._child.wait()


def clean_environment(tmp_path: Path) -> dict[str, str]:
    """An environment without AWS configuration."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "LOCUST_"))}
    return kept | {
        "AWS_CONFIG_FILE": str(tmp_path / "no-config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "no-credentials"),
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def serve(channel: socket.socket) -> dict[str, Any]:
    """Fork for each order; returns in a load alone, with its order."""
    while True:
        length, pipes, *_more = socket.recv_fds(channel, 4, 3)
        if not length:
            os._exit(0)  # the tests are over
        order: dict[str, Any] = json.loads(channel.recv(int.from_bytes(length), socket.MSG_WAITALL))
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a keeper
        if not original("fork")():
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            channel.close()
            keep(*pipes)
            become(order)
            return order
        for pipe in pipes:
            original("close")(pipe)


def original(name: str) -> Any:
    """A function of `os` that gevent has replaced by one which goes by its hub."""
    return monkey.get_original("os", name)


def keep(out: int, err: int, status: int) -> None:
    """Fork the load, in which this returns; tell its pid, and in the end its exit code."""
    if load := original("fork")():
        original("close")(out)
        original("close")(err)
        os.write(status, f"{load}\n".encode())
        _pid, ended = original("waitpid")(load, 0)
        os.write(status, f"{os.waitstatus_to_exitcode(ended)}\n".encode())
        os._exit(0)
    for pipe, number in ((os.open(os.devnull, os.O_RDONLY), 0), (out, 1), (err, 2)):
        os.dup2(pipe, number)
        original("close")(pipe)
    original("close")(status)


def become(order: dict[str, Any]) -> None:
    """Take on the arguments, folder and environment of a load."""
    gevent.reinit()
    if order["new_session"]:
        os.setsid()
    if order["file_bytes"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["file_bytes"],) * 2)
        sys.dont_write_bytecode = True  # a module that is cut off would be left
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["env"])
    if PARENT in os.environ:
        os.environ[PARENT] = str(os.getppid())  # its keeper takes the place of whoever launches it
    sys.argv[1:] = order["arguments"]


if __name__ == "__main__":
    import gevent
    import locust.main  # noqa: F401
    from gevent import monkey

    import keyheat.load.run.finish
    import keyheat.load.run.session  # noqa: F401  # what a load test comes to import
    from keyheat.load.run.launch import PARENT

    order = serve(monkey.get_original("socket", "socket")(fileno=int(sys.argv[1])))
    if order["module"].endswith(".py"):
        runpy.run_path(order["module"], run_name="__main__")
    else:
        runpy.run_module(order["module"], run_name="__main__", alter_sys=True)
