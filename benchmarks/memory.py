"""What a run leaves in the load generator's memory: 8,000 attempts/s on a million keys, without a network.

A process of its own feeds a record as users do and folds it each simulated second as a run does. The first
simulated minute fills what is bounded; what the second adds is what every further minute adds.
"""

import gc
import json
import sys
from random import Random
from time import perf_counter

import psutil

from benchmarks._child import measured_by
from benchmarks._table import Row, show
from keyheat.load.record.attempt import Attempt
from keyheat.load.record.record import Record
from keyheat.load.run.load import WINDOW_SETTLES_S

ATTEMPTS_PER_S, KEYS, THROTTLED_SHARE = 8_000, 1_000_000, 0.05
MINUTES = 2
MOST_MB, MOST_MB_PER_MINUTE = 300, 6
REASON = "TableWriteKeyRangeThroughputExceeded"
MB = 1e6


def feed(record: Record, second: int, rng: Random) -> None:
    """One second of load: every key as likely as another, some attempts throttled."""
    numbers = rng.choices(range(KEYS), k=ATTEMPTS_PER_S)
    for place, number in enumerate(numbers):
        sent_s = second + place / ATTEMPTS_PER_S
        attempt = Attempt("PutItem", "write", f"device-{number}", sent_s, 50, 900 + number % 3_000)
        if place < THROTTLED_SHARE * ATTEMPTS_PER_S:
            record.add(attempt._replace(outcome="throttled", units=1.0, reason=REASON))
        else:
            record.add(attempt._replace(units=1.0))


def settle(record: Record, before_s: float) -> None:
    """What a run does each second to bound its record."""
    for latency in record.latencies.values():
        latency.fold()
    for heat in record.heat.values():
        for _ in heat.close_windows(before_s):
            pass


def child() -> None:
    """Feed a record, and print how much memory the process took after each simulated minute."""
    process, record, rng = psutil.Process(), Record(), Random(1)
    began_mb, began_s = process.memory_info().rss / MB, perf_counter()
    minutes = []
    for minute in range(MINUTES):
        for second in range(minute * 60, minute * 60 + 60):
            feed(record, second, rng)
            settle(record, second - WINDOW_SETTLES_S)
        gc.collect()
        minutes.append(process.memory_info().rss / MB)
    took_s = perf_counter() - began_s
    record.heat.clear()  # the sketches' library reports those alive at exit as leaked
    print(json.dumps({"began_mb": began_mb, "minutes_mb": minutes, "took_s": took_s}))


def rows() -> list[Row]:
    """Measure in a process of its own, so that nothing else is in its memory."""
    found = measured_by("memory", "child")
    *_, before, after = found["minutes_mb"]
    attempts = MINUTES * 60 * ATTEMPTS_PER_S
    return [
        Row(what="a record after 2 min", measured=after, unit="MB of the process", at_most=MOST_MB,
            note=f"{found['began_mb']:.0f} MB of them before the first attempt"),
        Row(what="what one more minute adds", measured=after - before, unit="MB",
            at_most=MOST_MB_PER_MINUTE,
            note=f"{THROTTLED_SHARE:.0%} of the attempts throttled, each kept as a row of 48 bytes"),
        Row(what="recording one attempt", measured=found["took_s"] / attempts * 1e6, unit="µs",
            note="with its key in the sketch"),
    ]  # fmt: skip


def main() -> int:
    """Measure and print; 0 where every bound is kept."""
    title = f"Memory of the load generator: {ATTEMPTS_PER_S:,} attempts/s on {KEYS:,} keys, simulated"
    return 0 if show(title, rows()) else 1


if __name__ == "__main__":
    if sys.argv[1:] == ["child"]:
        child()
    else:
        sys.exit(main())
