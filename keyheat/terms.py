"""Names of measured quantities on pages and terminals; docs/glossary.md defines them."""

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
GIVEN_UP: Final = "given up"
CONFLICT: Final = "conflict"


def titled(term: str) -> str:
    """A term as a heading; percentiles stay in lower case."""
    return term if term[1].isdigit() else term[0].upper() + term[1:]
