"""The other ways in of docs/diagnose.md, on a table of this process and its clock; the AWS CLI's by boto3.

The page's window is moved to the time of that table; nothing else is changed.
"""

import json
import re
import shlex
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from keyheat.cli import evidence as verbs
from keyheat.evidence import request
from keyheat.evidence import table as target
from keyheat.runs.plausibility import read_evidence
from tests.conftest import Verb
from tests.endpoint.account import index, indexed, table
from tests.endpoint.clients import START_S, ServiceApp, service_app_at

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[1] / "docs" / "diagnose.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
_SURVEY, _TABLE, LIVE, DELETED, ASKED, FILES, BY_HAND = [block.splitlines() for block in BLOCKS]
BEGIN_S, END_S = START_S + 300, START_S + 2_100
CAPACITY = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 4_000}
Run = Callable[[str], str]


@pytest.fixture
def app() -> ServiceApp:
    """Half an hour of a table `orders`, one item of which is asked for 1,500 units a second; an hour ago."""
    app = service_app_at()
    by_day = index("by_day", "day", ProvisionedThroughput=CAPACITY)
    app.ddb.create_table(**table(**indexed(by_day), ProvisionedThroughput=CAPACITY))
    app.clock.now_s = BEGIN_S
    app.ddb.describe_table(TableName="orders")
    model = app.service.catalog.get("orders").model
    while app.clock() < END_S:
        for _ in range(15):
            model.admit_write(b"12345678", 100.0, app.clock())
        app.clock.advance(1)
    app.clock.advance(3_600)
    return app


@pytest.fixture
def run(app: ServiceApp, verb: Verb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a line of the page to a good end, in an empty folder, against the table; gives what it printed."""
    monkeypatch.setattr(request, "boto3_clients", lambda **_options: app.client)
    monkeypatch.setattr(verbs, "time", SimpleNamespace(time=app.clock))
    monkeypatch.chdir(tmp_path)

    def to_its_end(line: str) -> str:
        moved = line.replace("2026-11-20T12:00Z", at(BEGIN_S)).replace("2026-11-20T12:30Z", at(END_S))
        command, _, file = moved.partition(" > ")
        program, *words = shlex.split(command)
        if program == "aws":
            said = aws(app, words)
        else:
            assert program == "keyheat"
            answer = verb(*words)
            assert answer.code == 0, answer.err
            said = answer.out
        if file:
            Path(file).write_text(said)
        return said

    return to_its_end


def at(second: float) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%MZ")


def aws(app: ServiceApp, words: list[str]) -> str:
    """What the AWS CLI would print: boto3 with the same request, as JSON."""
    match words:
        case ["cloudwatch", "get-metric-data", "--cli-input-json", url, "--output", "json"]:
            request = json.loads(Path(url.removeprefix("file://")).read_text())
            answer = app.cloudwatch.get_metric_data(**request)
        case ["dynamodb", "describe-table", "--table-name", name, "--output", "json"]:
            answer = app.ddb.describe_table(TableName=name)
        case _:
            pytest.fail(f"not tested: aws {shlex.join(words)}")
    return json.dumps(answer, default=datetime.isoformat)


def test_a_window_is_checked_by_the_clock_of_the_endpoint(
    run: Run, app: ServiceApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The local table's time was moved: by this machine's, the window is in the future."""
    monkeypatch.setattr(target, "boto3_clients", lambda **_options: app.client)
    monkeypatch.setattr(verbs, "time", SimpleNamespace(time=lambda: BEGIN_S - 86_400))
    run(f"{LIVE[0]} --endpoint-url http://127.0.0.1:8000")
    assert read_evidence(Path("orders.json")).series


def test_a_table_that_is_gone(run: Run, app: ServiceApp) -> None:
    app.ddb.delete_table(TableName="orders")
    app.clock.advance(3_600)
    (line,) = DELETED
    run(line)
    found = read_evidence(Path("orders.json"))
    assert found.table.billing_mode is None
    assert {one.index for one in found.series} == {None, "by_day"}
    assert any("ResourceNotFoundException" in line for line in found.missing)


def test_a_colleague_with_the_aws_cli_has_what_a_live_table_says(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [run(line) for line in LIVE]
    assert said[1].endswith("Page: orders.html\n")
    page = Path("orders.html").read_text()
    assert "partition" in page
    assert "seconds.parquet" not in page
    live = read_evidence(Path("orders.json"))
    for line in ASKED:
        run(line)
    monkeypatch.setattr(request, "boto3_clients", lambda **_options: pytest.fail("asked AWS"))
    collect, analyze = FILES
    run(collect)
    assert "partition" in run(analyze)
    by_file = read_evidence(Path("orders.json"))
    assert (by_file.series, by_file.table, by_file.missing) == (live.series, live.table, ())


def test_numbers_written_by_hand_and_what_is_said_where_they_are_wrong(verb: Verb, run: Run) -> None:
    (written,) = re.findall(r"^```json\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    Path("by-hand.json").write_text(written)
    (line,) = BY_HAND
    assert "partition" in run(line)
    wrong = written.replace('"Sum"', '"Average"', 1)
    Path("by-hand.json").write_text(
        wrong.replace('"2026-11-20T12:01:00Z", 812', '"2026-11-20T12:02:00Z", 812')
    )
    assert f"```\n{verb('analyze', '--evidence', 'by-hand.json').err}```" in PAGE
