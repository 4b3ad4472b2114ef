"""Labels against the model's own decisions, on the four demo situations, grade by grade."""

from collections import Counter
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest

from keyheat.analysis.diagnosis import diagnose
from keyheat.analysis.thresholds import Thresholds
from keyheat.model.keyspace import position
from keyheat.model.resources import IndexCapacity, TableCapacity
from keyheat.model.table import IndexWrite, TableModel
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import Diagnosis, Evidence, SecondCount, ThrottleCount
from keyheat.runs.manifest import Keys
from keyheat.scenario.scenario import load_scenario
from keyheat.scenario.spec.tables import CapacityPair
from keyheat.words import Capacity
from tests.analysis.conftest import (
    SCENARIOS,
    START,
    Run,
    demo_run,
    evidence_of,
    hide_causes,
    hide_client,
    hide_reasons,
)

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
    for row in run.model.decisions.rows():
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
    scenario = load_scenario(SCENARIOS / "too-small.toml")
    small = scenario.table.model_copy(update={"provisioned": CapacityPair(read=100, write=100)})
    load = scenario.load.model_copy(update={"requests_per_s": 2_000, "duration_s": 50})
    run = demo_run(scenario.model_copy(update={"table": small, "load": load}))
    labels = diagnosed(evidence_of(run), hidden, numbers).labels
    wrong = total = 0
    for row in run.model.decisions.rows():
        for cause, count in row["refused"].items():
            moment = datetime.fromtimestamp(row["second"], UTC)
            said = {label.constraint for label in labels if label.start <= moment < label.end}
            total += count
            wrong += 0 if TRUTH[cause] in said else count
    assert [label.constraint for label in labels] == ["partition", "table"]
    assert wrong <= 0.02 * total


@cache
def index_evidence() -> Evidence:
    """1,000 even writes/s, each with an entry in an index of 100 units/s that holds them back in the end."""
    start = START.timestamp() + 7
    table = {"provisioned": Capacity(100, 4_000), "warm": Capacity(12_000, 8_000)}
    index = IndexCapacity(name="by_tag", provisioned=Capacity(100, 100), warm=Capacity(12_000, 8_000))
    model = TableModel(TableCapacity(**table, indexes=(index,)), now_s=start - 5, seed=1)
    counts: Counter[tuple[int, str | None]] = Counter()
    reasons: Counter[tuple[int, str]] = Counter()
    for number in range(100_000):
        now_s, at = start + number / 1_000, position(f"key-{number}".encode())
        refusal = model.admit_write(at, 1, now_s, (IndexWrite("by_tag", at, 1),))
        if refusal is None:
            counts[int(now_s), "consumed"] += 1
        else:
            counts[int(now_s), "throttled"] += 1
            reasons[int(now_s), refusal.reason] += 1
    pair = {"ReadCapacityUnits": 100, "WriteCapacityUnits": 4_000}
    described = {
        "TableName": "indexed",
        "ProvisionedThroughput": pair,
        "GlobalSecondaryIndexes": [
            {"IndexName": "by_tag", "ProvisionedThroughput": {**pair, "WriteCapacityUnits": 100}}
        ],
    }
    run = Run(
        model=model,
        described=described,
        start=datetime.fromtimestamp(start, UTC),
        end=datetime.fromtimestamp(start + 100, UTC),
        throttles=tuple(
            ThrottleCount(
                second=datetime.fromtimestamp(s, UTC), index="by_tag", direction="write", reason=r, count=n
            )
            for (s, r), n in reasons.items()
        ),
        seconds=tuple(
            SecondCount(
                second=datetime.fromtimestamp(s, UTC),
                index=index_name,
                direction="write",
                attempts=counts[s, "consumed"] + counts[s, "throttled"],
                throttled=counts[s, "throttled"],
                consumed=counts[s, "consumed"],
            )
            for s in sorted({second for second, _ in counts})
            for index_name in (None, "by_tag")
        ),
        keys=Keys(),
    )
    return evidence_of(run)


@pytest.mark.parametrize(("hidden", "grade"), GRADES)
def test_index_back_pressure_is_the_indexs(hidden: str, grade: str, numbers: Thresholds) -> None:
    """The table has room for four times the load; its writes are refused for an index that has not."""
    evidence = index_evidence()
    if hidden == "causes":  # a client that does not know which resource refused
        rows = tuple(row.model_copy(update={"index": None}) for row in evidence.throttles or ())
        evidence = evidence.model_copy(update={"throttles": rows})
    found = diagnosed(evidence, hidden, numbers)
    assert (found.verdict.resource, found.verdict.constraint) == ("by_tag", "table")
    assert found.verdict.grade == grade
    assert {label.resource for label in found.labels} == {"by_tag"}
    assert any("back-pressure" in line for line in found.verdict.because)
