"""The field's words for what pages, terminals and docs speak of, each with its meaning (docs/glossary.md)."""

from typing import Final

DEMAND: Final = "demand"
THROTTLED_BY: Final = "throttled by"
CONFIDENCE: Final = "confidence"
P50: Final = "p50"
P99: Final = "p99"
SERVICE_TIME: Final = "service time"
RESPONSE_TIME: Final = "response time"
CPU_WAIT: Final = "CPU wait"
GOODPUT: Final = "goodput"
AMPLIFICATION: Final = "amplification"
GIVEN_UP: Final = "given up"
CONFLICT: Final = "conflict"
RETRY_QUOTA: Final = "retry quota"
ADAPTIVE_MODE: Final = "adaptive mode"

MEANINGS: Final = {
    DEMAND: "What the load asks for, whether it is accepted or not: requests or capacity units a second.",
    THROTTLED_BY: "The limit that refused requests: a partition limit, the provisioned capacity, the "
    "on-demand maximum, or the account's quota.",
    CONFIDENCE: "The share of labels made in the same way that are right, as it was measured on tables whose "
    "truth is known; from 0 to 100 %.",
    P50: "The time that half of the requests did not exceed: the median.",
    P99: "The time that 99 % of the requests did not exceed.",
    SERVICE_TIME: "Of one attempt, from its first byte sent to its whole answer read: what the server takes, "
    "without queueing and retries.",
    RESPONSE_TIME: "Of one request, from when it was due to its last answer: with queueing and retries, as a "
    "caller feels it.",
    CPU_WAIT: "The part of the time in which the load generator was ready to run and had no CPU.",
    GOODPUT: "Requests that were accepted while the load lasted, a second; retries are not counted.",
    AMPLIFICATION: "Attempts for each request: how many times the demand the table is asked for, because "
    "what is throttled is sent again.",
    GIVEN_UP: "A request whose caller got the error: after the last attempt, or at once where the "
    "retry quota had run out.",
    CONFLICT: "A transaction that was cancelled because another one was under way on the same item "
    "(TransactionConflict). No SDK sends it again.",
    RETRY_QUOTA: "Tokens of one client, which each retry takes and accepted requests give back; without them "
    "nothing is sent again.",
    ADAPTIVE_MODE: "A mode of an SDK's retries in which the client also limits its own rate: less after a "
    "throttle, then slowly more. What it holds back waits.",
}
"""What each is, in a sentence."""


def titled(term: str) -> str:
    """A term as a heading; percentiles are written small everywhere."""
    return term if term[1].isdigit() else term[0].upper() + term[1:]
