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

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
WANTED_PER_S = 7_000
WANTED_RATIO = 8.0
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


def main(turns: int = 3, seconds: float = 4.0) -> int:
    """Measure and print; 0 where both numbers are reached."""
    with null_server() as url:
        results = [
            (transport, measure(transport, url, seconds))
            for _ in range(turns)
            for transport in ("signed", "boto3")
        ]
    best = {
        name: max((r for transport, r in results if transport == name), key=lambda r: r["per_s"])
        for name in ("signed", "boto3")
    }
    ratio = best["signed"]["per_s"] / best["boto3"]["per_s"]
    table = Table("transport", "PutItem/s", "p50 us", "p99 us", title="Load generator, one core, 1 KB items")
    for name, result in best.items():
        table.add_row(name, f"{result['per_s']:,.0f}", str(result["p50_us"]), str(result["p99_us"]))
    Console().print(table, f"signed / boto3 = {ratio:.1f} (wanted: {WANTED_RATIO:g}; {WANTED_PER_S:,}/s)")
    return 0 if ratio >= WANTED_RATIO and best["signed"]["per_s"] >= WANTED_PER_S else 1


if __name__ == "__main__":
    sys.exit(main())
