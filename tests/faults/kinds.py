"""What the fault proxy can do to a request and when, and what a client that does not retry then sees."""

from collections.abc import Iterator, Sequence
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


@dataclass(frozen=True, slots=True)
class Step:
    """A fault, from when to when after the first request, and the share of the requests that meet it."""

    fault: str
    at_s: float
    for_s: float
    share: float = 1.0


EVERY_S = (3.0, 7.0)
MOMENTARY = {"close_idle"}
SHARES = {"slow_answer": 0.05, "silence": 0.005}  # those that hold users; of the others a part, or all
OF_OTHERS = (0.02, 0.1, 0.3, 1.0)


def in_turn(faults: Sequence[str], *, first: int, each: int, gap: int) -> dict[int, str]:
    """One fault after the other, each for some requests, with some in peace in between: by their numbers."""
    return {
        first + number * (each + gap) + place: fault
        for number, fault in enumerate(faults)
        for place in range(1 if FAULTS[fault].where == "connection" else each)
    }


def at_random(seed: int, until_s: float) -> list[Step]:
    """A fault every few seconds until so long after the first request."""
    return list(_drawn(Random(seed), until_s))


def _drawn(rng: Random, until_s: float) -> Iterator[Step]:
    at_s, names = 0.0, list(FAULTS)
    while (at_s := at_s + rng.uniform(*EVERY_S)) < until_s:
        fault = rng.choice(names)
        for_s = 0.0 if fault in MOMENTARY else rng.uniform(0.2, 1.5)
        yield Step(fault, at_s, for_s, SHARES.get(fault) or rng.choice(OF_OTHERS))
