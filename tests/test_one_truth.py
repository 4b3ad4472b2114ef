"""What two outputs show of one run is the same to the last digit shown.

Terminal, page, `summary.json`, index, index of runs, compare, fix, whatif, suite and notebook: each says
some of `accepted` (units a second), `share` (throttled, of all attempts), `throttles`, `attempts`, `lasted`,
and of what was throttled when the limited time began and ended, and what a month of the table costs.
"""

import io
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

import orjson
import pytest
from rich.console import Console

from keyheat.analysis.advice.fix import tried
from keyheat.analysis.diagnosis import load_run
from keyheat.analysis.loaded_step import loaded_step
from keyheat.analysis.report import read_run
from keyheat.analysis.summary import read_summary
from keyheat.cli.main import main
from keyheat.cli.simulate import diagnosed
from keyheat.numbers import a_month, clock, measured, percent, rate, span, whole
from keyheat.plan.prices import Billing, load_prices
from keyheat.regression.history import StoredRun
from keyheat.runfiles import FILES, RUN
from keyheat.runs.manifest import read_manifest
from keyheat.scenario.scenario import scenario_from_dict
from keyheat.show.compare import ComparedRun, comparison_answer
from keyheat.show.history import run_row
from keyheat.show.render import html_of, save
from keyheat.show.render import text_of as terminal_of
from keyheat.show.report import report_answer, write_report
from keyheat.show.run import run_answer
from keyheat.simulator.whatif import load_question
from keyheat.words import WRITE
from tests.made_runs import load_evidence
from tools.samples import make_run

pytestmark = pytest.mark.slow

ACCEPTED = "accepted_units_per_s.write"
Shown = Iterator[tuple[str, str, str]]
"""What is shown, by which output, and as which text."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A simulated run whose burst is in its first second, and loads that began within a second."""
    folder = tmp_path_factory.mktemp("runs")
    assert main(["simulate", "too-small", "--out", str(folder / "too-small")]) == 0
    for name in ("hotkey", "sharded"):
        run = make_run(name, folder / name)
        said = orjson.loads((run / FILES[RUN]).read_bytes())
        said |= {"started_at": "2026-11-20T12:00:00.400Z", "ended_at": "2026-11-20T12:00:59.700Z"}
        (run / FILES[RUN]).write_bytes(orjson.dumps(said))
        diagnosed(run)
        write_report(run, datetime.now(UTC))
    return {path.name: path for path in folder.iterdir()}


def in_terminal(run: Path) -> str:
    out, loaded = io.StringIO(), read_run(run)
    Console(file=out, width=500).print(terminal_of(run_answer(loaded)))
    return out.getvalue()


def text_of(page: Path) -> str:
    """What a page says, its markup and its data left out."""
    text = re.sub(r"<(script|style).*?</\1>", " ", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text).replace("\u00a0", " ")).replace("&#39;", "'")


def by_summary(run: Path) -> Shown:
    summary = read_summary(run)
    yield "accepted", "summary.json", rate(summary.measures[ACCEPTED], "WCU")
    yield "share", "summary.json", percent(summary.measures["throttle_share"])
    yield "throttles", "summary.json", whole(summary.throttled)
    yield "attempts", "summary.json", whole(summary.attempts)
    yield "lasted", "summary.json", span(summary.duration_s)


def by_the_page(run: Path) -> Shown:
    text = text_of(run / "report.html")
    if found := re.search(r"How bad (\d\S* %) of attempts ([\d,]+) of ([\d,]+)", text):
        yield "share", "report.html", found[1]
        yield "throttles", "report.html", found[2]
        yield "attempts", "report.html", found[3]
    else:  # nothing was throttled: all of the load is what the sentence speaks of
        said = re.search(r"Nothing was throttled: (\S+ WCU/s) went through", text)
        assert said, text[:500]
        yield "accepted", "report.html", said[1]
        yield "attempts", "report.html", re.search(r"How bad Nothing throttled none of ([\d,]+)", text)[1]  # type: ignore[index]
    yield "lasted", "report.html", re.search(r"UTC, ((?:\d+ (?:min|s) ?)+)", text)[1].strip()  # type: ignore[index]


def by_the_terminal(run: Path) -> Shown:
    text = in_terminal(run)
    if found := re.search(r"Nothing was throttled: (\S+ WCU/s) went through", text):
        yield "accepted", "terminal", found[1]
    if found := re.search(r"How bad +(\d\S* %) of attempts · ([\d,]+) of ([\d,]+)", text):
        yield from zip(("share", "throttles", "attempts"), ["terminal"] * 3, found.groups(), strict=True)


def by_compare(run: Path) -> Shown:
    (table,) = comparison_answer([ComparedRun.read(run)], run.parent).sections[0].tables
    rows = {row[0]: row[1] for row in table.cells}
    yield "accepted", "compare", rows["Accepted writes"].replace("units", "WCU")
    yield "share", "compare", rows["Throttled attempts"]


def by_a_fix(run: Path) -> Shown:
    scenario = scenario_from_dict(dict(read_manifest(run).scenario or {}), "run.json")
    one = tried(run, scenario, Billing(load_prices()))
    yield "accepted", "fix", rate(one.traffic[WRITE].units_per_s, "WCU")
    yield "share", "fix", percent(one.throttled_share)
    yield "throttles", "fix", whole(one.throttles)
    yield "attempts", "fix", whole(one.attempts)


def by_a_search(run: Path) -> Shown:
    scenario = scenario_from_dict(dict(read_manifest(run).scenario or {}), "run.json")
    question = load_question(scenario)
    step = loaded_step(question, 1, scenario, run)
    yield "accepted", "whatif", rate(step.outcome.consumed_per_s(WRITE), "WCU")
    yield "share", "whatif", percent(step.share)


def by_a_suite(run: Path) -> Shown:
    kept = StoredRun(
        case="c", repetition=0, side="after", summary=read_summary(run).model_dump_json(), folder_url="",
        at=datetime.now(UTC),
    )  # fmt: skip
    row = run_row(kept)
    yield "accepted", "suite", f"{row['accepted/s']} WCU/s"
    yield "share", "suite", row["throttled"]


def by_a_notebook(run: Path) -> Shown:
    seconds = load_run(run).seconds
    own = seconds[seconds["resource"] == "table"]
    yield "throttles", "notebook", whole(own["throttled"].sum())
    yield "attempts", "notebook", whole(own["attempts"].sum())
    yield "share", "notebook", percent(own["throttled"].sum() / own["attempts"].sum())


def by_the_index(run: Path, capsys: pytest.CaptureFixture[str]) -> Shown:
    capsys.readouterr()
    assert main(["runs", str(run.parent), "--json"]) == 0
    told = orjson.loads(capsys.readouterr().out)["runs"]
    (summary,) = [one["summary"] for one in told if one["folder"] == str(run)]
    yield "accepted", "runs", f"{measured(summary['measures'][ACCEPTED])} WCU/s"
    yield "share", "runs", percent(summary["measures"]["throttle_share"])
    yield "throttles", "runs", whole(summary["throttled"])
    yield "lasted", "runs", span(summary["duration_s"])


OUTPUTS: tuple[Callable[[Path], Shown], ...] = (
    by_summary, by_the_page, by_the_terminal, by_compare, by_a_fix, by_a_search,
    by_a_suite, by_a_notebook,
)  # fmt: skip


@pytest.mark.parametrize("name", ["too-small", "hotkey", "sharded"])
def test_every_output_shows_the_same_number(
    runs: dict[str, Path], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = [*(one for output in OUTPUTS for one in output(runs[name])), *by_the_index(runs[name], capsys)]
    of_each = {what: list(found) for what, found in groupby(sorted(said), key=lambda one: one[0])}
    assert of_each.keys() == {"accepted", "share", "throttles", "attempts", "lasted"}
    for what, found in of_each.items():
        assert len({output for _, output, _ in found}) >= 3, what
        assert len({text for *_, text in found}) == 1, found


def by_the_label(run: Path) -> Shown:
    """The limited time and a month's dollars, of one span and the first advice that has a bill."""
    found = load_run(run)
    (label,) = found.labels.itertuples()
    bill = next(one.bill for one in found.diagnosis.recommendations if one.bill)
    yield "from", "notebook", clock(label.start.timestamp())
    yield "until", "notebook", clock(label.end.timestamp())
    yield "month", "diagnosis.json", a_month(bill.before_dollars_per_month)
    scenario = scenario_from_dict(dict(read_manifest(run).scenario or {}), "run.json")
    yield "month", "fix", a_month(tried(run, scenario, Billing(load_prices())).dollars_per_month)
    outputs = {
        "terminal": (r"What was limited.*? from +to .*? (\S+) +(\S+) +table", in_terminal(run)),
        "report.html": (
            r"Spans with throttles from .*? confidence (\S+) (\S+)",
            text_of(run / "report.html"),
        ),
    }
    for output, (table, text) in outputs.items():
        said = re.sub(r"\s+", " ", text)
        limited = re.search(table, said)
        month = re.search(r"(?:instead of|stays at) (\$[\d,]+(?:\.\d+)?)", said)
        assert limited, said
        assert month, said
        yield "from", output, limited[1]
        yield "until", output, limited[2]
        yield "month", output, month[1]


@pytest.mark.parametrize("name", ["too-small", "hot-key"])
def test_every_output_shows_the_same_limited_time_and_the_same_month(
    name: str, runs: dict[str, Path], tmp_path: Path
) -> None:
    run = runs[name] if name in runs else tmp_path / name
    if name not in runs:
        assert main(["simulate", "hotkey", "--out", str(run)]) == 0
    said = sorted(by_the_label(run))
    for what, found in groupby(said, key=lambda one: one[0]):
        shown = list(found)
        assert len(shown) >= 3, what
        assert len({text for *_, text in shown}) == 1, shown
    summary, (label,) = read_summary(run), load_run(run).labels.itertuples()
    began = label.start.timestamp() - summary.started_at.timestamp()
    assert summary.measures["first_throttle_s"] == began


EXAMPLES = Path(__file__).parent / "analysis" / "examples"


@pytest.mark.parametrize("name", ["too-small", "hotkey"])
def test_what_was_consumed_while_throttled_is_one_number(runs: dict[str, Path], name: str) -> None:
    """The chart and the evidence say it; a minute's mean, which holds other time as well, is no third."""
    page = text_of(runs[name] / "report.html")
    charted = re.search(r"Consumed (\S+) WCU/s while throttled", page)
    argued = [re.search(r"throttled seconds?, (\S+) of", text) for text in (page, in_terminal(runs[name]))]
    assert charted
    assert {found[1] for found in argued if found} == {charted[1]}
    assert "on average" not in page
    assert "The busiest throttled minute consumed" not in page


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*burst*.json")), ids=lambda path: path.stem)
def test_what_is_said_of_the_burst_is_the_same_everywhere(path: Path, tmp_path: Path) -> None:
    """How much of it was left or used: a sentence of the diagnosis, which nobody works out again."""
    run = load_evidence(path)
    reasons = {line for label in run.diagnosis.labels for line in label.because if "burst" in line}
    out = io.StringIO()
    Console(file=out, width=500).print(terminal_of(run_answer(run)))
    page = save(tmp_path / "report.html", html_of(report_answer(run), datetime.now(UTC)))
    in_both = [re.sub(r"\s+", " ", text) for text in (out.getvalue(), text_of(page))]
    shown = [{reason for reason in reasons if reason in text} for text in in_both]
    assert shown[0] == shown[1] != set()


def test_a_rate_is_the_mean_over_the_whole_seconds_of_the_load(runs: dict[str, Path]) -> None:
    """Of a simulated run all seconds are whole, the burst's among them; a load's first and last are not."""
    edges = slice(1, -1)
    for name, whole_ones in (("too-small", slice(None)), ("hotkey", edges), ("sharded", edges)):
        seconds = load_run(runs[name]).seconds
        units = seconds[seconds["direction"] == "write"].groupby("second")["consumed_units"].sum()
        assert read_summary(runs[name]).measures[ACCEPTED] == pytest.approx(units.iloc[whole_ones].mean())
