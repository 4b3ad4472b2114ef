"""A label is as sure as it is right: on random tables that no number was fitted to."""

import pytest

from tools.accuracy.run import outcomes, together

pytestmark = pytest.mark.slow

SEED, SCENARIOS = 9, 20
CLEARLY = 0.9  # labels that say they are surer than this are right about nine times in ten, or more


def test_labels_given_with_nine_tenths_are_right_about_nine_times_in_ten() -> None:
    judged = together(list(outcomes(SEED, range(SCENARIOS)))).judged
    for best in ("reasons", "causes", "seconds", "minutes"):
        sure = [label for label in judged if label.best == best and label.confidence >= CLEARLY]
        right = sum(label.right for label in sure)
        assert len(sure) >= 8, best
        assert right >= 0.85 * len(sure), (best, [label for label in sure if not label.right])
