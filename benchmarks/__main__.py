"""Every claim of speed, measured on this machine: `make bench`, about four minutes.

Each table has what was claimed beside what was measured. Other local DynamoDBs are compared where they are
installed (`npm ci --prefix benchmarks`).
"""

import sys

from benchmarks import (
    admit,
    arrivals,
    checks,
    endpoint,
    fanout,
    load,
    memory,
    page,
    report,
    simulate,
)

PARTS = (
    admit.main,
    load.main,
    arrivals.main,
    fanout.main,
    memory.main,
    report.main,
    page.main,
    simulate.main,
    checks.main,
    lambda: endpoint.main([]),
)


def main() -> int:
    """Measure all, print all; 0 where every bound is kept."""
    return max([part() for part in PARTS])


if __name__ == "__main__":
    sys.exit(main())
