"""`python -m tools.samples DIRECTORY`: six made-up runs with their reports."""

import sys
from datetime import UTC, datetime
from pathlib import Path

from keyheat.show.report import write_report
from tools.samples.cases import CASES
from tools.samples.make import make_run


def main(arguments: list[str]) -> int:
    """Write the samples and say where they are."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.stderr.write("usage: python -m tools.samples DIRECTORY\n")
        return 2
    for case in CASES:
        run_dir = make_run(case, Path(arguments[0]) / case.name)
        print(write_report(run_dir, datetime.now(UTC)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
