"""What the fault proxy can do to a request, and what a client that does not retry then sees."""

from dataclasses import dataclass
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
