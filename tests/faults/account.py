"""What a run recorded, held against what the proxy and the endpoint counted, to the last request."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.request import urlopen

from tests.faults.kinds import FAULTS
from tests.outside import PATIENCE_S

REFUSED, KILLED = "connection_refused", "still_in_flight_at_stop"
CLOSINGS = ("refuse", "restart")
"""Faults that close the listening socket. A connection that the kernel makes after the proxy's last `accept`
and before the socket is closed is reset with its request unread: one for each closing is what nobody saw."""


def asked_of(url: str) -> int:
    """How many requests of the load an endpoint has been asked, by its own count."""
    with urlopen(f"{url}/_keyheat/requests", timeout=PATIENCE_S) as answer:
        counts: dict[str, int] = json.load(answer)
    names = {"GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Scan"}
    return sum(
        number for name, number in counts.items() if name in names or name.startswith(("Batch", "Transact"))
    )


def kinds_of(counted: Mapping[str, Any]) -> Counter[str]:
    """The kinds of failures that a client must have counted, but for refused ones: nobody saw those."""
    kinds = Counter[str]()
    for name, number in counted["by_fault"].items():
        if FAULTS[name].where != "connection" and (kind := FAULTS[name].seen_as):
            kinds[kind] += number
    ended = counted["ended"]
    kinds["timeout"] -= ended.get("silence", 0)
    kinds["cut_off"] += ended.get("dribble", 0)
    kinds["connection_reset"] += counted["lost"] + counted["unanswered"]
    kinds["connection_reset"] += ended.get("silence", 0) + ended.get("answer", 0)
    return +kinds


def differences(totals: Mapping[str, Any], counted: Mapping[str, Any], asked: int) -> dict[str, int]:
    """Every sum that must be zero: of the run's totals, the proxy's counts and the endpoint's."""
    errors = Counter(totals["errors_by_kind"])
    refused = errors.pop(REFUSED, 0)
    errors["timeout"] += errors.pop(KILLED, 0)  # nobody answers it, and the run ends before its time is up
    broken_before = sum(
        number for name, number in counted["by_fault"].items() if FAULTS[name].where == "before"
    )
    answered = totals["accepted"] + totals["throttled"] + totals["errors"]
    expected = kinds_of(counted)
    unseen = totals["attempts"] - counted["seen"] - refused
    at_the_door = min(max(0, unseen), sum(counted["by_fault"].get(name, 0) for name in CLOSINGS))
    expected["connection_reset"] += at_the_door
    return {
        "sent - (accepted + throttled + failed)": totals["attempts"] - answered,
        "failed - failures by kind": totals["errors"] - sum(totals["errors_by_kind"].values()),
        "sent - (seen by the proxy + refused + at the door)": unseen - at_the_door,
        "seen - (forwarded + broken before + lost)": (
            counted["seen"] - counted["forwarded"] - broken_before - counted["lost"]
        ),
        "forwarded - asked of the endpoint": counted["forwarded"] - asked,
        "forwarded - (answered + unanswered)": (
            counted["forwarded"] - counted["answered"] - counted["unanswered"]
        ),
        **{
            f"{kind}: counted - caused": errors[kind] - expected[kind]
            for kind in sorted(set(+errors) | set(expected))
        },
    }
