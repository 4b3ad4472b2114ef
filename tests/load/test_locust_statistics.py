"""Locust's statistics count what they would if each request was logged; listeners of a load test get each.

Users take turns: who has waited for an answer goes on at once, and who has not lets others run first.
"""

from types import SimpleNamespace
from typing import Any

import pytest

from keyheat.load.record.attempt import METHOD, LocustStatistics

with pytest.MonkeyPatch.context() as patch:
    patch.setenv("LOCUST_SKIP_MONKEY_PATCH", "1")  # this process has other tests
    from locust.env import Environment
    from locust.stats import RequestStats, StatsEntry

    from keyheat.load.users import user

ANSWERS = [
    ("PutItem", 0.0004, 20), ("PutItem", 0.0016, 20), ("Query", 0.1474, 3_000), ("PutItem", 3.4321, 20),
    ("Query", 0.0994, 2_000), ("PutItem", 58.76, 20),
]  # fmt: skip
COUNTS = (
    "num_requests", "min_response_time", "max_response_time", "total_content_length", "response_times",
)  # fmt: skip


def counted(entry: StatsEntry) -> dict[str, Any]:
    counts = {name: getattr(entry, name) for name in COUNTS}
    return counts | {"total_response_time": pytest.approx(entry.total_response_time)}


def test_they_count_what_they_would_if_each_request_was_logged() -> None:
    one_by_one, stats = RequestStats(), RequestStats()
    for operation, service_s, body_bytes in ANSWERS:
        one_by_one.log_request(METHOD, operation, service_s * 1000, body_bytes)
    now_s = [100.0]
    together = LocustStatistics(SimpleNamespace(stats=stats), lambda: now_s[0])
    for number, answer in enumerate(ANSWERS, start=1):
        together.add(*answer)
        now_s[0] += 0.4
        if number in (3, 6):
            together.tell()
    for name in ("PutItem", "Query"):
        assert counted(stats.get(name, METHOD)) == counted(one_by_one.get(name, METHOD))
    assert counted(stats.total) == counted(one_by_one.total)
    assert stats.total.num_reqs_per_sec == {101: 3, 102: 3}
    assert (stats.total.start_time, stats.total.last_request_timestamp) == (100.0, pytest.approx(102.4))


def test_a_load_test_that_listens_gets_each_request() -> None:
    environment = Environment()
    environment.create_local_runner()
    statistics = LocustStatistics(environment)
    assert statistics.suffice
    environment.events.request.add_listener(lambda **_request: None)
    assert not statistics.suffice


@pytest.mark.parametrize(
    ("wait_s", "others_ran", "slept"),
    [
        pytest.param(0.0, True, [], id="the next task is due"),
        pytest.param(0.0, False, [0.0], id="a cache had the answer"),
        pytest.param(0.2, True, [0.2], id="the next task is due later"),
    ],
)
def test_a_user_sleeps_where_it_has_to(
    wait_s: float, others_ran: bool, slept: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    sleeps: list[float] = []
    monkeypatch.setattr(user, "gevent", SimpleNamespace(sleep=sleeps.append))
    state: Any = SimpleNamespace(_others_ran=others_ran)
    user.TableUser._sleep_unless_due(state, wait_s)
    assert sleeps == slept
    assert not state._others_ran, "each answer counts for one task"
