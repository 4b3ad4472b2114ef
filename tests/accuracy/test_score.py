"""Labels against truths made by hand: the scoring says right only where it is right."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from keyheat.analysis.thresholds import NoiseThresholds
from keyheat.runs.formats import Label
from keyheat.words import Constraint
from tools.accuracy.score import MISSED, Refused, TrueRecord, answers, is_sprinkle, judged, true_spans

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
