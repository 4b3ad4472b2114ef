"""Evidence: paging, waiting, missing files and failing services; clients and clocks are passed in."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from keyheat.analysis.diagnosis import analyze_run
from keyheat.evidence import collection
from keyheat.evidence.series import answer_of
from keyheat.evidence.simulated import evidence_of
from keyheat.runs import metrics
from keyheat.runs.formats import Evidence, Window, write_evidence
from keyheat.runs.manifest import Manifest, run_window
from keyheat.runs.plausibility import read_evidence
from keyheat.runs.table_facts import TableFacts
from keyheat.simulator.folder import write_run
from keyheat.simulator.simulate import Simulation, simulate
from tests.endpoint.clients import FakeClock
from tests.evidence.conftest import FakeAws
from tests.make import a_shipped

DENIED = ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "GetMetricData")


@cache
def hot_run() -> tuple[Simulation, Evidence]:
    """A run of `hotkey` and all that is known of it."""
    run = simulate(a_shipped("hotkey"))
    return run, evidence_of(run)


def aws_of(run: Simulation, *indexes: str, **more: Any) -> FakeAws:
    """AWS at the moment when the run ends; `indexes` are described, and nothing was sent to them."""
    table = run.scenario.table
    described = {
        "TableName": table.name,
        "ProvisionedThroughput": {
            "ReadCapacityUnits": table.provisioned.read, "WriteCapacityUnits": table.provisioned.write,
        },
        "GlobalSecondaryIndexes": [{"IndexName": name} for name in indexes],
    }  # fmt: skip

    @cache
    def published(start: datetime, end_s: float) -> dict[Any, Any]:
        series = run.model.minutes.series(table.name, start.timestamp(), end_s)
        return {(one.metric, frozenset(one.dimensions)): one.points for one in series}

    def points(stat: Any, start: datetime, end: datetime) -> Iterator[tuple[datetime, float]]:
        dimensions = frozenset((one["Name"], one["Value"]) for one in stat["Metric"]["Dimensions"])
        found = published(start, end.timestamp() // 60 * 60)
        for start_s, tally in found.get((stat["Metric"]["MetricName"], dimensions), {}).items():
            yield datetime.fromtimestamp(start_s, UTC), float(tally.statistic(stat["Stat"]))

    return FakeAws(points=points, table=described, clock=FakeClock(run.ended_s), **more)


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """The run directory of `hotkey`, as a load on a local table leaves it."""
    write_run(hot_run()[0], tmp_path)
    change_manifest(tmp_path, target="local")
    return tmp_path


def change_manifest(folder: Path, **changes: Any) -> None:
    path = folder / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def collect(run_dir: Path, aws: FakeAws, skew_s: float = 0.0) -> Evidence:
    """What `keyheat collect` gathers, without waiting; the clock of this machine is behind by `skew_s`."""
    return collection.collect(
        run_dir, client_factory=aws.factory, clock=lambda: aws.clock() - skew_s, sleep=aws.clock.advance,
        progress=aws.progress,
    )  # fmt: skip


@pytest.mark.slow
def test_a_collected_run_holds_everything(run_dir: Path) -> None:
    run, expected = hot_run()
    aws = aws_of(run, delay_s=8)
    found = collect(run_dir, aws)
    assert (found.window, found.series, found.missing) == (expected.window, expected.series, ())
    assert (found.throttles, found.seconds) == (expected.throttles, expected.seconds)
    assert aws.waited[0] == ("the last minute of the run to close", pytest.approx(10.0))
    assert 8 <= aws.clock() - found.window.end.timestamp() <= 11, "as late as it is published"
    write_evidence(run_dir / "evidence.json", found)
    assert read_evidence(run_dir / "evidence.json") == found


def test_no_call_asks_for_more_than_500_series() -> None:
    run, evidence = hot_run()
    indexes = [f"index{n}" for n in range(60)]
    aws = aws_of(run, *indexes)
    found = aws.collected(evidence.window, TableFacts(name="keyheat-hotkey"))
    asked = [len(call["MetricDataQueries"]) for call in aws.calls]
    assert max(asked) == 500
    assert len(found.series) == len(metrics.series_keys(indexes))


@pytest.mark.slow
def test_without_cloudwatch_the_clients_files_are_the_evidence(run_dir: Path) -> None:
    found = collect(run_dir, aws_of(hot_run()[0], says=[DENIED]))
    assert found.series == ()
    assert [line for line in found.missing if line.startswith("CloudWatch: ")]
    write_evidence(run_dir / "evidence.json", found)
    assert analyze_run(run_dir).verdict.constraint == "partition"


@pytest.mark.slow
def test_a_killed_run_ends_now(run_dir: Path) -> None:
    run, expected = hot_run()
    for name in ("seconds.parquet", "throttles.parquet", "keys.json", "latency.hdr"):
        (run_dir / name).unlink()
    change_manifest(run_dir, status="running", ended_at=None)
    found = collect(run_dir, aws_of(run))
    assert found.window.end == expected.window.end
    assert "the end of the run: in run.json its status is running" in found.missing
    write_evidence(run_dir / "evidence.json", found)
    assert analyze_run(run_dir).verdict.grade == "cause_metric"


@pytest.mark.parametrize("skew_s", [42.4, -75.2])
def test_metrics_of_a_run_are_awaited_by_the_services_clock(skew_s: float, run_dir: Path) -> None:
    """The clock of this machine is off; the files of the run have the service's time."""
    run, expected = hot_run()
    change_manifest(run_dir, clock_skew_s=skew_s)
    aws = aws_of(run)
    found = collect(run_dir, aws, skew_s)
    assert (found.window, found.series, found.seconds) == (expected.window, expected.series, expected.seconds)
    assert found.missing == ()


WINDOWS: list[tuple[str, str | None, str, str]] = [
    # started, ended, window start, window end
    ("12:00:07", "12:01:00", "12:00:00", "12:01:00"),
    ("12:00:00", "12:00:00", "12:00:00", "12:01:00"),
    ("12:00:59", "12:02:01", "12:00:00", "12:03:00"),
    ("12:00:07", None, "12:00:00", "12:06:00"),
]


@pytest.mark.parametrize(("started", "ended", "first", "last"), WINDOWS)
def test_the_window_is_whole_minutes(started: str, ended: str | None, first: str, last: str) -> None:
    def at(text: str | None) -> datetime | None:
        return datetime.fromisoformat(f"2026-11-20T{text}+00:00") if text else None

    run = Manifest(started_at=at(started), ended_at=at(ended), table=TableFacts(name="t"))
    now_s = datetime(2026, 11, 20, 12, 5, 30, tzinfo=UTC).timestamp()
    assert run_window(run, now_s) == Window(start=at(first), end=at(last))


BAD_OUTPUT: list[tuple[str, Any]] = [
    ("no list of MetricDataResults", {"Metrics": []}),
    (
        r"missing @ \$\.MetricDataResults\[0\]\.Timestamps",
        [{"Label": "ConsumedReadCapacityUnits/Sum/60/table"}],
    ),
    ("not one of `keyheat queries`", [{"Label": "my own", "Timestamps": [], "Values": []}]),
    (
        "1 timestamps for 0 values",
        [{"Label": "A/Sum/60/table", "Timestamps": ["2026-01-01T00:00:00Z"], "Values": []}],
    ),
    (
        r"has 1 error\n  timestamp 2026-01-01T00:00:00 has no zone.* @ \S+Results\[0\]\.Timestamps\[0\]$",
        [
            {"Label": f"{name}/Sum/60/table", "Timestamps": ["2026-01-01T00:00:00"] * 2, "Values": [1, 1]}
            for name in "AB"
        ],
    ),
    ("not a quantity", [{"Label": "A/Sum/60/table", "Timestamps": ["2026-01-01T00:00:00Z"], "Values": [-1]}]),
]


@pytest.mark.parametrize(("message", "content"), BAD_OUTPUT)
def test_what_the_cli_did_not_print_is_refused(message: str, content: Any) -> None:
    printed = {"MetricDataResults": content} if isinstance(content, list) else content
    with pytest.raises(ValueError, match=message):
        answer_of([printed])


def test_labels_of_queries_say_which_series_they_are() -> None:
    keys = metrics.series_keys(["by_country", "a.b-c_d"], replicas=["eu-west-1"])
    assert [metrics.SeriesKey.of_label(key.label) for key in keys] == list(keys)
    assert len({key.label for key in keys}) == len(keys)
