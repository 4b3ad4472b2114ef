"""Other local DynamoDBs, started as servers for comparison where they are installed."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

ROOT = Path(__file__).parents[1]
STARTS_WITHIN_S = 30.0


@dataclass(frozen=True, slots=True)
class Rival:
    """A server: how it is started, and how it gets onto the machine."""

    name: str
    command: tuple[str, ...]
    installed_by: str

    def installed(self) -> bool:
        """Whether its program is there."""
        return Path(self.command[0]).exists()


def _npm(name: str, program: str, *flags: str) -> Rival:
    path = ROOT / "benchmarks" / "node_modules" / program
    return Rival(name, (str(path), *flags, "--port"), "npm ci --prefix benchmarks")


MOTO = Rival(
    "moto", (str(Path(sys.executable).with_name("moto_server")), "-H", "127.0.0.1", "-p"), "make install"
)
RIVALS = (
    MOTO,
    _npm("dynalite", ".bin/dynalite", "--createTableMs", "0"),
    _npm("dynoxide", "@dynoxide/linux-x64/dynoxide"),
)


@contextmanager
def running(rival: Rival, cpu: int) -> Iterator[str]:
    """The rival on a core of its own; gives its URL."""
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    child = subprocess.Popen(
        [*rival.command, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        os.sched_setaffinity(child.pid, {cpu})
        _wait(url, child)
        yield url
    finally:
        child.terminate()
        child.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def _wait(url: str, child: "subprocess.Popen[bytes]") -> None:
    """Until the server answers anything at all."""
    ends_s = time.monotonic() + STARTS_WITHIN_S
    while True:
        try:
            with urlopen(url, timeout=5):
                return
        except URLError as error:
            if getattr(error, "code", None) is not None:
                return
            if child.poll() is not None or time.monotonic() > ends_s:
                raise RuntimeError(f"{url} does not answer") from error
        time.sleep(0.05)
