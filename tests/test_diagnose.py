"""`keyheat diagnose`: from a table's name to its limit, the key, since when and what to do."""

import html
import json
import re
import shlex
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import orjson
import pytest

from keyheat.evidence import table as target
from tests.conftest import ROOT, Verb
from tests.endpoint import account
from tests.endpoint.account import indexed
from tests.endpoint.clients import ServiceApp, service_app_at

KEY_RANGE = "TableWriteKeyRangeThroughputExceeded"
CAPACITY = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 4_000}
SMALL = {"ReadCapacityUnits": 50, "WriteCapacityUnits": 15}
PUT = {
    b"host": b"127.0.0.1:8000",
    b"x-amz-target": b"DynamoDB_20120810.PutItem",
    b"authorization": b"AWS4-HMAC-SHA256 Credential=a/20270115/us-east-1/dynamodb/aws4_request",
}
CALM_S, LOAD_S = 300, 300
LARGE_BYTES, SMALL_BYTES = 300_000, 30_000  # 293 and 30 units
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("diagnose")]


@pytest.fixture(scope="module")
def loaded() -> ServiceApp:
    """Three tables: `orders` with a hot key and an index, `audit` that is too small, `sessions`, healthy.

    Five calm minutes, then five of load, which goes on.
    """
    app = service_app_at()
    create(app, "orders", CAPACITY, index="by_day")
    create(app, "audit", SMALL)
    create(app, "sessions", {"ReadCapacityUnits": 100, "WriteCapacityUnits": 100})
    app.ddb.update_contributor_insights(
        TableName="orders", ContributorInsightsAction="ENABLE", ContributorInsightsMode="THROTTLED_KEYS"
    )
    app.clock.advance(60)
    load(app, CALM_S, hot=1, small=0)
    with pytest.raises(app.ddb.exceptions.ResourceNotFoundException):
        app.ddb.get_item(TableName="gone", Key={"pk": {"S": "a"}})
    load(app, LOAD_S, hot=5, small=2)
    return app


@pytest.fixture
def app(loaded: ServiceApp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ServiceApp:
    monkeypatch.setattr(target, "boto3_clients", lambda **_options: loaded.client)
    monkeypatch.chdir(tmp_path)
    return loaded


def create(app: ServiceApp, name: str, capacity: dict[str, int], index: str | None = None) -> None:
    keys_only = {"ProvisionedThroughput": capacity, "Projection": {"ProjectionType": "KEYS_ONLY"}}
    more = indexed(account.index(index, "day", **keys_only)) if index else {}
    app.ddb.create_table(**account.table(name, **more, ProvisionedThroughput=capacity))
    app.ddb.describe_table(TableName=name)


def load(app: ServiceApp, seconds: int, *, hot: int, small: int) -> None:
    """So many seconds with `hot` large writes a second to one key, and `small` ones to spread keys."""
    for second in range(seconds):
        for _ in range(hot):
            put(app, "orders", "customer-4711", LARGE_BYTES)
        for number in range(small):
            put(app, "audit", f"{second}-{number}", SMALL_BYTES)
        if not second % 10:
            put(app, "audit", f"{second}", 900)
            put(app, "sessions", f"{second}", SMALL_BYTES)
        app.clock.advance(1)


def put(app: ServiceApp, table: str, key: str, size_bytes: int) -> None:
    """A write as it arrives; boto3 would take longer to sign it than the endpoint to answer."""
    item = {"pk": {"S": key}, "x": {"S": "x" * size_bytes}}
    app.router.answer(b"POST", b"/", PUT, orjson.dumps({"TableName": table, "Item": item}))


def diagnose(verb: Verb, *words: object) -> Any:
    return verb("diagnose", *words, "--endpoint-url", "http://127.0.0.1:8000", "--out", "found")


@pytest.mark.usefixtures("app")
def test_a_healthy_table_is_no_alarm_though_it_is_younger_than_the_window(verb: Verb) -> None:
    said = diagnose(verb, "sessions")
    assert said.code == 0
    assert said.says("Nothing was throttled")
    assert said.says("Throttles None from 08:00 to 08:11 UTC")
    assert said.says("Used Reads of the table: 0 RCU/s in the busiest minute, 0 % of 100 · Writes of")
    assert "Confidence" not in said.out
    assert "Contributor Insights" not in said.out
    assert said.says("UserErrors counts 1 request that DynamoDB refused as wrong, of any table in the Region")


@pytest.mark.usefixtures("app")
@pytest.mark.parametrize(("table", "constraint"), [("orders", "partition"), ("sessions", "none")])
def test_programs_tickets_and_the_page_are_told_the_same(verb: Verb, table: str, constraint: str) -> None:
    words, ticket = diagnose(verb, table), diagnose(verb, table, "--markdown")
    assert {path.name for path in Path("found").iterdir()} == {
        "evidence.json", "diagnosis.json", "report.html",
    }  # fmt: skip
    told = json.loads(diagnose(verb, table, "--json").out)
    assert told["data"]["exit_code"] == words.code
    assert told["data"]["diagnosis"]["verdict"]["constraint"] == constraint
    assert words.says(told["sentence"])
    assert f"**{told['sentence']}**" in ticket.out
    assert all(words.says(fact["value"]) for fact in told["facts"])
    jsonschema.validate(told, json.loads(verb("schema", "answer").out))
    page = html.unescape(re.sub(r"<[^>]+>", "", Path(told["link"]).read_text(encoding="utf-8")))
    shown = " ".join(page.replace("\u00a0", " ").split())
    said = [told["sentence"], told["label"]]
    for fact in told["facts"]:
        said += [fact["value"], *fact["beside"], fact["command"] or ""]
    said += [str(cell) for rows in told["tables"] for row in rows["rows"] for cell in row.values()]
    assert [text for text in said if " ".join(text.replace("\u00a0", " ").split()) not in shown] == []


PAGE = (ROOT / "docs" / "diagnose.md").read_text(encoding="utf-8")
_SURVEY, TABLE, *_OTHERS = [
    block.splitlines() for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
]
HERE = {
    " --endpoint-url http://127.0.0.1:8000": "",
    "found/": "reports/out/diagnose-20270115T081100Z/",
}
"""What the page says in place of the table of this process."""


SCHEDULE = (ROOT / "deploy" / "schedules" / "keyheat-diagnose.cron").read_text(encoding="utf-8")
OF_CRON = re.findall(r"(keyheat diagnose .*?) >", SCHEDULE)


@pytest.mark.usefixtures("app")
@pytest.mark.parametrize("line", [*TABLE, *OF_CRON])
def test_every_command_of_the_page_and_of_the_schedule_answers(verb: Verb, line: str) -> None:
    assert diagnose(verb, *shlex.split(line)[2:]).code == 1


def throttled_calls(monkeypatch: pytest.MonkeyPatch, app: ServiceApp, failing: dict[str, list[str]]) -> None:
    """Have calls of operations answered with these error codes, one after the other, before they succeed."""

    def client(service: str) -> Any:
        made = app.client(service)
        for operation, codes in failing.items():
            made.meta.events.register(f"before-call.*.{operation}", lambda codes=codes, **_: refused(codes))
        return made

    monkeypatch.setattr(target, "boto3_clients", lambda **_options: client)


def refused(codes: list[str]) -> Any:
    if not codes:
        return None
    error = {"Error": {"Code": codes.pop(0), "Message": "no"}, "ResponseMetadata": {"HTTPStatusCode": 400}}
    return SimpleNamespace(status_code=400), error


@pytest.mark.usefixtures("app")
def test_a_survey_finds_what_throttles_as_the_page_shows_and_leads_to_each_report(verb: Verb) -> None:
    survey = diagnose(verb)
    assert survey.code == 1
    assert "Requesting 8 metrics" in survey.err
    assert "Requesting 116 metrics" in diagnose(verb, "orders").err, "which the page says, too"
    said = survey.out
    assert "--table-name audit --region us-east-1 --endpoint-url http://127.0.0.1:8000" in said
    for here, there in HERE.items():
        said = said.replace(here, there)
    (shown,) = re.findall(r"^```text\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert [line.rstrip() for line in said.splitlines()] == shown.splitlines()
    page = Path("found/index.html").read_text(encoding="utf-8")
    assert "keyheat fix found/orders" in page, "as the terminal says it"
    for table in ("orders", "audit"):
        assert f'href="{table}/report.html"' in page
        assert Path(f"found/{table}/report.html").is_file()
    assert not Path("found/sessions").exists()


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        ("DescribeTable", "indexes not looked at: DescribeTable answered AccessDeniedException"),
        ("GetMetricData", "throttles not known: GetMetricData answered AccessDeniedException"),
    ],
)
def test_a_survey_goes_on_without_what_is_denied_and_never_calls_it_zero(
    verb: Verb, app: ServiceApp, monkeypatch: pytest.MonkeyPatch, operation: str, said: str
) -> None:
    throttled_calls(monkeypatch, app, {operation: ["AccessDeniedException"] * 99})
    found = diagnose(verb)
    assert found.says(said)
    assert found.code == (3 if operation == "GetMetricData" else 1)


BAD: dict[str, tuple[list[str], dict[str, list[str]], str]] = {
    "an unknown table": (["order"], {}, "no table 'order' in us-east-1; tables in us-east-1"),
    "expired credentials": (
        ["orders"], {"DescribeTable": ["ExpiredTokenException"]}, "refuses the credentials in us-east-1",
    ),
    "expired credentials of a survey": ([], {"ListTables": ["ExpiredTokenException"]}, "sign in again"),
    "tables that may not be listed": (
        [], {"ListTables": ["AccessDeniedException"] * 2}, "Allow dynamodb:ListTables, or name a table",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_one_sentence_and_nothing_is_written(
    verb: Verb, app: ServiceApp, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    arguments, failing, words = BAD[case]
    throttled_calls(monkeypatch, app, {name: list(codes) for name, codes in failing.items()})
    said = diagnose(verb, *arguments)
    assert said.code == 2
    assert words in said.line
    assert not Path("found").exists()


def test_all_regions_are_asked_and_those_that_are_not_open_are_said(
    verb: Verb, app: ServiceApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    def clients(*, region: str, **_options: Any) -> Any:
        if region == "eu-west-1":
            raise ValueError("AWS refuses the credentials in eu-west-1 (OptInRequired)")
        return lambda service: app.client(service, region)

    monkeypatch.setattr(target, "boto3_clients", clients)
    regions = ["us-east-1", "eu-west-1", "eu-north-1"]
    monkeypatch.setattr("keyheat.evidence.clients.region_names", lambda _profile: regions)
    said = diagnose(verb, "--all-regions")
    assert said.code == 1
    assert said.says("2 of 3 tables throttled")
    assert said.says("eu-west-1: AWS refuses the credentials in eu-west-1 (OptInRequired)")
    assert Path("found/us-east-1/orders/report.html").is_file()


def test_without_contributor_insights_the_command_that_turns_it_on_is_said_with_its_price(
    verb: Verb, app: ServiceApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    throttled_calls(monkeypatch, app, {})
    monkeypatch.setattr("keyheat.evidence.contributors.created_of", lambda _rule: None)
    said = diagnose(verb, "orders")
    assert said.says("Not known: Contributor Insights of the table is off")
    assert said.says("$0.50 a month for each rule")
    assert "aws dynamodb update-contributor-insights --table-name orders" in said.out
    assert "--contributor-insights-action ENABLE --contributor-insights-mode THROTTLED_KEYS" in said.out


def log_line(at_s: float, reason: str, table: str = "orders") -> str:
    at = datetime.fromtimestamp(at_s, UTC).isoformat()
    arn = f"arn:aws:dynamodb:us-east-1:000000000000:table/{table}"
    return f"{at} put failed: {{'ThrottlingReasons': [{{'reason': '{reason}', 'resource': '{arn}'}}]}}\n"


def test_a_log_of_several_tables_asks_for_one(verb: Verb, app: ServiceApp) -> None:
    lines = [log_line(app.clock() - 90 + n, KEY_RANGE, "audit" if n % 3 else "orders") for n in range(30)]
    Path("app.log").write_text("".join(lines))
    said = diagnose(verb, "--log", "app.log")
    assert said.code == 2
    assert "audit (20), orders (10); name the table" in said.err


def write_csv(file: str, per_minute: dict[str, list[int]], resource: str = "table") -> None:
    """An export of metrics: values minute by minute."""
    rows = (
        f"2026-11-20T12:{minute:02}:00Z,{metric},{resource},{value}\n"
        for metric, values in per_minute.items()
        for minute, value in enumerate(values)
    )
    Path(file).write_text("time,metric,resource,value\n" + "".join(rows))


def test_an_undetermined_incident_has_the_commands_that_settle_it(
    verb: Verb, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Files ask nobody."""
    monkeypatch.setattr(target, "boto3_clients", lambda **_options: pytest.fail("asked AWS"))
    monkeypatch.chdir(tmp_path)
    write_csv("reads.csv", {"ConsumedReadCapacityUnits": [60]}, resource="index=by_day")
    assert verb("diagnose", "--metrics", "reads.csv").line.endswith("name the TABLE that the files are of")
    found = verb("diagnose", "orders", "--metrics", "reads.csv", "--out", "found")
    fixed = verb("fix", "found")
    times = "--start 2026-11-20T12:00Z --end 2026-11-20T12:01Z"
    assert (found.code, fixed.code) == (3, 3)
    assert found.says("What to do Get the missing evidence by the commands below")
    assert "aws cloudwatch get-metric-data" in Path("found/report.html").read_text(encoding="utf-8")
    assert "is undetermined, so there is nothing to fix yet" in fixed.err
    for said in (found.out, fixed.err):
        assert f"keyheat diagnose orders {times}\n" in said
        assert f"keyheat queries --table orders --index by_day {times} > request.json\n" in said


def test_a_bill_by_requests_needs_both_directions_and_a_command_has_the_region_of_the_table(
    verb: Verb, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Writes were not collected: on-demand mode would bill them, so it is not offered as the cheaper cure."""
    monkeypatch.chdir(tmp_path)
    described = {
        "TableName": "stations", "TableArn": "arn:aws:dynamodb:eu-central-1:111122223333:table/stations",
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "ProvisionedThroughput": {"ReadCapacityUnits": 30, "WriteCapacityUnits": 30},
    }  # fmt: skip
    Path("table.json").write_text(json.dumps({"Table": described}))
    read = [600] * 10 + [5_700] * 2 + [1_800] * 4
    write_csv(
        "minutes.csv", {"ConsumedReadCapacityUnits": read, "ReadThrottleEvents": [0] * 12 + [7_800] * 4}
    )
    files = ("--metrics", "minutes.csv", "--describe-json", "table.json")
    said = verb("diagnose", "stations", *files, "--out", "d")
    assert said.code == 1
    assert said.says("Now and for good  Raise the capacity to 136 RCU/s")
    assert said.says("--table-name stations --region eu-central-1 \\")
    assert "on-demand mode" not in said.out.partition("What it costs")[0]
