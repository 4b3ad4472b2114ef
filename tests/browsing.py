"""A headless Chromium that looks at pages: one for the whole test session of a worker.

Playwright runs once in a process, so whoever wants a browser asks for these fixtures.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

CHROMIUM = (
    os.environ.get("KEYHEAT_CHROMIUM")
    or shutil.which("chromium-headless-shell")  # draws the same, and has no window to care for
    or shutil.which("chromium")
)
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--disable-quic",
]  # fmt: skip
PATIENCE_MS = 120_000  # of a machine that has other things to do
VIEWPORT = {"width": 1100, "height": 900}


NEXT = """() => {
    const next = [...document.querySelectorAll(".chart")].find(one => window.keyheat.charts.isStale(one.id));
    next?.scrollIntoView();
    return !next;
}"""


def all_drawn(page: Any) -> None:
    """Go to every chart of a page that is not drawn as it should be, until all are; and back to its top."""
    page.wait_for_function(NEXT, polling=50)
    page.evaluate("scrollTo(0, 0)")


def drawn(page: Any) -> dict[str, tuple[int, float, float]]:
    """Chart id -> (traces drawn, width of its drawing, width of its place), once all are drawn."""
    all_drawn(page)
    found: dict[str, tuple[int, float, float]] = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll('.chart')].map(place => [place.id, [
            place.querySelectorAll('.trace, .hm').length,
            place.querySelector('svg.main-svg')?.getBoundingClientRect().width ?? 0,
            place.getBoundingClientRect().width]]))"""
    )
    return found


CONTRASTS = """() => {
  const parts = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = element => {
    for (let e = element; e; e = e.parentElement) {
      const colour = parts(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll('body *')]
    .filter(e => e.getClientRects().length)
    .filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()))
    .map(e => {
      const style = getComputedStyle(e);
      const ink = parts(e instanceof SVGElement ? style.fill : style.color);
      const [low, high] = [light(ink), light(ground(e))].sort((a, b) => a - b);
      return [(high + 0.05) / (low + 0.05), e.textContent.trim().slice(0, 40)];
    })
    .filter(([ratio]) => ratio < 4.5);
}"""
"""Every text whose contrast with its ground is below 4.5, SVG's included."""

Visit = Callable[..., Any]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A headless Chromium; a test that asks for one is skipped where there is none."""
    if not CHROMIUM:
        pytest.skip("no Chromium: neither KEYHEAT_CHROMIUM nor any on the path")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, timeout=PATIENCE_MS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def opener(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A page that opens those of files: what a page opens is drawn by its own process.

    A context for each page means a process for each, which compiles anew what all share: half the CPU more.
    """
    empty = tmp_path_factory.mktemp("opener") / "empty.html"
    empty.write_text("<!doctype html><title>Opens others</title>", encoding="utf-8")
    with browser.new_context(viewport=VIEWPORT) as context:
        page = context.new_page()
        page.goto(empty.as_uri())
        yield page


@pytest.fixture(scope="session")
def new_page(browser: Any, opener: Any) -> Visit:
    """Open a page, which whoever asked for it closes; see `visit`."""

    def open_page(address: str, *, width: int = VIEWPORT["width"], dark: bool = False) -> Any:
        page = _of_file(opener) if address.startswith("file:") else browser.new_page(viewport=VIEWPORT)
        page.set_default_timeout(PATIENCE_MS)
        page.set_viewport_size({**VIEWPORT, "width": width})
        page.emulate_media(color_scheme="dark" if dark else "light")
        page.wrong, page.fetched = [], []
        page.on("console", lambda message: page.wrong.append(message.text))
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        page.on("request", lambda request: _outward(request.url) and page.fetched.append(request.url))
        page.goto(address, wait_until="load")
        return page

    return open_page


@pytest.fixture
def visit(new_page: Visit) -> Iterator[Visit]:
    """Open a page; it has `.wrong` (console and page errors) and `.fetched` (every address asked for).

    It is new, and its window's size, colours and storage are nobody else's.
    """
    pages = []

    def open_page(address: str, **how: Any) -> Any:
        pages.append(new_page(address, **how))
        return pages[-1]

    yield open_page
    for page in pages:
        page.close()


def _of_file(opener: Any) -> Any:
    """An empty page in the opener's process: files share one storage, and what was stored there is gone."""
    with opener.expect_popup() as opened:
        opener.evaluate("() => { localStorage.clear(); window.open(); }")
    return opened.value


def _outward(address: str) -> bool:
    """Whether it is asked for outside of the page; what a page made itself (a blob) is not."""
    return not address.startswith("blob:")
