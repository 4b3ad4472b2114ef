"""Retry policies: the adaptive rate is the installed SDK's, and others do as they document."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from botocore.retries import adaptive, bucket, throttling

from keyheat.model.resources import Cause
from keyheat.model.retries import NONE, POLICIES, AdaptiveRate, RetryQuota, policy_named

NEW = policy_named("boto3-2026")
LEGACY = policy_named("boto3-2025")


class Always:
    """Takes for a throttle what it is told is one."""

    def is_throttling_error(self, **kwargs: Any) -> bool:
        return bool(kwargs["throttled"])


class FakeClock:
    def __init__(self, now_s: float) -> None:
        self.now_s = now_s

    def current_time(self) -> float:
        return self.now_s


def answers() -> Iterator[tuple[float, bool]]:
    """When answers come, and whether they are throttles: calm, then an overload, then calm again."""
    rng, at_s = Random(5), 1_000.25
    for number in range(3_000):
        at_s += rng.expovariate(60.0)
        yield at_s, 800 < number < 1_600 and rng.random() < 0.3


def test_the_adaptive_rate_is_the_installed_sdks() -> None:
    clock = FakeClock(1_000.25)
    ours = AdaptiveRate(clock.now_s)
    tokens = bucket.TokenBucket(max_rate=1, clock=clock)
    theirs = adaptive.ClientRateLimiter(
        throttling.CubicCalculator(starting_max_rate=0, start_time=clock.now_s),
        adaptive.RateClocker(clock),
        tokens,
        Always(),
        clock,
    )
    for at_s, throttled in answers():
        clock.now_s = at_s
        theirs.on_receiving_response(throttled=throttled)
        ours.answered(at_s, throttled=throttled)
        if theirs._enabled:
            assert ours._fill_per_s == pytest.approx(tokens.max_rate)


def test_java_before_2026_draws_a_half_of_its_pauses_and_charges_nothing_for_throttles() -> None:
    """No SDK for Java is packaged where the tests run: the bounds are those that its code documents."""
    legacy, standard = (policy_named(f"java-v2-2025{mode}") for mode in ("", "-standard"))
    assert legacy.attempts == standard.attempts == 8 + 1
    bounds_ms = [
        tuple(1000 * legacy.pause_s(attempt, lambda drawn=drawn: drawn) for drawn in (0.0, 1.0))
        for attempt in range(1, 9)
    ]
    assert bounds_ms == [
        (250, 500), (500, 1_000), (1_000, 2_000), (2_000, 4_000), (4_000, 8_000), (8_000, 16_000),
        (10_000, 20_000), (10_000, 20_000),
    ]  # fmt: skip
    assert legacy.pause_s(3, lambda: 0.5, kind="transient") == 0.5 * 4 * 0.025
    assert standard.pause_s(3, lambda: 0.5) == 0.5 * 4 * 1.0
    quota = RetryQuota()
    assert all(quota.take(legacy.throttle.cost_tokens) for _ in range(1_000)), "throttles are free of charge"
    assert sum(quota.take(legacy.transient.cost_tokens) for _ in range(1_000)) == 100


def test_net_before_2026_draws_a_pause_before_it_is_cut() -> None:
    """Nor is .NET: attempts, pauses and quota as its code has them."""
    net = policy_named("dotnet-v4-2025")
    assert net.attempts == 10 + 1
    assert [net.pause_s(attempt, lambda: 0.5) for attempt in range(1, 8)] == [0.5, 1, 2, 4, 8, 16, 20]
    assert net.pause_s(10, lambda: 0.01) == pytest.approx(0.01 * 2**9)
    assert (net.throttle, net.after("timeout")) == (net.transient, net.transient)
    quota = RetryQuota(net.quota_tokens)
    assert sum(quota.take(net.throttle.cost_tokens) for _ in range(1_000)) == 100
    for paid_tokens, left_tokens in ((5.0, 5.0), (0.0, 6.0)):
        quota.give_back(net.given_back(paid_tokens))
        assert quota.tokens == left_tokens


def test_what_is_retried_is_said_by_each_policy() -> None:
    assert not NONE.retries(Cause.KEY_RANGE)
    assert LEGACY.retries(Cause.KEY_RANGE)
    assert not LEGACY.retries(Cause.ACCOUNT)
    assert NEW.retries(Cause.ACCOUNT)
    assert len({one.name for one in POLICIES}) == len(POLICIES)
    with pytest.raises(ValueError, match="no SDK 'boto2'; there are none, boto3-2025, boto3-2025-standard"):
        policy_named("boto2")
