"""Faults that a local endpoint does to a load, and what the load's run must have counted of them."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from keyheat.load.transport.answer import IN_FLIGHT
from keyheat.testing.local import LocalDynamoDB, LocalFaults

FAULTS: dict[str, tuple[dict[str, Any], str | None]] = {
    "fails": ({"error": 500}, "InternalServerError"),
    "is-unavailable": ({"error": 503}, "ServiceUnavailable"),
    "is-lost": ({"cut": "before"}, "connection_reset"),
    "is-lost-and-done": ({"cut": "after"}, "connection_reset"),
    "is-cut-off": ({"cut": "middle"}, "cut_off"),
    "is-late": ({"delay_ms": 300}, None),
    "is-silent": ({"delay_ms": 600_000}, "timeout"),
}
"""A rule for each fault, and the kind of failure that a client counts; None: it gets its response."""


def rules(few: Mapping[str, Any], **how_often: Any) -> list[Any]:
    """A rule for each fault of a write, and how often it strikes; `few`: of those that hold a user."""
    return [
        {"name": name, "operations": ["PutItem"], **fault, **(few if "delay_ms" in fault else how_often)}
        for name, (fault, _kind) in FAULTS.items()
    ]


def differences(totals: Mapping[str, Any], local: LocalDynamoDB, faults: LocalFaults) -> dict[str, int]:
    """Every sum that must be zero: of a run's totals, and of what the endpoint and its rules counted."""
    errors, struck = Counter(totals["errors_by_kind"]), Counter[str]()
    errors["timeout"] += errors.pop(IN_FLIGHT, 0)  # no response comes, and the run ends before its time is up
    for rule in faults.counts():
        if kind := FAULTS[rule["name"]][1]:
            struck[kind] += rule["struck"]
    return {
        "sent - (accepted + throttled + failed)": (
            totals["attempts"] - totals["accepted"] - totals["throttled"] - totals["errors"]
        ),
        "failed - failures by kind": totals["errors"] - errors.total(),
        "sent - asked of the endpoint": totals["attempts"] - local.requests()["PutItem"],
        **{f"{kind}: counted - caused": errors[kind] - struck[kind] for kind in sorted({*+errors, *struck})},
    }
