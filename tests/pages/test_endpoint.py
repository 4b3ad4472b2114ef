"""A report of a run where nothing can throttle, or where units are not DynamoDB's, says so first."""

import json
import re
from pathlib import Path

from keyheat.analysis.report import ReportRun
from tests.made_runs import load_evidence
from tests.pages.conftest import page_of

EXAMPLES = Path(__file__).parents[1] / "analysis" / "examples"


def words_of(run: ReportRun) -> str:
    return " ".join(page_of(run).split())


def test_the_page_says_it_first() -> None:
    page = words_of(load_evidence(EXAMPLES / "no-capacity-model.json"))
    heading = re.search(r"<h1[^>]*>(.*?)</h1>", page)
    assert heading is not None
    assert "This endpoint has no capacity model" in heading[1]
    assert '<span class="chip">No capacity model</span>' in page
    assert "Nothing was throttled:" not in page
    assert "Nothing needs to change." not in page


def test_utilisation_is_not_judged_by_units_that_are_not_dynamodbs(tmp_path: Path) -> None:
    content = json.loads((EXAMPLES / "reason-provisioned.json").read_text())
    file = tmp_path / "evidence.json"
    pages = []
    for endpoint in ("aws", "other"):
        file.write_text(json.dumps(content | {"endpoint": endpoint}))
        pages.append(words_of(load_evidence(file)))
    right, doubted = pages
    assert "Do not rely on" not in right
    assert "100 of 100 provisioned WCU/s" in right
    assert "Do not rely on units, shares and costs" in doubted
    assert "100 of 100 provisioned WCU/s" not in doubted
    assert "its units are not judged: they may not be DynamoDB&#39;s" in doubted
