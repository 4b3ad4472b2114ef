"""The watch of one run, made from its plan: in a master, in a process on its own, and in each worker."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from time import monotonic
from typing import Any, Final

import gevent

from keyheat.load.guard.budget import MINUTE_S, Caps
from keyheat.load.guard.meter import Source
from keyheat.load.guard.watch import REACTION_S, WORKERS_REACT_S, Watch, ends_at
from keyheat.load.record.consumed import Consumed
from keyheat.load.record.record import Record
from keyheat.load.run.arrived import PIECES_ARRIVE_S, Arrived
from keyheat.load.run.load import Load
from keyheat.load.run.options import Plan
from keyheat.plan.bill import Tariff
from keyheat.plan.prices import load_prices
from keyheat.scenario.spec.part import AbortSpec

MASTER_SILENT_S: Final = 10.0
"""A worker that hears nothing of its master for so long sends no more. Locust's master answers every worker's
heartbeat once a second, and a worker by itself gives up only after a minute (`MASTER_HEARTBEAT_TIMEOUT`)."""


def caps_of(plan: Plan, *, local: bool, duration_s: float | None) -> Caps:
    """What a run may use up. On a local table dollars count only where the command line says how many."""
    budget = plan.budget
    seconds = None if budget.minutes is None else budget.minutes * MINUTE_S
    if seconds is not None and duration_s is not None and duration_s <= seconds:
        seconds = None  # it ends by itself before that
    return Caps(
        dollars=budget.dollars if plan.dollars_said or not local else None,
        units=budget.units,
        seconds=seconds,
        tariff=Tariff.of(plan.scenario, load_prices(plan.prices), existing=plan.existing is not None),
    )


def watch_here(
    plan: Plan, caps: Caps, load: Load, duration_s: float | None, stop: Callable[[], None]
) -> Watch:
    """The watch of a process that sends by itself: it knows everything at once."""
    return _watch(
        caps,
        plan.scenario.abort_on,
        duration_s,
        stop,
        load.clock,
        record=lambda: load.record,
        sources=lambda: [source_here(load, Consumed())],
    )


def watch_workers(
    plan: Plan, caps: Caps, gatherer: Any, duration_s: float | None, stop: Callable[[], None]
) -> Watch:
    """The watch of a master, which knows what its workers' pieces said."""
    return _watch(
        caps,
        plan.scenario.abort_on,
        duration_s,
        stop,
        gatherer.clock,
        record=lambda: gatherer.record,
        sources=lambda: _of_workers(gatherer.workers),
        reaction_s=WORKERS_REACT_S,
        known_after_s=PIECES_ARRIVE_S,
    )


def watch_alone(caps: Caps, load: Load, sent: Callable[[], Consumed], stop: Callable[[], None]) -> Watch:
    """The watch of a worker over itself: alone it never uses more than the whole run may."""
    return _watch(
        caps,
        None,
        None,
        stop,
        load.clock,
        record=lambda: load.record,
        sources=lambda: [source_here(load, sent())],
    )


def _watch(
    caps: Caps,
    rules: AbortSpec | None,
    duration_s: float | None,
    stop: Callable[[], None],
    clock: Callable[[], float],
    *,
    record: Callable[[], Record],
    sources: Callable[[], Iterable[Source]],
    reaction_s: float = REACTION_S,
    known_after_s: int = 0,
) -> Watch:
    """A watch that begins now."""
    started_s = clock()
    return Watch(
        caps=caps,
        rules=rules,
        started_s=started_s,
        ends_s=ends_at(started_s, duration_s),
        record=record,
        sources=sources,
        stop=stop,
        clock=clock,
        reaction_s=reaction_s,
        known_after_s=known_after_s,
    )


def watch_master(
    heard_s: Callable[[], float | None],
    stop: Callable[[], None],
    *,
    clock: Callable[[], float] = monotonic,
    sleep: Callable[[float], object] = gevent.sleep,
) -> None:
    """Stop once nothing has been heard of the master for too long. Run it in a greenlet of its own.

    `heard_s` is of the wall clock, which may jump: that it changes is what says that something was heard.
    """
    newest, newest_s = heard_s(), clock()
    while newest is None or clock() - newest_s <= MASTER_SILENT_S:
        sleep(1.0)
        if (heard := heard_s()) != newest:
            newest, newest_s = heard, clock()
    stop()


def source_here(load: Load, sent: Consumed) -> Source:
    """What this process has consumed: `sent` is what it has cut off its record by now."""
    now_s = load.clock()
    return Source("here", now_s, sent.plus(load.record.consumed), load.in_flight(now_s))


def _of_workers(workers: Mapping[str, Arrived]) -> Iterator[Source]:
    for name, arrived in workers.items():
        if arrived.last_s is not None:
            done = arrived.expected is not None
            yield Source(name, arrived.last_s, arrived.consumed, arrived.in_flight, done)
