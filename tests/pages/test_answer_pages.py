"""Pages of a fix, a knee, a what-if search and retries in a browser: drawn, nothing fetched, narrow, dark."""

from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

from keyheat.analysis.advice.proof import proof_of, tried
from keyheat.analysis.advice.remedies import Remedy
from keyheat.analysis.knee import KneeStep, Range, search
from keyheat.model.retries import USUAL, policy_named
from keyheat.pages.knee import write_knee
from keyheat.pages.retries import RetriesAnswer, write_retries
from keyheat.pages.series import RunColumn
from keyheat.pages.whatif import WhatIfAnswer, answered, write_whatif
from keyheat.plan.prices import Billing, load_prices
from keyheat.scenario.scenario import Scenario, load_scenario
from keyheat.scenario.variants import changes, with_demand
from keyheat.show.fix import Fix
from keyheat.show.fix_page import write_fix
from keyheat.simulator.retrying import demand_of, retried
from keyheat.simulator.search import smallest_capacity, smallest_shards
from keyheat.wording.knee import KneeAnswer
from keyheat.wording.retries import COLUMNS, feeds_on_itself, row_of, sentence_of
from keyheat.words import Direction

pytestmark = pytest.mark.browser
LABELS = """() => [...document.querySelectorAll("#requests .counts td")]
    .map(cell => getComputedStyle(cell, "::before").content)"""
HIDDEN = """() => [...document.querySelectorAll(".counts .scroll")]
    .filter(one => one.scrollWidth > one.clientWidth).map(one => one.getAttribute("aria-label"))"""
"""The tables that reach beyond the edge of their place."""
SCENARIOS = Path(__file__).parents[2] / "configs" / "scenarios"
AT = datetime(2026, 11, 20, 13, 0, tzinfo=UTC)


def scenario_of(name: str) -> Scenario:
    return load_scenario(SCENARIOS / f"{name}.toml")


@pytest.fixture(scope="module")
def pages(samples: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder, prices = tmp_path_factory.mktemp("pages"), load_prices()
    sides = {"before-1": "hotkey", "after-1": "sharded"}
    for side, name in sides.items():
        (folder / side).symlink_to(samples[name])
    before, after = scenario_of("hotkey"), scenario_of("sharded")
    remedy = Remedy(
        action="shard_writes", resource="table", direction="write", scenario=after, says="20 shards",
        notes=("One user more reads.",), queries_per_read=(1, 20),
    )  # fmt: skip
    runs = [tried(folder / side, scenario_of(name), Billing(prices)) for side, name in sides.items()]
    fix = Fix(
        scenario=before, remedy=remedy, changes=changes(before, after),
        proof=proof_of(("partition", "table", "write"), runs[:1], runs[1:]),
        target="local",
    )  # fmt: skip
    columns = [RunColumn.of_run(folder / side, prices) for side in sides]
    knee = search(step, Range(start=100, least=10, most=10_000, precision=0.05))
    found = KneeAnswer(scenario=before, target="simulated", step_s=60, knee=knee, uses=())
    return {
        "fix": write_fix(folder / "fix.html", fix, columns, prices, AT).as_uri(),
        "knee": write_knee(folder / "knee.html", found, AT).as_uri(),
        "whatif": write_whatif(folder / "whatif.html", shards_of_hotkey(), AT).as_uri(),
        "retries": write_retries(folder / "retries.html", retries_of_hotkey(), AT).as_uri(),
    }


def shards_of_hotkey() -> WhatIfAnswer:
    """Found at a tenth of the allowed share's usual strictness: few numbers have to be simulated."""
    found = smallest_shards(scenario_of("hotkey"), share_most=0.2)
    return answered(found, load_prices(), 2, "keyheat whatif hotkey shards --throttle-share 0.2")


@cache
def retries_of_hotkey() -> RetriesAnswer:
    """Seconds enough to spend the burst, and to see who goes on after the load."""
    scenario = with_demand(scenario_of("hotkey"), 2_000, 8)
    demand = demand_of(scenario, SCENARIOS)
    runs = tuple(retried(scenario, demand, policy_named(name), clients=10) for name in ("none", *USUAL))
    return RetriesAnswer(scenario=scenario, runs=runs, clients=10, command="keyheat retries hotkey")


def step(demand: float, again: int) -> KneeStep:
    throttled = max(0.0, demand - 1_100)
    return KneeStep(
        demand_per_s=demand, seed=1 + again, state="limited" if throttled else "carried",
        attempts_per_s=demand, throttled_per_s=throttled, write_units_per_s=demand - throttled,
        read_units_per_s=demand / 10, constraint="partition" if throttled else "none",
        resource="table" if throttled else None, direction="write" if throttled else None, grade="reason",
        confidence=0.9,
    )  # fmt: skip


def test_a_phone_has_every_column_of_a_wide_table_under_its_name(visit, pages):
    page = visit(pages["retries"], width=390)
    names = page.locator("#requests .counts th").all_text_contents()
    assert page.evaluate(LABELS) == [f'"{name}"' for name in names] * len(retries_of_hotkey().runs)
    assert page.evaluate(HIDDEN) == []
    page.set_viewport_size({"width": 1100, "height": 900})
    assert set(page.evaluate(LABELS)) == {"none"}


def test_the_fix_says_its_verdict_first_and_links_both_reports(visit, pages):
    page = visit(pages["fix"])
    assert page.locator("#verdict").inner_text().startswith("Fixed: with 20 shards, throttles")
    links = page.locator("article a").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    assert links == ["before-1/report.html", "after-1/report.html"]


def test_the_knee_says_whose_it_is(visit, pages):
    page = visit(pages["knee"])
    assert page.locator(".chip").first.inner_text() == "A partition's knee"
    assert "requests/s are carried" in page.locator("#verdict").inner_text()


def test_the_answer_of_a_what_if_search_is_first_and_its_numbers_are_in_tables(visit, pages):
    page = visit(pages["whatif"])
    assert page.locator(".chip").first.inner_text() == "Enough"
    assert page.locator("#verdict").inner_text().replace("\u00a0", " ").startswith("2 shards are enough")
    rows = [row.replace("\u00a0", " ").split("\t") for row in page.locator("#change tr").all_inner_texts()]
    assert rows[0] == ["measure", "1 shard", "2 shards"]
    assert rows[3] == ["demand, of a partition limit of the table, writes", "184 %", rows[3][2]]
    assert page.locator("#command").inner_text().endswith("keyheat whatif hotkey shards --throttle-share 0.2")


def test_what_retries_make_is_first_and_every_policy_has_its_picture_and_its_row(visit, pages):
    page, found = visit(pages["retries"]), retries_of_hotkey()
    assert page.locator("#verdict").inner_text().replace("\u00a0", " ") == sentence_of(found.runs)
    table = page.locator("#requests .counts tr").all_inner_texts()
    rows = [row.replace("\u00a0", " ").split("\t") for row in table]
    assert [row[: len(COLUMNS)] for row in rows] == [list(COLUMNS), *(row_of(run) for run in found.runs)]
    heads, *afterwards = [row[len(COLUMNS) :] for row in rows]
    assert heads == ["recovers", "feeds on itself"]
    assert [said == "yes" for _later, said in afterwards] == [
        feeds_on_itself(run, found.runs[0]) for run in found.runs
    ]
    pictures = page.locator("#seconds h3").all_inner_texts()
    assert [words.split(":")[0] for words in pictures] == ["none", *USUAL]
    assert page.locator("#command").inner_text().endswith("keyheat retries hotkey")


def test_a_capacity_is_held_against_the_one_that_is_there():
    found = smallest_capacity(scenario_of("hotkey"), Direction.WRITE, most=8_000)
    shown = answered(found, load_prices(), None, "keyheat whatif hotkey write-capacity --most 8000")
    assert shown.before is not None
    assert (shown.before.value, shown.after.value, found.answer) == (4_000, 8_000, None)
    shares = {(use.constraint, use.resource, use.direction): use.share for use in shown.uses_after}
    assert shares["table", "table", "write"] == pytest.approx(0.25)
    assert shares["partition", "table", "write"] > 1
