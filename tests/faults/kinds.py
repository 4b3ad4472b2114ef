"""What the fault proxy can do to a request and when, and what a client that does not retry then sees."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

Where = Literal["before", "after", "connection"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. `before` the endpoint saw the request, `after` it answered, or of `connection`s as such.

    `seen_as`: the kind that the client counts; None where it gets its answer all the same.
    """

    where: Where
    seen_as: str | None


FAULTS = {
    "reset_request": Fault("before", "connection_reset"),
    "hang_up": Fault("before", "connection_reset"),
    "garbage": Fault("before", "bad_http"),
    "error_500": Fault("before", "InternalServerError"),
    "error_502": Fault("before", "HTTP502"),
    "error_503": Fault("before", "HTTP503"),
    "expired_token": Fault("before", "ExpiredTokenException"),
    "unknown_token": Fault("before", "UnrecognizedClientException"),
    "wrong_region": Fault("before", "InvalidSignatureException"),
    "silence": Fault("before", "timeout"),
    "reset_answer": Fault("after", "connection_reset"),
    "half_answer": Fault("after", "cut_off"),
    "half_head": Fault("after", "cut_off"),
    "wrong_crc": Fault("after", "crc32_mismatch"),
    "slow_answer": Fault("after", None),
    "close_after": Fault("after", None),
    "close_idle": Fault("connection", None),
    "refuse": Fault("connection", "connection_refused"),
    "restart": Fault("connection", "connection_refused"),
}
"""`refuse` ends connections between two requests and `restart` ends all; then nobody listens for a while."""


EVERY, BURST = (9_000, 21_000), 1_000
"""Requests from one fault to the next, and that meet it at most."""
HOLDING = ("silence", "slow_answer")  # users, so that few requests meet them


def in_turn(faults: Sequence[str], *, first: int, each: int, gap: int) -> dict[int, str]:
    """One fault after the other, each for some requests, with some in peace in between: by their numbers."""
    return {
        first + number * (each + gap) + place: fault
        for number, fault in enumerate(faults)
        for place in range(1 if FAULTS[fault].where == "connection" else each)
    }


def at_random(seed: int, requests: int) -> dict[int, str]:
    """Faults at random among so many requests, by the numbers of the requests that meet them."""
    rng, number, plan = Random(seed), 0, dict[int, str]()
    while (number := number + rng.randint(*EVERY)) < requests:
        fault = rng.choice(list(FAULTS))
        few = FAULTS[fault].where == "connection" or fault in HOLDING
        plan |= dict.fromkeys(range(number, number + (1 if few else rng.randint(1, BURST))), fault)
    return plan
