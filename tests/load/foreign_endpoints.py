"""DynamoDB endpoints that others wrote, each as a server; where one is not installed, the test is skipped."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.endpoint.test_dynoxide import wait_for
from tests.outside import PATIENCE_S, free_port

ROOT = Path(__file__).parents[2]
DYNOXIDE = "tests/conformance/node_modules/@dynoxide/linux-x64/dynoxide"
DYNALITE = "benchmarks/node_modules/.bin/dynalite"


@contextmanager
def dynoxide() -> Iterator[str]:
    """dynoxide; gives its URL."""
    program = Path(os.environ.get("KEYHEAT_DYNOXIDE", ROOT / DYNOXIDE))
    with _running(program, "npm ci --prefix tests/conformance, or set KEYHEAT_DYNOXIDE") as url:
        yield url


@contextmanager
def dynalite() -> Iterator[str]:
    """dynalite; gives its URL."""
    with _running(ROOT / DYNALITE, "npm ci --prefix benchmarks", "--createTableMs", "0") as url:
        yield url


@contextmanager
def moto() -> Iterator[str]:
    """moto's server, in a thread; gives its URL."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()


@contextmanager
def _running(program: Path, how: str, *flags: str) -> Iterator[str]:
    if not program.exists():
        pytest.skip(f"{program.name} is not installed: {how}")
    port = free_port()
    with subprocess.Popen(
        [program, *flags, "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            wait_for(port)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE_S)
