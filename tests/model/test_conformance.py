"""The admission cases against the bare model."""

import pytest

from keyheat.model.resources import Cause, Refusal
from keyheat.words import Direction
from tests.model.conformance import CASES, BareModel, play


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bare_model_conforms(case):
    play(case, BareModel(case.capacity))


def test_cases_reach_all_sixteen_reasons():
    every = {
        Refusal(index, direction, cause).reason
        for index in (None, "any")
        for direction in Direction
        for cause in Cause
    }
    assert {step.reason for case in CASES for step in case.steps} - {None} == every
