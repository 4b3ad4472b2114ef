"""Are the consumed units that come back DynamoDB's, and does the endpoint ever refuse for want of them?

Does it ever refuse for capacity? A short burst on a table of one write unit a second.
DynamoDB saves up to 300 s of unused capacity, and serves small tables more generously than that: an AWS
workshop wrote 2,500 items to a table of 5 units before it throttled. Nothing that models a capacity lets
6,000 units through in a few seconds where one a second is provisioned.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/burst-adaptive-capacity.html
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

from keyheat.load.probe.table import INDEX, ProbedEndpoint
from keyheat.load.transport.answer import Answer
from keyheat.model.limits import WRITE_UNIT_BYTES
from keyheat.model.units import item_bytes, read_units, write_units
from keyheat.runs.capabilities import ABSENT, WHOSE_UNITS, CapabilityFinding

SIZES_BYTES: Final = (100, 1_500, 5_000)
MIDDLE, LARGE = SIZES_BYTES[1:]
GROUP: Final = "units"  # the partition key of the items that a query finds

Item = dict[str, dict[str, str]]


@dataclass(frozen=True, slots=True)
class UnitsCheck:
    """What one request should have consumed, and what came back."""

    capability: str
    what: str
    expected: float
    came: float | None  # None: nothing was said
    refused: str | None = None  # the error's name, where there is no answer to look at
    throttled: bool = False


def item(pk: str, sk: str, size_bytes: int, *, group: str | None = None) -> Item:
    """An item of exactly that size; one with a group has an entry in the index."""
    made: Item = {"pk": {"S": pk}, "sk": {"S": sk}, **({"group": {"S": group}} if group else {})}
    return made | {"fill": {"S": "x" * (size_bytes - item_bytes(made | {"fill": {"S": ""}}))}}


def consumed(asked: ProbedEndpoint, table: str) -> dict[str, CapabilityFinding]:
    """A finding for each operation whose consumed capacity was looked at."""
    checks: defaultdict[str, list[UnitsCheck]] = defaultdict(list)
    for check in _checks(asked, table):
        checks[check.capability].append(check)
    return {name: finding(checks[name]) for name in WHOSE_UNITS}


def _checks(asked: ProbedEndpoint, table: str) -> Iterator[UnitsCheck]:
    yield from _puts(asked, table)
    yield from _reads(asked, table)
    yield from _together(asked, table)
    yield from _indexed(asked, table)


def _puts(asked: ProbedEndpoint, table: str) -> Iterator[UnitsCheck]:
    for size in SIZES_BYTES:
        answer = asked.send(
            "PutItem", TableName=table, Item=item(GROUP, str(size), size), ReturnConsumedCapacity="INDEXES"
        )
        yield _check("write_units", f"PutItem of {size:,} B", write_units(0, size), answer)


def _reads(asked: ProbedEndpoint, table: str) -> Iterator[UnitsCheck]:
    every = {"TableName": table, "ReturnConsumedCapacity": "INDEXES"}
    found = {
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": GROUP}},
    }
    for consistent in (True, False):
        how = "strong" if consistent else "eventual"
        for size in (MIDDLE, LARGE):
            key = {"pk": {"S": GROUP}, "sk": {"S": str(size)}}
            answer = asked.send("GetItem", **every, Key=key, ConsistentRead=consistent)
            expected = read_units(size, consistent=consistent)
            yield _check("read_units", f"{how} GetItem of {size:,} B", expected, answer)
        answer = asked.send("Query", **every, **found, ConsistentRead=consistent)
        together = sum(SIZES_BYTES)
        what = f"{how} Query of {together:,} B in {len(SIZES_BYTES)} items"
        yield _check("query_units", what, read_units(together, consistent=consistent), answer)


def _together(asked: ProbedEndpoint, table: str) -> Iterator[UnitsCheck]:
    puts = [{"PutRequest": {"Item": item("batch", str(size), size)}} for size in (MIDDLE, LARGE)]
    answer = asked.send("BatchWriteItem", RequestItems={table: puts}, ReturnConsumedCapacity="INDEXES")
    expected = sum(write_units(0, size) for size in (MIDDLE, LARGE))
    what = f"BatchWriteItem of {MIDDLE:,} and {LARGE:,} B"
    yield _check("batch_units", what, expected, answer)
    items = [item("transaction", str(size), size) for size in (MIDDLE, LARGE)]
    writes = [{"Put": {"TableName": table, "Item": one}} for one in items]
    answer = asked.send("TransactWriteItems", TransactItems=writes, ReturnConsumedCapacity="INDEXES")
    expected = sum(write_units(0, size, transactional=True) for size in (MIDDLE, LARGE))
    what = f"TransactWriteItems of {MIDDLE:,} and {LARGE:,} B"
    yield _check("transaction_units", what, expected, answer)


def _indexed(asked: ProbedEndpoint, table: str) -> Iterator[UnitsCheck]:
    entry = item("indexed", "one", MIDDLE, group="one")
    answer = asked.send("PutItem", TableName=table, Item=entry, ReturnConsumedCapacity="INDEXES")
    own = write_units(0, MIDDLE)
    yield _check("index_units", f"PutItem of {MIDDLE:,} B with an index entry", 2 * own, answer)
    yield _check("index_units", "the table's part of it", own, answer, "Table")
    yield _check("index_units", "the index's part", own, answer, "GlobalSecondaryIndexes", INDEX)


def _check(capability: str, what: str, expected: float, answer: Answer, *part: str) -> UnitsCheck:
    """One answer held against what it should have cost; `part`: of the table or an index alone."""
    if not answer.accepted:
        return UnitsCheck(capability, what, expected, None, answer.error_code, answer.throttled)
    return UnitsCheck(capability, what, expected, _units(answer.content().get("ConsumedCapacity"), part))


def _units(said: Any, part: Sequence[str]) -> float | None:
    """The units of an answer, which names them once, or once for each table."""
    found = said[0] if isinstance(said, list) and len(said) == 1 else said
    for name in (*part, "CapacityUnits"):
        found = found.get(name) if isinstance(found, dict) else None
    return float(found) if isinstance(found, int | float) else None


def finding(checks: Sequence[UnitsCheck]) -> CapabilityFinding:
    """What the checks of one operation come to: right, absent, constant, or wrong."""
    if any(check.throttled for check in checks):
        return CapabilityFinding(answer="unknown", seen="throttled before its units were seen")
    if refusal := next((check.refused for check in checks if check.refused), None):
        return CapabilityFinding(answer="unknown", seen=f"not served: {refusal}")
    came = {check.came for check in checks}
    if came <= {None, 0.0}:  # it does not count: there is no request for nothing
        return CapabilityFinding(answer="no", seen=ABSENT)
    wrong = [check for check in checks if check.came != check.expected]
    units = _listed([f"{check.expected:g}" for check in checks])
    if not wrong:
        return CapabilityFinding(answer="yes", seen=f"right: {units} units")
    if len(came) == 1 and len({check.expected for check in checks}) > 1:
        return CapabilityFinding(
            answer="no", seen=f"constant: always {came.pop():g}, where {units} were expected"
        )
    said = [f"{check.what}: {check.expected:g} expected, {_came(check)}" for check in wrong]
    return CapabilityFinding(answer="no", seen=f"wrong: {'; '.join(said)}")


def _listed(words: Sequence[str]) -> str:
    return " and ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else words[0]


def _came(check: UnitsCheck) -> str:
    return "none came" if check.came is None else f"{check.came:g} came"


ENOUGH_UNITS: Final = 6_000
MOST_UNITS: Final = 100  # of one request
KEYS: Final = 16  # the burst is spread, so that a table's limit is met and not a partition's


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstBounds:
    """How long the burst goes on at most."""

    requests: int = 2_000
    seconds: float = 5.0
    least_units: int = 20  # of one request


NO_ANSWER: Final = CapabilityFinding(answer="unknown", seen="nothing was refused")
KEY_RANGE: Final = CapabilityFinding(
    answer="unknown", seen="not probed: it would take 1,000 write units a second on one key"
)


def throttling(
    asked: ProbedEndpoint, table: str, latency_s: float, bounds: BurstBounds
) -> dict[str, CapabilityFinding]:
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


def _units_each(latency_s: float, bounds: BurstBounds) -> int:
    """Larger items for a slower endpoint, so that enough units go out in half of the time there is."""
    return min(MOST_UNITS, max(bounds.least_units, ceil(2 * ENOUGH_UNITS * latency_s / bounds.seconds)))


def _put(asked: ProbedEndpoint, table: str, number: int, units: int) -> Answer:
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
