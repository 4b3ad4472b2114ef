"""What a DynamoDB endpoint can do, as far as somebody found out: what a run there can prove rests on it.

yes       it was seen to
no        it was seen not to
unknown   nobody looked, or what came back does not tell
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from keyheat.validation import LenientPart
from keyheat.words import READ, WRITE, Direction

Known = Literal["yes", "no", "unknown"]

QUESTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "throttles": "refuses what is above the capacity",
        "reasons": "says why (ThrottlingReasons)",
        "key_range": "limits a key range by itself",
        "write_units": "units of PutItem",
        "read_units": "units of GetItem",
        "query_units": "units of Query",
        "batch_units": "units of BatchWriteItem",
        "transaction_units": "units of TransactWriteItems",
        "index_units": "units by index",
        "cloudwatch": "CloudWatch's GetMetricData",
        "limits": "quotas (DescribeLimits)",
        "warm_throughput": "warm throughput",
        "insights": "Contributor Insights",
        "streams": "streams (ListStreams)",
        "tags": "tags of tables",
        "deletion_protection": "deletion protection",
        "backups": "point-in-time recovery",
    }
)
"""Every capability, and what it is in words."""

_UNITS: Final[Mapping[Direction, tuple[str, ...]]] = MappingProxyType(
    {
        WRITE: ("write_units", "batch_units", "transaction_units"),
        READ: ("read_units", "query_units"),
    }
)
WHOSE_UNITS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "write_units": "PutItem",
        "read_units": "GetItem",
        "query_units": "Query",
        "batch_units": "BatchWriteItem",
        "transaction_units": "TransactWriteItems",
        "index_units": "index entries",
    }
)
"""The capabilities that are consumed capacity, and whose it is."""

OPERATIONS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "write_units": ("PutItem", "UpdateItem", "DeleteItem"),
        "read_units": ("GetItem",),
        "query_units": ("Query", "Scan"),
        "batch_units": ("BatchWriteItem", "BatchGetItem"),
        "transaction_units": ("TransactWriteItems", "TransactGetItems"),
    }
)
"""The operations that a capability is taken to speak for."""
ABSENT: Final = "absent: no consumed capacity came back"


class CapabilityFinding(LenientPart):
    """One capability, and what was seen."""

    answer: Known
    seen: str


UNSEEN: Final = CapabilityFinding(answer="unknown", seen="not probed")


class Capabilities(LenientPart):
    """What one endpoint can do. What is not in `findings` is unknown."""

    source: Literal["probed", "known", "not probed"]
    product: str  # what it says of itself, and no guess
    dynamodb: bool = False  # whether it is DynamoDB in AWS
    latency_ms: float | None = None  # of a request that finds nothing
    clock_ahead_s: float | None = None  # its clock, less ours
    findings: Mapping[str, CapabilityFinding] = {}

    def of(self, name: str) -> CapabilityFinding:
        """What is known of one capability."""
        return self.findings.get(name, UNSEEN)

    def can(self, name: str) -> bool:
        """Whether it was seen to."""
        return self.of(name).answer == "yes"

    @property
    def never_throttles(self) -> bool:
        """Whether it was seen to let everything through, whatever the capacity."""
        return self.of("throttles").answer == "no"

    @property
    def without_units(self) -> frozenset[str]:
        """The operations of which it was seen to tell no consumed capacity at all."""
        absent = [name for name in OPERATIONS if self.of(name).seen == ABSENT]
        return frozenset(operation for name in absent for operation in OPERATIONS[name])

    def wrong_units(self, side: Direction, *, indexes: bool) -> Mapping[str, CapabilityFinding]:
        """Where the consumed capacity of writes, or of reads, was seen to be other than DynamoDB's.

        `indexes`: whether the table has any.
        """
        asked = (*_UNITS[side], *(["index_units"] if indexes and side == "write" else []))
        return {name: self.of(name) for name in asked if self.of(name).answer == "no"}

    def to_json(self) -> dict[str, Any]:
        """As `run.json` and `evidence.json` have it."""
        return self.model_dump(mode="json")


def not_probed(why: str) -> Capabilities:
    """An endpoint of which nothing is known, and why."""
    return Capabilities(source="not probed", product=why)
