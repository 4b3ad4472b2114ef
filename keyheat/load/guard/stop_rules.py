"""Stop rules: what a person who watches a run would stop it for. Plain numbers in, a reason to stop out."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from keyheat.runs.manifest import Stop
from keyheat.scenario.spec.part import AbortSpec

ENOUGH_ATTEMPTS: Final = 100
"""Of fewer attempts, chance alone moves a share by more than ten percentage points now and then: its standard
error is sqrt(p (1 - p) / n), and that is 5 points at most for 100."""
ENOUGH_ACCEPTED: Final = 500
"""Of 500 requests five are slower than the p99; of 100 it would be one, and a single slow one ends no run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recent:
    """The attempts of the last seconds, over all processes."""

    attempts: int
    throttled: int
    errors: int
    timed: int = 0  # accepted requests whose service time is known
    p99_ms: float = 0.0  # of those


def broken(rules: AbortSpec, recent: Recent, at_s: float) -> Stop | None:
    """The first rule that is broken by so much, so many seconds into the load."""
    return next(_broken(rules, recent, at_s), None)


def _broken(rules: AbortSpec, recent: Recent, at_s: float) -> Iterator[Stop]:
    if recent.attempts >= ENOUGH_ATTEMPTS:
        throttled, failed = recent.throttled / recent.attempts, recent.errors / recent.attempts
        if rules.throttle_share is not None and throttled > rules.throttle_share:
            yield Stop(rule="throttle_share", limit=rules.throttle_share, seen=throttled, at_s=at_s)
        if rules.error_share is not None and failed > rules.error_share:
            yield Stop(rule="error_share", limit=rules.error_share, seen=failed, at_s=at_s)
    if rules.p99_ms is not None and recent.timed >= ENOUGH_ACCEPTED and recent.p99_ms > rules.p99_ms:
        yield Stop(rule="p99_ms", limit=rules.p99_ms, seen=recent.p99_ms, at_s=at_s)
