"""An endpoint with another behaviour is found to differ, and the parameter is named; ours is not."""

import pytest

from tests.trial.worlds import observed
from tools.trial.judgement import SHOWS, Judgement, judged

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("trial")]  # which keeps the simulations


def named(judgement: Judgement) -> list[set[str]]:
    return [{guess.parameter for guess in one.guesses} for one in judgement.explanations]


@pytest.mark.nightly
@pytest.mark.parametrize("setting", ["index_buffer_units=9000.0", "burst_s=150.0"])
def test_another_behaviour_is_found_and_its_parameter_named(setting: str) -> None:
    parameter, _, value = setting.partition("=")
    names = {*SHOWS[parameter]} | ({"maximum-on-demand"} if parameter == "index_buffer_units" else set())
    judgement = judged(observed(sorted(names), setting))
    assert named(judgement) == [{parameter}]
    (explanation,) = judgement.explanations
    assert explanation.determined
    assert explanation.guesses[0].value == pytest.approx(float(value), rel=0.08)
    assert explanation.scenarios == set(judgement.differing) <= set(SHOWS[parameter])
    assert judgement.unexplained == ()


def test_what_no_parameter_explains_is_said() -> None:
    """Throttled from the first second on, for a reason of the account's: nothing of the model's does that."""
    (seen,) = observed(["maximum-on-demand"])
    minutes = [
        minute.model_copy(
            update={"throttles": {"TableWriteAccountLimitExceeded": sum(minute.throttles.values())}}
        )
        for minute in seen.minutes
    ]
    other = seen.model_copy(update={"minutes": tuple(minutes)})
    judgement = judged([other])
    assert judgement.differing == judgement.unexplained == ("maximum-on-demand",)
    assert judgement.explanations == ()


@pytest.mark.parametrize("attempts", [0, 1, 10**15])
def test_one_of_far_too_few_or_too_many_requests_is_not_compared(attempts: int) -> None:
    (seen,) = observed(["maximum-on-demand"])
    assert judged([seen.model_copy(update={"attempts": attempts})]).compared == ()
