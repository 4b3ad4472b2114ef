"""The answers of whatif: their words from made-up numbers, and how each renderer shows them."""

import json
import re
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from keyheat.model.resources import Cause
from keyheat.model.retries import policy_named
from keyheat.scenario.scenario import load_scenario
from keyheat.scenario.variants import overridden
from keyheat.show.answer import json_of
from keyheat.show.html import html_of
from keyheat.show.markdown import markdown_of
from keyheat.show.retries import found_in, retries_answer, retry_figure, sentence_of
from keyheat.show.whatif import exit_code_of, search_answer, together
from keyheat.simulator.outcome import LimitHit
from keyheat.words import WRITE, Direction
from tests.conftest import Golden
from tests.make import SCENARIOS
from tests.pages.conftest import on_screen, trimmed
from tests.pages.made_answers import (
    BUSY,
    HOTKEY,
    KEY,
    NONE,
    STUCK,
    capacity_asked,
    found,
    load_found,
    made_answers,
    retried_run,
    search,
    shards_asked,
    step,
)

GOLDEN = Path(__file__).parent / "golden"
QUESTIONS = ("shards", "capacity", "load", "retries")


def skeleton(page: str) -> str:
    """The outline of a page: its parts, headings, facts and columns."""
    body = page[page.index("<body") : page.index("<noscript>")]
    outline = re.findall(r'<(section id="\w+"|h[1-6]|dt|th|summary|li)(?: [^>]*)?>(.*?)(?:<|\n)', body)
    return "".join(f"{tag} {words}".rstrip() + "\n" for tag, words in outline)


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_renderer_shows_the_whole_answer(question: str, generated_at: datetime, golden: Golden) -> None:
    answer = made_answers()[question]
    content = json_of(answer)
    for figure in content["figures"]:
        figure["figure"] = [trace.get("name") for trace in figure["figure"]["data"]]
    shown = {
        "txt": trimmed(on_screen(answer)),
        "md": markdown_of(answer),
        "json": "".join(f"{name}: {json.dumps(value)}\n" for name, value in content.items()),
        "html": skeleton(html_of(answer, generated_at)),
    }
    if question != "shards":  # each renderer shows one answer whole; the words of the others are their own
        shown = {"txt": shown["txt"]}
    for ending, text in shown.items():
        golden(GOLDEN / f"whatif-{question}.{ending}", text)
    assert max(map(len, shown["txt"].splitlines())) <= 80


OF_INDEX = LimitHit(index="by-day", direction=WRITE, cause=Cause.PROVISIONED, events=500)
PROVISIONED, ACCOUNT = replace(KEY, cause=Cause.PROVISIONED), replace(KEY, cause=Cause.ACCOUNT)
READS_TOO = LimitHit(index=None, direction=Direction.READ, cause=Cause.KEY_RANGE, events=9_000)


def test_the_limit_is_that_of_the_side_that_was_asked_for() -> None:
    asked = capacity_asked()
    steps = [step(asked, 400, 0.5, READS_TOO, OF_INDEX), step(asked, 800, 0.0, READS_TOO)]
    answer = search_answer(found(search(asked, steps, 800, 400)))
    assert answer.sentence == (
        "800 WCU are enough; with 400 WCU, 50 % of the writes throttle, by the provisioned capacity of index "
        "by-day (writes)."
    )
    assert (answer.label, answer.tone) == ("800 WCU", "none")


@pytest.mark.parametrize(
    ("throttling", "with_more"),
    [
        ((), ""),
        ((2, 4), "; with 2 or 4, some share a partition and throttle"),
        ((2, 3, 4), "; with 2 to 4, some share a partition and throttle"),
    ],
)
def test_a_key_that_needs_no_shards_is_left_as_it_is(throttling: tuple[int, ...], with_more: str) -> None:
    asked = shards_asked()
    steps = [step(asked, value, 0.1 if value in throttling else 0, KEY) for value in range(1, 7)]
    answer = search_answer(found(search(asked, steps, 1, None)))
    assert answer.sentence == f"1 shard, as now, is enough{with_more}."
    assert answer.label == "1 shard"


CALM = overridden(HOTKEY, ["load.requests_per_s=50"], "hotkey")
SCALED = overridden(HOTKEY, ["table.auto_scaling={write={min=5, max=4_000}}"], "hotkey")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (shards_asked(CALM), "By the formula, 1 shard is enough if"),
        (capacity_asked(SCALED), "Timeline and auto scaling are left out: the capacity stays the same."),
        (capacity_asked(SCALED, burst=True), "Burst capacity counts here"),
    ],
    ids=["a small demand", "what was left out", "what was counted"],
)
def test_what_a_number_rests_on_is_noted(asked: Any, said: str) -> None:
    notes = search_answer(found(search(asked, [step(asked, 800, 0.0)], 800, None))).notes
    assert any(note.startswith(said) for note in notes)


@pytest.mark.parametrize(
    ("asked", "left", "said"),
    [
        (capacity_asked(), OF_INDEX, "unchanged here: keyheat whatif hotkey capacity --index by-day."),
        (shards_asked(), replace(OF_INDEX, cause=Cause.KEY_RANGE), "hotkey shards --index by-day."),
        (shards_asked(), PROVISIONED, "More shards do not help: ask keyheat whatif hotkey capacity."),
        (capacity_asked(), KEY, "a partition's limit: ask keyheat whatif hotkey shards."),
    ],
)
def test_what_no_number_helps_with_is_asked_for_by_its_name(asked: Any, left: LimitHit, said: str) -> None:
    notes = search_answer(found(search(asked, [step(asked, 100, 0.5, left)], None, 100))).notes
    assert any(said in note for note in notes)


@pytest.mark.parametrize(
    ("indexes", "column"),
    [
        ("[]", "WCU/s"),
        ("[{name='by-day', partition_key='day', provisioned={read=5, write=5}}]", "WCU/s, indexes included"),
    ],
)
def test_units_of_a_load_say_that_those_of_indexes_are_among_them(indexes: str, column: str) -> None:
    asked = load_found().search.question
    scenario = overridden(asked.scenario, [f"table.indexes={indexes}"], "hotkey")
    asked = replace(asked, scenario=scenario)
    answer = search_answer(found(search(asked, [step(asked, 100, 0)], 100, None)))
    assert list(answer.tables[0].rows[0])[3:] == [column]


def test_a_share_that_exceeds_what_is_allowed_by_little_is_seen_to_exceed_it() -> None:
    asked = capacity_asked()
    assert asked.share_most == 0.001
    steps = [step(asked, 400, 0.00104, OF_INDEX), step(asked, 800, 0.0)]
    answer = search_answer(found(search(asked, steps, 800, 400)))
    assert answer.context.endswith("at most 0.1 % throttled")
    assert "with 400 WCU, 0.104 % of the writes throttle" in answer.sentence
    assert answer.tables[0].rows[0]["throttled"] == "0.104 %"


SHORT: list[tuple[dict[str, Any], tuple[LimitHit, ...], str, str]] = [
    ({}, (KEY,), "partition", "50 % of the attempts throttle, by a partition limit of the table (writes)"),
    ({}, (PROVISIONED,), "table", "by the provisioned capacity of the table (writes)"),
    ({}, (OF_INDEX,), "table", "of index by-day (writes)"),
    ({}, (ACCOUNT,), "account", "the account's quota"),
    ({}, (), "undetermined", "an unidentified limit"),
    ({"on_burst": True}, (PROVISIONED,), "table", "only burst capacity carries the load, beyond"),
    ({"state": "generator"}, (), "invalid", "the load generator is the limit, not the table"),
    ({"state": "undecided"}, (), "invalid", "is not valid"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "left", "tone", "words"), SHORT)
def test_a_number_that_does_not_hold_says_why(
    more: dict[str, Any], left: tuple[LimitHit, ...], tone: str, words: str
) -> None:
    """Of shards no number is enough; of a load a smaller one is carried."""
    asked, load = shards_asked(most=16), load_found().search.question
    none = search(asked, [step(asked, 16, 0.5, *left, **more)], None, 16)
    some = search(load, [step(load, 100, 0), step(load, 200, 0.5, *left, **more)], 100, 200)
    for searched, code in ((none, 1), (some, 0)):
        answer = search_answer(found(searched, target="local"))
        assert answer.tone == tone
        assert words in answer.sentence
        assert exit_code_of(searched) == (3 if tone == "invalid" else code)


def test_everything_and_nothing_is_an_answer() -> None:
    asked = load_found().search.question
    calm = search_answer(found(search(asked, [step(asked, 100, 0)], 100, None)))
    assert (calm.label, calm.tone) == ("100 requests/s", "none")
    assert calm.sentence == "100 requests/s are carried, the most that was tried."
    never = search_answer(found(search(asked, [step(asked, 250, 0.4, KEY)], None, 250)))
    assert never.sentence.startswith("No number that was tried is carried; with 250 requests/s, 40 %")
    assert any(note.startswith("Nothing below 250 requests/s was tried") for note in never.notes)


def test_reads_and_writes_that_are_both_short_are_one_answer() -> None:
    asked = capacity_asked()
    write = search_answer(found(search(asked, [step(asked, 800, 0.0)], 800, None)))
    read = replace(write, label="50 RCU", sentence="50 RCU are enough.", data={"direction": "read"})
    both = together([write, read])
    assert both.label == "800 WCU; 50 RCU"
    assert both.sentence == f"{write.sentence} {read.sentence}"
    assert both.parts == (write, read)


def test_every_request_has_one_fate_and_every_bar_is_the_whole() -> None:
    drawn = {trace.name: list(trace.x) for trace in retry_figure((NONE, BUSY, STUCK)).figure.data}
    assert list(drawn) == ["accepted", "given up", "still waiting"]
    assert [sum(parts) for parts in zip(*drawn.values(), strict=True)] == [100, 100, 100]


def test_transactions_that_met_another_one_are_a_part_of_their_own() -> None:
    runs = (retried_run("none", conflicts=20), retried_run("boto3-2026", later=20, conflicts=20))
    assert sentence_of(runs) == (
        "With boto3-2026 none of 100 requests are given up; no policy that was tried loses fewer. 20 % of "
        "the requests are cancelled for a conflict with another transaction on the same item; no SDK sends "
        "those again."
    )
    calm = retried_run("none", at_once=80, conflicts=20)
    answer = retries_answer(HOTKEY, [calm, calm], 1)
    assert answer.sentence.startswith(
        "Nothing is throttled, so no client retries: 80 of 100 requests are accepted. 20 % of the requests"
    )
    assert answer.tables[0].rows[0]["conflict"] == "20"
    nothing = retried_run("boto3-2026", at_once=0)
    assert retries_answer(HOTKEY, [NONE, nothing], 1).tables[0].rows[1]["p50"] == "–"


def test_the_own_client_is_named_with_its_quota(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    client = "[client]\nsdk = 'js-v3'\nmode = 'adaptive'\nattempts = 6\nquota_tokens = 50\n"
    file.write_text(f"{(SCENARIOS / 'hotkey.toml').read_text(encoding='utf-8')}\n{client}", encoding="utf-8")
    own = load_scenario(file)
    answer = retries_answer(own, (NONE, replace(BUSY, policy=own.client.policy)), 3)
    assert answer.sentence.startswith("With js-v3-adaptive, attempts 6, quota 50, 20 % of 100 requests")
    said = " ".join(on_screen(answer).split())
    assert "500 tokens, the scenario's own with 50 (--clients N)" in said
    assert "…" not in said


def test_what_an_adaptive_client_sends_late_feeds_on_no_retries() -> None:
    later = replace(BUSY, policy=policy_named("boto3-2026-adaptive"), throttled_per_s=(4,) * 13)
    assert [one for one in found_in([NONE, later]) if "sustain" in one] == []
    assert "take 5 ms at p50 and 1.5 s at p99" in next(found_in([NONE, later]))
    assert "sustain" in next(found_in([NONE, replace(later, policy=BUSY.policy)]))
