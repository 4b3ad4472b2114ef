"""The generator confesses: the verdict follows from its numbers, and says them."""

from typing import Any

import pytest

from keyheat.load.record.generator import Health, verdict_on
from keyheat.runs.manifest import GeneratorHealth
from keyheat.scenario.spec.tasks import LoadSpec

SECONDS = 10.0


def health(*, lag_ms: float = 1.0, **noted: Any) -> Health:
    loaded = {
        "demand": 1_000.0,
        "sent": noted.get("offered", 0.0),
        "began_s": 100.0,
        "ended_s": 100.0 + SECONDS,
        "watched_s": SECONDS,
    }
    made = Health(cpu_percent_max=noted.pop("cpu", 10.0), **{**loaded, **noted})
    for _ in range(100):
        made.lag.add(int(lag_ms * 1000))
        made.late.add(2_000)
    return made


def verdict(noted: Health, *, attempts: int = 1_000, processes: int = 1, **load: Any) -> GeneratorHealth:
    rate = {} if {"write_units_per_s", "read_units_per_s"} & load.keys() else {"requests_per_s": 100}
    spec = LoadSpec.model_validate(rate | load)
    return verdict_on(noted, load=spec, users=5, processes=processes, attempts=attempts)


def opened(offered: float, *, demand: float = 1_000.0, arrivals: int = 1_000, **noted: Any) -> Health:
    return health(offered=offered, demand=demand, arrivals=arrivals, **noted)


@pytest.mark.parametrize(
    ("noted", "bound", "said"),
    [
        (health(offered=1_000), False, "sent 100 of 100 requests/s"),
        (health(offered=1_000, cpu=99), False, "busiest process at 99 %"),
        (health(offered=1_000, demand=1_100, cpu=99), True, "sent 100 of 110 requests/s of demand: a proc"),
        (health(offered=1_000, demand=1_100), False, "users waited for answers"),
        (health(offered=1_000, demand=1_100, starved_s=6), True, "its CPU wait was 60% of the time"),
        (health(offered=1_000, lag_ms=400), True, "400 ms late"),
        (health(offered=1_000, lag_ms=2_500), True, "stood still for 2.5 s"),
        (health(offered=130), False, "sent 13 of 100 requests/s of demand: users waited for answers"),
        (health(offered=130, unanswered=200), True, "20% of all requests were not answered in time"),
        (health(offered=130, unanswered_s=35.0), True, "70% of the time on requests that had no answer"),
        (health(offered=1_000, unanswered_s=35.0), False, "sent 100 of 100"),  # others sent it all the same
        (health(offered=900, unanswered=100, unanswered_s=4.5), False, "users waited for answers"),
        (health(offered=900, held_s=26), False, "of 100 requests/s of demand: users waited for their client"),
        (health(offered=900, held_s=24), False, "users waited for answers"),
        (health(offered=1_000, problems=["3 times a user failed"]), True, "3 times a user failed"),
        (health(offered=1_000, missing=["worker a was lost"]), False, "sent 100 of 100"),
    ],
)
def test_verdicts_on_a_closed_loop(noted: Health, bound: bool, said: str) -> None:
    found = verdict(noted)
    assert found.bound is bound
    assert any(said in check for check in found.checks), found.checks
    assert found.late_ms_p99 == pytest.approx(2.0, rel=0.01)


@pytest.mark.parametrize(
    ("noted", "load", "bound", "said"),
    [
        (opened(1_000), {}, False, "sent 100 of 100 requests/s"),
        (opened(950), {}, True, "sent 95 of 100 requests/s"),
        (opened(950), {"arrivals": "poisson"}, False, "sent 95 of 100"),  # what chance explains
        (opened(9_700, demand=10_000, arrivals=9_700), {"arrivals": "poisson"}, True, "sent 970 of 1,000"),
        (
            opened(500, arrivals=500, no_user=500),
            {},
            True,
            "while arrivals were dropped; about 12 are needed",
        ),
        (opened(5, arrivals=5, no_user=995), {}, True, "about 1,000 are needed"),
        (opened(500, arrivals=500, held_s=40, no_user=500), {}, True, "505 are needed, one for each request"),
        # its client's rate is no limit of the generator
        (
            opened(1_000, sent=520, held_s=4_300),
            {},
            False,
            "48 held back by the client's own rate, which does",
        ),
        (  # too few users are
            opened(900, sent=520, arrivals=900, held_s=800, no_user=100),
            {},
            True,
            "sent 52 of 100 requests/s of demand, 38 held back by the client's own rate: all 5 users were",
        ),
        (opened(1_000, sent=998, held_s=3), {}, False, "sent 100 of 100 requests/s of demand"),
        (opened(500, arrivals=500, no_user=500, cpu=97), {}, True, "at 97 % of a core"),
        (opened(1_000, unanswered=101), {}, True, "10% of all requests were not answered in time"),
        (opened(4_900, demand=5_000), {"write_units_per_s": 500}, False, "sent 490 of 500 WCU/s"),
        (opened(4_800, demand=5_000), {"read_units_per_s": 500}, True, "sent 480 of 500 RCU/s"),
    ],
)
def test_verdicts_on_an_open_loop(noted: Health, load: dict[str, Any], bound: bool, said: str) -> None:
    found = verdict(noted, **{"arrivals": "constant", **load})
    assert found.bound is bound
    assert any(said in check for check in found.checks), found.checks


def test_what_is_sent_and_what_is_held_back_are_what_was_begun() -> None:
    held = verdict(opened(990, sent=520, held_s=4_300), arrivals="constant")
    assert (held.asked_per_s, held.achieved_per_s, held.held_back_per_s) == (100.0, 52.0, 47.0)


@pytest.mark.parametrize(
    ("noted", "bound", "fell_behind"),
    [
        (health(offered=900, demand=1_100, cpu=99), True, True),
        (health(offered=900, demand=1_100, cpu=99, problems=["a step had no answer"]), True, False),
        (health(offered=1_000, problems=["a step had no answer"]), True, False),
        (health(offered=1_000), False, False),
    ],
)
def test_a_generator_that_fell_behind_is_told_from_a_load_that_was_another(
    noted: Health, bound: bool, fell_behind: bool
) -> None:
    found = verdict(noted)
    assert (found.bound, found.fell_behind) == (bound, fell_behind)


def test_users_of_a_closed_loop_may_be_a_request_behind_each() -> None:
    """Five that are asked for one request in all: each sends its first at any time within its interval."""
    assert not verdict(health(offered=0, demand=1, cpu=99)).bound
    assert verdict(health(offered=80, demand=100, cpu=99)).bound


def test_each_of_several_processes_may_be_an_arrival_behind() -> None:
    noted = opened(34, demand=40, arrivals=34)
    assert verdict(noted, arrivals="constant").bound
    assert not verdict(noted, arrivals="constant", processes=4).bound


def test_what_is_the_generators_fault_is_said_first() -> None:
    found = verdict(health(offered=900, demand=1_100, cpu=99, lag_ms=300))
    assert [check[:9] for check in found.checks[:2]] == ["sent 90 o", "the event"]
    assert verdict(health(), attempts=0).bound, "a run that sent nothing says nothing"


def test_health_survives_the_wire_and_merges() -> None:
    one, other = opened(500, unanswered=2, starved_s=1), opened(300, cpu=50.0, missing=["b"], no_user=4)
    one.merge(Health.from_wire(other.to_wire()))
    assert (one.offered, one.sent, one.demand) == (800, 800, 2_000)
    assert (one.no_user, one.unanswered, one.missing) == (4, 2, ["b"])
    assert (one.began_s, one.ended_s, one.cpu_percent_max, one.starved_s) == (100.0, 110.0, 50.0, 1)
    assert one.lag.counts().sum() == 200
