"""Throttled spans as the model's own decisions make them."""

from typing import Any

from tools.accuracy.score import TrueRecord, records, true_spans, with_quota

WHOSE = ("table", "write")


def row(
    second: int, refused: dict[str, int], *, index: str | None = None, accepted: int = 10
) -> dict[str, Any]:
    return {"second": second, "index": index, "direction": "write", "accepted": accepted, "refused": refused}


def test_refusals_are_told_apart_by_resource_direction_and_constraint() -> None:
    found = records(
        [
            row(100, {"KeyRangeThroughputExceeded": 3, "ProvisionedThroughputExceeded": 2}),
            row(100, {"MaxOnDemandThroughputExceeded": 4}, index="by_tag"),
            row(101, {}),
        ]
    )
    assert found["table", "write"] == TrueRecord({100: {"partition": 3, "table": 2}}, attempts=25)
    assert found["by_tag", "write"] == TrueRecord({100: {"max_on_demand": 4}}, attempts=14)


def test_a_pause_of_more_than_a_minute_ends_a_span() -> None:
    seconds = {second: {"table": 1} for second in (0, 61, 123)}
    spans = true_spans(WHOSE, seconds)
    assert [(span.start_s, span.end_s) for span in spans] == [(0, 62), (123, 124)]


def test_a_span_is_cut_where_another_constraint_takes_over() -> None:
    refused = {second: {"partition": 10} for second in range(100)}
    refused |= {second: {"table": 10} for second in range(100, 200)}
    first, second = true_spans(WHOSE, refused)
    assert (first.constraint, second.constraint) == ("partition", "table")
    assert abs(first.end_s - 100) <= 1
    assert first.throttles + second.throttles == 2_000


def test_the_accounts_quota_is_that_of_the_table_with_its_indexes() -> None:
    found = {
        ("table", "write"): TrueRecord({1: {"partition": 2}}, attempts=9),
        ("by_tag", "write"): TrueRecord({1: {"account": 3, "table": 4}, 2: {"account": 5}}, attempts=9),
        ("by_tag", "read"): TrueRecord({3: {"account": 7}}, attempts=9),
    }
    assert with_quota(found, ("table", "write")).refused == {
        1: {"partition": 2, "account": 3},
        2: {"account": 5},
    }
    assert with_quota(found, ("by_tag", "write")) == found["by_tag", "write"]
    assert with_quota(found, ("other", "write")) == TrueRecord()
