"""Synthetic runs with known truth: the table model under a virtual clock, a CloudWatch of its minutes."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from random import Random
from typing import Any

import pytest

from keyheat.analysis.advice.rerun import MOST_S
from keyheat.analysis.diagnosis import diagnose
from keyheat.analysis.thresholds import Thresholds, load_thresholds
from keyheat.evidence.cloudwatch import LOCAL_PACE, MetricSource
from keyheat.evidence.collection import _gather
from keyheat.model.keyspace import position
from keyheat.model.minutes import MetricSeries
from keyheat.model.resources import TableCapacity
from keyheat.model.table import TableModel
from keyheat.runs.client import ClientFiles, Records
from keyheat.runs.formats import Diagnosis, Evidence, SecondCount, ThrottleCount, Window
from keyheat.runs.manifest import Keys
from keyheat.runs.table_facts import table_facts
from keyheat.scenario.keys import random_suffix
from keyheat.scenario.scenario import Scenario
from keyheat.words import Capacity
from tests.make import START, a_shipped


@dataclass
class Clock:
    """A clock that only `sleep` moves."""

    now_s: float
    slept_s: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        self.now_s += seconds


@dataclass
class FakeAws:
    """DynamoDB's and CloudWatch's answers for one table; a minute is published `delay_s` after it closed."""

    model: TableModel
    described: dict[str, Any]
    clock: Clock
    delay_s: float = 0.0
    calls: list[dict[str, Any]] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)

    def factory(self, service: str) -> "FakeAws":
        assert service in ("dynamodb", "cloudwatch")
        return self

    def describe_table(self, *, TableName: str) -> dict[str, Any]:
        return {"Table": self.described}

    def describe_limits(self) -> dict[str, Any]:
        return {"TableMaxReadCapacityUnits": 40_000, "TableMaxWriteCapacityUnits": 40_000}

    def describe_contributor_insights(self, **named: str) -> dict[str, Any]:
        return {"ContributorInsightsStatus": "DISABLED"}

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
        found = {(s.metric, frozenset(s.dimensions)): s for s in self._series(start_s, published_s)}
        for query in request["MetricDataQueries"]:
            stat = query["MetricStat"]
            dimensions = frozenset((d["Name"], d["Value"]) for d in stat["Metric"]["Dimensions"])
            series = found.get((stat["Metric"]["MetricName"], dimensions))
            for point in series.points if series else ():
                value = {"Sum": point.sum, "Average": point.sum / point.count, "SampleCount": point.count}
                value |= {"Minimum": point.minimum, "Maximum": point.maximum}
                yield query["Id"], datetime.fromtimestamp(point.start_s, UTC), float(value[stat["Stat"]])

    def _series(self, start_s: float, end_s: float) -> list[MetricSeries]:
        return self.model.minutes.series(self.described["TableName"], start_s, end_s)


@dataclass(frozen=True)
class Run:
    """A run under a virtual clock: the model that decided, and what the client saw."""

    model: TableModel
    described: dict[str, Any]
    start: datetime
    end: datetime
    throttles: tuple[ThrottleCount, ...]
    seconds: tuple[SecondCount, ...]
    keys: Keys

    @property
    def window(self) -> Window:
        start = self.start.replace(second=0)
        return Window(start=start, end=self.end.replace(second=0) + timedelta(minutes=1))

    def aws(self, **options: Any) -> FakeAws:
        return FakeAws(self.model, self.described, Clock(self.end.timestamp()), **options)


def demo_run(scenario: Scenario, *, offset_s: int = 7, duration_s: float | None = None) -> Run:
    """Send the scenario's load evenly through the model, `offset_s` seconds after a full minute."""
    start = START + timedelta(seconds=offset_s)
    table, load = scenario.table, scenario.load
    assert table.provisioned is not None
    capacity = TableCapacity(provisioned=Capacity(table.provisioned.read, table.provisioned.write))
    model = TableModel(capacity, now_s=start.timestamp() - 5, seed=scenario.seed)
    rng, pattern = Random(scenario.seed), scenario.keys.pattern()
    units = load.mean_write_units
    counts: defaultdict[int, list[float]] = defaultdict(lambda: [0, 0, 0.0])
    reasons: Counter[tuple[int, str]] = Counter()
    windows: defaultdict[int, defaultdict[str, list[float]]] = defaultdict(
        lambda: defaultdict(lambda: [0.0, 0])
    )
    duration_s = duration_s or load.duration_s
    for number in range(int(duration_s * load.requests_per_s)):
        at_s = number / load.requests_per_s
        now_s = start.timestamp() + at_s
        key = pattern.draw(rng, at_s)
        if scenario.keys.shards > 1:
            key = random_suffix(key, scenario.keys.shards, rng)
        refusal = model.admit_write(position(key.encode(), str(number).encode()), units, now_s)
        count, heat = counts[int(now_s)], windows[int(now_s) // 5 * 5][key]
        count[0] += 1
        heat[0] += units
        if refusal is None:
            count[2] += units
        else:
            count[1] += 1
            heat[1] += 1
            reasons[int(now_s), refusal.reason] += 1
    return Run(
        model=model,
        described=described(scenario),
        start=start,
        end=start + timedelta(seconds=duration_s),
        throttles=tuple(
            ThrottleCount(second=_moment(second), direction="write", reason=reason, count=count)
            for (second, reason), count in reasons.items()
        ),
        seconds=tuple(
            SecondCount(second=_moment(s), direction="write", attempts=int(a), throttled=int(t), consumed=c)
            for s, (a, t, c) in counts.items()
        ),
        keys=Keys.model_validate(_keys(windows)),
    )


def described(scenario: Scenario) -> dict[str, Any]:
    """What DescribeTable answers for the scenario's table."""
    pair = scenario.table.provisioned
    assert pair is not None
    throughput = {"ReadCapacityUnits": pair.read, "WriteCapacityUnits": pair.write}
    return {
        "TableName": scenario.table.name,
        "TableArn": "arn:aws:dynamodb:x",
        "ProvisionedThroughput": throughput,
    }


def _keys(windows: Any) -> dict[str, Any]:
    overall: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0])
    for heats in windows.values():
        for key, (units, throttles) in heats.items():
            overall[key][0] += units
            overall[key][1] += throttles
    total = sum(units for units, _ in overall.values())
    hottest = sorted(overall.items(), key=lambda item: -item[1][0])[:20]
    return {
        "overall": {
            "write": [{"key": k, "units": u, "throttles": t, "share": u / total} for k, (u, t) in hottest]
        },
        "windows": [
            {
                "start": _moment(second),
                "seconds": 5,
                "direction": "write",
                "top": [
                    {"key": key, "units": units, "throttles": throttles}
                    for key, (units, throttles) in sorted(heats.items(), key=lambda item: -item[1][0])[:20]
                ],
            }
            for second, heats in windows.items()
        ],
    }


def _moment(second: int) -> datetime:
    return datetime.fromtimestamp(second, UTC)


def evidence_of(run: Run) -> Evidence:
    """All evidence of a run, as `collect` gathers it."""
    aws = run.aws()
    source = MetricSource(client_factory=aws.factory, pace=LOCAL_PACE, clock=aws.clock, sleep=aws.clock.sleep)
    records = Records(throttles=run.throttles, seconds=run.seconds, missing=())
    return _gather(source, table_facts(run.described), run.window, records, (), 1.0)


def hide_reasons(evidence: Evidence) -> Evidence:
    """As an old SDK saw it: every throttle without a reason."""
    rows = tuple(row.model_copy(update={"reason": None}) for row in evidence.throttles or ())
    return evidence.model_copy(update={"throttles": rows})


def hide_causes(evidence: Evidence) -> Evidence:
    """As CloudWatch was before cause-specific metrics: throttle events of any cause only."""
    series = tuple(
        s
        for s in evidence.series
        if not s.metric.endswith(("ThroughputThrottleEvents", "LimitThrottleEvents"))
    )
    return hide_reasons(evidence).model_copy(update={"series": series})


def hide_client(evidence: Evidence) -> Evidence:
    """As for a table that others load: CloudWatch's minutes alone."""
    return hide_causes(evidence).model_copy(update={"throttles": None, "seconds": None})


@cache
def _demo(name: str) -> tuple[Run, Evidence]:
    run = demo_run(a_shipped(name))
    return run, evidence_of(run)


@pytest.fixture(scope="session")
def demo() -> Callable[[str], tuple[Run, Evidence]]:
    """A demo scenario's run and its whole evidence, made once."""
    return _demo


@pytest.fixture(scope="session")
def numbers() -> Thresholds:
    """The labelling numbers that ship."""
    return load_thresholds()


def diagnosed(
    found: Evidence, numbers: Thresholds, client: ClientFiles | None = None, *, simulate: bool = False
) -> Diagnosis:
    """The diagnosis of evidence beside what a client left; advice is by formula unless it is simulated."""
    return diagnose(
        found, client=client, thresholds=numbers, scenario=None, replay_s=MOST_S if simulate else 0
    )
