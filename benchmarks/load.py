"""The load generator alone: requests/s from one Locust process on one core, against a null server.

Both transports run the same user class with full recording, in turns, so that a busy moment of the machine
hits both; the best turn of each counts. PutItem is of 1 KB, Query gets a page of 25 small items, and
BatchWriteItem sends 25 items of 1 KB.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks._child import ROOT, measured_by
from benchmarks._table import Row, show

TURNS, SECONDS = 3, 4.0
MORE_TURNS, MORE_SECONDS = 2, 3.0
SIGNED_AT_LEAST = {"PutItem": 7_000.0}
AT_LEAST = {"PutItem": 10.0, "Query": 12.0, "BatchWriteItem": 3.0}
WHAT = {
    "PutItem": "PutItem 1 KB",
    "Query": "Query, a page of 25 items",
    "BatchWriteItem": "BatchWriteItem, 25 items of 1 KB",
}
GENERATOR_CPU, SERVER_CPU = "0", "1"


@contextmanager
def null_server(operation: str = "PutItem") -> Iterator[str]:
    """A null server of our own on the other core; gives its URL."""
    child = subprocess.Popen(
        [sys.executable, "-m", "benchmarks._null_server", SERVER_CPU, operation],
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


def rows() -> list[Row]:
    """Measure both transports in turns, operation by operation."""
    return [
        *compared("PutItem", TURNS, SECONDS),
        *compared("Query", MORE_TURNS, MORE_SECONDS),
        *compared("BatchWriteItem", MORE_TURNS, MORE_SECONDS),
    ]


def compared(operation: str, turns: int, seconds: float) -> list[Row]:
    """One operation by both transports."""
    asked = (f"{seconds:g}", GENERATOR_CPU, operation)
    with null_server(operation) as url:
        results = [
            (transport, measured_by("_load_process", transport, url, *asked))
            for _ in range(turns)
            for transport in ("signed", "boto3")
        ]
    signed, boto3 = (
        max(result["per_s"] for transport, result in results if transport == name)
        for name in ("signed", "boto3")
    )
    what, floor = WHAT[operation], SIGNED_AT_LEAST.get(operation)
    return [
        Row(what=f"signed transport: {what}", measured=signed, unit="requests/s", at_least=floor),
        Row(what=f"boto3 transport: {what}", measured=boto3, unit="requests/s"),
        Row(
            what=f"signed against boto3: {operation}",
            measured=signed / boto3,
            unit="times",
            at_least=AT_LEAST[operation],
        ),
    ]


def main() -> int:
    """Measure and print; 0 where every bound is kept."""
    return 0 if show("Load generator, one core, full recording, against a null server", rows()) else 1


if __name__ == "__main__":
    sys.exit(main())
