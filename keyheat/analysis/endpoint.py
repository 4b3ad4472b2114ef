"""What the endpoint's own abilities allow to be said of a run: nothing of capacity where it has none."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from keyheat.analysis.words import sentence
from keyheat.runs.capabilities import WHOSE_UNITS
from keyheat.runs.formats import Evidence, Verdict
from keyheat.words import WRITES_FIRST, Direction

NO_CAPACITY_MODEL: Final = "no-capacity-model"
NOT_KNOWN: Final = "capacity-model-unknown"
SAYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        NO_CAPACITY_MODEL: "This endpoint has no capacity model: it never throttles, so that nothing was "
        "throttled says nothing about DynamoDB.",
        NOT_KNOWN: "Nothing was throttled, but whether this endpoint ever throttles is not known: "
        "that says nothing about DynamoDB.",
    }
)
"""The verdicts that rest on the endpoint alone, by rule, each in a sentence."""


def units_hold(evidence: Evidence, direction: Direction) -> bool:
    """Whether the consumed units of a direction are DynamoDB's, as far as anybody looked."""
    endpoint = evidence.endpoint
    return endpoint is None or not endpoint.wrong_units(direction, indexes=bool(evidence.table.indexes))


def unreliable(evidence: Evidence) -> str | None:
    """What is wrong with the consumed units of a run, and what that spoils; None where nothing is."""
    endpoint, indexes = evidence.endpoint, bool(evidence.table.indexes)
    if endpoint is None:
        return None
    wrong = {
        name: finding
        for direction in WRITES_FIRST
        for name, finding in endpoint.wrong_units(direction, indexes=indexes).items()
    }
    if not wrong:
        return None
    name, finding = next(iter(wrong.items()))
    return (
        "The consumed capacity that this endpoint says is not DynamoDB's "
        f"({WHOSE_UNITS[name]}: {finding.seen}): units, shares and costs of this run are not to be relied "
        "on, and utilisation is not judged."
    )


def without_a_model(evidence: Evidence, client: str | None) -> Verdict | None:
    """The verdict where nothing was throttled by an endpoint that was not seen to throttle; else None.

    `client`: what the client says of its attempts.
    """
    endpoint = evidence.endpoint
    if endpoint is None or endpoint.can("throttles"):
        return None
    seen, never = endpoint.of("throttles").seen, endpoint.never_throttles
    said = f"probed before the run: {seen}, and nothing was refused"
    if not never:
        said = f"the endpoint was {endpoint.source}: {seen if endpoint.findings else endpoint.product}"
    return Verdict(
        constraint="undetermined",
        grade="none",
        confidence=0,
        valid=False,
        because=tuple(filter(None, (sentence(said), client))),
        rule=NO_CAPACITY_MODEL if never else NOT_KNOWN,
    )
