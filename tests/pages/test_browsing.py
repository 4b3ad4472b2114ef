"""How tests open pages: drawn by one process, and none finds what another left."""

import pytest

pytestmark = pytest.mark.browser
PAGE = """<!doctype html><title>A page</title>
<script>
    const seen = [innerWidth, matchMedia("(prefers-color-scheme: dark)").matches,
        localStorage.length, sessionStorage.length, window.name];
    localStorage.note = sessionStorage.note = window.name = "was here";
    if (location.hash === "#wrong") console.error("wrong");
</script>"""
NEW = [0, 0, ""]


@pytest.fixture
def address(tmp_path):
    path = tmp_path / "page.html"
    path.write_text(PAGE, encoding="utf-8")
    return path.as_uri()


def processes(browser):
    said = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")
    return {one["id"] for one in said["processInfo"] if one["type"] == "renderer"}


def test_pages_of_files_are_drawn_by_one_process(browser, visit, address):
    visit(address)
    before = processes(browser)
    for _ in range(4):
        visit(address)
    assert len(processes(browser) - before) <= 1  # Chromium keeps one that nobody uses yet


def test_a_page_has_its_own_window_and_finds_nothing_stored(visit, address):
    narrow = visit(f"{address}#wrong", width=360, dark=True)
    narrow.emulate_media(media="print", reduced_motion="reduce")
    usual = visit(address)
    assert narrow.evaluate("seen") == [360, True, *NEW]
    assert usual.evaluate("seen") == [1100, False, *NEW]
    assert not usual.evaluate("matchMedia('print').matches || matchMedia('(prefers-reduced-motion)').matches")
    assert (narrow.wrong, usual.wrong) == (["wrong"], [])
    assert usual.fetched == [address]
