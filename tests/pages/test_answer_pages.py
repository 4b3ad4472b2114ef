"""Pages of a fix and of whatif in a browser: drawn, nothing fetched, narrow, dark."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from keyheat.analysis.advice.fix import Tried
from keyheat.show.fix import Fix, fix_answer
from keyheat.show.render import html_of, save
from keyheat.terms import THROTTLED_BY, titled
from tests.pages.made_answers import made_answers, made_fix

pytestmark = pytest.mark.browser
LABELS = """() => [...document.querySelectorAll("#tables .counts td")]
    .map(cell => getComputedStyle(cell, "::before").content)"""
HIDDEN = """() => [...document.querySelectorAll(".counts .scroll")]
    .filter(one => one.scrollWidth > one.clientWidth).map(one => one.getAttribute("aria-label"))"""
"""The tables that reach beyond the edge of their place."""
AT = datetime(2026, 11, 20, 13, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def fix(samples: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Fix:
    folder = tmp_path_factory.mktemp("pages")
    for side, name in (("before-1", "hotkey"), ("after-1", "sharded")):
        (folder / side).symlink_to(samples[name])
    return made_fix(folder / "before-1", folder / "after-1")


def test_a_phone_has_every_column_of_a_wide_table_under_its_name(visit, tmp_path):
    page = visit(save(tmp_path / "page.html", html_of(made_answers()["retries"], AT)).as_uri(), width=390)
    table = page.locator("#tables table").first
    names = table.locator("th").all_text_contents()
    assert page.evaluate(LABELS)[: len(names)] == [f'"{name}"' for name in names]
    assert page.evaluate(HIDDEN) == []
    page.set_viewport_size({"width": 1100, "height": 900})
    assert set(page.evaluate(LABELS)) == {"none"}


@pytest.mark.slow
def test_a_limit_that_hardly_throttles_is_not_called_nothing(fix: Fix) -> None:
    def throttled_by(after: Tried) -> str:
        (table, *_others) = fix_answer(replace(fix, after=(after,))).tables
        return next(str(row["after"]) for row in table.rows if row["measure"] == titled(THROTTLED_BY))

    (before,), (after,) = fix.sides
    label = max(before.diagnosis.labels, key=lambda label: label.throttles)
    few = after.diagnosis.model_copy(update={"labels": (label.model_copy(update={"throttles": 1}),)})
    assert throttled_by(before) == "a partition limit (table writes)"
    assert throttled_by(replace(after, diagnosis=few)) == "hardly anything: a partition limit (table writes)"
    assert throttled_by(after) == "nothing"


@pytest.mark.slow
def test_a_limit_of_an_incident_that_the_replay_does_not_show_is_told(fix: Fix) -> None:
    (replayed,) = (label for label in fix.sides[0][0].diagnosis.labels if label.constraint == "partition")
    other = replayed.model_copy(update={"constraint": "table", "throttles": 18_598})
    told = "Not replayed: 18,598 throttles by the provisioned capacity (table writes)."
    assert told in fix_answer(replace(fix, incident=(replayed, other))).sentence
