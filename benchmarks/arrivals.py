"""The open loop's accuracy: what was asked for and achieved, how late arrivals started, what was dropped.

One Locust process on one core, full recording, against a null server on the other.
"""

import sys

from benchmarks._child import measured_by
from benchmarks._table import Row, show
from benchmarks.load import GENERATOR_CPU, null_server

SECONDS = 8.0
RATES = (1_000, 5_000)
WITHIN_PERCENT = 2.0


def rows() -> list[Row]:
    """Measure each rate."""
    made = []
    with null_server() as url:
        for per_s in RATES:
            asked = ("signed", url, f"{SECONDS:g}", GENERATOR_CPU, "PutItem", f"{per_s}")
            found = measured_by("_load_process", *asked)
            what = f"{per_s:,} arrivals/s"
            sent = f"{found['achieved']:,.0f} of {found['asked']:,.0f} requests"
            off_percent = abs(found["achieved"] / found["asked"] - 1) * 100
            made += [
                Row(
                    what=f"{what}: achieved differs from asked", measured=off_percent, unit="%",
                    at_most=WITHIN_PERCENT, note=sent,
                ),
                Row(what=f"{what}: late by, p99", measured=found["late_p99_ms"], unit="ms"),
                Row(what=f"{what}: dropped", measured=found["dropped"], unit="arrivals", at_most=0),
            ]  # fmt: skip
    return made


def main() -> int:
    """Measure and print; 0 where every bound is kept."""
    return 0 if show("Open loop, one process, constant arrivals, against a null server", rows()) else 1


if __name__ == "__main__":
    sys.exit(main())
