"""The page of a regress: the worst first, intervals where they belong, links that lead to the runs."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from keyheat.pages.regression import EDGE, WIDTH, interval_of, link_to, render, strip_of, write_regression
from keyheat.regression.outcome import Gate
from tests.conftest import Golden
from tests.pages.conftest import text_of
from tests.regression.outcomes import OUTCOMES, a_finding

AT = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)
MIDDLE = WIDTH / 2
QUARTER = (MIDDLE - EDGE) / 4  # of one side: a least effect


@pytest.mark.parametrize("name", OUTCOMES)
def test_every_outcome_has_a_page_that_fetches_nothing(name: str, golden: Golden) -> None:
    page = render(OUTCOMES[name], Path("/runs"), AT)
    assert "<script" not in page
    assert "src=" not in page
    golden(Path(__file__).parent / "golden" / f"regression-{name.replace(' ', '-')}.txt", text_of(page))


def test_what_is_worse_is_on_the_left_whichever_way_the_measure_goes() -> None:
    fewer = interval_of(a_finding(change=-0.1, low=-0.15, high=-0.05))  # twice the least effect
    slower = interval_of(a_finding(gate=Gate(measure="p99_ms", least_effect=0.05), change=0.1, low=0.05,
                                   high=0.15))  # fmt: skip
    assert fewer is not None
    assert slower is not None
    for one in (fewer, slower):
        assert (one.low, one.at, one.high) == (
            pytest.approx(MIDDLE - 3 * QUARTER), pytest.approx(MIDDLE - 2 * QUARTER),
            pytest.approx(MIDDLE - QUARTER),
        )  # fmt: skip
        assert one.zone == (MIDDLE - QUARTER, MIDDLE + QUARTER)
        assert one.beyond is None


@pytest.mark.parametrize(("change", "side"), [(-0.5, "left"), (0.5, "right"), (float("inf"), "right")])
def test_what_lies_far_out_is_an_arrow_at_the_end(change: float, side: str) -> None:
    one = interval_of(a_finding(change=change, low=None, high=None))
    assert one is not None
    assert one.beyond == side
    assert one.at == (EDGE if side == "left" else WIDTH - EDGE)


def test_a_gate_without_a_change_has_no_drawing() -> None:
    assert interval_of(a_finding(change=None)) is None
    exact = interval_of(a_finding(gate=Gate(measure="shards_needed"), change=0.0, low=None, high=None))
    assert exact is not None
    assert (exact.zone, exact.at) == (None, MIDDLE)


def test_every_run_is_a_point() -> None:
    strip = strip_of([1.0, 2.0], [3.0], "p99_ms")
    assert strip is not None
    assert len(strip.before) == 2
    assert strip.before[0] < strip.before[1] < strip.after[0]
    assert strip.said == "before 1 ms, 2 ms; now 3 ms"
    assert strip_of([], [], "p99_ms") is None
    alike = strip_of([5.0], [5.0], "p99_ms")
    assert alike is not None
    assert alike.before == alike.after


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
    assert link_to(url, Path("/runs/s7")) == link


@pytest.mark.browser
def test_hostile_words_are_words(visit, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    page = visit(write_regression(tmp_path / "regression.html", OUTCOMES["hostile"], AT).as_uri(), width=360)
    assert page.wrong == []
    assert page.locator("script").count() == 0
    assert "<script>x</script>" in page.locator("#verdict").text_content()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
