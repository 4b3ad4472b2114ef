"""Every command of docs/logs-and-metrics.md, with files such as a reader has, and no account to ask."""

import json
import re
import shlex
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import NoCredentialsError

from keyheat.evidence import target
from tests.endpoint.asking import START, create
from tests.endpoint.clients import service_app_at

HERE = Path(__file__).parent
PAGE = (HERE.parents[1] / "docs" / "logs-and-metrics.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
WRITES, THROTTLES = "ConsumedWriteCapacityUnits", "WriteThrottleEvents"
DESCRIBED = {
    "TableName": "orders",
    "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 15},
    "KeySchema": [{"AttributeName": "customer", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "customer", "AttributeType": "S"}],
}
Verb = Callable[..., Any]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the reader stands, with the files that the page names and without credentials."""

    def refused(_service: str) -> Any:
        raise NoCredentialsError

    monkeypatch.setattr(target, "boto3_clients", lambda **_options: refused)
    monkeypatch.chdir(tmp_path)
    shutil.copy(HERE / "logs" / "s3-export.log", "app.log")
    minutes = [f"2026-11-20T12:{minute:02}:00Z" for minute in range(10)]
    rows = [f"{at},{WRITES},orders,900\n{at},{THROTTLES},orders,120" for at in minutes]
    Path("export.csv").write_text("\n".join(["time,metric,resource,value", *rows]))
    Path("table.json").write_text(json.dumps({"Table": DESCRIBED}))
    points = [{"Timestamp": at, "Sum": 3.0, "Unit": "Count"} for at in minutes]
    Path("w.json").write_text(json.dumps({"Label": THROTTLES, "Datapoints": points}))
    return tmp_path


def test_every_command_of_the_page(verb: Verb, home: Path) -> None:
    by_log, by_metrics, named, replayed = [
        [verb(*shlex.split(line)[1:]) for line in block.splitlines()] for block in BLOCKS
    ]
    assert [said.code for said in (*by_log, *by_metrics, *named)] == [1, 1, 0]
    assert [said.code for said in replayed] == [0, 0, 0]
    printed = PAGE.split("```\nprod-orders")[1].split("...")[0]
    assert by_log[0].out.startswith(f"prod-orders{printed}")
    assert "CloudWatch: no AWS credentials" in by_log[0].out
    assert "table capacity" in by_metrics[0].out
    assert json.loads((home / "one.json").read_text())["series"][0]["index"] == "by_status"
    assert "write = 15" in (home / "replay.toml").read_text()
    assert "Fixed: " in replayed[2].out
    assert "Assumed: keys are used evenly" in re.sub(r"\s+", " ", replayed[2].out)


def log(start: datetime, seconds: int) -> None:
    """A throttled write each second, in `app.log`."""
    arn = "arn:aws:dynamodb:us-east-1:000000000000:table/orders"
    reason = f"{{'reason': 'TableWriteKeyRangeThroughputExceeded', 'resource': '{arn}'}}"
    lines = [f"{start + timedelta(seconds=second):%FT%TZ} {reason}" for second in range(seconds)]
    Path("app.log").write_text("\n".join(lines))


def test_a_log_is_read_beside_cloudwatch(verb: Verb, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Around the log's time; its last minute is there even if CloudWatch has published none of it."""
    app = service_app_at()
    create(app, "orders")
    app.clock.advance(1_200)
    monkeypatch.setattr(target, "boto3_clients", lambda **_options: app.client)
    log(START + timedelta(minutes=5), seconds=30)
    said = verb("diagnose", "orders", "--log", "app.log", "--out", "found", "--json")
    assert said.code == 1, said.err
    diagnosis = json.loads(said.out)["data"]["diagnosis"]
    (label,) = diagnosis["labels"]
    assert (label["constraint"], label["grade"], label["throttles"]) == ("partition", "reason", 30)
    window = json.loads(Path("found/evidence.json").read_text())["window"]
    assert window["start"] < label["start"] < label["end"] <= window["end"]
    assert not [line for line in diagnosis["coverage"]["missing"] if "record" in line]


def test_a_window_ends_now_though_the_minute_of_the_last_throttle_goes_on(
    verb: Verb, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = service_app_at()
    create(app, "orders")
    app.clock.advance(635)
    monkeypatch.setattr(target, "boto3_clients", lambda **_options: app.client)
    now = datetime.fromtimestamp(app.clock(), UTC)
    log(now - timedelta(seconds=89), seconds=90)
    said = verb("diagnose", "orders", "--log", "app.log", "--out", "found")
    end = datetime.fromisoformat(json.loads(Path("found/evidence.json").read_text())["window"]["end"])
    assert now < end <= now + timedelta(seconds=2)
    assert said.says(f"to {end:%T} UTC")
    assert "newest minute published" not in said.out
