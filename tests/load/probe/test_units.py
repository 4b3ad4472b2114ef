"""Consumed capacity against the arithmetic: right, constant, absent, or wrong, with what came."""

import pytest

from keyheat.load.probe.capacity import SIZES_BYTES, UnitsCheck, consumed, finding, item
from keyheat.model.units import item_bytes
from tests.load.probe.made_up import MadeUp, ok


def checks(*pairs: tuple[float, float | None]) -> list[UnitsCheck]:
    return [UnitsCheck("write_units", f"put {n}", expected, came) for n, (expected, came) in enumerate(pairs)]


@pytest.mark.parametrize(
    ("found", "answer", "seen"),
    [
        (checks((1, 1), (2, 2), (5, 5)), "yes", "right: 1, 2 and 5 units"),
        (checks((7, 7)), "yes", "right: 7 units"),
        (checks((1, 1), (2, 1), (5, 1)), "no", "constant: always 1, where 1, 2 and 5 were expected"),
        (checks((1, None), (2, None)), "no", "absent: no consumed capacity came back"),
        (
            checks((1, 1), (2, 4), (5, None)),
            "no",
            "wrong: put 1: 2 expected, 4 came; put 2: 5 expected, none came",
        ),
        (checks((7, 1)), "no", "wrong: put 0: 7 expected, 1 came"),
        ([UnitsCheck("x", "x", 1, None, "NoSuch")], "unknown", "not served: NoSuch"),
        ([UnitsCheck("x", "x", 1, None, "Slow", True)], "unknown", "throttled before its units were seen"),
    ],
)
def test_what_checks_come_to(found: list[UnitsCheck], answer: str, seen: str) -> None:
    made = finding(found)
    assert (made.answer, made.seen) == (answer, seen)


@pytest.mark.parametrize("size", SIZES_BYTES)
@pytest.mark.parametrize("group", [None, "one"])
def test_items_weigh_what_they_should(size: int, group: str | None) -> None:
    assert item_bytes(item("units", "1", size, group=group)) == size


def test_an_answer_may_name_the_table_once_or_in_a_list() -> None:
    """A batch has one entry for each table; a transaction here as well, a put has none."""
    listed = [{"TableName": "t", "CapacityUnits": 7}]
    answers = {
        "BatchWriteItem": lambda _content: ok(ConsumedCapacity=listed),
        "TransactWriteItems": lambda _content: ok(ConsumedCapacity={"CapacityUnits": 14.0}),
        "Query": lambda _content: ok(ConsumedCapacity={"CapacityUnits": "2"}),
    }
    found = consumed(MadeUp(answers=answers).asked(), "t")
    assert {name: one.answer for name, one in found.items()} == {
        "write_units": "no", "read_units": "no", "query_units": "no", "batch_units": "yes",
        "transaction_units": "yes", "index_units": "no",
    }  # fmt: skip
    assert found["query_units"].seen == "absent: no consumed capacity came back"
