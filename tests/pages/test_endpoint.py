"""A report of a run where nothing can throttle, or where units are not DynamoDB's, says so first."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from keyheat.analysis.report.run import ReportRun
from keyheat.pages.run.report import render
from tests.made_runs import load_evidence

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
NOW = datetime(2026, 11, 20, 13, tzinfo=UTC)


def page_of(run: ReportRun) -> str:
    return " ".join(render(run, NOW, plotlyjs="").replace("\u00a0", " ").split())


@pytest.mark.parametrize(
    ("name", "chip", "sentence"),
    [
        ("no-capacity-model", "No capacity model", "This endpoint has no capacity model: it never throttles"),
        (
            "capacity-model-unknown",
            "Capacity model not known",
            "whether this endpoint ever throttles is not known",
        ),
    ],
)
def test_the_page_says_it_first(name: str, chip: str, sentence: str) -> None:
    page = page_of(load_evidence(EXAMPLES / f"{name}.json"))
    heading = re.search(r"<h1[^>]*>(.*?)</h1>", page)
    assert heading is not None
    assert sentence in heading[1]
    assert f'<span class="chip">{chip}</span>' in page
    assert f'role="alert"> <strong>{chip}.</strong>' in page
    assert "Nothing was throttled:" not in page
    assert "Nothing needs to change." not in page
    assert '<th scope="row">cannot prove 1</th>' in page


def test_utilisation_is_not_judged_by_units_that_are_not_dynamodbs(tmp_path: Path) -> None:
    content = json.loads((EXAMPLES / "reason-provisioned.json").read_text())
    wrong = {"answer": "no", "seen": "constant: always 1, where 1, 2 and 5 were expected"}
    throttles = {"answer": "yes", "seen": "seen"}
    file = tmp_path / "evidence.json"
    pages = []
    for findings in ({"throttles": throttles}, {"throttles": throttles, "write_units": wrong}):
        endpoint = {"source": "probed", "product": "calls itself a test", "findings": findings}
        file.write_text(json.dumps(content | {"endpoint": endpoint}))
        pages.append(page_of(load_evidence(file)))
    right, doubted = pages
    assert "are not to be relied on" not in right
    assert "100 of 100 provisioned WCU/s" in right
    assert "Units, shares and costs are not to be relied on" in doubted
    assert "PutItem: constant: always 1" in doubted
    assert "100 of 100 provisioned WCU/s" not in doubted
    assert "its units are not judged: they are not DynamoDB&#39;s" in doubted
