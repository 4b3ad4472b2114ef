"""Labels against the model's own decisions, on the four demo situations, grade by grade."""

from collections import Counter
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from keyheat.analysis.diagnosis import diagnose
from keyheat.analysis.thresholds import Thresholds
from keyheat.model.keyspace import position
from keyheat.model.resources import IndexCapacity, TableCapacity
from keyheat.model.table import IndexWrite, TableModel
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import SecondCount, ThrottleCount
from keyheat.runs.manifest import Keys
from keyheat.scenario.spec.tables import CapacityPair
from keyheat.words import Capacity

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


@pytest.mark.parametrize("hidden", ["nothing", "causes"])
def test_each_second_has_its_constraint(hidden: str, world: SimpleNamespace, numbers: Thresholds) -> None:
    """2,000 even writes/s on a table of 100: its one partition holds the burst back, then the table does."""
    scenario = world.scenario("too-small")
    small = scenario.table.model_copy(update={"provisioned": CapacityPair(read=100, write=100)})
    load = scenario.load.model_copy(update={"requests_per_s": 2_000, "duration_s": 50})
    run = world.demo_run(scenario.model_copy(update={"table": small, "load": load}))
    labels = diagnosed(world, world.evidence_of(run), hidden, numbers).labels
    truth = {"KeyRangeThroughputExceeded": "partition", "ProvisionedThroughputExceeded": "table"}
    wrong = total = 0
    for row in run.model.decisions.rows():
        for cause, count in row["refused"].items():
            moment = datetime.fromtimestamp(row["second"], UTC)
            said = {label.constraint for label in labels if label.start <= moment < label.end}
            total += count
            wrong += 0 if truth[cause] in said else count
    assert [label.constraint for label in labels] == ["partition", "table"]
    assert wrong <= 0.02 * total


@pytest.mark.parametrize("name", ["hotkey", "datekey", "too-small"])
def test_worse_evidence_is_never_surer(
    name: str, demo: Any, world: SimpleNamespace, numbers: Thresholds
) -> None:
    _, evidence = demo(name)
    sure = [diagnosed(world, evidence, hidden, numbers).verdict.confidence for hidden, _ in GRADES]
    assert sure == sorted(sure, reverse=True)
    assert sure[0] >= 0.97


def index_run(world: SimpleNamespace) -> Any:
    """1,000 even writes/s, each with an entry in an index of 100 units/s that holds them back in the end."""
    start = world.START.timestamp() + 7
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
    return world.Run(
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


@pytest.mark.parametrize(("hidden", "grade"), GRADES)
def test_index_back_pressure_is_the_indexs(
    hidden: str, grade: str, world: SimpleNamespace, numbers: Thresholds
) -> None:
    """The table has room for four times the load; its writes are refused for an index that has not."""
    evidence = world.evidence_of(index_run(world))
    if hidden == "causes":  # a client that does not know which resource refused
        rows = tuple(row.model_copy(update={"index": None}) for row in evidence.throttles)
        evidence = evidence.model_copy(update={"throttles": rows})
    found = diagnosed(world, evidence, hidden, numbers)
    assert (found.verdict.resource, found.verdict.constraint) == ("by_tag", "table")
    assert found.verdict.grade == grade
    assert {label.resource for label in found.labels} == {"by_tag"}
    assert any("back-pressure" in line for line in found.verdict.because)
