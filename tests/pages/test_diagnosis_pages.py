"""The page of a diagnosed table and that of a survey in a browser: readable for everybody, narrow, dark."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from keyheat.analysis.table_diagnosis import diagnosed_alone
from keyheat.evidence.survey import Survey, SurveyedTable
from keyheat.plan.prices import Billing, load_prices
from keyheat.runs.plausibility import read_evidence
from keyheat.show.diagnosis import page_of
from keyheat.show.html import html_of
from keyheat.show.survey import SurveyedRegion, survey_answer
from tests.browsing import Visit, all_drawn
from tests.pages.axe import violations

pytestmark = pytest.mark.browser
EXAMPLE = Path(__file__).parents[1] / "analysis" / "examples" / "metric-provisioned.json"
AT = datetime(2026, 11, 20, 13, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("diagnosis")
    found = diagnosed_alone(read_evidence(EXAMPLE), "eu-west-1", Billing(load_prices()))
    window = found.evidence.window
    tables = (SurveyedTable(found.table.name, throttles={window.start: 800.0}), SurveyedTable("sessions"))
    survey = Survey(window=window, tables=tables, period_s=300)
    region = SurveyedRegion(region="eu-west-1", survey=survey, diagnosed=((found, "table.html"),))
    answer = survey_answer([region], window, up_to_now=False)
    texts = {"table": page_of(found, AT), "survey": html_of(answer, AT)}
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in texts}


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
@pytest.mark.parametrize("name", ["table", "survey"])
def test_everybody_can_read_it(
    visit: Visit, pages: dict[str, str], name: str, width: int, dark: bool
) -> None:
    page = visit(pages[name], width=width, dark=dark)
    all_drawn(page)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    commands = page.evaluate(
        "[...document.querySelectorAll('pre')].map(it => it.scrollWidth - it.clientWidth)"
    )
    assert max(commands) <= 0, "a command is read whole, without scrolling"
