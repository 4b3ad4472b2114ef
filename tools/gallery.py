"""Every kind of page, made of made-up runs, as pictures: wide and narrow, light, dark and on paper.

python -m tools.gallery                 pages and pictures in reports/samples, and index.html over all of them
python -m tools.gallery FOLDER          the same in another folder

It is for the eye: what a page must be, whoever changes it, tests/pages/test_gallery.py holds it to.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from html import escape
from itertools import groupby, product
from pathlib import Path
from typing import Any, Final, Literal

from keyheat.analysis.found import find_runs
from keyheat.analysis.table_diagnosis import DiagnosedTable, diagnosed_alone
from keyheat.cli.main import main as keyheat
from keyheat.evidence.survey import Survey, SurveyedTable
from keyheat.load.record.attempt import Attempt
from keyheat.load.record.record import Record
from keyheat.load.run.view import LiveView
from keyheat.plan.prices import Billing, load_prices
from keyheat.runfiles import REPORT
from keyheat.runs.plausibility import read_evidence
from keyheat.show.answer import Answer
from keyheat.show.compare import write_comparison
from keyheat.show.diagnosis import page_of
from keyheat.show.fix import fix_answer, fix_figure
from keyheat.show.history import runs_answer
from keyheat.show.regression import outcome_answer
from keyheat.show.render import html_of, save
from keyheat.show.report import report_answer, write_report
from keyheat.show.survey import SurveyedRegion, survey_answer
from tests.browsing import ARGUMENTS, CHROMIUM, PATIENCE_MS
from tests.made_runs import load_evidence, summary
from tests.make import a_run
from tests.pages.made_answers import made_answers, made_fix
from tests.regression.outcomes import GOOD, REGRESSED
from tests.trial.worlds import observed, trial_of
from tools.samples import SAMPLES, make_run
from tools.trial.answer import answer_of
from tools.trial.judgement import judged

SCENARIOS: Final = Path(__file__).parents[1] / "configs" / "scenarios"
STATIC: Final = Path(__file__).parents[1] / "keyheat" / "load" / "run" / "static"
EXAMPLES: Final = Path(__file__).parents[1] / "tests" / "analysis" / "examples"
OUT: Final = Path("reports") / "samples"
AT: Final = datetime(2026, 11, 20, 13, 0, tzinfo=UTC)
Scheme = Literal["light", "dark", "print"]
WIDE_PX, NARROW_PX, PAPER_PX = 1280, 390, 700
WIDTHS: Final[Mapping[int, tuple[Scheme, ...]]] = {
    WIDE_PX: ("light", "dark"),
    NARROW_PX: ("light", "dark"),
    PAPER_PX: ("print",),
}
SIMULATED: Final = ("country-index", "on-demand-switch")
"""Scenarios whose reports have what no made-up run has: an index of its own, and partitions that split."""

Runs = Mapping[str, Path]
"""The made-up runs by name."""


def _simulated(name: str, folder: Path) -> Path:
    code = keyheat(["simulate", name, "--out", str(folder / name), "--quiet"])
    assert code in (0, 1), f"keyheat simulate {name} ended with {code}"
    return folder / name / REPORT


def _compare(folder: Path, runs: Runs) -> Path:
    write_comparison(folder / "compare.html", list(runs.values()), AT)
    return folder / "compare.html"


def _fix(folder: Path, runs: Runs) -> Answer:
    fix = made_fix(runs["hotkey"], runs["sharded"])
    return replace(fix_answer(fix), figures=tuple(fix_figure(fix.sides)))


def _diagnosed() -> DiagnosedTable:
    evidence = read_evidence(EXAMPLES / "metric-provisioned.json")
    return diagnosed_alone(evidence, "eu-west-1", Billing(load_prices()))


def _survey(folder: Path, runs: Runs) -> Answer:
    diagnosed = _diagnosed()
    window = diagnosed.evidence.window
    throttled = SurveyedTable(diagnosed.table.name, throttles={window.start: 800.0})
    survey = Survey(window=window, tables=(throttled, SurveyedTable("sessions")), period_s=300)
    region = SurveyedRegion(region="eu-west-1", survey=survey, diagnosed=((diagnosed, "diagnosis.html"),))
    return survey_answer([region], window, up_to_now=False)


def _runs(folder: Path, runs: Runs) -> Answer:
    place = folder / "many"
    for hour in range(24):
        a_run(place / f"a-{hour}", summary("alpha", hours=hour, accepted=1_000.0 if hour < 18 else 700.0))
        a_run(place / f"b-{hour}", summary("beta", hours=hour, constraint="none", share=0.0))
    found, problems = find_runs([place])
    return runs_answer(found, problems, [place], folder)


def _trial(folder: Path, runs: Runs) -> Answer:
    trial = trial_of(observed(["hot-key", "burst-spent"]))
    return answer_of(trial, judged(trial.scenarios))


def _live(folder: Path, runs: Runs) -> Path:
    """The live page with everything inside, and an answer to what it asks for each second."""
    record, began, seconds = Record(), int(AT.timestamp()), 90
    for at, number in product(range(began, began + seconds), range(12)):
        key, refused = "hot" if number < 8 else f"key-{number}", at > began + 30 and number < 5
        attempt = Attempt("PutItem", "write", key, at + 0.5, 0, 100, units=180.0)
        reason = "TableWriteKeyRangeThroughputExceeded"
        record.add(attempt._replace(outcome="throttled", units=1.0, reason=reason) if refused else attempt)
    list(record.heat["write"].close_windows(float("inf")))
    run: dict[str, Any] = {
        "run_id": "hotkey", "target": "local", "scale": 1.0, "users": 10,
        "scenario": {"name": "hotkey", "question": "How much does one key take?"},
        "table": {
            "name": "orders", "billing_mode": "PROVISIONED", "provisioned": {"read": 100, "write": 4_000},
            "max_on_demand": None, "indexes": [],
        },
    }  # fmt: skip
    me = {"name": "this process", "state": "running", "users": 10, "cpu_percent": 41.0}
    view = LiveView(record, run, float(began), duration_s=600.0)
    now = view.content(None, [me], missing=[], state="loading", end=began + seconds)
    style, script = ((STATIC / name).read_text(encoding="utf-8") for name in ("live.css", "live.js"))
    answers = f"window.fetch = async () => new Response({json.dumps(json.dumps(now))});"
    text = (STATIC / "live.html").read_text(encoding="utf-8")
    text = re.sub(r"<link rel=.stylesheet.*>|<script .*</script>\n", "", text)
    text = text.replace("</head>", f"<style>{style}</style>\n</head>")
    text = text.replace("</body>", f"<script>{answers}{script}</script>\n</body>")
    path = folder / "live.html"
    path.write_text(text, encoding="utf-8")
    return path


ANSWERS: Final[Mapping[str, Callable[[Path, Runs], Answer]]] = {
    "evidence": lambda folder, runs: report_answer(load_evidence(runs["hotkey"] / "evidence.json")),
    "survey": _survey,
    "fix": _fix,
    **{
        f"whatif-{question}": lambda folder, runs, name=question: made_answers()[name]
        for question in ("shards", "capacity", "load", "retries")
    },
    "regression-good": lambda folder, runs: outcome_answer(GOOD, folder),
    "regression-worse": lambda folder, runs: outcome_answer(REGRESSED, folder),
    "runs": _runs,
    "trial": _trial,
}
"""Answers by name, and how each is made of the made-up runs."""
MADE_UP: Final[Mapping[str, Callable[[Path, Runs], Path]]] = {
    **{f"run-{name}": lambda folder, runs, name=name: write_report(runs[name], AT) for name in SAMPLES},
    **{
        name: lambda folder, runs, name=name, make=make: save(
            folder / f"{name}.html", html_of(make(folder, runs), AT)
        )
        for name, make in ANSWERS.items()
    },
    "diagnosis": lambda folder, runs: save(folder / "diagnosis.html", page_of(_diagnosed(), AT)),
    "compare": _compare,
    "live": _live,
}
"""Pages by name, and how each is made in a folder."""
PAGES: Final = {
    **MADE_UP,
    **{f"run-{name}": lambda folder, runs, name=name: _simulated(name, folder) for name in SIMULATED},
}


@dataclass(frozen=True, slots=True)
class Shot:
    page: str
    width_px: int
    scheme: Scheme

    @property
    def file(self) -> str:
        return f"{self.page}-{self.width_px}-{self.scheme}.png"


def shots_of(pages: Iterable[str]) -> list[Shot]:
    return [
        Shot(page, width, scheme) for page in pages for width, schemes in WIDTHS.items() for scheme in schemes
    ]


DRAWN = """() => {
    const charts = window.keyheat?.charts;
    const next = charts && [...document.querySelectorAll(".chart")].find(one => charts.isStale(one.id));
    next?.scrollIntoView();
    return !next;
}"""


def take(browser: Any, page: Path, shots: Iterable[Shot], folder: Path) -> None:
    """The pictures of one page, each of it as it is opened: nothing is left of another width or colour."""
    for shot in shots:
        context = browser.new_context(
            viewport={"width": shot.width_px, "height": 900},
            color_scheme="dark" if shot.scheme == "dark" else "light",
        )
        context.set_default_timeout(PATIENCE_MS)
        tab = context.new_page()
        tab.goto(page.as_uri(), wait_until="load")
        if shot.scheme == "print":
            tab.evaluate("dispatchEvent(new Event('beforeprint'))")
            tab.emulate_media(media="print")
        tab.wait_for_function(DRAWN, polling=50)
        tab.evaluate("scrollTo(0, 0)")
        tab.screenshot(path=folder / shot.file, full_page=True, animations="disabled")
        context.close()


def index_of(shots: Iterable[Shot], pages: Mapping[str, Path], folder: Path) -> str:
    rows = []
    for name, mine in groupby(shots, key=lambda shot: shot.page):
        link = escape(pages[name].relative_to(folder).as_posix())
        pictures = "".join(
            f'<a href="{shot.file}"><img src="{shot.file}" alt="{name}, {shot.width_px} px, {shot.scheme}"'
            f' loading="lazy"><br>{shot.width_px} px, {shot.scheme}</a>'
            for shot in mine
        )
        rows.append(f'<h2><a href="{link}">{name}</a></h2><div>{pictures}</div>')
    style = (
        "body{font:15px system-ui;margin:24px}div{display:flex;flex-wrap:wrap;gap:16px}"
        "img{width:280px;height:420px;object-fit:cover;object-position:top;border:1px solid #ccc}"
    )
    head = f'<meta charset="utf-8"><title>Keyheat: every page</title><style>{style}</style>'
    return f'<!doctype html><html lang="en">{head}<h1>Every page</h1>{"".join(rows)}</html>\n'


def main(folder: Path) -> Path:
    """Make every page and every picture; gives the path of the page over them."""
    from playwright.sync_api import sync_playwright

    pages_in = folder / "pages"
    pages_in.mkdir(parents=True, exist_ok=True)
    runs = {name: make_run(name, pages_in / name) for name in SAMPLES}
    pages = {name: make(pages_in, runs) for name, make in PAGES.items()}
    shots = shots_of(pages)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, timeout=PATIENCE_MS)
        for name, mine in groupby(shots, key=lambda shot: shot.page):
            print(name, flush=True)
            take(browser, pages[name], mine, folder)
        browser.close()
    path = folder / "index.html"
    path.write_text(index_of(shots, pages, folder), encoding="utf-8")
    return path


if __name__ == "__main__":
    print(main((Path(sys.argv[1]) if len(sys.argv) > 1 else OUT).absolute()))
