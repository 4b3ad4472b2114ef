"""Labels against the model's own decisions, on the four demo situations, grade by grade."""

from collections import Counter
from datetime import UTC, datetime

import pytest

from keyheat.evidence.simulated import evidence_of
from keyheat.runs.client import ClientFiles
from tests.analysis.conftest import diagnosed
from tests.make import SCENARIOS, a_shipped
from tests.one_by_one import asked_one_by_one
from tools.accuracy.score import Best, left

pytestmark = pytest.mark.slow

SITUATIONS = [
    ("hotkey", "partition"),
    ("datekey", "partition"),
    ("sharded", "none"),
    ("too-small", "table"),
]
TRUTH = {"KeyRangeThroughputExceeded": "partition", "ProvisionedThroughputExceeded": "table"}


GRADES: list[tuple[Best, str]] = [
    # the best evidence that is left, and the grade of its labels
    ("reasons", "reason"),
    ("causes", "cause_metric"),
    ("seconds", "inferred"),
    ("minutes", "inferred"),
]


@pytest.mark.parametrize(("name", "constraint"), SITUATIONS)
def test_labels_are_what_the_model_decided(name: str, constraint: str) -> None:
    run = asked_one_by_one(a_shipped(name), SCENARIOS)
    evidence = evidence_of(run)
    refused: Counter[str] = Counter()
    for row in run.model.decisions():
        refused.update(row["refused"])
    assert constraint == (TRUTH[refused.most_common(1)[0][0]] if refused else "none")
    sure = []
    for best, grade in GRADES:
        found = diagnosed(left(evidence, best, client=True), ClientFiles())
        assert (found.verdict.constraint, found.verdict.valid) == (constraint, True), grade
        assert found.verdict.grade == ("none" if constraint == "none" else grade)
        assert sum(label.throttles for label in found.labels) == refused.total(), grade
        sure.append(found.verdict.confidence)
    assert constraint == "none" or (sure == sorted(sure, reverse=True) and sure[0] >= 0.97)


def test_each_second_has_its_constraint() -> None:
    """16,000 even WCU/s on a table of 100: its one partition holds the burst back, then the table does."""
    settings = ("table.provisioned={read=100, write=100}", "load.requests_per_s=250", "load.item_bytes=64000")
    run = asked_one_by_one(a_shipped("too-small", *settings), SCENARIOS)
    for best in ("reasons", "seconds"):
        labels = diagnosed(left(evidence_of(run), best, client=True), ClientFiles()).labels
        wrong = total = 0
        for row in run.model.decisions():
            for cause, count in row["refused"].items():
                moment = datetime.fromtimestamp(row["second"], UTC)
                said = {label.constraint for label in labels if label.start <= moment < label.end}
                total += count
                wrong += 0 if TRUTH[cause] in said else count
        assert [label.constraint for label in labels] == ["partition", "table"]
        assert wrong <= 0.02 * total
