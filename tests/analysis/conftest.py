"""A simulated run under a virtual clock, what AWS answers of it, and diagnoses by the shipped numbers."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.advice.case import AdviceCase
from keyheat.analysis.advice.demand import MeasuredDemand
from keyheat.analysis.advice.rerun import MOST_S
from keyheat.analysis.diagnosis import diagnose
from keyheat.analysis.rules import Thresholds, load_thresholds
from keyheat.evidence import collection
from keyheat.evidence.simulated import evidence_of
from keyheat.model.table import TableModel
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import Diagnosis, Evidence
from keyheat.simulator.folder import write_run
from keyheat.simulator.simulate import Simulation, simulate
from tests.endpoint.clients import FakeClock
from tests.make import a_shipped


class Account:
    """DynamoDB and CloudWatch of an account of which nothing special is known."""

    def factory(self, _service: str) -> Any:
        return self

    def describe_limits(self) -> dict[str, Any]:
        return {}

    def describe_contributor_insights(self, **_asked: Any) -> dict[str, Any]:
        return {"ContributorInsightsStatus": "DISABLED"}

    def get_metric_data(self, **_asked: Any) -> dict[str, Any]:
        return {"MetricDataResults": []}


@dataclass
class FakeAws(Account):
    """DynamoDB's and CloudWatch's answers for one table; a minute is published `delay_s` after it closed."""

    model: TableModel
    described: dict[str, Any]
    clock: FakeClock
    delay_s: float = 0.0
    calls: list[dict[str, Any]] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)

    def describe_table(self, *, TableName: str) -> dict[str, Any]:
        return {"Table": self.described}

    def get_metric_data(self, **request: Any) -> dict[str, Any]:
        self.calls.append(request)
        if self.failures:
            raise self.failures.pop(0)
        assert len(request["MetricDataQueries"]) <= 500
        results: dict[str, dict[str, Any]] = {
            query["Id"]: {"Id": query["Id"], "Label": query["Label"], "Timestamps": [], "Values": []}
            for query in request["MetricDataQueries"]
        }
        for query_id, at, value in self._points(request):
            results[query_id]["Timestamps"].append(at)
            results[query_id]["Values"].append(value)
        return {"MetricDataResults": list(results.values())}

    def _points(self, request: dict[str, Any]) -> Iterator[tuple[str, datetime, float]]:
        start_s, end_s = request["StartTime"].timestamp(), request["EndTime"].timestamp()
        published_s = min(end_s, self.clock() - self.delay_s) // 60 * 60
        published = self.model.minutes.series(self.described["TableName"], start_s, published_s)
        found = {(s.metric, frozenset(s.dimensions)): s for s in published}
        for query in request["MetricDataQueries"]:
            stat = query["MetricStat"]
            dimensions = frozenset((d["Name"], d["Value"]) for d in stat["Metric"]["Dimensions"])
            series = found.get((stat["Metric"]["MetricName"], dimensions))
            for point in series.points if series else ():
                value = {"Sum": point.sum, "Average": point.sum / point.count, "SampleCount": point.count}
                value |= {"Minimum": point.minimum, "Maximum": point.maximum}
                yield query["Id"], datetime.fromtimestamp(point.start_s, UTC), float(value[stat["Stat"]])


@cache
def hot_run() -> tuple[Simulation, Evidence]:
    """A run of `hotkey` and all that is known of it."""
    run = simulate(a_shipped("hotkey"))
    return run, evidence_of(run)


def aws_of(run: Simulation, *indexes: str, **options: Any) -> FakeAws:
    """AWS at the moment when the run ends; `indexes` are described, and nothing was sent to them."""
    table = run.scenario.table
    described = {
        "TableName": table.name,
        "ProvisionedThroughput": {
            "ReadCapacityUnits": table.provisioned.read, "WriteCapacityUnits": table.provisioned.write,
        },
        "GlobalSecondaryIndexes": [{"IndexName": name} for name in indexes],
    }  # fmt: skip
    return FakeAws(run.model, described, FakeClock(run.ended_s), **options)


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """The run directory of `hotkey`, as a load on a local table leaves it."""
    write_run(hot_run()[0], tmp_path)
    change_manifest(tmp_path, target="local")
    return tmp_path


def change_manifest(folder: Path, **changes: Any) -> None:
    path = folder / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def collect(run_dir: Path, aws: FakeAws, progress: Callable[[str, float], None] | None = None) -> Evidence:
    """What `keyheat collect` gathers, without waiting."""
    return collection.collect(
        run_dir, client_factory=aws.factory, clock=aws.clock, sleep=aws.clock.advance,
        progress=progress or (lambda _what, _left_s: None),
    )  # fmt: skip


NUMBERS = load_thresholds()
"""The labelling numbers that ship."""


@pytest.fixture
def numbers() -> Thresholds:
    return NUMBERS


def diagnosed(found: Evidence, client: ClientFiles | None = None, *, simulate: bool = False) -> Diagnosis:
    """The diagnosis of evidence beside what a client left; advice is by formula unless it is simulated."""
    replay_s = MOST_S if simulate else 0
    return diagnose(found, client=client, thresholds=NUMBERS, scenario=None, replay_s=replay_s)


def advice_case(numbers: Thresholds, **facts: Any) -> AdviceCase:
    """What advice is given of: a hot partition of a table, unless `facts` say otherwise."""
    known: dict[str, Any] = {
        "constraint": "partition", "resource": "table", "direction": "write", "rule": "reason-key-range",
        "demand": MeasuredDemand(2_000), "limit": None, "warm": 4_000, "heat": None,
        "ceiling": 1_000, "quota": 40_000,
    }  # fmt: skip
    return AdviceCase(**known | facts, numbers=numbers.recommend)
