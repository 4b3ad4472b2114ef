"""The policies of configs/iam allow each call that is made, and nothing that is never made.

Policies are read by somebody else's evaluator. What is called is found in two ways: in the sources, where an
operation of the AWS SDK's models that is named counts, and at an endpoint that writes down a whole run.
"""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import botocore.session
import pytest
from botocore import xform_name
from moto.iam.access_control import IAMPolicy, PermissionResult

from tests.outside import PATIENCE_S
from tests.recording import ACCOUNT, Call, Recording, recording

pytestmark = pytest.mark.opens

ROOT = Path(__file__).parents[1]
IAM = ROOT / "configs" / "iam"
SERVICES = {
    "dynamodb": "dynamodb",
    "dynamodbstreams": "dynamodb",
    "cloudwatch": "cloudwatch",
    "application-autoscaling": "application-autoscaling",
}
"""Services of the SDK, and the prefix that their actions have in a policy."""
ACCESS_KEY, SECRET, TOKEN = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMIexamplekey", "FwoGZXIvYXdzEexampletoken"
NOT_CALLED = {
    "dynamodb:TagResource": "CreateTable with tags needs it",
    "dynamodb:ConditionCheckItem": "a condition of a transaction needs it",
}
SEVERAL = {"TransactWriteItems", "TransactGetItems"}  # have no action of their own, but those of their parts
CLEANING = (
    "keyheat/load/tables/removal.py",
    "keyheat/load/tables/ownership.py",
    "keyheat/load/tables/control.py",
    "keyheat/load/tables/cleaning.py",
)
NOT_IN_RUNS = {"dynamodb:ListTables", "cloudwatch:ListMetrics"}  # to find tables, and their troubles
NOT_IN_CLEANING = {"dynamodb:CreateTable"}  # in a module of requests that both use
OBSERVED = {
    ROOT / "keyheat" / name for name in ("runs/partitions.py", "runs/metrics.py", "intake/scaling.py")
}
"""What a stream's shards, CloudWatch and auto scaling tell, before, after and without a run."""


@cache
def operations() -> dict[str, str]:
    """Actions by the name that the API has for an operation, and by the name of the SDK's method."""
    session = botocore.session.get_session()
    found: dict[str, str] = {}
    for service, prefix in SERVICES.items():
        for name in session.get_service_model(service).operation_names:
            found = {name: f"{prefix}:{name}", xform_name(name): f"{prefix}:{name}"} | found
    return found


def called_in(paths: Iterable[Path]) -> set[str]:
    """The actions that sources name: methods of a client and, in what sends load, operations."""
    return {
        action
        for path in paths
        for name in _named_in(ast.parse(path.read_text()), sends=path.is_relative_to(ROOT / "keyheat/load"))
        if (action := operations().get(name)) and name not in SEVERAL
    }


def _named_in(tree: ast.AST, *, sends: bool) -> Iterator[str]:
    """A metric's dimension, too, has the name of an operation; in evidence that is no call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _is_client(node.value):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # A paginator is asked for by the method's name.
            yield from [node.value] if sends or node.value.islower() else []


def _is_client(value: ast.expr) -> bool:
    name = getattr(value, "id", getattr(value, "attr", ""))
    return isinstance(value, ast.Call) or name.endswith(("client", "streams"))


def actions_of(policy: str) -> set[str]:
    statements = json.loads((IAM / f"{policy}.json").read_text())["Statement"]
    listed = (one["Action"] for one in statements)
    return {action for one in listed for action in ([one] if isinstance(one, str) else one)}


def sources(*folders: str) -> set[Path]:
    return {path for folder in folders for path in (ROOT / folder).rglob("*.py")}


def permitted(policy: str, call: Call) -> bool:
    text = (IAM / f"{policy}.json").read_text()
    return IAMPolicy(text).is_action_permitted(call.action, call.resource) is PermissionResult.PERMITTED


def test_a_run_may_do_what_it_does_and_no_more() -> None:
    called = called_in(
        sources("keyheat/load", "keyheat/sharding", "loadtests", "keyheat/evidence") | OBSERVED
    )
    assert actions_of("run") == (called - NOT_IN_RUNS) | NOT_CALLED.keys()


def test_who_collects_may_read_what_is_collected_and_no_more() -> None:
    assert actions_of("collect") == called_in(sources("keyheat/evidence") | OBSERVED)


def test_who_cleans_up_may_do_that_and_no_more() -> None:
    called = called_in(ROOT / path for path in CLEANING)
    assert actions_of("cleanup") == called - NOT_IN_CLEANING


def test_what_is_not_keyheats_is_out_of_reach() -> None:
    theirs = "arn:aws:dynamodb:us-east-1:123456789012:table/orders"
    for action in ("PutItem", "DeleteItem", "DeleteTable", "UpdateTable", "Scan"):
        for policy in ("run", "collect", "cleanup"):
            assert not permitted(policy, Call(f"dynamodb:{action}", theirs)), (policy, action)


def run_elsewhere(url: str, loadtest: str, folder: Path, *more: str) -> "subprocess.CompletedProcess[str]":
    """A run of two seconds against an endpoint that is taken for one on another machine."""
    command = [
        sys.executable, "-m", "tests.as_remote", "-f", f"loadtests/{loadtest}.py", "--headless",
        "--users", "4", "--run-time", "2s", "--target", url, "--out", str(folder), "--yes", "--no-align",
        "--no-report", "--max-dollars", "20", *more,
    ]  # fmt: skip
    identity = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_SESSION_TOKEN": TOKEN}
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **identity, "AWS_REGION": "us-east-1"},
        capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip


@pytest.fixture(
    scope="module", params=["operations", pytest.param("aggregate_stream", marks=pytest.mark.nightly)]
)
def recorded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Recording, Path, str]]:
    """What a run asked for, its files and what it said: of most operations, and of a stream's consumer."""
    folder = tmp_path_factory.mktemp("recorded") / "run"
    with recording() as (url, made):
        done = run_elsewhere(url, request.param, folder)
        assert done.returncode == 0, done.stderr
        yield made, folder, done.stdout + done.stderr


@pytest.mark.xdist_group("recorded runs")
def test_every_call_of_a_run_is_permitted(recorded: tuple[Recording, Path, str]) -> None:
    calls = recorded[0].calls
    assert {"dynamodb:CreateTable", "dynamodb:PutItem", "dynamodb:DeleteTable"} <= {
        one.action for one in calls
    }
    assert [one for one in sorted(calls) if not permitted("run", one)] == []


@pytest.mark.xdist_group("recorded runs")
def test_a_run_gives_nothing_away(recorded: tuple[Recording, Path, str]) -> None:
    """It was signed with all of them, and the endpoint named its account; none of it is written anywhere."""
    made, folder, said = recorded
    assert any(ACCESS_KEY.encode() in head.get(b"authorization", b"") for head in made.heads)
    written = b"".join(path.read_bytes() for path in folder.iterdir()) + said.encode()
    assert written
    for secret in (ACCOUNT, ACCESS_KEY, SECRET, TOKEN):
        assert secret.encode() not in written
