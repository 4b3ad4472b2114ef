"""The four demo scenarios on a real endpoint: every label against what the endpoint itself decided.

The scenarios are the demo's at a tenth of the size (rates and the endpoint's limits alike), so that a busy
machine can send them. The endpoint's log of decisions is the truth; the analyzer is shown ever less.
"""

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from analyzers.client import read_client_files
from analyzers.diagnosis import diagnose
from analyzers.formats import Diagnosis, Evidence
from analyzers.thresholds import load_thresholds
from tests.rehearsal import Known, rehearsed

DEMO = {"hotkey": "partition", "datekey": "partition", "sharded": "none", "too-small": "table"}
pytestmark = pytest.mark.xdist_group("demo labels")  # one set of runs serves all tests here
CAUSE_METRIC = re.compile(r"(KeyRange|Provisioned|MaxOnDemand|Account)\w*ThrottleEvents$")


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Known]]:
    """All four loads side by side, each on an endpoint of its own, then the evidence of each."""
    with rehearsed(DEMO, tmp_path_factory.mktemp("demo")) as runs:
        yield runs


def without_reasons(evidence: Evidence) -> Evidence:
    """What an old SDK leaves: throttles, and no word on why."""
    rows = tuple(row.model_copy(update={"reason": None}) for row in evidence.throttles or ())
    return evidence.model_copy(update={"throttles": rows})


def without_causes(evidence: Evidence) -> Evidence:
    """What CloudWatch said before it had metrics by cause."""
    series = tuple(one for one in evidence.series if not CAUSE_METRIC.search(one.metric))
    return without_reasons(evidence).model_copy(update={"series": series})


HIDDEN = {"reason": lambda evidence: evidence, "cause_metric": without_reasons, "inferred": without_causes}


def diagnosed(run: Known, grade: str) -> Diagnosis:
    return diagnose(
        HIDDEN[grade](run.evidence),
        client=read_client_files(run.folder), thresholds=load_thresholds(), scenario=None,
    )  # fmt: skip


@pytest.mark.parametrize("name", DEMO)
@pytest.mark.parametrize("grade", HIDDEN)
def test_the_label_is_what_the_endpoint_decided(known: dict[str, Known], name: str, grade: str) -> None:
    run = known[name]
    truth = run.refused.most_common(1)[0][0] if run.refused else "none"
    verdict = diagnosed(run, grade).verdict
    assert truth == DEMO[name], f"the endpoint refused {run.refused}"
    assert verdict.constraint == truth, verdict.because
    assert verdict.grade == (grade if run.refused else "none")


@pytest.mark.parametrize("name", DEMO)
def test_no_throttle_is_lost_between_endpoint_and_label(known: dict[str, Known], name: str) -> None:
    run = known[name]
    labelled = Counter[str]()
    for label in diagnosed(run, "reason").labels:
        labelled[label.constraint] += label.throttles
    assert labelled == run.refused
