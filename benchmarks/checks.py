"""What a check costs in somebody's own tests, CPU time of one core: once everything is imported, and from the
start of a process.

python -m benchmarks.checks
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from statistics import median
from time import process_time

import keyheat
from benchmarks._child import spent_by
from benchmarks._table import Row, show

SCENARIOS = Path(__file__).parents[1] / "configs" / "scenarios"
HOT, SHARDED, SMALL, INDEXED = (
    SCENARIOS / f"{name}.toml" for name in ("hotkey", "sharded", "too-small", "country-index")
)
TIMES = 15
HOLDS_MS, FAILS_MS, SEARCH_MS = 150, 500, 1_500
HEADROOM = (
    "import contextlib, keyheat\n"
    "with contextlib.suppress(keyheat.CheckFailed):\n"
    f"    keyheat.assert_headroom({str(SHARDED)!r}, times=3)"
)
Check = Callable[[], None]


def cpu_ms(check: Check) -> float:
    """The median of so many times; the first one, which loads what it needs, does not count."""
    took = []
    for _ in range(TIMES + 1):
        began_s = process_time()
        with suppress(keyheat.CheckFailed):  # that it fails is what some of them are measured for
            check()
        took.append((process_time() - began_s) * 1_000)
    return median(took[1:])


def rows() -> list[Row]:
    """Checks that hold, checks that fail and say why, and those that search."""
    checks: list[tuple[str, Check, float]] = [
        ("no hot partition, holds", lambda: keyheat.assert_no_hot_partition(SHARDED), HOLDS_MS),
        (
            "no hot partition, holds, table too small",
            lambda: keyheat.assert_no_hot_partition(SMALL),
            HOLDS_MS,
        ),
        (
            "units per operation, holds",
            lambda: keyheat.assert_units_per_operation(INDEXED, at_most=4),
            HOLDS_MS,
        ),
        ("headroom, holds", lambda: keyheat.assert_headroom(SHARDED, times=1.3), HOLDS_MS),
        ("no hot partition, fails", lambda: keyheat.assert_no_hot_partition(HOT), FAILS_MS),
        ("no throttles, fails", lambda: keyheat.assert_no_throttles(INDEXED), FAILS_MS),
        ("label, holds", lambda: keyheat.assert_label(SMALL, label="table"), FAILS_MS),
        ("shards suffice, holds", lambda: keyheat.assert_shards_suffice(HOT, shards=4), FAILS_MS),
        ("headroom, fails", lambda: keyheat.assert_headroom(SHARDED, times=3), SEARCH_MS),
    ]
    imported = [
        Row(what=what, measured=cpu_ms(check), unit="ms", at_most=most) for what, check, most in checks
    ]
    least_ms = min(spent_by(HEADROOM)[1] for _ in range(3)) * 1_000
    whole = Row(what="headroom, fails, a whole process", measured=least_ms, unit="ms", at_most=SEARCH_MS)
    return [*imported, whole]


def main() -> int:
    """Measure and print; 0 where every bound is kept."""
    return 0 if show("Checks in tests: 50 s of load, on the simulator", rows()) else 1


if __name__ == "__main__":
    sys.exit(main())
