"""A headless Chromium that looks at pages: one for the whole test session of a worker.

Playwright runs once in a process, so whoever wants a browser asks for these fixtures.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

CHROMIUM = os.environ.get("KEYHEAT_CHROMIUM") or shutil.which("chromium")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--disable-quic",
]  # fmt: skip
PATIENCE_MS = 120_000  # of a machine that has other things to do


NEXT = """() => {
    const next = [...document.querySelectorAll(".chart")].find(one => window.keyheat.charts.isStale(one.id));
    next?.scrollIntoView();
    return !next;
}"""


def all_drawn(page: Any) -> None:
    """Go to every chart of a page that is not drawn as it should be, until all are; and back to its top."""
    page.wait_for_function(NEXT, polling=50)
    page.evaluate("scrollTo(0, 0)")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A headless Chromium; a test that asks for one is skipped where there is none."""
    if not CHROMIUM:
        pytest.skip("no Chromium: neither KEYHEAT_CHROMIUM nor chromium on the path")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, timeout=PATIENCE_MS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open a page; it has `.wrong` (console and page errors) and `.fetched` (every address asked for)."""
    contexts = []

    def open_page(address: str, *, width: int = 1100, dark: bool = False) -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
        )
        contexts.append(context)
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        page.wrong, page.fetched = [], []
        page.on("console", lambda message: page.wrong.append(message.text))
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        page.on("request", lambda request: _outward(request.url) and page.fetched.append(request.url))
        page.goto(address, wait_until="load")
        return page

    yield open_page
    for context in contexts:
        context.close()


def _outward(address: str) -> bool:
    """Whether it is asked for outside of the page; what a page made itself (a blob) is not."""
    return not address.startswith("blob:")
