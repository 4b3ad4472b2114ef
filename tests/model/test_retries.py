"""Retry policies, held against the SDK that is installed: its pauses, its quota, its adaptive rate."""

import json
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from random import Random
from typing import Any

import botocore
import pytest
from botocore.retries import adaptive, bucket, quota, standard, throttling

from keyheat.model.resources import Cause
from keyheat.model.retries import NONE, POLICIES, QUOTA_TOKENS, AdaptiveRate, RetryQuota, policy_named

NEW = policy_named("boto3-2026")
LEGACY = policy_named("boto3-2025")


class Always:
    """Takes every answer for a throttle."""

    def is_throttling_error_from_context(self, context: Any) -> bool:
        return True

    def is_throttling_error(self, **kwargs: Any) -> bool:
        return bool(kwargs["throttled"])


def context(attempt: int) -> Any:
    return standard.RetryContext(attempt_number=attempt, parsed_response={"Error": {}})


@pytest.mark.parametrize("attempt", range(1, 9))
def test_a_pause_is_the_installed_sdks(attempt: int) -> None:
    drawn = Random(7).random()
    theirs = standard.ExponentialBackoff(
        random=lambda: drawn, service_name="dynamodb", throttling_detector=Always()
    )
    assert NEW.pause_s(attempt, lambda: drawn) == pytest.approx(theirs.delay_amount(context(attempt)))


def test_attempts_are_the_installed_sdks() -> None:
    assert tuple(map(int, version("botocore").split(".")[:2])) >= (1, 44)
    assert standard._SERVICE_MAX_ATTEMPTS["dynamodb"] == NEW.attempts
    config = json.loads((Path(botocore.__file__).parent / "data" / "_retry.json").read_text())
    legacy = config["retry"]["dynamodb"]["__default__"]
    assert legacy["max_attempts"] == LEGACY.attempts
    delay = legacy["delay"]
    for attempt in range(1, LEGACY.attempts):
        theirs_s = delay["base"] * delay["growth_factor"] ** (attempt - 1)
        assert LEGACY.pause_s(attempt, lambda: 0.5) == pytest.approx(theirs_s)


def test_the_quota_is_the_installed_sdks() -> None:
    ours, theirs = RetryQuota(), quota.RetryQuota()
    checker = standard.RetryQuotaChecker(theirs, Always())
    assert theirs.available_capacity == QUOTA_TOKENS
    rng = Random(3)
    for _ in range(2_000):
        paid = 0.0
        if rng.random() < 0.6:
            asked = context(1)
            taken = checker.acquire_retry_quota(asked)
            assert ours.take(NEW.throttle.cost_tokens) == taken
            paid = asked.request_context.get("retry_quota_capacity", 0)
        if rng.random() < 0.6:

            class Good:
                status_code = 200

            checker.release_retry_quota({"retry_quota_capacity": paid} if paid else {}, Good())
            ours.give_back(NEW.given_back(paid))
        assert ours.tokens == theirs.available_capacity


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


def test_who_is_held_back_waits_for_a_token() -> None:
    rate = AdaptiveRate(0.0)
    assert rate.wait_s(1.0) == 0.0, "nothing was throttled yet"
    for number in range(100):
        rate.answered(number / 50, throttled=number % 10 == 9)
    sent, at_s = 0, 2.0
    while not (wait_s := rate.wait_s(at_s)):
        rate.sent()
        sent += 1
    assert sent < 60
    assert wait_s <= 2.0, "half a request a second is the least"
    assert rate.wait_s(at_s + wait_s) == pytest.approx(0.0, abs=1e-9)


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


def test_the_adaptive_rate_is_that_by_which_net_tests_its_own() -> None:
    """The rate after each of 17 answers, 0.2 s apart, the tenth and the sixteenth a throttle.

    https://github.com/aws/aws-sdk-net: VerifyUpdateClientSendingRate in its unit tests of the adaptive mode.
    """
    rate, found = AdaptiveRate(0.0), []
    for number in range(1, 18):
        rate.answered(number * 0.2, throttled=number in (10, 16))
        found.append(rate._fill_per_s)
    assert found == pytest.approx(
        [
            0.5, 0.5, 0.5, 0.5, 0.5, 0.691200, 1.097600, 1.638400, 2.332800, 3.028480, 3.486639, 3.821874,
            4.053386, 4.200373, 4.282037, 2.997426, 3.452226,
        ],
        abs=1e-6,
    )  # fmt: skip


def test_what_is_retried_is_said_by_each_policy() -> None:
    assert not NONE.retries(Cause.KEY_RANGE)
    assert LEGACY.retries(Cause.KEY_RANGE)
    assert not LEGACY.retries(Cause.ACCOUNT)
    assert NEW.retries(Cause.ACCOUNT)
    assert len({one.name for one in POLICIES}) == len(POLICIES)
    with pytest.raises(ValueError, match="no SDK 'boto2'; there are none, boto3-2025, boto3-2025-standard"):
        policy_named("boto2")
