"""The answers of whatif: their words from made-up numbers, and how each renderer shows them."""

import json
import re
from dataclasses import replace
from datetime import datetime
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from keyheat.model.resources import Cause
from keyheat.model.retries import policy_named
from keyheat.scenario.scenario import load_scenario
from keyheat.scenario.variants import overridden
from keyheat.show.answer import Answer
from keyheat.show.data import json_of
from keyheat.show.html import html_of
from keyheat.show.load import load_answer
from keyheat.show.markdown import markdown_of
from keyheat.show.retries import found_in, retries_answer, sentence_of
from keyheat.show.retry_figures import MOST_POINTS, fates_figure, fates_of, response_figure, time_figures
from keyheat.show.smallest import smallest_answer
from keyheat.show.steps import exit_code_of, together
from keyheat.show.text import text_of
from keyheat.simulator.outcome import Left
from keyheat.simulator.search import Step
from keyheat.words import WRITE, Direction
from tests.pages.made_answers import (
    BUSY,
    HOTKEY,
    KEY,
    NONE,
    SCENARIOS,
    STUCK,
    capacity_asked,
    found,
    load_found,
    made_answers,
    retried_run,
    search,
    shards_asked,
    shards_found,
    step,
)

GOLDEN = Path(__file__).parent / "golden"
QUESTIONS = ("shards", "capacity", "load", "retries")


def in_text(answer: Answer) -> str:
    console = Console(width=80, file=StringIO())
    console.print(text_of(answer))
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"  # type: ignore[attr-defined]


def skeleton(page: str) -> str:
    """The outline of a page: its parts, headings, facts and columns."""
    body = page[page.index("<body") : page.index("<noscript>")]
    outline = re.findall(r'<(section id="\w+"|h[1-6]|dt|th|summary|li)(?: [^>]*)?>(.*?)(?:<|\n)', body)
    return "".join(f"{tag} {words}".rstrip() + "\n" for tag, words in outline)


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_renderer_shows_the_whole_answer(
    question: str, generated_at: datetime, request: pytest.FixtureRequest
) -> None:
    answer = made_answers()[question]
    content = json_of(answer)
    for figure in content["figures"]:
        figure["figure"] = [trace.get("name") for trace in figure["figure"]["data"]]
    shown = {
        "txt": in_text(answer),
        "md": markdown_of(answer),
        "json": "".join(f"{name}: {json.dumps(value)}\n" for name, value in content.items()),
        "html": skeleton(html_of(answer, generated_at)),
    }
    if question != "shards":  # each renderer shows one answer whole; the words of the others are their own
        shown = {"txt": shown["txt"]}
    for ending, text in shown.items():
        golden = GOLDEN / f"whatif-{question}.{ending}"
        if request.config.getoption("--update-golden"):
            golden.write_text(text, encoding="utf-8")
        assert text == golden.read_text(encoding="utf-8"), "run pytest --update-golden if the change is meant"
    assert max(map(len, shown["txt"].splitlines())) <= 80


# Shards and capacity

OF_INDEX = Left(index="by-day", direction=WRITE, cause=Cause.PROVISIONED, events=500)
READS_TOO = Left(index=None, direction=Direction.READ, cause=Cause.KEY_RANGE, events=9_000)


def test_the_limit_is_that_of_the_side_that_was_asked_for() -> None:
    asked = capacity_asked()
    steps = [step(asked, 400, 0.5, READS_TOO, OF_INDEX), step(asked, 800, 0.0, READS_TOO)]
    answer = smallest_answer(found(search(asked, steps, 800, 400)))
    assert answer.sentence == (
        "800 WCU are enough: none of the writes throttled, where 0.1 % is allowed; with 400 it was 50 %, by "
        "the provisioned capacity of index by-day (writes)."
    )
    assert (answer.label, answer.tone) == ("800 WCU", "none")


def test_what_was_left_out_and_what_was_counted_is_noted() -> None:
    changing = overridden(HOTKEY, ["table.auto_scaling={write={min=5, max=4_000}}"], "hotkey")
    asked = capacity_asked(changing, burst=True)
    notes = smallest_answer(found(search(asked, [step(asked, 800, 0.0)], 800, None))).notes
    assert "Timeline and auto scaling are left out: the capacity stays the same." in notes
    assert any(note.startswith("Burst capacity counts here") for note in notes)


@pytest.mark.parametrize(
    ("asked", "cause", "said"),
    [
        (capacity_asked(), Cause.PROVISIONED, "keyheat whatif hotkey capacity --index by-day."),
        (shards_asked(), Cause.KEY_RANGE, "keyheat whatif hotkey shards --index by-day."),
        (shards_asked(), Cause.PROVISIONED, None),
    ],
)
def test_what_another_resource_throttles_is_asked_for_by_its_name(
    asked: Any, cause: Cause, said: str | None
) -> None:
    left = replace(OF_INDEX, cause=cause)
    notes = smallest_answer(found(search(asked, [step(asked, 100, 0.5, left)], None, 100))).notes
    of_index = [note for note in notes if note.startswith("That is a limit of index by-day")]
    assert [note.endswith(said or "") for note in of_index] == ([True] if said else [])
    if said is None:
        assert any("More shards do not help" in note for note in notes)


STATES: list[tuple[str, dict[str, Any], str, str, int]] = [
    (
        "throttled",
        {},
        "Not even 16 shards are enough: 50 % is still throttled, by a partition limit",
        "partition",
        1,
    ),
    ("generator", {"state": "generator"}, "the load generator is the limit, not the table", "invalid", 3),
    ("undecided", {"state": "undecided"}, "is not valid, so it does not answer", "invalid", 3),
    ("burst", {"on_burst": True}, "only burst capacity carries the load", "partition", 1),
]


@pytest.mark.parametrize(("story", "more", "words", "tone", "code"), STATES, ids=[one[0] for one in STATES])
def test_what_is_not_answered_says_why(
    story: str, more: dict[str, Any], words: str, tone: str, code: int
) -> None:
    asked = shards_asked(most=16)
    searched = search(asked, [step(asked, 16, 0.5, KEY, **more)], None, 16)
    answer = smallest_answer(found(searched, target="local"))
    assert words in answer.sentence
    labels = {"generator": "Generator-bound", "undecided": "Not decided"}
    assert (answer.tone, answer.label) == (tone, labels.get(story, "Not enough"))
    assert exit_code_of(searched) == code


def test_reads_and_writes_that_are_both_short_are_one_answer() -> None:
    asked = capacity_asked()
    write = smallest_answer(found(search(asked, [step(asked, 800, 0.0)], 800, None)))
    read = replace(write, label="50 RCU", sentence="50 RCU are enough.", data={"direction": "read"})
    both = together([write, read])
    assert both.label == "800 WCU; 50 RCU"
    assert both.sentence == f"{write.sentence} {read.sentence}"
    assert [part.title for part in both.parts] == ["800 WCU", "50 RCU"]
    assert len(both.tables) == 2 * len(write.tables)
    assert both.notes == write.notes


# Load

PROVISIONED, ACCOUNT = replace(KEY, cause=Cause.PROVISIONED), replace(KEY, cause=Cause.ACCOUNT)
ABOVE: list[tuple[str, dict[str, Any], tuple[Left, ...], str, str, str]] = [
    ("a crowded partition", {}, (KEY,), "A partition's knee", "partition", "No key stands out"),
    ("the table", {}, (PROVISIONED,), "The table's knee", "table", "by the provisioned"),
    ("an index", {}, (OF_INDEX,), "The index's knee", "table", "of index by-day (writes)"),
    ("the account", {}, (ACCOUNT,), "Account limit", "account", "the account's quota"),
    ("nobody knows", {}, (), "A knee", "undetermined", "a limit that the evidence does not tell"),
    ("burst", {"on_burst": True}, (PROVISIONED,), "The table's knee", "table",
     "need burst capacity, beyond the provisioned capacity of the table (writes)"),
    ("the generator", {"state": "generator"}, (), "Generator-bound", "invalid", "generator is the limit"),
    ("errors", {"state": "undecided"}, (), "Not decided", "invalid", "is not valid"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("story", "more", "left", "label", "tone", "words"), ABOVE, ids=[one[0] for one in ABOVE]
)
def test_whose_knee_it_is(
    story: str, more: dict[str, Any], left: tuple[Left, ...], label: str, tone: str, words: str
) -> None:
    asked = load_found().search.question
    steps: list[Step] = [step(asked, 100, 0), step(asked, 200, 0.3, *left, **more)]
    searched = search(asked, steps, 100, 200)
    answer = load_answer(found(searched))
    assert (answer.label, answer.tone) == (label, tone)
    assert words in " ".join((answer.sentence, *answer.notes))
    assert exit_code_of(searched) == (3 if tone == "invalid" else 0)


def test_everything_and_nothing_is_an_answer() -> None:
    asked = load_found().search.question
    calm = load_answer(found(search(asked, [step(asked, 100, 0)], 100, None)))
    assert (calm.label, calm.tone) == ("No constraint", "none")
    assert calm.sentence == "No constraint up to 100 requests/s: everything was carried."
    never = load_answer(found(search(asked, [step(asked, 250, 0.4, KEY)], None, 250)))
    assert "nothing that was tried is carried" in never.sentence
    assert any(note.startswith("Nothing below 250 requests/s was tried") for note in never.notes)


# Retries


def shares(runs: Any) -> dict[str, list[float]]:
    return {trace.name: list(trace.x) for trace in fates_figure(runs).figure.data}


def test_every_request_has_one_fate_and_every_bar_is_the_whole() -> None:
    runs = (NONE, BUSY, STUCK)
    assert [fates_of(one) for one in runs] == [(60, 0, 40, 0, 0), (60, 20, 20, 0, 0), (10, 50, 0, 0, 40)]
    drawn = shares(runs)
    assert list(drawn) == ["accepted at once", "accepted later", "given up", "still waiting"]
    assert [sum(parts) for parts in zip(*drawn.values(), strict=True)] == [100, 100, 100]
    assert list(shares([NONE])) == ["accepted at once", "given up"]


def test_transactions_that_met_another_one_are_a_part_of_their_own() -> None:
    runs = (retried_run("none", conflicts=20), retried_run("boto3-2026", later=20, conflicts=20))
    assert shares(runs)["conflict"] == [20, 20]
    assert [max(trace.y) for trace in next(time_figures(runs)).figure.data] == [6, 2, 2]  # of 10 a second
    assert sentence_of(runs) == (
        "With boto3-2026 none of 100 requests are given up; of the policies that were tried none loses "
        "fewer. 20 % of the requests are cancelled for a conflict with another transaction on the same "
        "item; no SDK sends those again."
    )
    calm = retried_run("none", at_once=80, conflicts=20)
    answer = retries_answer(HOTKEY, [calm, calm], 1)
    assert answer.sentence.startswith(
        "Nothing is throttled, so no client retries: 80 of 100 requests are accepted. 20 % of the requests"
    )
    assert answer.tables[0].rows[0]["conflict"] == "20"


def test_a_policy_under_which_nothing_was_accepted_has_no_response_time() -> None:
    nothing = retried_run("boto3-2026", at_once=0)
    (figure,) = response_figure([NONE, nothing])
    assert [len(trace.x) for trace in figure.figure.data] == [1, 1]
    assert list(response_figure([nothing])) == []
    assert retries_answer(HOTKEY, [NONE, nothing], 1).tables[0].rows[1]["p50"] == "–"


def test_accepted_and_throttled_add_up_to_the_attempts_on_one_scale() -> None:
    runs = (NONE, BUSY, STUCK)
    figures = [one.figure for one in time_figures(runs)]
    assert len({tuple(one.layout.yaxis.range) for one in figures}) == 1
    assert {tuple(one.layout.xaxis.range) for one in figures} == {(0, 15)}
    for run, figure in zip(runs, figures, strict=True):
        accepted, throttled = (trace.y for trace in figure.data[:2])
        sums = np.add(accepted, throttled)[:-1]  # the last step is held once more, for its width
        assert sums.tolist() == list(run.attempts_per_s)


def test_a_long_run_is_drawn_in_means_and_told_in_few_rows() -> None:
    long = replace(NONE, attempts_per_s=(10,) * 86_400, throttled_per_s=(4,) * 86_400, load_s=86_400)
    (figure,) = time_figures([long])
    assert len(figure.figure.data[0].y) <= MOST_POINTS + 1
    assert figure.table is not None
    assert len(figure.table.rows) <= 24


def test_the_own_client_is_named_with_its_quota(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    client = "[client]\nsdk = 'js-v3'\nmode = 'adaptive'\nattempts = 6\nquota_tokens = 50\n"
    file.write_text(f"{(SCENARIOS / 'hotkey.toml').read_text(encoding='utf-8')}\n{client}", encoding="utf-8")
    own = load_scenario(file)
    answer = retries_answer(own, (NONE, replace(BUSY, policy=own.client.policy)), 3)
    assert answer.sentence.startswith("With js-v3-adaptive, attempts 6, quota 50, 20 % of 100 requests")
    said = " ".join(in_text(answer).split())
    assert "500 tokens, the scenario's own with 50 (--clients N)" in said
    assert "…" not in said


def test_what_an_adaptive_client_sends_late_feeds_on_no_retries() -> None:
    later = replace(BUSY, policy=policy_named("boto3-2026-adaptive"), throttled_per_s=(4,) * 13)
    assert [one for one in found_in([NONE, later]) if "feeds on" in one] == []
    assert "take 5 ms at p50 and 1.5 s at p99" in next(found_in([NONE, later]))
    assert "feeds on" in next(found_in([NONE, replace(later, policy=BUSY.policy)]))


def test_shards_by_luck_are_named() -> None:
    assert (
        "2 held as well, but only by luck: one shard more did not." in smallest_answer(shards_found()).notes
    )
