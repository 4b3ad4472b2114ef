"""The four demo scenarios on the endpoint: every label against what the endpoint itself decided.

The scenarios are the demo's at a tenth of the size, under a virtual clock. The endpoint's log of decisions is
the truth; the analyzer is shown ever less.
"""

import re
from collections import Counter

import pytest

from keyheat.analysis.diagnosis import diagnose
from keyheat.analysis.thresholds import load_thresholds
from keyheat.runs.formats import Diagnosis, Evidence
from tests.agreement import few_requests
from tests.asked_endpoint import Asked, asked_on_endpoint

pytestmark = pytest.mark.slow

DEMO = {"hotkey": "partition", "datekey": "partition", "sharded": "none", "too-small": "table"}
CAUSE_METRIC = re.compile(r"(KeyRange|Provisioned|MaxOnDemand|Account)\w*ThrottleEvents$")


@pytest.fixture(scope="module", params=DEMO)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def known(name: str) -> Asked:
    return asked_on_endpoint(few_requests(name))


def without_reasons(evidence: Evidence) -> Evidence:
    """What an old SDK leaves: throttles, and no word on why."""
    rows = tuple(row.model_copy(update={"reason": None}) for row in evidence.throttles or ())
    return evidence.model_copy(update={"throttles": rows})


def without_causes(evidence: Evidence) -> Evidence:
    """What CloudWatch said before it had metrics by cause."""
    series = tuple(one for one in evidence.series if not CAUSE_METRIC.search(one.metric))
    return without_reasons(evidence).model_copy(update={"series": series})


HIDDEN = {"reason": lambda evidence: evidence, "cause_metric": without_reasons, "inferred": without_causes}


def diagnosed(run: Asked, grade: str) -> Diagnosis:
    evidence = HIDDEN[grade](run.evidence)
    return diagnose(evidence, client=None, thresholds=load_thresholds(), scenario=None)


@pytest.mark.parametrize("grade", HIDDEN)
def test_the_label_is_what_the_endpoint_decided(known: Asked, name: str, grade: str) -> None:
    truth = known.refused.most_common(1)[0][0] if known.refused else "none"
    verdict = diagnosed(known, grade).verdict
    assert truth == DEMO[name], f"the endpoint refused {known.refused}"
    assert verdict.constraint == truth, verdict.because
    assert verdict.grade == (grade if known.refused else "none")


def test_no_throttle_is_lost_between_endpoint_and_label(known: Asked) -> None:
    labelled = Counter[str]()
    for label in diagnosed(known, "reason").labels:
        labelled[label.constraint] += label.throttles
    assert labelled == known.refused
