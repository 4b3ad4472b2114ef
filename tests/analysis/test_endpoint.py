"""What an endpoint can do decides what is said of a run there: not "no throttles" where there can be none."""

from datetime import UTC, datetime
from typing import Any

import pytest

from keyheat.analysis.checks import check
from keyheat.analysis.thresholds import Thresholds
from keyheat.runs.capabilities import Capabilities, CapabilityFinding, not_probed
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import Evidence, Verdict
from keyheat.runs.manifest import Manifest
from keyheat.runs.provability import SAYS
from keyheat.scenario.scenario import ThresholdsSpec
from tests.analysis.handwritten import (
    KEY_RANGE,
    client_seconds,
    consumed,
    diagnosed,
    events,
    evidence,
    provisioned,
    throttled,
)

SEEN = "it took 6,000 write units in 0.9 s on a table of 1 per second"
WRONG = "constant: always 1, where 1, 2 and 5 were expected"
CALM = client_seconds((range(60), 50, 0))


def endpoint(**answers: str) -> Capabilities:
    """A probed endpoint of which so much is known."""
    seen = {"throttles": SEEN, "write_units": WRONG}
    findings = {
        name: CapabilityFinding.model_validate({"answer": answer, "seen": seen.get(name, "seen")})
        for name, answer in answers.items()
    }
    return Capabilities(source="probed", product="calls itself a test", findings=findings)


def verdict_of(found: Evidence, numbers: Thresholds) -> Verdict:
    return diagnosed(found, numbers).verdict


@pytest.mark.parametrize(
    ("known", "rule", "constraint"),
    [
        (None, None, "none"),  # a run.json of an older version
        (endpoint(throttles="yes"), None, "none"),
        (endpoint(throttles="no"), "no-capacity-model", "undetermined"),
        (endpoint(throttles="unknown"), "capacity-model-unknown", "undetermined"),
        (not_probed("left out by --no-probe"), "capacity-model-unknown", "undetermined"),
    ],
)
def test_no_throttles_mean_something_only_where_there_can_be_some(
    known: Capabilities | None, rule: str | None, constraint: str, numbers: Thresholds
) -> None:
    judged = verdict_of(evidence(seconds=CALM, throttles=[], endpoint=known), numbers)
    assert (judged.rule, judged.constraint, judged.valid) == (rule, constraint, rule is None)


def test_what_the_probe_saw_is_why(numbers: Thresholds) -> None:
    judged = verdict_of(evidence(seconds=CALM, endpoint=endpoint(throttles="no")), numbers)
    assert judged.because[0] == f"Probed before the run: {SEEN}, and nothing was refused."
    left_out = verdict_of(evidence(seconds=CALM, endpoint=not_probed("left out by --no-probe")), numbers)
    assert left_out.because[0] == "The endpoint was not probed: left out by --no-probe."
    assert SAYS["no-capacity-model"].startswith("This endpoint has no capacity model: it never throttles")


def test_throttles_that_came_all_the_same_are_labelled(numbers: Thresholds) -> None:
    found = evidence(throttles=throttled(KEY_RANGE, range(30)), endpoint=endpoint(throttles="no"))
    assert verdict_of(found, numbers).constraint == "partition"


@pytest.mark.parametrize(
    ("answers", "rule", "doubted"),
    [
        ({"write_units": "yes"}, "seconds-below-provisioned", False),
        ({"write_units": "no"}, "undetermined-no-consumed", True),
        ({"transaction_units": "no"}, "undetermined-no-consumed", True),
        ({"read_units": "no"}, "seconds-below-provisioned", True),  # it is writes that were throttled
        ({"index_units": "no"}, "seconds-below-provisioned", False),  # the table has no index
    ],
)
def test_nothing_is_inferred_from_units_that_are_not_dynamodbs(
    answers: dict[str, str], rule: str, doubted: bool, numbers: Thresholds
) -> None:
    found = evidence(
        consumed(1_300, 1_300, 1_300), events(9_000, 9_000, 9_000), provisioned(4_000),
        throttles=throttled(None, range(170), 150), seconds=client_seconds((range(170), 1_300, 150)),
        endpoint=endpoint(throttles="yes", **answers),
    )  # fmt: skip
    diagnosis = diagnosed(found, numbers)
    assert {label.rule for label in diagnosis.labels} == {rule}
    said = [line for line in diagnosis.verdict.because if "are not to be relied on" in line]
    assert len(said) == doubted
    if rule == "undetermined-no-consumed":
        assert not any("WCU" in line for label in diagnosis.labels for line in label.because)


def test_a_stated_reason_needs_no_units(numbers: Thresholds) -> None:
    bad = endpoint(throttles="yes", write_units="no")
    diagnosis = diagnosed(evidence(throttles=throttled(KEY_RANGE, range(30)), endpoint=bad), numbers)
    assert (diagnosis.verdict.constraint, diagnosis.verdict.grade) == ("partition", "reason")
    assert all(one.bill is None and one.foreseen is None for one in diagnosis.recommendations)


RUN: dict[str, Any] = {
    "started_at": datetime(2026, 11, 20, 12, tzinfo=UTC),
    "table": {"name": "t"},
    "totals": {"attempts": 1_000, "accepted": 1_000},
}


@pytest.mark.parametrize("rule", SAYS)
def test_thresholds_on_throttles_are_left_open(rule: str, numbers: Thresholds) -> None:
    """They are neither held nor broken; errors are counted as anywhere."""
    found = evidence(seconds=CALM)
    judged = Verdict(
        constraint="undetermined", grade="none", confidence=0, valid=False, because=(), rule=rule
    )
    spec = ThresholdsSpec(throttle_share_max=0.01, error_share_max=0.5, constraint="none")
    client = ClientFiles(manifest=Manifest.model_validate(RUN))
    results = {one.name: one for one in check(spec, judged, found, client)}
    assert {name: one.decided for name, one in results.items()} == {
        "throttle_share_max": False, "error_share_max": True, "constraint": False,
    }  # fmt: skip
    assert not any(one.broken for one in results.values())
    assert results["constraint"].measured == "this endpoint was not seen to throttle"
