"""What can this endpoint do? A few hundred requests on a table of the probe's own, which is deleted after."""

from collections.abc import Callable
from typing import Final
from uuid import uuid4

from keyheat.load.probe import beside
from keyheat.load.probe.asked import Asked, DoesNotAnswer, asked
from keyheat.load.probe.known import known
from keyheat.load.probe.table import NoTable, own_table
from keyheat.load.probe.throttling import Bounds, throttling
from keyheat.load.probe.units import consumed
from keyheat.load.transport.target import Target
from keyheat.runs.capabilities import QUESTIONS, Capabilities, CapabilityFinding

BOUNDS: Final = Bounds()


def capabilities_of(target: Target, say: Callable[[str], None]) -> Capabilities:
    """What the target can do: known, or found out. Raises `DoesNotAnswer`."""
    found = known(target)
    if found is not None:
        return found
    with asked(target) as endpoint:
        return probe(endpoint, uuid4().hex[:12], say)


def probe(
    endpoint: Asked, probe_id: str, say: Callable[[str], None], bounds: Bounds = BOUNDS
) -> Capabilities:
    """What the endpoint can do, whatever it calls itself. Raises `DoesNotAnswer`."""
    reply = beside.hello(endpoint)
    now_s = endpoint.clock()
    findings = beside.services(endpoint)
    latency_s = None
    try:
        with own_table(endpoint, probe_id, say) as table:
            latency_s = beside.latency_s(endpoint, table.name)
            findings |= consumed(endpoint, table.name)
            findings |= throttling(endpoint, table.name, latency_s, bounds)
            findings |= beside.of_table(endpoint, table)
    except NoTable as refused:
        unseen = CapabilityFinding(answer="unknown", seen=f"the probe's table could not be made: {refused}")
        findings = dict.fromkeys(QUESTIONS, unseen) | findings
    return Capabilities(
        source="probed",
        product=beside.product_of(reply),
        latency_ms=None if latency_s is None else round(1000 * latency_s, 2),
        clock_ahead_s=beside.clock_ahead_s(reply, now_s),
        findings={name: findings[name] for name in QUESTIONS if name in findings},
    )


__all__ = ["DoesNotAnswer", "capabilities_of", "probe"]
