"""Truth, labels held against it by hand-made cases, and what is counted of both."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from keyheat.analysis.rules import NoiseThresholds
from keyheat.runs.formats import Label
from keyheat.words import Constraint
from tools.accuracy.score import (
    BEST,
    MISSED,
    Best,
    LabelScore,
    Refused,
    SpanScore,
    TrueRecord,
    answers,
    is_sprinkle,
    judged,
    records,
    true_spans,
    with_quota,
)
from tools.accuracy.tally import Share, calibration, calibration_error, missed, score, score_all

START = 1_800_000_000
WHOSE = ("table", "write")


def label(constraint: Constraint, first: int, past: int, throttles: int, confidence: float = 0.9) -> Label:
    """A label from `first` up to `past`, in seconds after the start."""
    start, end = (datetime.fromtimestamp(START + at, UTC) for at in (first, past))
    return Label(
        start=start, end=end, resource="table", direction="write", constraint=constraint, because=(),
        throttles=throttles, grade="inferred", confidence=confidence, rule=f"says-{constraint}",
    )  # fmt: skip


def refused(*parts: tuple[int, int, dict[Constraint, int]]) -> Refused:
    """Throttles by second, from (first second, past the last one, throttles in each of them)."""
    return {START + second: causes for first, past, causes in parts for second in range(first, past)}


def answered(truth: Refused, labels: Sequence[Label]) -> list[tuple[str, str]]:
    spans = true_spans(WHOSE, truth)
    found = answers(spans, labels, TrueRecord(truth), number=1, best="minutes", sprinkle=False)
    return [(one.truth, one.answer) for one in found]


PARTITION = refused((0, 100, {"partition": 10}))
BOTH = refused((0, 100, {"partition": 10}), (100, 200, {"table": 10}))
AT_ONCE = refused((0, 100, {"partition": 6, "table": 4}))


ANSWERS: dict[str, tuple[Refused, list[Label], list[tuple[str, str]]]] = {
    "right": (PARTITION, [label("partition", 0, 100, 1_000)], [("partition", "partition")]),
    "wrong": (PARTITION, [label("table", 0, 100, 1_000)], [("partition", "table")]),
    "no label at all": (PARTITION, [], [("partition", MISSED)]),
    "undecided": (PARTITION, [label("undetermined", 0, 100, 1_000)], [("partition", "undetermined")]),
    "one label over two spans is right of one": (BOTH, [label("partition", 0, 200, 2_000)],
     [("partition", "partition"), ("table", "partition")]),
    "the label over most throttles counts": (PARTITION,
     [label("table", 0, 30, 300), label("partition", 30, 100, 700)], [("partition", "partition")]),
    "overlapping labels, each with its own throttles": (AT_ONCE,
     [label("table", 0, 100, 400), label("partition", 0, 100, 600)], [("partition", "partition")]),
    "overlapping labels that count the wrong way round": (AT_ONCE,
     [label("table", 0, 100, 700), label("partition", 0, 100, 300)], [("partition", "table")]),
    "a long label's throttles lie where its own cause was": (
     refused((0, 100, {"partition": 100}), (100, 400, {"partition": 1, "table": 20})),
     [label("partition", 0, 400, 10_300), label("table", 100, 400, 6_000)],
     [("partition", "partition"), ("table", "table")]),
}  # fmt: skip


@pytest.mark.parametrize(("truth", "labels", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_the_answer_is_what_the_labels_say_of_most_throttles(
    truth: Refused, labels: Sequence[Label], expected: list[tuple[str, str]]
) -> None:
    assert answered(truth, labels) == expected


LABELS: dict[str, tuple[Label, bool, bool]] = {
    "all of its throttles were of it": (label("partition", 0, 100, 1_000), True, False),
    "half of them were": (label("table", 50, 150, 1_000), True, False),
    "hardly any were": (label("table", 5, 105, 1_000), False, False),
    "nothing throttled there": (label("table", 300, 400, 10), False, True),
}


@pytest.mark.parametrize(("made", "right", "false_alarm"), LABELS.values(), ids=LABELS)
def test_half_the_throttles_make_a_label_right(made: Label, right: bool, false_alarm: bool) -> None:
    (one,) = judged([made], TrueRecord(BOTH), number=1, best="minutes")
    assert (one.right, one.false_alarm) == (right, false_alarm)


@pytest.mark.parametrize(
    ("throttles", "attempts", "sprinkle"), [(50, 50_000, True), (51, 1_000_000, False), (50, 49_000, False)]
)
def test_a_sprinkle_is_both_few_and_rare(throttles: int, attempts: int, sprinkle: bool) -> None:
    record = TrueRecord({START: {"table": throttles}}, attempts)
    assert is_sprinkle(record, NoiseThresholds(throttles=50, share=0.001)) is sprinkle


def answer(
    truth: Constraint, said: str, *, number: int = 0, best: Best = "minutes", sprinkle: bool = False
) -> SpanScore:
    return SpanScore(
        number=number, best=best, resource="table", direction="write", truth=truth, answer=said,
        sprinkle=sprinkle,
    )  # fmt: skip


def judgement(
    confidence: float, right: bool, rule: str = "some-rule", false_alarm: bool = False
) -> LabelScore:
    return LabelScore(
        number=3, best="minutes", constraint="table", rule=rule, confidence=confidence,
        right=right, false_alarm=false_alarm,
    )  # fmt: skip


SPANS = [
    *[answer("partition", "partition")] * 6,
    *[answer("partition", "table", number=7)] * 2,
    answer("table", "table"),
    answer("table", "undetermined", number=5),
    answer("account", "missed", number=5),
]


def test_a_false_alarm_is_one_more_span_that_is_not_right() -> None:
    found = score("minutes", SPANS, [judgement(0.9, False, false_alarm=True)])
    assert (found.right, found.decided, found.of_decided) == (Share(7, 12), Share(9, 11), Share(7, 10))
    assert {"truth": "none", "answer": "table", "spans": 1} in found.confusion


def test_precision_and_recall_of_each_constraint() -> None:
    named = {one["name"]: (one["precision"], one["recall"]) for one in score("minutes", SPANS, []).named}
    assert named["partition"] == (Share(6, 6), Share(6, 8))
    assert named["table"] == (Share(1, 3), Share(1, 2))
    assert named["account"] == (Share(0, 0), Share(0, 1))


def test_where_spans_are_right_and_which_scenarios_are_worst() -> None:
    found = score("minutes", SPANS, [judgement(0.9, False, false_alarm=True)])
    assert {"where": "table write", "truth": "partition", "right": Share(6, 8)} in found.placed
    assert [(one["scenario"], one["not_right"]) for one in found.worst] == [(5, 2), (7, 2), (3, 1)]


def test_labels_that_are_as_right_as_they_say_are_calibrated() -> None:
    good = [judgement(0.9, number < 9) for number in range(10)]
    assert calibration_error(calibration(good)) == pytest.approx(0.0)
    boastful = [judgement(0.9, number < 5) for number in range(10)]
    assert calibration_error(calibration(boastful)) == pytest.approx(0.4)


def test_goals_that_are_missed_are_named() -> None:
    perfect = [answer("table", "table", best=best) for best in BEST]
    assert list(missed(score_all(perfect, []), "nominal")) == []
    one_in_ten = [answer("table", "partition" if n == 0 else "table", best="seconds") for n in range(10)]
    (named,) = missed(score_all([*perfect[:2], *one_in_ten, *perfect[3:]], []), "nominal")
    assert named == "seconds: 97 % of the throttled spans right; it is 90.00 % (9 of 10)"


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
