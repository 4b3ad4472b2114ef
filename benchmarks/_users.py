"""Locust users at work inside this process, full recording on: what each measured process does in between."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gevent
from gevent import get_hub

from keyheat.load.run.load import Load, Order, beat, fold, watch_lag
from keyheat.load.run.plan import LoadPlan
from keyheat.scenario.scenario import scenario_from_dict

SPAWN_PER_S = 100


def order_for(scenario: Mapping[str, Any], url: str, users: int, transport: str = "signed") -> Order:
    """The order to load as a benchmark's scenario says."""
    plan = LoadPlan(
        scenario=scenario_from_dict(dict(scenario), "benchmark"), scenario_path=Path(), target=None, out=None,
        transport=transport, retries="off", show_keys=False, progress=False, report=False,
    )  # fmt: skip
    return Order(plan=plan, run_id="bench", url=url, region="us-east-1", users=users)


@contextmanager
def at_work(environment: Any, load: Load) -> Iterator[None]:
    """Users send inside the block; after it they have stopped, and all is in the record."""
    runner = environment.create_local_runner()
    environment.stop_timeout = 5.0
    work = [gevent.spawn(watch_lag, load), gevent.spawn(beat, load, lambda: None)]
    get_hub().loop.update_now()
    runner.start(load.order.users, spawn_rate=SPAWN_PER_S)
    yield
    load.stop()
    runner.quit()
    gevent.killall(work)
    fold(load)
    load.record.heat.clear()  # the sketches' library reports those alive at exit as leaked
