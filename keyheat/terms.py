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

MEANINGS: Final = {
    DEMAND: "What the load asks for, whether it is accepted or not: requests or capacity units a second.",
    THROTTLED_BY: "The limit that refused requests: a partition's, the provisioned capacity, the on-demand "
    "maximum, or the account's quota.",
    CONFIDENCE: "The share of labels made in the same way that are right, as it was measured on tables whose "
    "truth is known; from 0 to 100 %.",
    P50: "The time that half of the requests did not exceed: the median.",
    P99: "The time that 99 % of the requests did not exceed.",
    SERVICE_TIME: "Of one attempt, from its first byte sent to its whole answer read: what the server takes, "
    "without queueing and retries.",
    RESPONSE_TIME: "Of one request, from when it was due to its last answer: with queueing and retries, as a "
    "caller feels it.",
    CPU_WAIT: "The part of the time in which the load generator was ready to run and had no CPU.",
}
"""What each is, in a sentence."""


def titled(term: str) -> str:
    """A term as a heading; percentiles are written small everywhere."""
    return term if term[1].isdigit() else term[0].upper() + term[1:]
