"""The work of every second in a process that sends: note its health, fold what was counted, pass it on."""

from collections.abc import Callable
from time import perf_counter, time

import gevent
import psutil

from generator.record.health import LAG_EVERY_S
from generator.run.load import Load

KEYS_BETWEEN_PAUSES = 500  # about a millisecond of work, and then requests may go on
WINDOW_SETTLES_S = 2.0  # a window stays open a little longer, for answers that are still to come


def watch_lag(load: Load) -> None:
    """Note forever how late the event loop wakes. Run it in a greenlet of its own."""
    while True:
        slept_from = perf_counter()
        gevent.sleep(LAG_EVERY_S)
        late_s = perf_counter() - slept_from - LAG_EVERY_S
        load.record.health.lag.add(max(0, int(late_s * 1e6)))


def beat(load: Load, after: Callable[[], None]) -> None:
    """Do the work of every second forever, and then call `after`. Run it in a greenlet of its own."""
    process = psutil.Process()
    process.cpu_percent()
    next_s = perf_counter() + 1
    while True:
        gevent.sleep(max(0.0, next_s - perf_counter()))
        next_s += 1
        health = load.record.health
        health.cpu_percent_max = max(health.cpu_percent_max, process.cpu_percent())
        fold(load, before_s=time() - WINDOW_SETTLES_S)
        after()


def fold(load: Load, *, before_s: float = float("inf")) -> None:
    """Bound the record's memory: durations into histograms, windows that ended `before_s` into the sketch."""
    for latency in (*load.record.latencies.values(), load.record.health.late, load.record.health.lag):
        latency.fold()
    for heat in load.record.heat.values():
        for number, _ in enumerate(heat.close_windows(before_s), start=1):
            if number % KEYS_BETWEEN_PAUSES == 0:
                gevent.sleep(0)
