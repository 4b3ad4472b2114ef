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
    assert found.confusion["none", "table"] == 1


def test_precision_and_recall_of_each_constraint() -> None:
    found = {one.name: one for one in score("minutes", SPANS, []).named}
    assert (found["partition"].precision, found["partition"].recall) == (Share(6, 6), Share(6, 8))
    assert (found["table"].precision, found["table"].recall) == (Share(1, 3), Share(1, 2))
    assert (found["account"].precision.value, found["account"].recall) == (None, Share(0, 1))


def test_labels_that_are_as_right_as_they_say_are_calibrated() -> None:
    good = [judgement(0.9, number < 9) for number in range(10)]
    assert calibration_error(calibration(good)) == pytest.approx(0.0)
    boastful = [judgement(0.9, number < 5) for number in range(10)]
    assert calibration_error(calibration(boastful)) == pytest.approx(0.4)


@pytest.mark.slow
def test_the_interval_of_a_share() -> None:
    low, high = Share(8, 10).interval  # the textbook's example of Wilson's score
    assert (round(low, 3), round(high, 3)) == (0.490, 0.943)
    assert Share(0, 0).interval == (0.0, 1.0)


def test_goals_that_are_missed_are_named() -> None:
    perfect = [answer("table", "table", best=best) for best in BEST]
    assert list(missed(score_all(perfect, []), "nominal")) == []
    one_in_ten = [answer("table", "partition" if n == 0 else "table", best="seconds") for n in range(10)]
    (named,) = missed(score_all([*perfect[:2], *one_in_ten, *perfect[3:]], []), "nominal")
    assert named == "seconds: 97 % of the throttled spans right; it is 90.00 % (9 of 10)"
