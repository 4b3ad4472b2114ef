"""What can only be seen on a real account: `make test-aws`, which nothing else runs.

It creates tables named keyheat-test-... in the Region that the AWS configuration names, and deletes them. No
run may cost more than KEYHEAT_TEST_AWS_DOLLARS (0.05); all of it together costs a few cents, most of them for
CloudWatch's GetMetricData. KEYHEAT_TEST_AWS_TARGET names another endpoint, to try the tests themselves.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import boto3
import pytest

from keyheat.runs.formats import Evidence, read_diagnosis
from keyheat.runs.manifest import Manifest, read_manifest
from keyheat.runs.plausibility import read_evidence
from tests.agreement import totals
from tests.endpoint.account import table, units

ON = os.environ.get("KEYHEAT_TEST_AWS") == "1"
TARGET = os.environ.get("KEYHEAT_TEST_AWS_TARGET", "aws")
DOLLARS = os.environ.get("KEYHEAT_TEST_AWS_DOLLARS", "0.05")
HERE = Path(__file__).parent
PATIENCE_S = 1800  # three minutes of load, and CloudWatch's delay

pytestmark = [
    pytest.mark.skipif(not ON, reason="spends money on an AWS account: make test-aws"),
    pytest.mark.timeout(PATIENCE_S),
    pytest.mark.xdist_group("an account"),
]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A run on the account: its files, and what it said."""

    folder: Path
    code: int
    said: str

    @property
    def manifest(self) -> Manifest:
        return read_manifest(self.folder)

    @property
    def evidence(self) -> Evidence:
        return read_evidence(self.folder / "evidence.json")


def keyheat(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "keyheat", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    url = None if TARGET == "aws" else TARGET
    client = boto3.client("dynamodb", endpoint_url=url)
    yield client
    client.close()


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    """One run of three minutes, the evidence of all that is asked below."""
    folder = tmp_path_factory.mktemp("aws") / "run"
    arguments = ["--target", TARGET, "--yes", "--max-dollars", DOLLARS, "--out", str(folder)]
    done = keyheat("run", str(HERE / "small.toml"), *arguments)
    return Loaded(folder, done.returncode, done.stdout + done.stderr)


@pytest.fixture
def make_table(client: Any) -> Iterator[Callable[..., str]]:
    """Makes small tables as somebody else would, and deletes them."""
    made: list[str] = []

    def make(*tags: tuple[str, str]) -> str:
        name = f"keyheat-test-{uuid4().hex[:8]}"
        tagged = [{"Key": key, "Value": value} for key, value in tags]
        client.create_table(**table(name, ProvisionedThroughput=units(1, 1), Tags=tagged))
        made.append(name)
        client.get_waiter("table_exists").wait(TableName=name)
        return name

    yield make
    for name in made:
        try:
            client.delete_table(TableName=name)
        except client.exceptions.ResourceNotFoundException:
            continue


def test_a_small_table_is_throttled_and_says_why(loaded: Loaded) -> None:
    """The exception's ThrottlingReasons, and the label by them."""
    assert loaded.code == 0, loaded.said
    verdict = read_diagnosis(loaded.folder / "diagnosis.json").verdict
    assert (verdict.constraint, verdict.direction, verdict.grade) == ("table", "write", "reason")
    reasons = {row.reason for row in loaded.evidence.throttles or ()}
    assert reasons == {"TableWriteProvisionedThroughputExceeded"}


def test_its_metrics_arrive_whole_and_agree_with_what_came_back(loaded: Loaded) -> None:
    """CloudWatch's sums are ours: alignment, clock and units all have to be right."""
    assert not loaded.evidence.missing
    sums = totals(loaded.evidence)
    published = sums[None, None, "ConsumedWriteCapacityUnits"]
    assert published == pytest.approx(sums[None, "write", "units"], rel=0.01)


def test_a_run_begins_with_a_minute_and_its_table_says_how_warm_it_is(loaded: Loaded) -> None:
    assert loaded.manifest.started_at.second <= 2
    assert loaded.manifest.table.warm is not None


def test_no_file_names_the_account(loaded: Loaded) -> None:
    account = boto3.client("sts").get_caller_identity()["Account"] if TARGET == "aws" else ":000000000000:"
    named = re.compile(rf"(?<!\d){account}(?!\d)".encode())
    for path in loaded.folder.iterdir():
        assert not named.search(path.read_bytes()), path.name
    assert account not in loaded.said


def test_its_table_is_gone(loaded: Loaded, client: Any) -> None:
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.describe_table(TableName=loaded.manifest.table.name)


def test_a_table_of_somebody_else_is_refused(make_table: Callable[..., str], tmp_path: Path) -> None:
    name = make_table()
    scenario = tmp_path / "small.toml"
    scenario.write_text((HERE / "small.toml").read_text().replace("keyheat-test-small", name))
    done = keyheat("run", str(scenario), "--target", TARGET, "--yes", "--max-dollars", DOLLARS)
    assert done.returncode == 4
    assert f"--allow-table {name}" in done.stderr


def test_a_table_that_was_left_behind_is_swept(make_table: Callable[..., str], client: Any) -> None:
    over = f"{datetime.now(UTC) - timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"
    name = make_table(("keyheat", "a run"), ("keyheat-owner", "test-aws"), ("keyheat-expires", over))
    kept = make_table(("keyheat", "a run"), ("keyheat-expires", "2099-01-01T00:00:00Z"))
    where = () if TARGET == "aws" else ("--endpoint-url", TARGET)
    done = keyheat("clean", "--orphans", *where, "--yes", "--json")
    assert done.returncode == 0, done.stderr
    assert name in json.dumps(json.loads(done.stdout))
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.describe_table(TableName=name)
    client.describe_table(TableName=kept)


def test_the_quotas_are_those_of_the_account() -> None:
    done = keyheat("plan", str(HERE / "small.toml"), "--target", TARGET, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["data"]["quotas"]
