"""The command line: what each verb is for, and the settings that come with it."""

import json
from pathlib import Path
from typing import Any

import pytest

from keyheat.endpoint.process import EndpointProcess
from keyheat.runs.plausibility import read_evidence
from tests.conftest import ROOT, Sample, Verb
from tests.load.scripted import serving

VALUES = {"ConsumedWriteCapacityUnits": 60_000.0, "WriteKeyRangeThroughputThrottleEvents": 500.0}


def answer(folder: Path) -> Path:
    """What the AWS CLI prints for two of our queries."""
    file, minute = folder / "answer.json", ["2026-11-20T12:00:00+00:00"]
    results = [
        {"Id": name.lower(), "Label": f"{name}/Sum/60/table", "Timestamps": minute, "Values": [value]}
        for name, value in VALUES.items()
    ]
    file.write_text(json.dumps({"MetricDataResults": results, "Messages": []}))
    return file


def move_to_january(run: Path, **fields: Any) -> None:
    """The run as if it had been long ago: nothing of it is waited for."""
    manifest = json.loads((run / "run.json").read_bytes()) | fields
    times = {"started_at": "2026-01-02T03:04:00Z", "ended_at": "2026-01-02T03:05:00Z"}
    (run / "run.json").write_text(json.dumps(manifest | times))


@pytest.mark.opens
def test_collect_asks_the_endpoint_that_the_run_names_or_that_somebody_gives(
    verb: Verb, sample: Sample
) -> None:
    run = sample("hotkey", without=("seconds.parquet", "throttles.parquet", "evidence.json"))
    with EndpointProcess.start() as endpoint:
        given_it = ("--endpoint-url", endpoint.url)
        for named, given in ((endpoint.url, ()), ("http://collector.example:8000", given_it)):
            move_to_january(run, endpoint_url=named)
            said = verb("collect", "--run", run, *given)
            assert said.code == 3
            assert "was not published" in said.err, "it was asked, and knows nothing of January"


@pytest.mark.opens
@pytest.mark.parametrize(
    ("words", "named", "more", "option"),
    [
        (("collect", "--run"), "endpoint_url", {}, "--endpoint-url"),
        (("collect", "--run"), "endpoint_url", {"target": "http://0.0.0.0:1"}, "--endpoint-url"),
        (("collect", "--run"), "endpoint_url", {"target": "local"}, "--endpoint-url"),
        (("fix", "--yes"), "target", {}, "--target"),
        (("clean", "--yes"), "endpoint_url", {}, "--endpoint-url"),
    ],
)
def test_a_host_that_only_the_file_names_is_not_asked(
    verb: Verb, sample: Sample, words: tuple[str, ...], named: str, more: dict[str, str], option: str
) -> None:
    """A run's folder can come from anybody; what asks there signs with the keys of whoever types."""
    run = sample("hotkey")
    before = (run / "evidence.json").read_bytes()
    with serving() as server:
        move_to_january(run, **{named: server.url.replace("127.0.0.1", "0.0.0.0"), **more})
        said = verb(*words, run)
    assert (said.code, server.connections) == (4, 0)
    assert "neither DynamoDB in AWS nor on this machine" in said.err
    assert f"say {option} and its URL" in said.err
    assert (run / "evidence.json").read_bytes() == before


def test_collect_takes_what_the_aws_cli_printed(verb: Verb, sample: Sample, tmp_path: Path) -> None:
    file = sample("hotkey") / "evidence.json"
    assert verb("collect", "--run", file.parent, "--metrics", answer(tmp_path)).code == 0
    evidence = read_evidence(file)
    assert {one.metric: one.points[0][1] for one in evidence.series} == VALUES
    assert evidence.throttles, "what the client saw is kept"
    before = sorted(file.parent.iterdir())
    told = json.loads(verb("analyze", "--evidence", file, "--json").out)
    assert sorted(file.parent.iterdir()) == before
    assert told["verdict"]["constraint"] == "partition"


@pytest.mark.parametrize("name", ["scenario", "suite", "regression", "faults"])
def test_the_schema_in_the_repository_is_the_codes(verb: Verb, name: str) -> None:
    said = verb("schema", name).out
    assert said == (ROOT / "configs" / f"{name}.schema.json").read_text()
    assert json.loads(said)["$id"] == f"keyheat.{name}/1"
    assert name != "scenario" or verb("schema").out == said


@pytest.mark.parametrize(
    ("arguments", "left", "said"),
    [
        (("diagnose", "orders", "--start", "8h"), (), "a length of time goes with --last"),
        (("simulate", "table.json"), ("table.json",), "`keyheat init table.json` writes a scenario of it"),
        (("plan", "template.yaml"), ("template.yaml",), "`keyheat init template.yaml` writes a scenario"),
        (("report", "run"), ("run/run.json",), "`keyheat collect --run run` comes first"),
        (("report", "run"), ("run/run.json", "run/evidence.json"), "`keyheat analyze run` comes first"),
    ],
)
def test_what_is_refused_is_told_the_way_on(
    arguments: tuple[str, ...], left: tuple[str, ...], said: str, verb: Verb, home: Path
) -> None:
    (home / "run").mkdir()
    for name in left:
        (home / name).write_text('{"TableName": "orders"}')
    assert said in " ".join(verb(*arguments).err.split())
