"""What a run on an endpoint can prove, and what of it can be said: by what the endpoint can do."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from keyheat.runs.capabilities import WHOSE_UNITS, Capabilities
from keyheat.runs.formats import Evidence, Verdict
from keyheat.words import WRITES_FIRST, Direction, sentence

ALONE: Final = "labels rest on what the client saw alone"


def can_prove(found: Capabilities) -> tuple[str, ...]:
    """What a run there can prove."""
    return tuple(_can(found))


def cannot_prove(found: Capabilities) -> tuple[str, ...]:
    """What a run there cannot prove; what is not known is said as that."""
    return tuple(_cannot(found))


def best_grade(found: Capabilities) -> str:
    """The best grade of evidence that a label of a run there can have."""
    if found.never_throttles:
        return "none"
    if found.can("reasons"):
        return "reason"
    if found.can("cloudwatch"):
        return "cause_metric"
    return "inferred" if found.can("write_units") else "none"


def _can(found: Capabilities) -> Iterator[str]:
    if found.can("throttles"):
        whose = "" if found.dynamodb else ", as this endpoint models DynamoDB's limits"
        yield f"whether this load is throttled{whose}"
    if found.can("reasons"):
        yield "which limit it met, as the answers themselves say (the best grade: reason)"
    elif found.can("throttles") and best_grade(found) != "none":
        yield f"which limit it met, at best by the grade {best_grade(found)}"
    if found.can("key_range"):
        yield "partition or table: key ranges have limits of their own"
    if (right := [name for name in WHOSE_UNITS if found.can(name)]) and len(right) == len(WHOSE_UNITS):
        yield "units per operation, and what they cost"
    elif right:
        yield f"units of {_named(right)}"
    if found.can("cloudwatch"):
        yield "minutes and throttle events, where its CloudWatch has them; that is seen in the run"
    if found.dynamodb:
        yield "latency, as a client there sees it"
    yield "whether the requests are valid, and the answers what the load test expects"


def _cannot(found: Capabilities) -> Iterator[str]:
    if found.never_throttles:
        yield "whether DynamoDB would throttle this load: nothing is ever refused there (no capacity model)"
        yield "partition or table: there are no throttles to label"
    elif found.of("throttles").answer == "unknown":
        seen = _seen(found, "throttles")
        yield f"that nothing is throttled: whether it ever throttles is not known ({seen})"
    elif not found.can("key_range"):
        yield f"that one hot key is limited while the table has room ({_seen(found, 'key_range')})"
    if found.can("throttles") and not found.can("reasons"):
        yield f"the limit by its stated reason: the best grade is {best_grade(found)}"
    if wrong := [name for name in WHOSE_UNITS if found.of(name).answer == "no"]:
        yield f"units, utilisation and cost of {_named(wrong)}: {_why(found, wrong)}"
    if unknown := [name for name in WHOSE_UNITS if found.of(name).answer == "unknown"]:
        yield f"units, utilisation and cost of {_named(unknown)}: {_why(found, unknown)}"
    if found.of("cloudwatch").answer == "no":
        yield f"what CloudWatch would count: {ALONE}"
    if not found.dynamodb:
        yield "DynamoDB's latency: this endpoint's own is measured"


def _named(names: list[str]) -> str:
    """Capabilities of consumed capacity, by their operation."""
    if len(names) == len(WHOSE_UNITS):
        return "every operation"
    shown = [WHOSE_UNITS[name] for name in names]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _why(found: Capabilities, names: list[str]) -> str:
    """What was seen of all of them, where that is one thing."""
    seen = {_seen(found, name) for name in names}
    return seen.pop() if len(seen) == 1 else "what comes back for them is not what DynamoDB would say"


def _seen(found: Capabilities, name: str) -> str:
    return found.of(name).seen


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
