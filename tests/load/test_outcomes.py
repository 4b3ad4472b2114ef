"""What came of a batch, a transaction or a condition stands in the record item by item."""

from typing import Any

import orjson
import pytest

from keyheat.load.record.attempt import Attempt
from keyheat.load.record.record import Record
from keyheat.load.record.rows import ACCEPTED, ATTEMPTS, ERRORS, THROTTLED
from keyheat.load.record.sketch import KeyHeat
from keyheat.load.transport.answer import Answer
from keyheat.load.users.outcomes import (
    Batch,
    Conditional,
    Note,
    RequestPart,
    Transaction,
    consumed,
    note_single,
)  # fmt: skip
from keyheat.scenario.keys import digest_of

ATTEMPT = Attempt("BatchWriteItem", "write", "a", 1_000.5, 10, 2_000)
PARTS = [RequestPart("a", "1", 1.0), RequestPart("a", "2", 3.0), RequestPart("b", "1", 1.0)]
CAPACITY = [
    {"TableName": "t", "CapacityUnits": 12.0, "GlobalSecondaryIndexes": {"gsi": {"CapacityUnits": 2.0}}}
]


def answer(status: int = 200, **content: Any) -> Answer:
    return Answer(status, orjson.dumps(content), 0.002)


def error(code: str, **content: Any) -> Answer:
    return answer(400, __type=f"com.amazonaws.dynamodb.v20120810#{code}", message="m", **content)


def cancelled(*codes: str) -> Answer:
    reasons = [{"Code": code} | ({"Message": "m"} if code != "None" else {}) for code in codes]
    return error("TransactionCanceledException", CancellationReasons=reasons)


BATCH, HOT = Batch(PARTS, "pk", "sk"), "TableWriteKeyRangeThroughputExceeded"
NO_ANSWER = Answer(0, b"", 0.1, failure="timeout")


def totals(record: Record) -> tuple[float, float, float, float]:
    """Accepted, throttled and failed attempts, and units consumed."""
    total = record.seconds.of_requests()
    assert total[ATTEMPTS] == total[ACCEPTED] + total[THROTTLED] + total[ERRORS]
    return total[ACCEPTED], total[THROTTLED], total[ERRORS], round(record.consumed.write_units, 9)


def throttled_rows(record: Record) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = record.throttles.table().to_pylist()
    return rows


def test_unprocessed_items_are_throttles_without_a_reason() -> None:
    record = Record()
    left = {"t": [{"PutRequest": {"Item": {"pk": {"S": "a"}, "sk": {"S": "2"}, "filler": {"S": "x"}}}}]}
    assert BATCH(record, ATTEMPT, answer(UnprocessedItems=left, ConsumedCapacity=CAPACITY)) is None
    assert totals(record) == (2, 1, 0, 12.0)
    (row,) = throttled_rows(record)
    assert (row["reason"], row["index"], row["operation"]) == (None, None, "BatchWriteItem")
    assert row["units"] == 3.0
    assert record.counted["batch.unprocessed"] == 1


@pytest.mark.parametrize(
    ("note", "came", "told", "counts", "reasons"),
    [
        (BATCH, NO_ANSWER, "timeout", (0, 0, 3, 0.0), set()),
        (
            BATCH,
            error("ThrottlingException", ThrottlingReasons=[{"reason": HOT}]),
            HOT,
            (0, 3, 0, 0.0),
            {HOT},
        ),
        (Transaction(PARTS), error("ThrottlingException"), "ThrottlingException", (0, 3, 0, 0.0), {None}),
    ],
)
def test_what_is_refused_or_lost_whole(
    note: Note, came: Answer, told: str, counts: tuple[float, ...], reasons: set[str | None]
) -> None:
    record = Record()
    assert note(record, ATTEMPT, came) == told
    assert totals(record) == counts
    assert {row["reason"] for row in throttled_rows(record)} == reasons
    assert sum(latency.counts().sum() for latency in record.latencies.values()) == 1, "one request"


@pytest.mark.parametrize("code", ["ThrottlingError", "ProvisionedThroughputExceeded"])
def test_a_transaction_that_was_throttled_is_a_throttle_of_the_items_that_were(code: str) -> None:
    """Also where another of them met a writer."""
    record, told = Record(), cancelled("TransactionConflict", code, "None")
    assert told.throttled
    assert Transaction(PARTS)(record, ATTEMPT, told) == code
    assert totals(record) == (0, 1, 0, 0.0)
    (row,) = throttled_rows(record)
    assert (row["reason"], row["units"]) == (None, 3.0)
    assert record.counted["transactions.cancelled"] == 1


def test_a_conflict_is_an_error_that_is_counted_and_no_throttle() -> None:
    record, told = Record(), cancelled("None", "TransactionConflict", "None")
    assert not told.throttled
    assert Transaction(PARTS)(record, ATTEMPT, told) == "TransactionConflict"
    assert totals(record) == (0, 0, 1, 0.0)
    assert record.errors_by_kind == {"TransactionConflict": 1}
    assert (record.counted["transactions.cancelled"], record.counted["transactions.conflicts"]) == (1, 1)


def test_a_failed_condition_was_admitted_and_costs_what_is_documented() -> None:
    record = Record()
    note = Conditional(units=2.0, failed_units=5.0)
    assert note(record, ATTEMPT, error("ConditionalCheckFailedException")) is None
    assert totals(record) == (1, 0, 0, 5.0)
    assert record.counted == {"conditions.failed": 1, "conditions.failed_units": 5.0}


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("TransactionConflictException", "writes.conflicts"),
        ("ReplicatedWriteConflictException", "replication.conflicts"),
    ],
)
def test_a_plain_write_that_meets_another_one_is_an_error_with_its_key(code: str, name: str) -> None:
    record = Record()
    assert note_single(record, ATTEMPT, error(code), 1.0) == code
    assert (record.errors_by_kind, record.counted) == ({code: 1}, {name: 1})
    assert record.meetings["conflicts"].weights == {digest_of("a"): 1.0}


def test_the_keys_on_which_writers_met_are_kept_merged_and_sent() -> None:
    record, shown = Record(), Record(heat={"write": KeyHeat(show_keys=True)})
    Transaction(PARTS)(record, ATTEMPT, cancelled("None", "TransactionConflict", "TransactionConflict"))
    Transaction(PARTS)(record, ATTEMPT, cancelled("ConditionalCheckFailed", "None", "TransactionConflict"))
    Conditional(units=1.0, failed_units=1.0)(shown, ATTEMPT, error("ConditionalCheckFailedException"))
    assert record.meetings["conflicts"].weights == {digest_of("a"): 1.0, digest_of("b"): 2.0}
    assert record.meetings["conditions"].weights == {digest_of("a"): 1.0}
    assert record.counted["transactions.conditions"] == 1
    assert shown.meetings["conditions"].weights == {"a": 1.0}
    whole = Record.from_wire(record.cut().to_wire())
    assert record.meetings == {}
    whole.merge(Record(meetings={"conflicts": whole.meetings["conflicts"]}))
    assert whole.meetings["conflicts"].weight(digest_of("b")) == 4.0


def test_a_condition_that_holds_or_is_throttled_is_as_any_other_write() -> None:
    record, note = Record(), Conditional(units=2.0, failed_units=5.0)
    assert note(record, ATTEMPT, answer(ConsumedCapacity={"TableName": "t", "CapacityUnits": 3.0})) is None
    assert note(record, ATTEMPT, error("ThrottlingException")) == "ThrottlingException"
    assert totals(record) == (1, 1, 0, 3.0)
    assert throttled_rows(record)[0]["units"] == 2.0
    assert record.counted == {}


def test_the_units_of_several_tables_are_added() -> None:
    two = [*CAPACITY, {"TableName": "u", "CapacityUnits": 1.5}]
    assert consumed(answer(ConsumedCapacity=two)) == (13.5, {"gsi": 2.0})
    assert consumed(answer()) == (0.0, {})
