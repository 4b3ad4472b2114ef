"""Whose endpoint it is decides what is said of a run there: not "no throttles" where there can be none."""

from datetime import UTC, datetime
from typing import Any

import pytest

from keyheat.analysis.checks import check
from keyheat.runs.client import ClientFiles
from keyheat.runs.endpoints import NO_CAPACITY_MODEL
from keyheat.runs.formats import Evidence, Verdict
from keyheat.runs.manifest import Manifest
from keyheat.scenario.scenario import ThresholdsSpec
from keyheat.words import Endpoint
from tests.analysis.conftest import diagnosed
from tests.make import KEY_RANGE, client_seconds, consumed, provisioned, throttled
from tests.make import an_evidence as evidence
from tests.make import throttle_events as events

CALM = client_seconds((range(60), 50, 0))


def verdict_of(found: Evidence) -> Verdict:
    return diagnosed(found).verdict


@pytest.mark.parametrize(
    ("whose", "rule", "constraint"),
    [
        (None, None, "none"),
        ("aws", None, "none"),
        ("keyheat", None, "none"),
        ("other", "no-capacity-model", "undetermined"),
    ],
)
def test_no_throttles_mean_something_only_where_there_can_be_some(
    whose: Endpoint | None, rule: str | None, constraint: str
) -> None:
    judged = verdict_of(evidence(seconds=CALM, throttles=[], endpoint=whose))
    assert (judged.rule, judged.constraint, judged.valid) == (rule, constraint, rule is None)
    assert ("this endpoint is neither" in judged.because[0]) == (rule is not None)


@pytest.mark.parametrize(
    ("whose", "rule", "doubts"),
    [("aws", "seconds-below-provisioned", 0), ("other", "undetermined-no-consumed", 1)],
)
def test_units_of_others_prove_nothing(whose: Endpoint, rule: str, doubts: int) -> None:
    found = evidence(
        consumed(1_300, 1_300, 1_300), events(9_000, 9_000, 9_000), provisioned(4_000),
        throttles=throttled(None, range(170), 150), seconds=client_seconds((range(170), 1_300, 150)),
        endpoint=whose,
    )  # fmt: skip
    diagnosis = diagnosed(found)
    assert {label.rule for label in diagnosis.labels} == {rule}
    assert sum("are unreliable" in line for line in diagnosis.verdict.because) == doubts
    if doubts:
        assert not any("WCU" in line for label in diagnosis.labels for line in label.because)


def test_throttles_with_a_reason_are_labelled_at_any_endpoint() -> None:
    found = evidence(throttles=throttled(KEY_RANGE, range(30)), endpoint="other")
    diagnosis = diagnosed(found, simulate=True)
    assert (diagnosis.verdict.constraint, diagnosis.verdict.grade) == ("partition", "reason")
    assert all(one.bill is None and one.foreseen is None for one in diagnosis.recommendations)


RUN: dict[str, Any] = {
    "started_at": datetime(2026, 11, 20, 12, tzinfo=UTC),
    "table": {"name": "t"},
    "totals": {"attempts": 1_000, "accepted": 1_000},
}


def test_thresholds_on_throttles_are_left_open() -> None:
    """They are neither held nor broken; errors are counted as anywhere."""
    found = evidence(seconds=CALM)
    judged = Verdict(
        constraint="undetermined", grade="none", confidence=0, valid=False, because=(), rule=NO_CAPACITY_MODEL
    )
    spec = ThresholdsSpec(throttle_share_max=0.01, error_share_max=0.5, constraint="none")
    client = ClientFiles(manifest=Manifest.model_validate(RUN))
    results = {one.name: one for one in check(spec, judged, found, client)}
    assert {name: one.decided for name, one in results.items()} == {
        "throttle_share_max": False, "error_share_max": True, "constraint": False,
    }  # fmt: skip
    assert not any(one.broken for one in results.values())
    assert results["constraint"].measured == "this endpoint has no capacity model"
