"""The work of every second in a process that sends: note its health, fold what was counted, pass it on."""

from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import gevent
import psutil

from keyheat.load.record.health import LAG_EVERY_S
from keyheat.load.run.load import Load

KEYS_BETWEEN_PAUSES = 500  # about a millisecond of work, and then requests may go on
WINDOW_SETTLES_S = 2.0  # a window stays open a little longer, for answers that are still to come
LEAST_BEAT_S = 0.5  # between two beats, however late one was: CPU time is counted in steps of 10 ms
STALLED_AFTER_S = 45.0
"""A user that has not come back for so long never will: a request may take 10 s, a back-off 25 s."""
SCHEDSTAT = Path("/proc/self/schedstat")
"""Of the main thread, in which all greenlets run: nanoseconds on a CPU, and ready to run but without one.
https://docs.kernel.org/scheduler/sched-stats.html"""


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
    starved_s, beat_s = starved_until_now_s(), perf_counter()
    next_s = beat_s + 1
    while True:
        gevent.sleep(max(0.0, next_s - perf_counter()))
        next_s = next_beat_s(next_s, perf_counter())
        health = load.record.health
        health.cpu_percent_max = max(health.cpu_percent_max, process.cpu_percent())
        before_s, starved_s = starved_s, starved_until_now_s()
        last_s, beat_s = beat_s, perf_counter()
        if before_s is not None and starved_s is not None:
            health.starved_s += starved_s - before_s
            health.watched_s += beat_s - last_s
        look_at_users(load, load.clock())
        health.note_jump(load.clock.jump_s)
        load.account()
        fold(load, before_s=load.clock() - WINDOW_SETTLES_S)
        after()


def next_beat_s(due_s: float, now_s: float) -> float:
    """When the beat after the one that was due then and begins now is due: beats are not made up for."""
    return max(due_s + 1, now_s + LEAST_BEAT_S)


def starved_until_now_s() -> float | None:
    """How long this process has been ready to run and had no CPU; None where the system does not say."""
    try:
        return int(SCHEDSTAT.read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return None


def look_at_users(load: Load, now_s: float) -> None:
    """Note which users do not come back, and for how long none has."""
    health = load.record.health
    health.stalled = max(health.stalled, stalled(load, now_s))
    health.silent_s += load.silence.seen(min(now_s, load.stopped_s))


def stalled(load: Load, now_s: float) -> int:
    """How many users have been under way for longer than any request takes."""
    return sum(now_s - since_s > STALLED_AFTER_S for since_s in load.under_way.values())


def fold(load: Load, *, before_s: float = float("inf")) -> None:
    """Bound the record's memory: durations into histograms, windows that ended `before_s` into the sketch."""
    for latency in (*load.record.latencies.values(), load.record.health.late, load.record.health.lag):
        latency.fold()
    for heat in load.record.heat.values():
        for number, _ in enumerate(heat.close_windows(before_s), start=1):
            if number % KEYS_BETWEEN_PAUSES == 0:
                gevent.sleep(0)
