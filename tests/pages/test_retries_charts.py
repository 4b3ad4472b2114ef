"""Pictures of retry policies: what they add up to, and runs that are out of the ordinary."""

from dataclasses import replace
from datetime import datetime
from html import unescape
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from keyheat.model.retries import policy_named
from keyheat.pages.charts.retries import MOST_POINTS, fates_chart, fates_of, response_chart, time_charts
from keyheat.pages.retries import RetriesAnswer, write_retries
from keyheat.scenario.scenario import Scenario, load_scenario
from keyheat.simulator.retrying import RetriedRun
from keyheat.terminal.answers import retries_text
from keyheat.wording.retries import found_in, row_of, sentence_of

AT_ONCE_S, LATER_S = 0.005, 1.5
SCENARIO = load_scenario(Path(__file__).parents[2] / "configs" / "scenarios" / "hotkey.toml")


def run(
    name: str, *, at_once: int = 60, later: int = 0, waiting: int = 0, tail_s: int = 0, conflicts: int = 0
) -> RetriedRun:
    """A hundred requests in ten seconds, of which so many were accepted, at once and later."""
    throttled = 100 - at_once - conflicts
    return RetriedRun(
        policy=policy_named(name), load_s=10, requests=100, accepted=at_once + later,
        accepted_in_time=at_once, waiting=waiting, attempts=100 + later, units=float(at_once + later),
        response_s=np.array([AT_ONCE_S] * at_once + [LATER_S] * later),
        attempts_per_s=(10,) * 10 + (0,) * (tail_s - 1) + (later,) * bool(tail_s),
        throttled_per_s=(throttled // 10,) * 10 + (0,) * tail_s,
        conflicts_per_s=(conflicts // 10,) * 10 + (0,) * tail_s, quota_ran_out=0,
    )  # fmt: skip


NONE = run("none")
BUSY = run("boto3-2026", later=20, tail_s=3)
STUCK = run("boto3-2026-adaptive", at_once=10, later=50, waiting=40, tail_s=5)
ALL = (NONE, BUSY, STUCK)


def shares(chart: Any) -> dict[str, list[float]]:
    names = [entry.name for entry in chart.legend]
    return {name: list(trace.x) for name, trace in zip(names, chart.figure.data, strict=True)}


def test_every_request_has_one_fate_and_every_bar_is_the_whole() -> None:
    assert [fates_of(one) for one in ALL] == [(60, 0, 40, 0, 0), (60, 20, 20, 0, 0), (10, 50, 0, 0, 40)]
    drawn = shares(fates_chart(ALL))
    assert list(drawn) == ["accepted at once", "accepted later", "given up", "still waiting"]
    assert [sum(parts) for parts in zip(*drawn.values(), strict=True)] == [100, 100, 100]


def test_a_fate_that_nobody_had_is_not_in_the_legend() -> None:
    assert list(shares(fates_chart([NONE]))) == ["accepted at once", "given up"]


def test_transactions_that_met_another_one_are_a_part_of_their_own() -> None:
    none, again = runs = (run("none", conflicts=20), run("boto3-2026", later=20, conflicts=20))
    drawn = shares(fates_chart(runs))
    assert drawn["conflict"] == [20, 20]
    assert [sum(parts) for parts in zip(*drawn.values(), strict=True)] == [100, 100]
    requests = fates_chart(runs).table
    assert requests is not None
    assert dict(zip(requests.columns, requests.rows[0], strict=True))["conflict"] == "20"
    assert [max(trace.y) for trace in time_charts(runs)[0].figure.data] == [6, 2, 2]  # of 10 a second
    assert sentence_of(runs) == (
        "With boto3-2026 none of 100 requests are given up; of the policies that were tried none loses "
        "fewer. 20 % of the requests are cancelled for a conflict with another transaction on the same "
        "item; no SDK sends those again."
    )
    calm = run("none", at_once=80, conflicts=20)
    assert sentence_of([calm, calm]).startswith(
        "Nothing is throttled, so nobody retries: 80 of 100 requests are accepted. 20 % of the requests are"
    )
    assert (none.lost, again.lost) == (20, 0)


def test_a_policy_under_which_nothing_was_accepted_has_no_response_time() -> None:
    nothing = run("boto3-2026", at_once=0)
    chart = response_chart([NONE, nothing])
    assert len(chart.figure.data) == 1
    assert chart.table is not None
    assert chart.table.rows[1] == ("boto3-2026", *["–"] * 5)
    assert response_chart([nothing]).figure.data == ()


def test_every_picture_of_a_policy_is_its_own() -> None:
    charts = time_charts(
        [NONE, BUSY, replace(BUSY, policy=replace(BUSY.policy, name="boto3-2026, attempts 5"))]
    )
    assert len({chart.id for chart in charts}) == 3
    assert [chart.id for chart in charts if " " in chart.id] == []
    assert [chart.title for chart in charts][1:] == ["boto3-2026", "boto3-2026, attempts 5"]


def test_accepted_and_throttled_add_up_to_the_attempts_on_one_scale() -> None:
    charts = time_charts(ALL)
    assert len({tuple(chart.figure.layout.yaxis.range) for chart in charts}) == 1
    assert {tuple(chart.figure.layout.xaxis.range) for chart in charts} == {(0, 15)}
    for one, chart in zip(ALL, charts, strict=True):
        accepted, throttled = (trace.y for trace in chart.figure.data[:2])
        sums = np.add(accepted, throttled)[:-1]  # the last step is held once more, for its width
        assert sums.tolist() == list(one.attempts_per_s)


def test_a_long_run_is_drawn_in_means_and_told_in_few_rows() -> None:
    long = replace(NONE, attempts_per_s=(10,) * 86_400, throttled_per_s=(4,) * 86_400, load_s=86_400)
    (chart,) = time_charts([long])
    assert len(chart.figure.data[0].y) <= MOST_POINTS + 1
    assert chart.table is not None
    assert len(chart.table.rows) <= 24
    assert chart.table.rows[0] == ("0", "10", "4", "40 %")


@pytest.mark.parametrize("runs", [(NONE,), (NONE, STUCK), ALL], ids=["none alone", "waiting", "all"])
def test_the_page_says_the_terminals_sentence(
    runs: tuple[RetriedRun, ...], tmp_path: Path, generated_at: datetime
) -> None:
    found = RetriesAnswer(scenario=SCENARIO, runs=runs, clients=1, command="keyheat retries hotkey")
    text = write_retries(tmp_path / "r.html", found, generated_at).read_text(encoding="utf-8")
    assert f'<h1 id="verdict">{sentence_of(runs)}</h1>' in unescape(text).replace("\u00a0", " ")


def test_what_is_not_throttled_is_well(tmp_path: Path, generated_at: datetime) -> None:
    calm = tuple(run(name, at_once=100) for name in ("none", "boto3-2026"))
    found = RetriesAnswer(scenario=SCENARIO, runs=calm, clients=1, command="keyheat retries hotkey")
    text = write_retries(tmp_path / "r.html", found, generated_at).read_text(encoding="utf-8")
    assert 'class="hero none"' in text
    assert "No throttles" in text


def own_client(text: str, tmp_path: Path) -> Scenario:
    hotkey = Path(__file__).parents[2] / "configs" / "scenarios" / "hotkey.toml"
    file = tmp_path / "own.toml"
    file.write_text(f"{hotkey.read_text(encoding='utf-8')}\n[client]\n{text}\n", encoding="utf-8")
    return load_scenario(file)


def test_every_number_is_whole_however_long_the_name_of_the_own_client(tmp_path: Path) -> None:
    own = own_client("sdk = 'js-v3'\nmode = 'adaptive'\nattempts = 6\nquota_tokens = 50", tmp_path)
    runs = (NONE, replace(BUSY, policy=own.client.policy))
    file = StringIO()
    Console(file=file, width=80).print(retries_text(own, runs, 3))
    said = file.getvalue()
    assert "…" not in said
    assert all(cell in said for cell in row_of(runs[1])[1:])
    assert "500 tokens, the scenario's own with 50 (--clients N)" in " ".join(said.split())
    assert " ".join(said.split()).startswith(
        "With js-v3-adaptive, attempts 6, quota 50, 20 % of 100 requests are given up"
    )


def test_what_an_adaptive_client_sends_late_feeds_on_no_retries() -> None:
    later = replace(BUSY, policy=policy_named("boto3-2026-adaptive"), throttled_per_s=(4,) * 13)
    assert [one for one in found_in([NONE, later]) if "feeds on" in one] == []
    assert "feeds on" in found_in([NONE, replace(later, policy=BUSY.policy)])[0]


def test_who_is_held_back_is_said_by_the_times_of_answers() -> None:
    held = run("boto3-2026-adaptive", at_once=60, later=40)
    said = found_in([NONE, replace(held, throttled_per_s=(4,) * 10)])[0]
    assert "take 5 ms at p50 and 1.5 s at p99" in said
