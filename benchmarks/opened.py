"""The report of one run as a slow phone opens it: how much it is, and when it rests.

python -m benchmarks.opened
"""

import os
import shutil
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks._table import Row, show
from keyheat.show.report import write_report
from tools.samples.cases import HOT_KEY
from tools.samples.make import make_run

SLOWDOWN: Final = 6
TIMES: Final = 5
SIZES: Final = {
    "phone": {"width": 390, "height": 844},
    "desk": {"width": 1280, "height": 844},
    "tall desk": {"width": 1280, "height": 1080},
}
CHROMIUM: Final = os.environ.get("KEYHEAT_CHROMIUM") or shutil.which("chromium")
WATCHED: Final = """
window.held = [];
const keep = list => window.held.push(...list.getEntries().map(one => [one.startTime, one.duration]));
new PerformanceObserver(keep).observe({type: "longtask", buffered: true});"""
RESTED: Final = """async quiet_ms => {
    const end = () => Math.max(0, ...window.held.map(([start, took]) => start + took));
    while (performance.now() - end() < quiet_ms) await new Promise(done => setTimeout(done, 50));
    return [end(), Math.max(0, ...window.held.map(([, took]) => took))];
}"""
QUIET_MS: Final = 3_000
"""Without a task of 50 ms and more: then the page is taken to rest."""


def main() -> int:
    """Measure and print; 0 where every bound is kept."""
    with tempfile.TemporaryDirectory() as folder:
        page = write_report(make_run(HOT_KEY, Path(folder) / "run"), datetime.now(UTC))
        rows = [
            Row(what="report.html", measured=page.stat().st_size / 1e6, unit="MB", at_most=1.6),
            *(_opened(page) if CHROMIUM else ()),
        ]
    return 0 if show(f"A report opened by a browser {SLOWDOWN} times slower", rows) else 1


def _opened(page: Path) -> list[Row]:
    """Medians of several openings, each in a browser that has seen nothing."""
    from playwright.sync_api import sync_playwright

    rows = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--no-first-run"]
        )
        for name, size in SIZES.items():
            rested, longest = zip(*(_once(browser, page, size) for _ in range(TIMES)), strict=True)
            said = f"{name}, median of {TIMES}"
            rows += [
                Row(what=f"interactive: no long task after ({said})", measured=median(rested), unit="s",
                    at_most=3),
                Row(what=f"longest task until then ({said})", measured=median(longest), unit="s"),
            ]  # fmt: skip
        browser.close()
    return rows


def _once(browser: Any, page: Path, size: dict[str, int]) -> tuple[float, float]:
    """Seconds until the last long task has ended, and of the longest."""
    context = browser.new_context(viewport=size)
    tab = context.new_page()
    session = context.new_cdp_session(tab)
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWDOWN})
    tab.add_init_script(WATCHED)
    tab.goto(page.as_uri(), wait_until="commit")
    rested_ms, longest_ms = tab.evaluate(RESTED, QUIET_MS)
    context.close()
    return rested_ms / 1e3, longest_ms / 1e3


if __name__ == "__main__":
    sys.exit(main())
