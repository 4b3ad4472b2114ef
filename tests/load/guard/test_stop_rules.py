"""A stop rule ends a run on enough attempts, over the last seconds, and on nothing else."""

from random import Random

import pytest

from keyheat.load.guard.watch import ENOUGH_ACCEPTED, ENOUGH_ATTEMPTS, KEPT, Recent, RecentLooks, broken
from keyheat.load.record.attempt import Attempt
from keyheat.load.record.record import Record
from keyheat.load.record.rows import Latency, percentile_of
from keyheat.runs.manifest import Stop
from keyheat.scenario.spec.part import AbortSpec

RULES = AbortSpec(throttle_share=0.5, error_share=0.1, p99_ms=100.0)


@pytest.mark.parametrize(
    ("recent", "rule"),
    [
        (Recent(attempts=1000, throttled=501, errors=0), "throttle_share"),
        (Recent(attempts=1000, throttled=500, errors=0), None),
        (Recent(attempts=1000, throttled=0, errors=101), "error_share"),
        (Recent(attempts=ENOUGH_ATTEMPTS - 1, throttled=ENOUGH_ATTEMPTS - 1, errors=0), None),
        (Recent(attempts=1000, throttled=0, errors=0, timed=1000, p99_ms=101.0), "p99_ms"),
        (Recent(attempts=1000, throttled=0, errors=0, timed=ENOUGH_ACCEPTED - 1, p99_ms=101.0), None),
        (Recent(attempts=0, throttled=0, errors=0), None),
    ],
)
def test_a_rule_is_broken_by_more_than_it_allows(recent: Recent, rule: str | None) -> None:
    stop = broken(RULES, recent, 30.0)
    assert (stop and stop.rule) == rule
    assert broken(AbortSpec(), recent, 30.0) is None


WORDS = [
    (Stop(rule="max_dollars", limit=0.5, seen=0.4987, at_s=93.4),
     "stopped by its budget after 93 s: 0.4987 of 0.50 dollars"),
    (Stop(rule="max_units", limit=1e5, seen=99_812.4, at_s=12.0),
     "stopped by its budget after 12 s: 99,812 of 100,000 units"),
    (Stop(rule="max_minutes", limit=2.0, seen=2.0, at_s=120.0),
     "stopped by its budget after 120 s: 2 of 2 minutes"),
    (Stop(rule="throttle_share", limit=0.5, seen=0.62, at_s=31.0),
     "stopped by its rule throttle_share after 31 s: 62 % of its attempts were throttled, and 50 % may"),
    (Stop(rule="error_share", limit=0.1, seen=0.2, at_s=31.0),
     "stopped by its rule error_share after 31 s: 20 % of its attempts failed, and 10 % may"),
    (Stop(rule="p99_ms", limit=100.0, seen=812.3, at_s=31.0),
     "stopped by its rule p99_ms after 31 s: 1 % of accepted requests took 812 ms or more, "
     "and 100 ms are allowed"),
]  # fmt: skip


@pytest.mark.parametrize(("stop", "words"), WORDS)
def test_a_stop_is_said_in_words(stop: Stop, words: str) -> None:
    assert stop.words == words


def test_a_percentile_of_counts_is_that_of_the_histogram() -> None:
    rng, latency = Random(1), Latency()
    for _ in range(2_000):
        latency.add(int(rng.lognormvariate(8, 1)))
    for percent in (50, 99, 99.9):
        assert percentile_of(latency.counts(), percent) == latency.percentile_us(percent)


def second_of(record: Record, second: int, *, accepted: int, throttled: int, service_us: int) -> None:
    """A second in which so many attempts were made, on two operations."""
    for number in range(accepted + throttled):
        operation = ("PutItem", "GetItem")[number % 2]
        attempt = Attempt(operation, "write", "key", float(second), 0, service_us)
        if number < accepted:
            record.accepted(attempt, 1.0)
        else:
            record.throttled(attempt, 1.0, None, None)


@pytest.mark.parametrize("over_s", [5.0, 120.0])
def test_only_the_last_seconds_count(over_s: float) -> None:
    record, looks = Record(), RecentLooks(over_s=over_s, timed=True)
    change = int(over_s) * 2
    for second in range(change + int(over_s) + 1):
        slow = second >= change
        second_of(
            record, second, accepted=10, throttled=10 if slow else 0, service_us=9_000 if slow else 1_000
        )
        recent = looks.look(record, second + 1.0, until=second + 1)
        if second == change - 1:
            assert (recent.attempts, recent.throttled) == (10 * over_s, 0)
            assert recent.p99_ms == pytest.approx(1.0, rel=0.01)
    assert (recent.attempts, recent.throttled) == (20 * over_s, 10 * over_s)
    assert recent.timed == pytest.approx(10 * over_s, abs=10 * max(1, over_s / KEPT))
    assert recent.p99_ms == pytest.approx(9.0, rel=0.01)
    assert len(looks._then) <= KEPT + 2


def test_histograms_are_left_alone_where_nobody_asks() -> None:
    record = Record()
    second_of(record, 0, accepted=10, throttled=0, service_us=1_000)
    assert RecentLooks(over_s=1.0, timed=False).look(record, 1.0, until=1).timed == 0
