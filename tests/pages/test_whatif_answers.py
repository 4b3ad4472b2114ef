"""The answers of whatif: their words from made-up numbers, and how each renderer shows them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from keyheat.model.resources import Cause
from keyheat.model.retries import policy_named
from keyheat.scenario.scenario import Scenario, load_scenario
from keyheat.scenario.variants import overridden
from keyheat.show.answer import json_of
from keyheat.show.render import html_of, markdown_of
from keyheat.show.retries import retries_answer
from keyheat.show.whatif import exit_code_of, search_answer, together
from keyheat.simulator.search import LimitHit
from keyheat.simulator.whatif import Question, Search
from keyheat.words import WRITE, Direction
from tests.conftest import Golden
from tests.make import SCENARIOS
from tests.pages.conftest import GENERATED_AT, on_screen, skeleton, trimmed
from tests.pages.made_answers import (
    BUSY,
    HOTKEY,
    KEY,
    NONE,
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


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_renderer_shows_the_whole_answer(question: str, golden: Golden) -> None:
    answer = made_answers()[question]
    content = json_of(answer)
    shown = {
        "txt": trimmed(on_screen(answer)),
        "md": markdown_of(answer),
        "json": "".join(f"{name}: {json.dumps(value)}\n" for name, value in content.items()),
        "html": skeleton(html_of(answer, GENERATED_AT)),
    }
    if question != "shards":  # each renderer shows one answer whole; the words of the others are their own
        shown = {"txt": shown["txt"]}
    for ending, text in shown.items():
        golden(GOLDEN / f"whatif-{question}.{ending}", text)
    assert max(map(len, shown["txt"].splitlines())) <= 80


OF_INDEX = LimitHit(index="by-day", direction=WRITE, cause=Cause.PROVISIONED, events=500)
PROVISIONED, ACCOUNT = replace(KEY, cause=Cause.PROVISIONED), replace(KEY, cause=Cause.ACCOUNT)
READS_TOO = LimitHit(index=None, direction=Direction.READ, cause=Cause.KEY_RANGE, events=9_000)
SHARDS, CAPACITY, LOAD = shards_asked(), capacity_asked(), load_found().search.question
CALM = shards_asked(overridden(HOTKEY, ["load.requests_per_s=50"], "hotkey"))
SCALED = overridden(HOTKEY, ["table.auto_scaling={write={min=5, max=4_000}}"], "hotkey")
INDEXES = "table.indexes=[{name='by-day', partition_key='day', provisioned={read=5, write=5}}]"
INDEXED = replace(LOAD, scenario=overridden(LOAD.scenario, [INDEXES], "hotkey"))


def one_number(asked: Question, value: float, share: float, *left: LimitHit, **more: Any) -> Search:
    """A search in which nothing else was tried."""
    only = step(asked, value, share, *left, **more)
    carried = only.state == "carried"
    return search(asked, [only], value if carried else None, None if carried else value)


def two_numbers(asked: Question, share: float, *left: LimitHit, **more: Any) -> Search:
    """400 throttle, and 800 are enough; of a load it is the other way round."""
    steps = [step(asked, 400, share, *left, **more), step(asked, 800, 0.0, *left)]
    return search(asked, steps, 800, 400)


def shards_where_some_meet(*throttling: int) -> Search:
    steps = [step(SHARDS, value, 0.1 if value in throttling else 0, KEY) for value in range(1, 7)]
    return search(SHARDS, steps, 1, None)


SEARCHES: dict[str, Search] = {
    "the limit of the side that was asked for": two_numbers(CAPACITY, 0.5, READS_TOO, OF_INDEX),
    "more than is allowed by little": two_numbers(CAPACITY, 0.00104, OF_INDEX),
    "no shards needed": shards_where_some_meet(),
    "no shards needed, some meet": shards_where_some_meet(2, 4),
    "no shards needed, all up to 4 meet": shards_where_some_meet(2, 3, 4),
    "shards for a small demand": one_number(CALM, 800, 0.0),
    "capacity without auto scaling": one_number(capacity_asked(SCALED), 800, 0.0),
    "capacity with burst": one_number(capacity_asked(SCALED, burst=True), 800, 0.0),
    "capacity of the table, short of an index": one_number(CAPACITY, 100, 0.5, OF_INDEX),
    "shards, and an index is hot": one_number(SHARDS, 100, 0.5, replace(OF_INDEX, cause=Cause.KEY_RANGE)),
    "shards, and the table is small": one_number(SHARDS, 100, 0.5, PROVISIONED),
    "shards, and the account's quota": one_number(SHARDS, 100, 0.5, ACCOUNT),
    "shards, and nobody says which limit": one_number(SHARDS, 100, 0.5),
    "a load of indexes, too": one_number(INDEXED, 100, 0),
    "a load on burst": one_number(LOAD, 250, 0.5, PROVISIONED, on_burst=True),
    "a load, all of it carried": one_number(LOAD, 100, 0),
    "a load, none of it carried": one_number(LOAD, 250, 0.4, KEY),
    "a load that the generator limits": one_number(LOAD, 250, 0.5, state="generator"),
    "a load without a verdict": one_number(LOAD, 250, 0.5, state="undecided"),
}


def test_what_an_answer_says_of_what_was_tried(golden: Golden) -> None:
    said = []
    for name, searched in SEARCHES.items():
        answer = search_answer(found(searched))
        head = f"{answer.label} ({answer.tone}, exit code {exit_code_of(searched)}): {answer.sentence}"
        columns = f"columns: {', '.join(answer.tables[0].rows[0])}"
        said += [f"== {name}", answer.context, head, columns, *answer.notes, ""]
    golden(GOLDEN / "whatif-searches.txt", "\n".join(said))


def test_reads_and_writes_that_are_both_short_are_one_answer() -> None:
    write = search_answer(found(one_number(CAPACITY, 800, 0.0)))
    read = replace(write, label="50 RCU", sentence="50 RCU are enough.", data={"direction": "read"})
    both = together([write, read])
    assert both.label == "800 WCU; 50 RCU"
    assert both.sentence == f"{write.sentence} {read.sentence}"
    assert both.parts == (write, read)


def own_client(folder: Path) -> Scenario:
    file = folder / "own.toml"
    client = "[client]\nsdk = 'js-v3'\nmode = 'adaptive'\nattempts = 6\nquota_tokens = 50\n"
    file.write_text(f"{(SCENARIOS / 'hotkey.toml').read_text(encoding='utf-8')}\n{client}", encoding="utf-8")
    return load_scenario(file)


def test_what_an_answer_says_of_policies(tmp_path: Path, golden: Golden) -> None:
    own, met = own_client(tmp_path), retried_run("none", conflicts=20)
    late = replace(BUSY, policy=policy_named("boto3-2026-adaptive"), throttled_per_s=(4,) * 13)
    calm = retried_run("none", at_once=80, conflicts=20)
    answers = {
        "transactions met": retries_answer(
            HOTKEY, (met, retried_run("boto3-2026", later=20, conflicts=20)), 1
        ),
        "transactions met, and nothing throttled": retries_answer(HOTKEY, (calm, calm), 1),
        "nothing accepted": retries_answer(HOTKEY, (NONE, retried_run("boto3-2026", at_once=0)), 1),
        "the scenario's own client": retries_answer(own, (NONE, replace(BUSY, policy=own.client.policy)), 3),
        "what an adaptive client sends late feeds on no retries": retries_answer(HOTKEY, (NONE, late), 1),
        "what another sends late does": retries_answer(HOTKEY, (NONE, replace(late, policy=BUSY.policy)), 1),
    }
    shown = "".join(f"== {name}\n{trimmed(on_screen(answer))}\n" for name, answer in answers.items())
    golden(GOLDEN / "whatif-policies.txt", shown)
