"""Labels against the model's own decisions, on the four demo situations, grade by grade."""

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from analyzers.client import ClientFiles
from analyzers.diagnosis import diagnose
from analyzers.thresholds import Thresholds

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


def diagnosed(
    world: SimpleNamespace, evidence: Any, hidden: str, numbers: Thresholds, keys: Any = None
) -> Any:
    hide = {
        "nothing": lambda e: e,
        "reasons": world.hide_reasons,
        "causes": world.hide_causes,
        "client": world.hide_client,
    }
    client = ClientFiles(keys=keys)
    return diagnose(hide[hidden](evidence), client=client, thresholds=numbers, scenario=None)


@pytest.mark.parametrize(("name", "constraint"), SITUATIONS)
@pytest.mark.parametrize(("hidden", "grade"), GRADES)
def test_the_verdict_is_what_the_model_decided(
    name: str,
    constraint: str,
    hidden: str,
    grade: str,
    demo: Any,
    world: SimpleNamespace,
    numbers: Thresholds,
) -> None:
    run, evidence = demo(name)
    verdict = diagnosed(world, evidence, hidden, numbers).verdict
    refused: Counter[str] = Counter()
    for row in run.model.decisions.rows():
        refused.update(row["refused"])
    truth = {"KeyRangeThroughputExceeded": "partition", "ProvisionedThroughputExceeded": "table"}
    assert verdict.constraint == constraint == (truth[refused.most_common(1)[0][0]] if refused else "none")
    assert verdict.valid
    assert verdict.grade == ("none" if constraint == "none" else grade)


@pytest.mark.parametrize("name", ["hotkey", "datekey", "too-small"])
def test_every_throttle_is_in_a_label(
    name: str, demo: Any, world: SimpleNamespace, numbers: Thresholds
) -> None:
    run, evidence = demo(name)
    refused = sum(sum(row["refused"].values()) for row in run.model.decisions.rows())
    for hidden, _ in GRADES:
        labels = diagnosed(world, evidence, hidden, numbers).labels
        assert sum(label.throttles for label in labels) == refused, hidden


@pytest.mark.parametrize("name", ["hotkey", "datekey", "too-small"])
def test_worse_evidence_is_never_surer(
    name: str, demo: Any, world: SimpleNamespace, numbers: Thresholds
) -> None:
    _, evidence = demo(name)
    sure = [diagnosed(world, evidence, hidden, numbers).verdict.confidence for hidden, _ in GRADES]
    assert sure == sorted(sure, reverse=True)
    assert sure[0] >= 0.97
