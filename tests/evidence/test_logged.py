"""Logs of applications: which throttles they show, and what is never kept. README.md says whose texts."""

import gzip
import json
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from keyheat.analysis.diagnosis import diagnosed
from keyheat.evidence.cloudwatch import silent
from keyheat.evidence.logged import ThrottleLog, read_logs
from keyheat.evidence.request import EvidenceRequest, evidence_for
from keyheat.evidence.series import parse_time
from keyheat.runs.formats import Window

LOGS = Path(__file__).parent / "logs"
KEY_RANGE, PROVISIONED = "TableWriteKeyRangeThroughputExceeded", "TableWriteProvisionedThroughputExceeded"
READS = "TableReadProvisionedThroughputExceeded"
OF_INDEX = "IndexWriteProvisionedThroughputExceeded"
SDK = {("prod-audit", None, PROVISIONED): 1, ("prod-audit", None, READS): 1,
       ("prod-orders", None, KEY_RANGE): 1, ("prod-carts", None, KEY_RANGE): 1}  # fmt: skip
NAMED = {
    "boto3.log": SDK,
    "javascript.log": SDK,
    "java.log": {("prod-orders", "by_status", OF_INDEX): 1},
    "go.log": {("prod-orders", None, KEY_RANGE): 1},
    "dotnet.log": {("prod-orders", None, READS): 1},
    "filter-log-events.json": {("prod-orders", None, PROVISIONED): 1},
    "insights.csv": {("prod-orders", None, KEY_RANGE): 1},
    "insights.json": {("prod-orders", None, KEY_RANGE): 1},
    "s3-export.log": {("prod-orders", None, KEY_RANGE): 1},
    "others.log": {},
}
UNNAMED = {
    "boto3.log": {
        ("PutItem", "write"): 9, ("Query", "read"): 3, ("TransactWriteItems", "write"): 1, (None, None): 1
    },
    "java.log": {("PutItem", "write"): 1},
    "go.log": {("PutItem", "write"): 1},
    "dotnet.log": {("Query", "read"): 1},
}  # fmt: skip
SECRETS = ("jane", "4111", "customer-4711", "wJalr", "111122223333", "000000000000", "SECRET")
ALWAYS = Window(start=datetime(2026, 11, 1, tzinfo=UTC), end=datetime(2026, 12, 1, tzinfo=UTC))


def log_of(*names: str) -> ThrottleLog:
    return read_logs([LOGS / name for name in names], UTC)


def logged(folder: Path, *lines: str) -> Path:
    path = folder / "app.log"
    path.write_text("\n".join(lines))
    return path


def line(at: str, reason: str = KEY_RANGE, table: str = "orders", region: str = "eu-west-1") -> str:
    arn = f"arn:aws:dynamodb:{region}:111122223333:table/{table}"
    return f"{at} put failed: {{'reason': '{reason}', 'resource': '{arn}'}}"


@pytest.mark.parametrize("name", NAMED)
def test_a_log_shows_which_limit_of_which_table_and_index_and_nothing_else_of_it_is_kept(name: str) -> None:
    log = log_of(name)
    named, unnamed = Counter[object](), Counter[object]()
    for throttle, count in log.counts.items():
        if throttle.table is not None:
            named[throttle.table, throttle.index, throttle.reason] += count
        else:
            unnamed[throttle.operation, throttle.direction] += count
    assert (named, unnamed) == (NAMED[name], UNNAMED.get(name, {}))
    kept = f"{log.counts} {log.tables} {log.records_of('prod-orders', None, ALWAYS)}"
    assert not [secret for secret in SECRETS if secret in kept]


def test_a_packed_log_and_one_of_another_encoding_are_read(tmp_path: Path) -> None:
    text = (LOGS / "javascript.log").read_text()
    packed, wide = tmp_path / "a.log.gz", tmp_path / "b.log"
    packed.write_bytes(gzip.compress(text.encode()))
    wide.write_text(text, encoding="utf-16")
    assert read_logs([packed]).counts == read_logs([wide]).counts == log_of("javascript.log").counts


def test_an_exception_that_several_records_show_counts_once_and_with_its_reason(tmp_path: Path) -> None:
    request = "RequestId TA7TTFE2BIFUHAH175T0GTEU6VVV4KQNSO5AEMVJF66Q9ASUAAJG"
    plain = "ThrottlingException when calling the PutItem operation: Throughput exceeds the current capacity"
    at = "2026-11-20T12:00:01Z"
    path = logged(tmp_path, f"{at} {plain} {request}", f"{line(at)} {request}", f"{at} {plain} {request}")
    (throttle,) = +(log := read_logs([path])).counts
    assert (throttle.reason, log.repeated, log.counts[throttle]) == (KEY_RANGE, 2, 1)


def test_what_is_of_another_table_region_or_time_is_left_out_and_said(tmp_path: Path) -> None:
    path = logged(
        tmp_path, line("last night:"),
        line("2026-11-20T12:00:01Z"), line("2026-11-20T12:00:01Z", table="carts"),
        line("2026-11-20T12:00:01Z", region="us-east-1"), line("2026-10-20T12:00:01Z"),
        "2026-11-20T12:00:01Z An error occurred (ThrottlingException) when calling the PutItem operation:",
        "2026-11-20T12:00:01Z GET / 200",
    )  # fmt: skip
    found = read_logs([path]).records_of("orders", "eu-west-1", ALWAYS)
    (row,) = found.throttles or ()
    assert (row.second, row.reason, row.count) == (datetime(2026, 11, 20, 12, 0, 1, tzinfo=UTC), KEY_RANGE, 1)
    assert found.missing[0] == "log: 1 of 7 records are not throttles"
    left = " ".join(found.missing)
    for why in ("of table carts", "of us-east-1, not", "outside", "without a time", "without a table"):
        assert f"1 throttle left out: {why}" in left


def test_a_table_that_the_logs_do_not_name_is_a_mistake(tmp_path: Path) -> None:
    log = read_logs([logged(tmp_path, line("2026-11-20T12:00:01Z"))])
    with pytest.raises(ValueError, match="the log names no table ordres, but orders"):
        log.records_of("ordres", None, ALWAYS)


@pytest.mark.parametrize(
    ("named", "assumed"), [('"table": "orders"', False), ("TableName=orders", False), ('"table": "o"', True)]
)
def test_a_table_named_by_a_field_is_not_assumed(tmp_path: Path, named: str, assumed: bool) -> None:
    plain = "ThrottlingException: Throughput exceeds the current capacity of your table or index."
    log = read_logs([logged(tmp_path, f'2026-11-20T12:00:01Z {plain} "operation": "PutItem", {named}')])
    found = log.records_of("orders", None, ALWAYS)
    assert [(row.direction, row.count) for row in found.throttles or ()] == [("write", 1)]
    assert any("assumed to be of table orders" in said for said in found.missing) is assumed


@pytest.mark.parametrize(
    ("zone", "hour"), [(UTC, 12), (timezone(timedelta(hours=2)), 10)], ids=["UTC", "+02:00"]
)
def test_a_time_without_a_zone_is_of_the_zone_that_is_said(tmp_path: Path, zone: timezone, hour: int) -> None:
    path = logged(tmp_path, line("2026-11-20 12:00:01,250"))
    (throttle,) = read_logs([path], zone).counts
    assert throttle.second == datetime(2026, 11, 20, hour, 0, 1, tzinfo=UTC)
    with pytest.raises(ValueError, match=r"app\.log: its times have no zone; give one, such as --zone UTC"):
        read_logs([path])


NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-20T12:00:00Z", "2026-11-20 13:00:00.000+01:00", "2026/11/20 12:00:00 UTC", 1795176000,
        "2026-11-20T12:00:00.123456789Z", "20/Nov/2026:07:00:00 -0500", 1795176000123, "1795176000.5",
        1795176000123456789,
    ],
)  # fmt: skip
def test_times_as_programs_print_them(text: object) -> None:
    assert parse_time(text).replace(microsecond=0) == NOON


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (gzip.compress(b"x" * 99)[:-9], "compressed by gzip, and damaged"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4, "not a log: it is not text"),
        (b'{\n "Table": {}\n}', "without a list of events"),
        (b'{\n "events": [', "not whole JSON"),
        (b"a" * (1 << 20) + b"aa", "more than 1,048,576 characters"),
    ],
    ids=["empty", "cut off", "picture", "no events", "half", "one line"],
)
def test_a_log_that_is_none_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "app.log"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_logs([path])


def test_a_log_is_evidence_of_the_best_grade(tmp_path: Path) -> None:
    """Beside metrics of the same minutes, and without a word of the table or the time."""
    rows = [line(f"2026-11-20T12:00:{second:02}Z") for second in range(60)]
    metrics = tmp_path / "w.csv"
    metrics.write_text("time,metric,resource,value\n2026-11-20T12:00:00Z,WriteThrottleEvents,orders,300\n")
    asked = EvidenceRequest(logs=(logged(tmp_path, *rows),), metrics=(metrics,))
    found = evidence_for(asked, clock=lambda: NOON.timestamp() + 999, progress=silent)
    assert (found.table.name, sum(row.count for row in found.throttles or ())) == ("orders", 60)
    (label,) = diagnosed(found).labels
    assert (label.constraint, label.grade) == ("partition", "reason")


def test_a_log_names_the_region_of_a_table_unless_there_are_several(tmp_path: Path) -> None:
    noon = "2026-11-20T12:00:00Z"
    lines = [line(noon), line(noon, table="carts"), line(noon, table="carts", region="eu-west-2"), noon]
    log = read_logs([logged(tmp_path, *lines)], UTC)
    assert [log.region_of(table) for table in ("orders", "carts", "no-table")] == ["eu-west-1", None, None]


def test_logs_of_several_tables_need_the_one_that_is_meant(tmp_path: Path) -> None:
    asked = EvidenceRequest(logs=(LOGS / "javascript.log",))
    with pytest.raises(
        ValueError, match=r"of several tables: prod-audit \(2\), prod-orders \(1\).*; name the table"
    ):
        evidence_for(asked, clock=lambda: NOON.timestamp(), progress=silent)
    asked = EvidenceRequest(logs=(logged(tmp_path, json.dumps({"msg": "nothing"})),))
    with pytest.raises(ValueError, match="no throttle in 1 record of the logs"):
        evidence_for(asked, clock=lambda: NOON.timestamp(), progress=silent)
