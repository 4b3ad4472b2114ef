"""Labels against the model's own decisions, on the four demo situations, grade by grade."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from keyheat.analysis.diagnosis import diagnose
from keyheat.analysis.thresholds import Thresholds
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import Diagnosis, Evidence
from keyheat.scenario.spec.tables import CapacityPair
from tests.analysis.conftest import (
    demo_run,
    evidence_of,
    hide_causes,
    hide_client,
    hide_reasons,
)
from tests.make import a_shipped

pytestmark = pytest.mark.slow

SITUATIONS = [
    ("hotkey", "partition"),
    ("datekey", "partition"),
    ("sharded", "none"),
    ("too-small", "table"),
]
GRADES = [
    # what is hidden, and the best grade that is left
    ("nothing", "reason"),
    ("reasons", "cause_metric"),
    ("causes", "inferred"),
    ("client", "inferred"),
]


TRUTH = {"KeyRangeThroughputExceeded": "partition", "ProvisionedThroughputExceeded": "table"}
HIDE = {
    "nothing": lambda evidence: evidence,
    "reasons": hide_reasons,
    "causes": hide_causes,
    "client": hide_client,
}


def diagnosed(evidence: Evidence, hidden: str, numbers: Thresholds) -> Diagnosis:
    return diagnose(HIDE[hidden](evidence), client=ClientFiles(), thresholds=numbers, scenario=None)


@pytest.mark.parametrize(("name", "constraint"), SITUATIONS)
def test_labels_are_what_the_model_decided_and_worse_evidence_is_never_surer(
    name: str, constraint: str, demo: Any, numbers: Thresholds
) -> None:
    run, evidence = demo(name)
    refused: Counter[str] = Counter()
    for row in run.model.decisions():
        refused.update(row["refused"])
    assert constraint == (TRUTH[refused.most_common(1)[0][0]] if refused else "none")
    sure = []
    for hidden, grade in GRADES:
        found = diagnosed(evidence, hidden, numbers)
        assert (found.verdict.constraint, found.verdict.valid) == (constraint, True), hidden
        assert found.verdict.grade == ("none" if constraint == "none" else grade)
        assert sum(label.throttles for label in found.labels) == refused.total(), hidden
        sure.append(found.verdict.confidence)
    assert constraint == "none" or (sure == sorted(sure, reverse=True) and sure[0] >= 0.97)


@pytest.mark.parametrize("hidden", ["nothing", "causes"])
def test_each_second_has_its_constraint(hidden: str, numbers: Thresholds) -> None:
    """2,000 even writes/s on a table of 100: its one partition holds the burst back, then the table does."""
    scenario = a_shipped("too-small")
    small = scenario.table.model_copy(update={"provisioned": CapacityPair(read=100, write=100)})
    load = scenario.load.model_copy(update={"requests_per_s": 2_000, "duration_s": 50})
    run = demo_run(scenario.model_copy(update={"table": small, "load": load}))
    labels = diagnosed(evidence_of(run), hidden, numbers).labels
    wrong = total = 0
    for row in run.model.decisions():
        for cause, count in row["refused"].items():
            moment = datetime.fromtimestamp(row["second"], UTC)
            said = {label.constraint for label in labels if label.start <= moment < label.end}
            total += count
            wrong += 0 if TRUTH[cause] in said else count
    assert [label.constraint for label in labels] == ["partition", "table"]
    assert wrong <= 0.02 * total
