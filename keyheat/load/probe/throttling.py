"""Does it ever refuse for capacity? A short burst on a table of one write unit a second.

DynamoDB saves up to 300 s of unused capacity, and serves small tables more generously than that: an AWS
workshop wrote 2,500 items to a table of 5 units before it throttled. Nothing that models a capacity lets
6,000 units through in a few seconds where one a second is provisioned.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/burst-adaptive-capacity.html
"""

from dataclasses import dataclass
from math import ceil
from typing import Final

from keyheat.load.probe.asked import Asked
from keyheat.load.probe.units import item
from keyheat.load.transport.answer import Answer
from keyheat.model.limits import WRITE_UNIT_BYTES
from keyheat.runs.capabilities import CapabilityFinding

ENOUGH_UNITS: Final = 6_000
MOST_UNITS: Final = 100  # of one request
KEYS: Final = 16  # the burst is spread, so that a table's limit is met and not a partition's


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How long the burst goes on at most."""

    requests: int = 2_000
    seconds: float = 5.0
    least_units: int = 20  # of one request


NO_ANSWER: Final = CapabilityFinding(answer="unknown", seen="nothing was refused")
KEY_RANGE: Final = CapabilityFinding(
    answer="unknown", seen="not probed: it would take 1,000 write units a second on one key"
)


def throttling(asked: Asked, table: str, latency_s: float, bounds: Bounds) -> dict[str, CapabilityFinding]:
    """Whether it throttles, and says why."""
    units = _units_each(latency_s, bounds)
    began_s, taken, last = asked.clock(), 0, None
    for number in range(bounds.requests):
        last = _put(asked, table, number, units)
        elapsed_s = asked.clock() - began_s
        if not last.accepted:
            break
        taken += units
        if taken >= ENOUGH_UNITS or elapsed_s >= bounds.seconds:
            break
    return _said(last, taken, asked.clock() - began_s)


def _units_each(latency_s: float, bounds: Bounds) -> int:
    """Larger items for a slower endpoint, so that enough units go out in half of the time there is."""
    return min(MOST_UNITS, max(bounds.least_units, ceil(2 * ENOUGH_UNITS * latency_s / bounds.seconds)))


def _put(asked: Asked, table: str, number: int, units: int) -> Answer:
    return asked.send(
        "PutItem", TableName=table, Item=item(f"burst-{number % KEYS}", "-", units * WRITE_UNIT_BYTES)
    )


def _said(last: Answer | None, taken: int, elapsed_s: float) -> dict[str, CapabilityFinding]:
    went = f"{taken:,} write units in {elapsed_s:.1f} s on a table of 1 per second"
    if last is None or (not last.accepted and not last.throttled):
        why = "no request was sent" if last is None else f"the burst ended with {last.error_code}"
        found = {"throttles": CapabilityFinding(answer="unknown", seen=why), "reasons": NO_ANSWER}
    elif last.throttled:
        seen = f"{last.error_code} after {went}"
        found = {"throttles": CapabilityFinding(answer="yes", seen=seen), "reasons": _reasons(last)}
    elif taken >= ENOUGH_UNITS:
        found = {"throttles": CapabilityFinding(answer="no", seen=f"it took {went}"), "reasons": NO_ANSWER}
    else:
        seen = f"only {went} were sent, which a burst may cover"
        found = {"throttles": CapabilityFinding(answer="unknown", seen=seen), "reasons": NO_ANSWER}
    return found | {"key_range": KEY_RANGE}


def _reasons(refused: Answer) -> CapabilityFinding:
    reasons = refused.reasons
    if not reasons or reasons[0].reason is None:
        return CapabilityFinding(answer="no", seen=f"{refused.error_code} came without ThrottlingReasons")
    where = "with the resource's ARN" if reasons[0].resource else "without the resource's ARN"
    return CapabilityFinding(answer="yes", seen=f"{reasons[0].reason}, {where}")
