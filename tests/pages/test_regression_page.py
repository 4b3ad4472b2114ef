"""The page of a regress: every outcome is drawn, fits a phone, and words from outside stay words."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from keyheat.show.regression import outcome_answer
from keyheat.show.render import html_of, save
from tests.regression.outcomes import OUTCOMES, a_case, an_outcome

AT = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("url", "link"),
    [
        ("file:///runs/s7/hotkey/1", "hotkey/1"),
        ("file:///runs/s%207/b%23", "../s%207/b%23"),
        ("https://example.com/runs/1", "https://example.com/runs/1"),
        ("s3://bucket/runs/1", None),
        ("javascript:alert(1)", None),
    ],
)
def test_links_lead_to_the_runs(url: str, link: str | None) -> None:
    case = a_case(url=url)
    answer = outcome_answer(an_outcome(cases=(case,)), Path("/runs/s7"))
    (section,) = (one for one in answer.sections if one.id == "case-hotkey")
    assert link in section.tables[-1].links


@pytest.mark.browser
def test_hostile_and_long_words_are_words_and_fit_a_phone(visit, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    changed = f"Changed: table.indexes.by_{'station' * 5}.provisioned.write 100 → 50 (sat-passes)."
    hostile = OUTCOMES["hostile"]
    answer = outcome_answer(hostile.model_copy(update={"because": (*hostile.because, changed)}), tmp_path)
    page = visit(save(tmp_path / "regression.html", html_of(answer, AT)).as_uri(), width=390)
    assert page.wrong == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert "<script>x</script>" in page.locator("#verdict").text_content()
    widths = "all => all.map(one => one.scrollWidth - one.clientWidth)"
    assert set(page.locator(".warning").evaluate_all(widths)) == {0}
