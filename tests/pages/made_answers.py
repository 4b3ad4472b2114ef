"""Answers of whatif and fix, made up for tests and for pictures: nothing is simulated."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keyheat.analysis.advice.actions import Applied
from keyheat.analysis.advice.fix import tried
from keyheat.model.resources import Cause
from keyheat.model.retries import policy_named
from keyheat.plan.prices import load_prices
from keyheat.scenario.scenario import Scenario
from keyheat.show.answer import Answer
from keyheat.show.fix import Fix
from keyheat.show.retries import retries_answer
from keyheat.show.whatif import Found, search_answer
from keyheat.simulator.retrying import RetriedRun
from keyheat.simulator.search import LimitHit, SimulationOutcome, State, Step
from keyheat.simulator.whatif import Question, Search, capacity_question, load_question, shards_question
from keyheat.words import WRITE, Direction
from tests.make import a_shipped

HOTKEY = a_shipped("hotkey")
KEY = LimitHit(index=None, direction=WRITE, cause=Cause.KEY_RANGE, events=500)
AT_ONCE_S, LATER_S = 0.005, 1.5


def shards_asked(scenario: Scenario = HOTKEY, **asked: Any) -> Question:
    return shards_question(scenario, **asked)


def capacity_asked(scenario: Scenario = HOTKEY, **asked: Any) -> Question:
    return capacity_question(scenario, WRITE, **asked)


def step(question: Question, value: float, share: float, *left: LimitHit, **more: Any) -> Step:
    """A number with the part of a hundred writes a second that throttles."""
    outcome = SimulationOutcome(
        seed=1, seconds=60, loaded_s=60, attempts={WRITE: 6_000, Direction.READ: 0},
        throttled={WRITE: round(share * 6_000), Direction.READ: 0},
        accepted_per_s={(None, WRITE): 1_000.0 * (1 - share)}, limits=left if share else (),
    )  # fmt: skip
    state: State = "limited" if share > question.share_most else "carried"
    given = {"state": state, "attempts_per_s": 100.0, "throttled_per_s": 100.0 * share} | more
    return Step(value=value, scenario=question.candidate(value), outcome=outcome, share=share, **given)


def search(question: Question, steps: Sequence[Step], answer: float | None, failing: float | None) -> Search:
    """A search that tried the steps, in this order."""
    by_value = {one.value: one for one in steps}
    return Search(
        question=question, steps=tuple(steps), answer=None if answer is None else by_value[answer],
        failing=None if failing is None else by_value[failing], confirmed=True,
    )  # fmt: skip


def found(searched: Search, **more: Any) -> Found:
    given = {"search": searched, "target": "simulated", "prices": load_prices()}
    return Found(**{**given, **more})


def shards_found(**more: Any) -> Found:
    """2 shards hold by luck, 4 are enough."""
    asked = shards_asked(**more)
    steps = [step(asked, value, share, KEY) for value, share in ((1, 0.4), (2, 0), (3, 0.1), (4, 0), (5, 0))]
    return found(search(asked, steps, 4, 3))


def load_found(**more: Any) -> Found:
    """136 requests a second are carried, and one key is the limit."""
    asked = load_question(HOTKEY)
    shares = ((250, 0.41), (125, 0), (177, 0.2), (149, 0.06), (136, 0), (142, 0.02))
    steps = [step(asked, value, share, KEY) for value, share in shares]
    return found(search(asked, steps, 136, 142), **more)


def retried_run(
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


NONE = retried_run("none")
BUSY = retried_run("boto3-2026", later=20, tail_s=3)
STUCK = retried_run("boto3-2026-adaptive", at_once=10, later=50, waiting=40, tail_s=5)


def made_answers() -> dict[str, Answer]:
    """An answer to each question."""
    asked, runs = capacity_asked(), (NONE, BUSY, STUCK)
    capacity = [step(asked, 4_000, 0.2, KEY), step(asked, 8_000, 0.2, KEY)]
    return {
        "shards": search_answer(shards_found()),
        "capacity": search_answer(found(search(asked, capacity, None, 8_000))),
        "load": search_answer(load_found()),
        "retries": retries_answer(HOTKEY, runs, 10),
    }


def made_fix(before: Path, after: Path) -> Fix:
    """Shards for a hot key, with a run of each side."""
    scenarios, prices = [HOTKEY, a_shipped("sharded")], load_prices()
    remedy = Applied(
        actions=("shard_writes",), resource="table", direction="write", scenario=scenarios[1],
        says="20 shards", notes=("One user more reads.",), queries_per_read=(1, 20),
    )  # fmt: skip
    runs = [tried(run, one, prices) for run, one in zip((before, after), scenarios, strict=True)]
    return Fix(
        scenario=HOTKEY, remedy=remedy, target="local", limit=("partition", "table", "write"),
        before=tuple(runs[:1]), after=tuple(runs[1:]),
    )  # fmt: skip
