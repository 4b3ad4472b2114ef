"""A run with --target finds out first what is there, says it, notes it, and is judged by it."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from keyheat.analysis.diagnosis import analyze_run
from keyheat.endpoint.process import EndpointProcess
from keyheat.load.probe.probe import known
from keyheat.load.run.plan import LoadPlan, check_options
from keyheat.load.run.preflight import planned_bill, undertaking, with_endpoint
from keyheat.load.run.testbed import manifest_of
from keyheat.load.tables.ownership import TableError
from keyheat.load.transport.target import Target, target_at
from keyheat.runs.capabilities import QUESTIONS
from keyheat.runs.manifest import read_manifest
from tests.load.probe.endpoints import dynoxide
from tests.load.test_options import options

NOWHERE = "http://127.0.0.1:1"
DESCRIBED = {"TableName": "t", "KeySchema": []}


@pytest.fixture(scope="module")
def foreign() -> Iterator[str]:
    """An endpoint of somebody else, on this machine."""
    with dynoxide() as url:
        yield url


def plan_for(url: str | None, **said: object) -> LoadPlan:
    return check_options(
        options(target=url, **said), locustfiles=["loadtests/hotkey.py"], needs_sort_key=True
    )


def noted(plan: LoadPlan, target: Target) -> dict[str, object]:
    return manifest_of(plan, target, DESCRIBED, run_id="1", started_s=time.time(), processes=1, users=1)


@pytest.mark.opens
@pytest.mark.nightly
def test_a_foreign_endpoint_is_probed_and_the_lists_are_said(
    foreign: str, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = with_endpoint(plan_for(foreign, progress=True))
    assert plan.endpoint is not None
    assert (plan.endpoint.source, plan.endpoint.never_throttles) == ("probed", True)
    began, ended = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (began["phase"], ended["phase"]) == ("probing", "probing")
    assert ended["said"][0] == f"{foreign} calls itself Dynoxide/1.2.1. A run there can prove"
    assert "and cannot prove" in ended["said"]
    assert noted(plan, target_at(foreign))["endpoint"] == plan.endpoint.to_json()


@pytest.mark.opens
def test_our_endpoint_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    with EndpointProcess.start() as process:
        plan = with_endpoint(plan_for(process.url))
        unprobed = with_endpoint(plan_for(process.url, no_probe=True))
    assert plan.endpoint == unprobed.endpoint
    assert plan.endpoint is not None
    assert plan.endpoint.source == "known"
    assert all(plan.endpoint.can(name) for name in QUESTIONS)
    assert "cannot prove" not in capsys.readouterr().err


@pytest.mark.opens
def test_an_endpoint_that_the_run_starts_is_not_looked_at() -> None:
    plan = with_endpoint(plan_for(None))
    assert plan.endpoint is None
    assert "endpoint" not in noted(plan, target_at(NOWHERE))


@pytest.mark.opens
def test_the_probe_can_be_left_out() -> None:
    """Nobody listens there, and nobody is asked."""
    plan = with_endpoint(plan_for(NOWHERE, no_probe=True))
    assert plan.endpoint is not None
    assert (plan.endpoint.source, plan.endpoint.findings) == ("not probed", {})


@pytest.mark.opens
def test_an_endpoint_that_does_not_answer_is_said_before_anything_starts() -> None:
    with pytest.raises(TableError, match=r"127\.0\.0\.1:1 does not answer"):
        with_endpoint(plan_for(NOWHERE))


@pytest.mark.parametrize(
    ("host", "aws"),
    [
        ("dynamodb.eu-west-1.amazonaws.com", True),
        ("dynamodb.cn-north-1.amazonaws.com.cn", True),
        ("dynamodb.eu-west-1.api.aws", True),
        ("vpce-1a2b3c.dynamodb.eu-west-1.vpce.amazonaws.com", True),
        ("dynamodb.eusc-de-east-1.amazonaws.eu", True),
        ("dynamodb.eu-west-1.amazonaws.com.example.org", False),
        ("dynamodb.eu-west-1.notamazonaws.com", False),
        ("ec2-203-0-113-25.eu-west-1.compute.amazonaws.com", False),
        ("dynamodb-local-1.eu-west-1.elb.amazonaws.com", False),
    ],
)
def test_dynamodb_in_aws_is_known_by_its_host(host: str, aws: bool) -> None:
    target = replace(target_at(NOWHERE), host=host)
    assert target.aws == aws
    if aws:
        found = known(target)
        assert found is not None
        assert (found.dynamodb, found.can("key_range")) == (True, True)


@pytest.mark.parametrize(
    ("url", "probe", "said"),
    [
        ("http://dynamo.example.org:8000", True, True),
        ("http://dynamo.example.org:8000", False, False),
        ("https://dynamodb.eu-west-1.amazonaws.com", True, False),
    ],
)
def test_who_agrees_to_a_run_elsewhere_is_told_of_the_probe(url: str, probe: bool, said: bool) -> None:
    plan = replace(plan_for(None), probe=probe)
    lines = undertaking(plan, target_at(url), planned_bill(plan)).lines()
    assert any("to find out what the endpoint can do" in line for line in lines) == said


@pytest.mark.nightly
def test_a_run_there_ends_in_no_capacity_model(
    foreign: str, scenario_file: Path, tmp_path: Path, run_locust: Callable[..., tuple[int, str, str]]
) -> None:
    out = tmp_path / "run"
    scenario_file.write_text(scenario_file.read_text() + "[thresholds]\nthrottle_share_max = 0.01\n")
    code, _, err = run_locust(
        "hotkey.py", "--host", foreign, "--scenario", str(scenario_file), "--out", str(out), "--no-report"
    )
    assert code == 0, err
    assert "A run there can prove\n  - units per operation" in err
    endpoint = read_manifest(out).endpoint
    assert endpoint is not None
    if endpoint.findings["throttles"].answer == "unknown":
        pytest.skip("this machine is too slow for a burst that would tell")
    assert "and cannot prove\n  - whether DynamoDB would throttle this load" in err
    assert endpoint.never_throttles
    diagnosis = analyze_run(out)
    assert (diagnosis.verdict.rule, diagnosis.verdict.valid) == ("no-capacity-model", False)
    (threshold,) = diagnosis.thresholds
    assert (threshold.name, threshold.decided, threshold.broken) == ("throttle_share_max", False, False)
