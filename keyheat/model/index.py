"""Global secondary indexes as a base-table write meets them: written to later, until they cannot keep up.

Index entries are propagated through a bounded buffer, so an index may fall behind by as much as the buffer
holds (its write buckets are that much deeper). Once that is used up, every write to the base table is refused
with the index's reason, also one that would not touch the index, until the buffer has drained a little
(`backlog`). Sources:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.ThroughputConsiderations and
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/gsi-throttling.html
"""

from dataclasses import dataclass

from keyheat.model.admission import ResourceModel
from keyheat.model.backlog import LEAST_UNITS
from keyheat.model.resources import Cause, Refusal


@dataclass(frozen=True, slots=True)
class IndexWrite:
    """One entry that a base-table write puts into or removes from an index."""

    index: str
    position: bytes
    units: float


def holding_back(index: ResourceModel, now_s: float) -> Refusal | None:
    """Why the index refuses even a write that does not touch it; None while its buffer has room."""
    for gate in index.write.gates:
        if gate.refusal.cause is not Cause.ACCOUNT and not gate.bucket.allows(LEAST_UNITS, now_s):
            return gate.refusal
    if index.blocker is not None:
        if not index.blocker.write.allows(LEAST_UNITS, now_s):
            return index.write.key_range
        index.blocker = None
    return None
