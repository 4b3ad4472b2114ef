"""The page of 24 hours at one-second steps, in headless Chromium: its size, and how smoothly it goes.

python -m benchmarks.page
"""

import os
import shutil
import sys
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks._table import Row, show
from keyheat import runfiles
from keyheat.runs import parquet
from keyheat.show.report import write_report
from tools.samples.cases import HOT_KEY
from tools.samples.make import make_run

DAY_S = 86_400
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
    case = replace(HOT_KEY, demand_per_s=400, ceiling_per_s=340, hot_share=0.9, burst_again_s=3_600)
    run_dir = make_run(case, folder / "run", seconds=DAY_S)
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


def main() -> int:
    """Measure and print; 0 where every bound is kept."""
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("KEYHEAT_CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        run_dir = day(Path(folder))
        began = perf_counter()
        path = write_report(run_dir, datetime.now(UTC))
        took_s = perf_counter() - began
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1100, "height": 900})
        page.goto(path.as_uri(), wait_until="commit")
        rows = [
            Row(what="report.html", measured=path.stat().st_size / 1e6, unit="MB", at_most=1.6),
            Row(what="to write it", measured=took_s, unit="s"),
            *seen(page),
        ]
        browser.close()
    return 0 if show("The page of a day at one-second steps", rows) else 1


if __name__ == "__main__":
    sys.exit(main())
