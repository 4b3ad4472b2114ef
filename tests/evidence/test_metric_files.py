"""Metrics that people have already: whose they are, over which periods, sums or rates, and what is refused.

The console's CSV has no reference; its layout here is the reader's own (docs/diagnose.md says so).
"""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.diagnosis import diagnosed
from keyheat.evidence.cloudwatch import silent
from keyheat.evidence.request import EvidenceRequest, evidence_for
from keyheat.runfiles import FileProblem
from keyheat.runs.formats import Evidence
from keyheat.runs.plausibility import read_evidence

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
WRITES, THROTTLES, CAPACITY = (
    "ConsumedWriteCapacityUnits", "WriteThrottleEvents", "ProvisionedWriteCapacityUnits",
)  # fmt: skip
Write = Callable[[str, Any], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(name: str, content: Any) -> Path:
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return written


def evidence(*files: Path, **more: Any) -> Evidence:
    asked = EvidenceRequest(**{"table": "orders", "metrics": files, **more})
    return evidence_for(asked, clock=lambda: NOON.timestamp() + 9_999, progress=silent)


def series(found: Evidence) -> dict[str, list[float]]:
    """Values by metric, statistic, period and owner."""
    return {
        f"{one.metric}/{one.statistic}/{one.period_s}/{one.index or one.operation or 'table'}": [
            value for _at, value in one.points
        ]
        for one in found.series
    }


def at(minute: int) -> str:
    """As the AWS CLI prints it in a place that is two hours ahead."""
    return (NOON + timedelta(minutes=minute, hours=2)).replace(tzinfo=None).isoformat() + "+02:00"


def statistics(metric: str, values: Sequence[float], statistic: str = "Sum") -> Any:
    points = [
        {"Timestamp": at(minute), statistic: value, "Unit": "Count"} for minute, value in enumerate(values)
    ]
    return {"Label": metric, "Datapoints": points[::-1]}  # in no order


REQUEST = {
    "Namespace": "AWS/DynamoDB", "MetricName": THROTTLES, "Statistics": ["Sum"], "Period": 60,
    "Dimensions": [
        {"Name": "TableName", "Value": "orders"}, {"Name": "GlobalSecondaryIndexName", "Value": "by_status"}
    ],
}  # fmt: skip
OF_TABLE, OF_INDEX = f"{THROTTLES}/Sum/60/table", f"{THROTTLES}/Sum/60/by_status"


@pytest.mark.parametrize(
    ("name", "more", "key"),
    [
        ("orders-WriteThrottleEvents-Sum-2026-11-20.json", {}, OF_TABLE),
        ("orders.WriteThrottleEvents.by_status.json", {"indexes": ("by_status",)}, OF_INDEX),
        ("by_status.json", {"indexes": ("by_status",)}, OF_INDEX),
        ("a.json", {"named": {"a.json": "WriteThrottleEvents/Sum/60/index=by_status"}}, OF_INDEX),
        ("PutItem-throttled.json", {}, f"{THROTTLES}/Sum/60/PutItem"),
    ],
)
def test_statistics_are_of_whom_their_file_name_says(write: Write, name: str, more: Any, key: str) -> None:
    found = evidence(write(name, statistics(THROTTLES, [5, 0, 7])), **more)
    assert series(found) == {key: [5, 0, 7]}
    assert (found.window.start, found.window.end) == (NOON, NOON + timedelta(minutes=3))


def test_the_request_beside_an_answer_says_of_whom_it_is(write: Write) -> None:
    write("a-request.json", REQUEST)
    assert series(evidence(write("a.json", statistics(THROTTLES, [5, 0, 7])))) == {OF_INDEX: [5, 0, 7]}


def own_queries(write: Write) -> tuple[Path, Path]:
    def query(name: str, metric: str, stat: str, table: str = "orders") -> Any:
        dimensions = [{"Name": "TableName", "Value": table}]
        named = {"Namespace": "AWS/DynamoDB", "MetricName": metric, "Dimensions": dimensions}
        return {"Id": name, "MetricStat": {"Metric": named, "Period": 60, "Stat": stat}}

    queries = [
        query("w", WRITES, "Sum"), query("t", THROTTLES, "Sum"), query("mean", WRITES, "Average"),
        query("c", WRITES, "Sum", "carts"), {"Id": "e", "Expression": "w/60"},
    ]  # fmt: skip
    results = [
        {"Id": one["Id"], "Label": f"orders {one['Id']}", "StatusCode": "Complete",
         "Timestamps": [at(0), at(1)], "Values": [60.0, 120.5]}
        for one in queries
    ]  # fmt: skip
    request = {"MetricDataQueries": queries, "StartTime": at(0), "EndTime": at(2)}
    return write("mine-request.json", request), write("mine.json", {"MetricDataResults": results})


def test_an_answer_to_own_queries_is_read_with_its_request(write: Write) -> None:
    found = evidence(*own_queries(write))
    values = [60.0, 120.5]
    assert series(found) == {f"{WRITES}/Sum/60/table": values, OF_TABLE: values}
    said = " ".join(found.missing)
    assert "w/60 is an expression" in said
    assert f"{WRITES} is read as Sum, not as Average: CloudWatch averages over requests" in said
    assert "of other tables, by their number of series: carts (1)" in said


def test_an_answer_in_one_file_with_its_request_is_read_and_a_request_alone_is_refused(write: Write) -> None:
    request, answer = own_queries(write)
    both = json.loads(request.read_text()) | json.loads(answer.read_text())
    assert series(evidence(write("both.json", both))) == series(evidence(request, answer))
    with pytest.raises(ValueError, match="a request for metrics without its answer; add the answer's file"):
        evidence(request)


PLAIN = f"""time,metric,resource,value
2026-11-20T12:00:00Z,{WRITES},orders,61000
2026-11-20T13:01:00+01:00,{WRITES},table,60400
2026-11-20T12:02:00Z,{WRITES},orders,60900
2026-11-20T12:00:00Z,{CAPACITY},orders,4000
2026-11-20T12:01:00Z,{THROTTLES},arn:aws:dynamodb:eu-west-1:111122223333:table/orders/index/by_status,812
2026-11-20T12:01:00Z,ThrottledRequests,operation=PutItem,800
2026-11-20T12:01:00Z,{THROTTLES},carts,9
"""
CONSOLE = f"""Id,m1,m2
Label,orders {WRITES},orders {THROTTLES}
Period,60,60
Statistic,Sum,Sum
2026/11/20 12:00:00,61000,
2026/11/20 12:01:00,60400,812
2026/11/20 12:02:00,60900,790
"""
RATES = f"""Time;{WRITES} per second;{CAPACITY};{THROTTLES} per second
2026-11-20T12:00:00Z;1016.7;4000;0
2026-11-20T12:01:00Z;1006.7;4000;13.5
"""


def test_plain_csv_of_any_system(write: Write) -> None:
    found = evidence(write("export.csv", PLAIN))
    assert series(found) == {
        f"{WRITES}/Sum/60/table": [61_000, 60_400, 60_900], f"{CAPACITY}/Average/300/table": [4_000],
        OF_INDEX: [812], "ThrottledRequests/Sum/60/PutItem": [800],
    }  # fmt: skip
    assert [index.name for index in found.table.indexes] == ["by_status"]
    assert any("carts (1)" in said for said in found.missing)


FIVE_MINUTES = {"start": NOON, "end": NOON + timedelta(minutes=5)}


def answered(*values: tuple[str, dict[int, float]], **more: Any) -> Any:
    """An answer to our queries: `answered((metric, {minute: value}))`; an index's metric is after a slash."""
    results = []
    for metric, by_minute in values:
        name, _, index = metric.partition("/")
        owner = f"index={index}" if index else "table"
        times = [at(minute) for minute in by_minute]
        label = f"orders:{name}/Sum/60/{owner}"
        results.append({"Label": label, "Timestamps": times, "Values": list(by_minute.values())})
    return {"MetricDataResults": results, **more}


def test_several_files_of_the_cli_are_one_answer(write: Write) -> None:
    table = {"TableName": "orders", "ProvisionedThroughput": {"WriteCapacityUnits": 50}}
    described = write("table.json", {"Table": table | {"CreationDateTime": at(-1_440)}})
    first = write("a", answered((WRITES, {0: 1, 1: 2})))
    second = write("b", answered((WRITES, {1: 2, 2: 3}), (f"{THROTTLES}/by_status", {1: 9})))
    found = evidence(first, second, described=described, **FIVE_MINUTES)
    assert series(found) == {f"{WRITES}/Sum/60/table": [1, 2, 3], OF_INDEX: [9]}
    assert found.table.provisioned is not None
    assert [index.name for index in found.table.indexes] == ["by_status"]
    assert found.missing == ()


def test_an_answer_that_is_no_evidence_yet_says_what_makes_it(write: Write) -> None:
    with pytest.raises(FileProblem, match=r"keyheat collect .* --metrics \S+a\.json"):
        read_evidence(write("a.json", answered((WRITES, {1: 2}))))


def test_an_answer_that_was_cut_off_says_so(write: Write) -> None:
    """As `--max-items` cuts it: whole series are left out, and no series says so."""
    cut = write("a", answered((WRITES, {1: 2}), NextToken="more"))
    rest, none = write("b", answered((f"{THROTTLES}/by_status", {1: 2}))), write("c", answered())
    assert any("ends with a NextToken" in line for line in evidence(cut, **FIVE_MINUTES).missing)
    assert evidence(cut, rest, **FIVE_MINUTES).missing == evidence(none, **FIVE_MINUTES).missing


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"Table": {"TableName": "other"}}', "describes 'other', not 'orders': name the same table"),
        ('{"TableNames": []}', "this is not output of `aws dynamodb describe-table`"),
        (
            '{"Table": {"TableName": "orders", "CreationDateTime": "monday"}}',
            "not a complete table description",
        ),
        ("Table:\n  TableName: orders", "the AWS CLI prints JSON with --output json"),
    ],
)
def test_a_description_that_is_none(content: str, message: str, write: Write) -> None:
    with pytest.raises(ValueError, match=message):
        evidence(
            write("a", answered((WRITES, {1: 2}))), described=write("table.json", content), **FIVE_MINUTES
        )


def test_answers_to_our_queries_that_name_no_table_are_of_the_one_that_is_meant(write: Write) -> None:
    """And times that name no zone are of the one that is said."""
    results = [
        {"Label": f"{metric}/Sum/60/table", "Timestamps": ["2026-11-20T12:00:00"], "Values": [60]}
        for metric in (WRITES, THROTTLES)
    ]
    answer = write("answer.json", {"MetricDataResults": results})
    with pytest.raises(ValueError, match=r"(?s)answer\.json: .* has 1 error\n.* has no zone; give one"):
        evidence(answer)
    found = evidence(answer, zone=UTC)
    assert [series.points for series in found.series] == [((NOON, 60.0),)] * 2
    assert "metrics whose labels name no table are read as of orders" in found.missing


def test_an_answer_to_own_queries_without_their_request_asks_for_it(write: Write) -> None:
    """An SDK labels by metric alone, and a window does not help."""
    answer = write("answer.json", {"MetricDataResults": [
        {"Id": "m0", "Label": WRITES, "Timestamps": [at(0)], "Values": [60]},
    ]})  # fmt: skip
    for window in ({}, {"start": NOON, "end": NOON + timedelta(hours=1)}):
        with pytest.raises(ValueError, match=r"keep the request beside .* as answer-request\.json, or"):
            evidence(answer, **window)


def test_every_mistake_of_a_csv_is_told_at_once(write: Write) -> None:
    rows = "2026-11-20 12:00,ConsumedReadCapacityUnit,1\n2026-11-20 12:01,ReadThrottleEvents,-3\n"
    path = write("naive.csv", f"time,metric,value\n{rows}2026-13-20 12:02,ReadThrottleEvents,3\n")
    with pytest.raises(ValueError, match="4 errors") as raised:
        evidence(path)
    _number, typo, zone, negative, month = str(raised.value).split("\n  ")
    assert typo.endswith(
        "did you mean ConsumedReadCapacityUnits? Otherwise name the series, such as "
        "--metric naive.csv=ConsumedReadCapacityUnits/Sum/60/table"
    )
    assert zone.endswith("time 2026-11-20 12:01 has no zone; give one, such as --zone UTC")
    assert negative.endswith("'-3' is negative or not finite")
    assert month.endswith("'2026-13-20 12:02' is not a time such as 2026-11-20T12:00:00Z")


def test_csv_with_a_column_for_each_series_leads_to_a_label(write: Write) -> None:
    found = evidence(
        write("console.csv", CONSOLE),
        write("capacity.json", statistics(CAPACITY, [4_000], "Average")),
        zone=UTC,
    )
    assert series(found)[f"{WRITES}/Sum/60/table"] == [61_000, 60_400, 60_900]
    assert series(found)[OF_TABLE] == [812, 790]
    (label,) = diagnosed(found).labels
    assert (label.constraint, label.throttles) == ("partition", 1_602)


def test_rates_a_second_become_sums(write: Write) -> None:
    found = series(evidence(write("rates.csv", RATES)))
    assert found[f"{WRITES}/Sum/60/table"] == pytest.approx([61_002, 60_402])
    assert found[f"{CAPACITY}/Average/60/table"] == [4_000, 4_000]
    assert found[OF_TABLE] == [0, 810]


def csv(*rows: tuple[str, float, str], metric: str = WRITES) -> str:
    lines = [f"{time},{metric},orders,{value},{unit}" for time, value, unit in rows]
    return "\n".join(["time,metric,resource,value,unit", f"{at(0)},{CAPACITY},orders,1000,", *lines])


OF_CARTS = {"Label": f"carts:{WRITES}/Sum/60/table", "Timestamps": [at(0)], "Values": [60]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"MetricDataResults": []}, "have no points: give the time they are of with --start A --end B"),
        ({"MetricDataResults": [OF_CARTS]}, r"the metrics are of carts \(1\), not of orders"),
        ('{"Metric', "is not whole JSON"),
        ([1, 2], "has no list of MetricDataResults"),
        ({"Table": {"TableName": "orders"}},
         "describes a table, and has no metrics; use --describe-json"),
        (csv((at(0), 13.5, "Count"), metric=THROTTLES), "no sums per period: 13.5 is not a sum of whole"),
        (csv((at(0), 1, ""), metric="CPUUtilization"), "no metric of DynamoDB in 'CPUUtilization'"),
        ("a,b\n1,2\n", "no cell is a time"),
        ("", "is empty"),
        (f"time,metric,resource,value\n{at(0)},{WRITES},orders,many", "'many' is not a number"),
        (f"time,metric,resource,value,stat\n{at(0)},{WRITES},orders,1,Average", "as Sum, not as Average"),
    ],
)  # fmt: skip
def test_a_file_that_can_only_be_wrong_is_refused(write: Write, content: Any, message: str) -> None:
    is_csv = isinstance(content, str) and not content.startswith("{")
    with pytest.raises(ValueError, match=message):
        evidence(write("export.csv" if is_csv else "answer.json", content))


def test_a_window_beside_the_points_is_refused_with_theirs(write: Write) -> None:
    path, hour = write("export.csv", csv((at(0), 15.25, ""), (at(1), 10, ""))), timedelta(hours=1)
    with pytest.raises(ValueError, match="they are of 2026-11-20T12:00Z to 2026-11-20T12:02Z"):
        evidence(path, start=NOON - hour, end=NOON)


def test_values_that_are_no_sums_are_rates_and_that_is_said(write: Write) -> None:
    found = evidence(write("export.csv", csv((at(0), 15.25, ""), (at(1), 10, ""))))
    assert series(found)[f"{WRITES}/Sum/60/table"] == [915, 600]
    assert f"metrics: {WRITES} is read as rates per second: 15.25 is not a sum of half units" in found.missing
