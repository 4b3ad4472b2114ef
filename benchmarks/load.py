"""The load generator alone: PutItem/s of 1 KB from one Locust process on one core, against a null server.

Both transports run the same user class with full recording, in turns, so that a busy moment of the machine
hits both; the best turn of each counts.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks._table import Row, show

ROOT = Path(__file__).parents[1]
TURNS, SECONDS = 3, 4.0
GENERATOR_CPU, SERVER_CPU = "0", "1"


@contextmanager
def null_server() -> Iterator[str]:
    """A null server of our own on the other core; gives its URL."""
    child = subprocess.Popen(
        [sys.executable, "-m", "benchmarks._null_server", SERVER_CPU],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        yield child.stdout.readline().removeprefix("ready ").strip()
    finally:
        child.stdin.close()
        child.wait()
        child.stdout.close()


def measure(transport: str, url: str, seconds: float) -> dict[str, Any]:
    """One turn of one transport, in a process of its own."""
    module = "benchmarks._load_process"
    done = subprocess.run(
        [sys.executable, "-m", module, transport, url, f"{seconds:g}", GENERATOR_CPU],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def rows() -> list[Row]:
    """Measure both transports in turns."""
    with null_server() as url:
        results = [
            (transport, measure(transport, url, SECONDS))
            for _ in range(TURNS)
            for transport in ("signed", "boto3")
        ]
    per_s = {
        name: max(result["per_s"] for transport, result in results if transport == name)
        for name in ("signed", "boto3")
    }
    ratio = per_s["signed"] / per_s["boto3"]
    return [
        Row(
            what="signed transport: PutItem 1 KB", measured=per_s["signed"], unit="requests/s", at_least=7_000
        ),
        Row(what="boto3 transport: PutItem 1 KB", measured=per_s["boto3"], unit="requests/s"),
        Row(what="signed against boto3", measured=ratio, unit="times", at_least=8),
    ]


def main() -> int:
    """Measure and print; 0 where every bound is kept."""
    return 0 if show("Load generator, one core, full recording, against a null server", rows()) else 1


if __name__ == "__main__":
    sys.exit(main())
