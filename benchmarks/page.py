"""Reports in headless Chromium: how much they are, when they rest, how smoothly they go.

python -m benchmarks.page       the report of one run as a slow phone opens it
python -m benchmarks.page day   that of 24 hours at one-second steps
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final

import numpy as np
import pyarrow as pa

from benchmarks._table import Row, show
from keyheat import runfiles
from keyheat.runs import parquet
from keyheat.show.report import write_report
from tools.samples import make_run

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

DAY_S: Final = 86_400
FRAMES = """async () => {
  const gaps = []; let last = performance.now(), going = true;
  const tasks = []; const watch = new PerformanceObserver(list => tasks.push(...list.getEntries().map(e => e.duration)));
  watch.observe({type: "longtask"});
  const frame = now => { gaps.push(now - last); last = now; if (going) requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
  WORK
  going = false;
  await new Promise(done => setTimeout(done, 100));
  gaps.sort((a, b) => a - b);
  return {p95: gaps[Math.floor(gaps.length * 0.95)], longest: Math.max(0, ...tasks), tasks: tasks.length};
}"""  # noqa: E501 - a script
NEXT = """() => {
  const next = [...document.querySelectorAll(".chart")].find(one => window.keyheat.charts.isStale(one.id));
  next?.scrollIntoView();
  return !next;
}"""
SCROLL = """
  const end = document.documentElement.scrollHeight;
  document.documentElement.style.scrollBehavior = "auto";
  for (let at = 0; at < end; at += 60) { scrollTo(0, at); await new Promise(requestAnimationFrame); }"""


def day(folder: Path) -> Path:
    """A day with throttles on the table and on two indexes, each with numbers of its own."""
    busy = ("load.requests_per_s=400", "load.item_bytes=1_000", "table.provisioned.write=340")
    run_dir = make_run("hotkey", folder / "run", seconds=DAY_S, settings=busy)
    path = run_dir / runfiles.FILES[runfiles.SECONDS]
    seconds = parquet.read_table(path, runfiles.SECONDS)
    rng = np.random.default_rng(1)
    more = [seconds]
    for index in ("by-country", "by-day"):
        units = rng.poisson(300, len(seconds)).astype(np.float64)
        columns = {"index": pa.array([index] * len(seconds)), "consumed_units": pa.array(units),
                   "throttled": pa.array(rng.poisson(3, len(seconds)))}  # fmt: skip
        own = seconds
        for name, column in columns.items():
            own = own.set_column(own.schema.get_field_index(name), name, column)
        more.append(own)
    parquet.write_table(path, runfiles.SECONDS, pa.concat_tables(more))
    return run_dir


def seen(page: Any) -> list[Row]:
    """Time to the first chart, then scrolling through the page."""
    first_ms = page.evaluate(
        """async () => {
            while (!document.querySelector(".chart svg.main-svg")) await new Promise(requestAnimationFrame);
            return performance.now();
        }"""
    )
    page.wait_for_function(NEXT, timeout=120_000)
    scroll = page.evaluate(FRAMES.replace("WORK", SCROLL))
    return [
        Row(what="first chart, from the start of the load", measured=first_ms / 1000, unit="s", at_most=5),
        Row(what="scrolling: 95 % of the frames within", measured=scroll["p95"], unit="ms", at_most=50),
        Row(what="scrolling: longest task", measured=scroll["longest"], unit="ms", at_most=200),
    ]  # fmt: skip


def _opened(page: Path) -> list[Row]:
    """Medians of several openings, each in a browser that has seen nothing."""
    rows = []
    with browsing() as browser:
        for name, size in SIZES.items():
            rested, longest = zip(*(_once(browser, page, size) for _ in range(TIMES)), strict=True)
            said = f"{name}, median of {TIMES}"
            rows += [
                Row(what=f"interactive: no long task after ({said})", measured=median(rested), unit="s",
                    at_most=3),
                Row(what=f"longest task until then ({said})", measured=median(longest), unit="s"),
            ]  # fmt: skip
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


@contextmanager
def browsing() -> Iterator[Any]:
    """Chromium without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--no-first-run"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield browser
        browser.close()


def of_a_day(folder: Path) -> list[Row]:
    """The page of a day, scrolled through."""
    run_dir, began = day(folder), perf_counter()
    path = write_report(run_dir, datetime.now(UTC))
    took_s = perf_counter() - began
    with browsing() as browser:
        page = browser.new_page(viewport={"width": 1100, "height": 900})
        page.goto(path.as_uri(), wait_until="commit")
        return [_size_of(path), Row(what="to write it", measured=took_s, unit="s"), *seen(page)]


def _size_of(page: Path) -> Row:
    return Row(what="report.html", measured=page.stat().st_size / 1e6, unit="MB", at_most=1.6)


def main(*words: str) -> int:
    """Measure and print; 0 where every bound is kept."""
    with tempfile.TemporaryDirectory() as folder:
        if words == ("day",):
            return 0 if show("The page of a day at one-second steps", of_a_day(Path(folder))) else 1
        page = write_report(make_run("hotkey", Path(folder) / "run"), datetime.now(UTC))
        rows = [_size_of(page), *(_opened(page) if CHROMIUM else ())]
    return 0 if show(f"A report opened by a browser {SLOWDOWN} times slower", rows) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
