"""Counting: shares, intervals, precision, recall, calibration, and the goals."""

import pytest

from keyheat.words import Constraint
from tools.accuracy.score import BEST, Best, LabelScore, SpanScore
from tools.accuracy.tally import Share, calibration, calibration_error, missed, score, score_all


def answer(
    truth: Constraint, said: str, *, number: int = 0, best: Best = "minutes", sprinkle: bool = False
) -> SpanScore:
    return SpanScore(
        number=number, best=best, resource="table", direction="write", truth=truth, answer=said,
        throttles=100, sprinkle=sprinkle,
    )  # fmt: skip


def judgement(
    confidence: float, right: bool, rule: str = "some-rule", false_alarm: bool = False
) -> LabelScore:
    return LabelScore(
        number=3, best="minutes", constraint="table", rule=rule, grade="inferred", confidence=confidence,
        throttles=1, right=right, false_alarm=false_alarm,
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
