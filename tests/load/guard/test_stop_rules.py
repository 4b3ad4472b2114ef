"""A stop rule ends a run on enough attempts, over the last seconds, and on nothing else."""

from random import Random

import pytest

from keyheat.load.guard.watch import ENOUGH_ACCEPTED, ENOUGH_ATTEMPTS, KEPT, Rules
from keyheat.load.record.attempt import Attempt
from keyheat.load.record.record import Record
from keyheat.load.record.rows import Latency, percentile_of
from keyheat.runs.manifest import Stop
from keyheat.scenario.spec.part import AbortSpec

RULES = AbortSpec(throttle_share=0.5, error_share=0.1, p99_ms=100.0)


@pytest.mark.parametrize(
    ("counts", "rule"),
    [
        ({"throttled": 101, "accepted": 99}, "throttle_share"),
        ({"throttled": 100, "accepted": 100}, None),
        ({"failed": 21, "accepted": 179}, "error_share"),
        ({"throttled": ENOUGH_ATTEMPTS - 1}, None),
        ({"accepted": ENOUGH_ACCEPTED, "service_us": 101_000}, "p99_ms"),
        ({"accepted": ENOUGH_ACCEPTED - 1, "service_us": 101_000}, None),
        ({}, None),
    ],
)
def test_a_rule_is_broken_by_more_than_it_allows(counts: dict[str, int], rule: str | None) -> None:
    record = Record()
    second_of(record, 5, **counts)
    stop = Rules(RULES).broken(record, 6.0, 30.0, until=6)
    assert (stop and stop.rule) == rule
    assert Rules(AbortSpec()).broken(record, 6.0, 30.0, until=6) is None


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


def second_of(
    record: Record,
    second: int,
    *,
    accepted: int = 0,
    throttled: int = 0,
    failed: int = 0,
    service_us: int = 1,
) -> None:
    """A second in which so many attempts were made, on two operations."""
    outcomes = ["accepted"] * accepted + ["throttled"] * throttled + ["error"] * failed
    for number, outcome in enumerate(outcomes):
        operation = ("PutItem", "GetItem")[number % 2]
        attempt = Attempt(operation, "write", "key", float(second), 0, service_us)
        record.add(attempt._replace(outcome=outcome, units=1.0, reason="timeout"))


@pytest.mark.parametrize("over_s", [5.0, 120.0])
def test_only_the_last_seconds_count(over_s: float) -> None:
    record, rules = Record(), Rules(AbortSpec(over_s=over_s, throttle_share=0.45, p99_ms=2.0))
    change = int(over_s) * 2
    for second in range(change + int(over_s) + 1):
        slow = second >= change
        second_of(
            record, second, accepted=10, throttled=10 if slow else 0, service_us=9_000 if slow else 1_000
        )
        timed, p99_us = rules.timed(record, second + 1.0)
        stop = rules.broken(record, second + 1.0, 1.0, until=second + 1)
        if second == change - 1:
            assert stop is None
            assert p99_us == pytest.approx(1_000, rel=0.01)
    assert stop is not None
    assert (stop.rule, stop.seen) == ("throttle_share", 0.5)
    assert timed == pytest.approx(10 * over_s, abs=10 * max(1, over_s / KEPT))
    assert p99_us == pytest.approx(9_000, rel=0.01)
    assert len(rules._then) <= KEPT + 2


def test_a_percentile_of_counts_is_that_of_the_histogram() -> None:
    rng, latency = Random(1), Latency()
    for _ in range(2_000):
        latency.add(int(rng.lognormvariate(8, 1)))
    for percent in (50, 99, 99.9):
        assert percentile_of(latency.counts(), percent) == latency.percentile_us(percent)
