"""Made-up runs, written once for the whole test session of a worker, and a browser to look at their pages."""

import os
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from reports.samples.cases import CASES
from reports.samples.make import make_run

CHROMIUM = os.environ.get("KEYHEAT_CHROMIUM") or shutil.which("chromium")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--disable-quic",
]  # fmt: skip
GENERATED_AT = datetime(2026, 11, 20, 13, 0, tzinfo=UTC)


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every made-up run by name; read them, do not write."""
    folder = tmp_path_factory.mktemp("samples")
    return {case.name: make_run(case, folder / case.name) for case in CASES}


@pytest.fixture
def a_run(tmp_path: Path) -> Callable[..., Path]:
    """A made-up run to spoil: `a_run("hotkey", without=["keys.json"])`."""

    def make(name: str = "hotkey", *, without: tuple[str, ...] = ()) -> Path:
        case = next(case for case in CASES if case.name == name)
        run_dir = make_run(case, tmp_path / name, seconds=60)
        for file in without:
            (run_dir / file).unlink()
        return run_dir

    return make


@pytest.fixture
def generated_at() -> datetime:
    return GENERATED_AT


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A headless Chromium; a test that asks for one is skipped where there is none."""
    if not CHROMIUM:
        pytest.skip("no Chromium: neither KEYHEAT_CHROMIUM nor chromium on the path")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
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
        page = context.new_page()
        page.wrong, page.fetched = [], []
        page.on("console", lambda message: page.wrong.append(message.text))
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        page.on("request", lambda request: page.fetched.append(request.url))
        page.goto(address, wait_until="load")
        return page

    yield open_page
    for context in contexts:
        context.close()
