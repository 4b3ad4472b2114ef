"""The library that draws: which one is shipped, what it weighs in a page, and when it is unpacked."""

import gzip
import json
from hashlib import sha256
from pathlib import Path

import plotly.offline
import pytest

from keyheat.shipped import shipped
from keyheat.show.report import write_report
from tests.browsing import all_drawn
from tests.pages.conftest import GENERATED_AT

PLOTLY = shipped("reports") / "plotly"
SOURCE = json.loads((PLOTLY / "source.json").read_text(encoding="utf-8"))
CONFORMANCE = Path(__file__).parents[1] / "conformance"
FROM_NPM = CONFORMANCE / "node_modules" / SOURCE["package"]
MOST_BYTES = 1_600_000


@pytest.fixture(scope="module")
def unpacked():
    return gzip.decompress((PLOTLY / f"{SOURCE['file']}.gz").read_bytes())


def test_what_is_shipped_is_what_its_source_says(unpacked):
    assert sha256(unpacked).hexdigest() == SOURCE["sha256"]
    assert f"v{SOURCE['version']}\n" in unpacked[:200].decode()
    assert "MIT License" in (PLOTLY / "LICENSE").read_text(encoding="utf-8")


def test_it_is_as_new_as_the_one_of_plotly_for_python():
    """What Python makes of a figure is what this one reads."""
    assert SOURCE["version"] == plotly.offline.get_plotlyjs_version()


def test_the_package_of_npm_is_the_one_that_is_locked():
    locked = json.loads((CONFORMANCE / "package-lock.json").read_text(encoding="utf-8"))
    assert locked["packages"][f"node_modules/{SOURCE['package']}"]["version"] == SOURCE["version"]


@pytest.mark.skipif(not FROM_NPM.exists(), reason="not installed: npm ci --prefix tests/conformance")
def test_it_is_the_file_of_the_npm_package(unpacked):
    assert (FROM_NPM / SOURCE["file"]).read_bytes() == unpacked
    assert (FROM_NPM / "LICENSE").read_bytes() == (PLOTLY / "LICENSE").read_bytes()


@pytest.mark.slow
def test_a_page_is_light(samples):
    for name in ("hotkey", "datekey"):
        assert write_report(samples[name], GENERATED_AT).stat().st_size < MOST_BYTES
    assert (PLOTLY / f"{SOURCE['file']}.gz").stat().st_size * 4 / 3 < MOST_BYTES / 2


@pytest.mark.browser
def test_a_browser_that_cannot_run_it_is_told_so_in_place_of_each_picture(visit, address):
    page = visit(address, width=390)
    page.evaluate("window.keyheat.library.soon = () => Promise.resolve(false)")
    page.locator(".chart").first.scroll_into_view_if_needed()
    page.wait_for_function("() => document.querySelector('.chart').textContent.includes('2023 or later')")
    said = page.locator(".chart").all_inner_texts()
    assert set(said) == {"This picture needs a browser of 2023 or later; its numbers are in the tables."}
    assert page.wrong == []


@pytest.mark.browser
def test_a_page_that_may_not_run_scripts_by_address_draws_all_the_same(visit, samples, tmp_path):
    path = tmp_path / "strict.html"
    text = write_report(samples["hotkey"], GENERATED_AT).read_text(encoding="utf-8")
    path.write_text(text.replace("'unsafe-inline' blob:", "'unsafe-inline'"), encoding="utf-8")
    page = visit(path.as_uri())
    all_drawn(page)
    assert page.evaluate("typeof window.Plotly") == "object"
