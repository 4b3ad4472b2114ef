"""Runs that are unusual and still get a report."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from keyheat.analysis.report import ReportRun
from keyheat.analysis.verdict import with_company
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import Diagnosis
from keyheat.runs.frames import of_rows
from keyheat.runs.parquet import SECONDS_SCHEMA, THROTTLES_SCHEMA
from tests.made_runs import load_evidence
from tests.make import START, a_diagnosis, a_manifest
from tests.pages.conftest import page_of


def seconds(*rows):
    """Rows of (second of the run, index, direction, operation, accepted, throttled, units)."""
    columns = [
        [START + timedelta(seconds=row[0]) for row in rows],
        *([row[place] for row in rows] for place in (1, 2, 3)),
        [row[4] + row[5] for row in rows],
        [row[4] for row in rows],
        [row[5] for row in rows],
        [0] * len(rows),
        [float(row[6]) for row in rows],
        [0] * len(rows),
    ]
    arrays = [pa.array(c, field.type) for c, field in zip(columns, SECONDS_SCHEMA, strict=True)]
    return of_rows("seconds", pa.Table.from_arrays(arrays, schema=SECONDS_SCHEMA))


A_SECOND = seconds((0, None, "write", "PutItem", 900, 100, 900))
LASTED = seconds(*((second, None, "write", "PutItem", 900, 100, 900) for second in range(42)))
OF_READS = seconds(*((second, None, "read", "GetItem", 3_000, 500, 3_000) for second in range(10)))
NO_THROTTLES = of_rows("throttles", THROTTLES_SCHEMA.empty_table())
SCALING = {"scaled": [{"side": "write", "min": 5, "max": 500}]}
LABEL = {
    "start": START, "end": START + timedelta(minutes=1), "resource": "table", "direction": "write",
    "constraint": "partition", "throttles": 7, "grade": "inferred", "confidence": 0.8, "because": [],
}  # fmt: skip
UNUSUAL: dict[str, tuple[dict[str, Any], list[str]]] = {
    "one second": (
        {"seconds": A_SECOND},
        ["Consumed 900 WCU/s over the load, and 900 WCU/s at most.",
         "<b>10 % of attempts</b><span>100 of 1,000</span>"],
    ),
    "nothing was sent": (
        {"diagnosis": a_diagnosis("none", None, None), "seconds": seconds(), "throttles": NO_THROTTLES,
         "latency": {}},
        ["Nothing was throttled."],
    ),
    "reads": (
        {"diagnosis": a_diagnosis(direction="read"), "seconds": OF_READS},
        ["Reads were throttled by a partition limit (3,000 RCU/s on any one partition)"],
    ),
    "a local table at a scale": (
        {"manifest": a_manifest(scale=0.1)},
        ["Rehearsed at scale 0.1", "(100 WCU/s on any one partition)"],
    ),
    "interrupted": (
        {"manifest": a_manifest(status="interrupted"), "seconds": LASTED},
        ["The run was interrupted: it shows what was recorded, 42 s.", "2026-11-20 12:00:00 UTC, 42 s"],
    ),
    "killed": (
        {"manifest": a_manifest(status="running"), "seconds": LASTED},
        ["The run was not finished: it shows what was recorded, 42 s."],
    ),
    "a record alone": ({"seconds": LASTED}, ["2026-11-20 12:00:00 UTC, 42 s"]),
    "a diagnosis alone": (
        {"diagnosis": a_diagnosis(labels=[LABEL])},
        ["2026-11-20 12:00:00 UTC, 1 min", "throttled for all of 1 min"],
    ),
    "a table that was there": (
        {"manifest": a_manifest(existing=True, auto_scaling=SCALING)},
        ["table orders, loaded as it was",
         "Auto scaling may change its capacity during this run: writes of the table: 5 to 500"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", UNUSUAL)
def test_an_unusual_run_has_a_report_that_says_what_it_is(what: str) -> None:
    parts, said = UNUSUAL[what]
    text = page_of(ReportRun(**{"diagnosis": a_diagnosis(), **parts}))
    assert [words for words in said if words not in text] == []
    assert '<section id="latency">' not in text
    assert what != "reads" or "WCU" not in text[text.index("<main") : text.index("<footer")]


def test_an_index_that_pushes_back_has_charts_of_its_own_and_comes_first():
    rows = [
        (second, index, "write", None if index else "PutItem", 400, 50 if index else 0, 400)
        for second in range(30)
        for index in (None, "by_<country>")
    ]
    run = ReportRun(diagnosis=a_diagnosis(resource="by_<country>"), seconds=seconds(*rows))
    text = page_of(run)
    assert text.index("Second by second: index by_&lt;country&gt;, writes") < text.index(
        "Second by second: table, writes"
    )
    assert "index by_&lt;country&gt; as a whole consumed 400 WCU/s" in text
    assert "<country" not in text


def test_a_conflict_and_a_broken_threshold_are_visible():
    broken = {"name": "p99_ms_max", "allowed": "at most 10 ms", "measured": "31 ms", "broken": True}
    content = a_diagnosis(thresholds=[broken]).model_dump()
    content["verdict"]["because"] = ("the reasons say table, the metrics say partition: they disagree",)
    text = page_of(ReportRun(diagnosis=Diagnosis.model_validate(content)))
    assert "The reasons say table, the metrics say partition: they disagree" in text
    assert "Broken: p99_ms_max: 31 ms measured, at most 10 ms allowed by [thresholds] of the scenario" in text


def test_a_run_that_was_not_alone_says_so_first():
    of_bob = {"table": "orders", "run": "run-2", "owner": "bob"}
    other = {**of_bob, "since": None, "until": "2026-11-20T13:00:00Z"}
    alone, shared = a_manifest(), a_manifest(shared_with=[other])
    said = "This run was not alone: run run-2 of bob loaded table orders at the same time."
    assert said in page_of(ReportRun(diagnosis=a_diagnosis(), manifest=shared))
    assert "not alone" not in page_of(ReportRun(diagnosis=a_diagnosis(), manifest=alone))
    (because, *_rest) = with_company(a_diagnosis().verdict, ClientFiles(manifest=shared)).because
    assert because.startswith(said)
    assert with_company(a_diagnosis().verdict, ClientFiles(manifest=alone)) == a_diagnosis().verdict


EXAMPLES = Path(__file__).parents[1] / "analysis" / "examples"


def words_of(evidence):
    return " ".join(page_of(load_evidence(evidence)).split())


def test_an_endpoint_where_nothing_can_throttle_is_named_first():
    page = words_of(EXAMPLES / "no-capacity-model.json")
    assert "This endpoint has no capacity model" in page[page.index("<h1") : page.index("</h1>")]
    assert '<span class="chip">No capacity model</span>' in page
    assert "Nothing was throttled:" not in page
    assert "Nothing needs to change." not in page


def test_utilisation_is_not_judged_by_units_that_are_not_dynamodbs(tmp_path):
    content, file = json.loads((EXAMPLES / "reason-provisioned.json").read_text()), tmp_path / "evidence.json"
    pages = []
    for endpoint in ("aws", "other"):
        file.write_text(json.dumps(content | {"endpoint": endpoint}))
        pages.append(words_of(file))
    judged = "100 of 100 provisioned WCU/s", "Do not rely on units, shares and costs"
    assert [[words in page for words in judged] for page in pages] == [[True, False], [False, True]]
    assert "its units are not judged: they may not be DynamoDB&#39;s" in pages[1]
