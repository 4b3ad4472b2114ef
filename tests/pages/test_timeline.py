from dataclasses import replace

import numpy as np
import pytest

from keyheat.analysis.report.facts import verdict_resource
from keyheat.analysis.report.rates import by_client_minute, by_minute, by_second
from keyheat.analysis.report.run import ReportRun, load_run
from keyheat.analysis.report.seconds import read_record
from keyheat.runs.formats import Diagnosis, Evidence
from keyheat.words import Resource

TABLE = Resource(None, "write")
DIAGNOSIS = {
    "verdict": {"constraint": "partition", "resource": "table", "direction": "write", "grade": "inferred",
                "confidence": 0.8, "valid": True, "because": []},
    "labels": [{"start": "2026-11-20T12:00:00Z", "end": "2026-11-20T12:01:00Z", "resource": "table",
                "direction": "write", "constraint": "partition", "throttles": 7, "grade": "inferred",
                "confidence": 0.8, "because": []}],
    "generator": {"bound": False}, "coverage": {"minutes": 2},
}  # fmt: skip


def a_run(**evidence):
    content = {
        "table": {"name": "orders", "provisioned": {"read": 10, "write": 500}},
        "window": {"start": "2026-11-20T12:00:00Z", "end": "2026-11-20T12:03:00Z"},
        "series": [],
        **evidence,
    }
    return ReportRun(diagnosis=Diagnosis.model_validate(DIAGNOSIS), evidence=Evidence.model_validate(content))


def series(metric, points, period_s=60):
    return {"metric": metric, "statistic": "Sum", "period_s": period_s, "points": points}


def test_the_client_files_and_the_evidence_tell_the_same(samples):
    whole = load_run(samples["hotkey"])
    bare = ReportRun(diagnosis=whole.diagnosis, evidence=whole.evidence)
    of_files, of_evidence = (by_second(run, read_record(run), TABLE) for run in (whole, bare))
    assert of_files.consumed.tolist() == of_evidence.consumed.tolist()
    assert of_files.throttled.keys() == of_evidence.throttled.keys() == {"partition"}
    assert of_files.throttled["partition"].tolist() == of_evidence.throttled["partition"].tolist()


def test_minutes_keep_the_sums_of_seconds(samples):
    run = load_run(samples["hotkey"])
    record = read_record(run)
    seconds, minutes = by_second(run, record, TABLE), by_client_minute(run, record, TABLE)
    assert minutes.consumed.sum() * 60 == pytest.approx(seconds.consumed.sum())


def test_a_last_minute_that_is_not_whole_is_counted_by_its_own_length(sample):
    run = load_run(sample("hotkey"))
    record = read_record(run)
    seconds, minutes = by_second(run, record, TABLE), by_client_minute(run, record, TABLE)
    assert (minutes.end_s - minutes.start_s) % 60, "or there is nothing to see here"
    assert minutes.counted(minutes.all_throttled()).sum() == pytest.approx(seconds.all_throttled().sum())


def test_throttles_without_a_reason_take_the_label_of_their_second():
    rows = [
        {"second": f"2026-11-20T12:0{minute}:05Z", "direction": "write", "reason": None, "count": 7}
        for minute in (0, 2)
    ]
    run = a_run(throttles=rows)
    throttled = by_second(run, read_record(run), TABLE).throttled
    assert {name: rates.sum() for name, rates in throttled.items()} == {"partition": 7, "undetermined": 7}


def test_a_gap_in_cloudwatch_is_unknown_and_not_zero():
    points = [["2026-11-20T12:00:00Z", 600.0], ["2026-11-20T12:02:00Z", 1200.0]]
    consumed = by_minute(a_run(series=[series("ConsumedWriteCapacityUnits", points)]), TABLE).consumed
    assert consumed[[0, 2]].tolist() == [10, 20]
    assert np.isnan(consumed[1])


def test_events_that_no_cause_metric_names_are_undetermined():
    point = "2026-11-20T12:00:00Z"
    run = a_run(
        series=[
            series("ConsumedWriteCapacityUnits", [[point, 600.0]]),
            series("WriteThrottleEvents", [[point, 100.0]]),
            series("WriteKeyRangeThroughputThrottleEvents", [[point, 60.0]]),
        ]
    )
    throttled = by_minute(run, TABLE).throttled
    assert {name: rates.sum() * 60 for name, rates in throttled.items()} == pytest.approx(
        {"partition": 60, "undetermined": 40}
    )


def test_provisioned_capacity_is_carried_on_until_it_changes():
    points = [["2026-11-20T12:00:00Z", 100.0], ["2026-11-20T12:02:00Z", 300.0]]
    run = a_run(
        series=[
            series("ConsumedWriteCapacityUnits", [["2026-11-20T12:00:00Z", 600.0]]),
            {**series("ProvisionedWriteCapacityUnits", points, 300), "statistic": "Maximum"},
        ]
    )
    assert by_minute(run, TABLE).provisioned.tolist() == [100, 100, 300]


def test_provisioned_capacity_is_that_of_a_scaled_local_table():
    run = a_run(scale=0.1, series=[series("ConsumedWriteCapacityUnits", [["2026-11-20T12:00:00Z", 600.0]])])
    assert by_minute(run, TABLE).provisioned.tolist() == [50, 50, 50]


def test_an_on_demand_table_has_no_provisioned_capacity():
    facts = {"name": "orders", "billing_mode": "PAY_PER_REQUEST", "provisioned": {"read": 0, "write": 0}}
    run = a_run(table=facts, series=[series("ConsumedWriteCapacityUnits", [["2026-11-20T12:00:00Z", 600.0]])])
    assert by_minute(run, TABLE).provisioned is None


def test_a_resource_without_any_record_has_no_timeline():
    run = a_run()
    assert by_second(run, read_record(run), TABLE) is None
    assert by_minute(run, TABLE) is None


def test_evidence_without_throttles_is_about_the_side_that_consumed_most():
    minute = ["2026-11-20T12:00:00Z"]
    run = a_run(
        series=[
            series("ConsumedReadCapacityUnits", [[*minute, 600.0]]),
            series("ConsumedWriteCapacityUnits", [[*minute, 0.0]]),
        ]
    )
    calm = run.diagnosis.verdict.model_copy(
        update={"constraint": "none", "resource": None, "direction": None}
    )
    run = replace(run, diagnosis=run.diagnosis.model_copy(update={"verdict": calm, "labels": ()}))
    assert verdict_resource(run, read_record(run)) == Resource(None, "read")
