"""What if: search the answer to a question of numbers.

A measure tries each number: the simulator here, a real load elsewhere.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal, Protocol

import orjson

from keyheat.model.resources import Cause
from keyheat.scenario.scenario import Scenario, ScenarioError, scenario_from_dict
from keyheat.scenario.variants import lasting
from keyheat.simulator.alterations import spread_traffic
from keyheat.simulator.outcome import SimulationOutcome, outcome_of
from keyheat.simulator.questions import SHARDS_MOST, SHARE_MOST, STEADY_S, Question, shards_question
from keyheat.simulator.search import Measure, Step, Tries, worst_of
from keyheat.simulator.simulate import simulate
from keyheat.words import WRITES_FIRST, Direction

CHANGING_MOST_S: Final = 600.0  # seconds of a load that changes which are simulated whole
SEED: Final = 1
"""Seed of all repetitions of a scenario: the answer is the scenario's, not that of one run."""
NotSearched = Literal["not_simulated", "too_long"]
Files = tuple[tuple[str, int], ...]


class SearchWatch(Protocol):
    """Follows the progress of a search."""

    def trying(self, value: float) -> None:
        """Another number is tried."""

    def simulated(self, share: float) -> None:
        """The share of its simulation that is done, from 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A question, what was tried, and the last number that holds with the first one that does not."""

    question: Question
    steps: tuple[Step, ...]  # in the order in which they were made
    answer: Step | None  # None: nothing that was tried holds
    failing: Step | None  # None: everything that was tried holds
    confirmed: bool  # the answer holds with two seeds

    @property
    def in_order(self) -> tuple[Step, ...]:
        """What each number came to, by the seed that throttled most; in ascending order."""
        return tuple(worst_of(self.steps).values())

    @property
    def direction(self) -> Direction:
        """Of the capacity; else that in which the smallest number throttles most."""
        return self.question.direction or most_throttled(self.in_order[0].outcome)


def searched(question: Question, measure: Measure, *, most_steps: int | None = None) -> Search:
    """Search the answer by a measure; `most_steps` bounds a search with real loads."""
    simulated = most_steps is None
    tries = Tries(measure=measure, within=question.within, most_steps=most_steps)
    if question.kind == "shards":
        tries.is_vain = lambda step: all(each.cause is not Cause.KEY_RANGE for each in step.outcome.limits)
    good, bad = tries.edge()
    if good is not None and question.kind == "shards" and simulated:
        settled = tries.settled(good)  # tries larger numbers, too
        good = good if good == 1 else settled  # an undivided key has no shards that collide
    if bad is not None and question.within.larger_holds:
        below = [step.value for step in tries.steps if not step.holds and (good is None or step.value < good)]
        bad = max(below, default=bad)
    worst = worst_of(tries.steps)
    return Search(
        question=question,
        steps=tuple(tries.steps),
        answer=None if good is None else worst.get(good),
        failing=None if bad is None else worst.get(bad),
        confirmed=sum(step.value == good for step in tries.steps) > 1,
    )


def simulated_search(question: Question, folder: Path = Path(), watch: SearchWatch | None = None) -> Search:
    """Search the answer on the simulator; `folder` is the scenario's. Raises `ValueError`."""
    question = lasting_question(question)
    return searched(question, Simulated(question, folder, watch))


def step_of(question: Question, value: float, scenario: Scenario, outcome: SimulationOutcome) -> Step:
    """A simulated number with its outcome."""
    share = outcome.share(question.direction)
    return Step(
        value=value, scenario=scenario, outcome=outcome, share=share,
        state="carried" if share <= question.share_most else "limited",
        attempts_per_s=sum(outcome.attempts.values()) / outcome.seconds,
        throttled_per_s=sum(outcome.throttled.values()) / outcome.seconds,
    )  # fmt: skip


@dataclass(slots=True)
class Simulated:
    """Tries numbers on the simulator; `folder` is the scenario's."""

    question: Question
    folder: Path = Path()
    watch: SearchWatch | None = None

    def __call__(self, value: float, again: int) -> Step:
        if self.watch is not None:
            self.watch.trying(value)
        question, candidate = self.question, self.question.candidate(value)
        seed = candidate.seed + again
        traffic, _notes = spread_traffic(candidate, seed, self.folder, question.index)
        run = simulate(
            candidate, seed=seed, traffic=traffic, folder=self.folder, behaviour=question.behaviour,
            progress=None if self.watch is None else self.watch.simulated, counts_only=True,
        )  # fmt: skip
        return step_of(question, value, candidate, outcome_of(run))


def smallest_shards(
    scenario: Scenario,
    *,
    share_most: float = SHARE_MOST,
    most: int = SHARDS_MOST,
    index: str | None = None,
    burst: bool = False,
    measure: Callable[[Scenario, int], SimulationOutcome] | None = None,
    share_of: Callable[[SimulationOutcome], float] = SimulationOutcome.share,
    folder: Path = Path(),
) -> Search:
    """The smallest number of shards of every hot key with which hardly an attempt (`share_most`) throttles.

    A load test that spreads no key is taken as if it did. `measure` simulates a candidate with a seed,
    `share_of` says what of an outcome counts as throttled. Raises `ValueError`.
    """
    question = shards_question(scenario, index=index, most=most, share_most=share_most, burst=burst)
    if measure is None:
        return simulated_search(question, folder)

    def tried(value: float, again: int) -> Step:
        candidate = question.candidate(value)
        step = step_of(question, value, candidate, measure(candidate, candidate.seed + again))
        share = share_of(step.outcome)
        return replace(step, share=share, state="carried" if share <= share_most else "limited")

    return searched(question, tried)


def lasting_question(question: Question) -> Question:
    """Return the question for a minute of a constant load, if burst does not count."""
    if question.burst or question.kind != "shards":
        return question
    return replace(question, scenario=steady(question.scenario))


def steady(scenario: Scenario) -> Scenario:
    """Return the scenario with a minute of its load if the load is constant; else the scenario."""
    changes = scenario.is_changing or scenario.table.scaled
    return scenario if changes else lasting(scenario, STEADY_S)


def shards_enough(scenario: Scenario, index: str | None = None) -> int | NotSearched | None:
    """The number of `smallest_shards` for a whole load, by a minute of it; None where no number is enough.

    A load that stays the same is simulated for a minute, however long it lasts: the number is that of the
    demand and its keys, and the same in every repetition. One that changes is simulated whole, if that is at
    most ten minutes. Where it is not simulated, why.
    """
    if scenario.dynamic_sharding is not None or scenario.load.arrivals == "trace":
        return "not_simulated"
    whole = steady(scenario)
    if whole.load.duration_s > CHANGING_MOST_S:
        return "too_long"
    fingerprint = scenario_fingerprint(whole.model_copy(update={"seed": SEED}))
    try:
        return _shards_enough(fingerprint, files_fingerprint(whole), index)
    except (ScenarioError, FileNotFoundError):  # a load test that the simulator does not know
        return "not_simulated"


@lru_cache(maxsize=256)  # advice, summary and the repetitions of one scenario need the same
def _shards_enough(scenario: bytes, _files: Files, index: str | None) -> int | None:
    raw = orjson.loads(scenario) | {"name": "a", "question": "a"}
    candidate = scenario_from_dict(raw, "run.json")
    answer = smallest_shards(candidate, index=index).answer
    return None if answer is None else int(answer.value)


def throttled_directions(question: Question, folder: Path = Path()) -> list[Direction]:
    """The directions that throttle at the present capacity; if none does, the one that takes more units."""
    scenario = question.scenario
    traffic, _notes = spread_traffic(scenario, scenario.seed, folder)
    run = simulate(scenario, traffic=traffic, folder=folder, behaviour=question.behaviour, counts_only=True)
    outcome = outcome_of(run)
    directions = [side for side in WRITES_FIRST if outcome.share(side) > question.share_most]
    return directions or [max(WRITES_FIRST, key=outcome.consumed_per_s)]


def most_throttled(outcome: SimulationOutcome) -> Direction:
    """The direction in which most attempts throttled; writes where none did."""
    return max(WRITES_FIRST, key=lambda side: outcome.throttled[side])


def scenario_fingerprint(scenario: Scenario) -> bytes:
    """Return all of a scenario that determines its simulation; `files_fingerprint` has its files."""
    stated = scenario.model_dump(mode="json", exclude={"name", "question", "expects"})
    return orjson.dumps(stated, option=orjson.OPT_SORT_KEYS)


def files_fingerprint(scenario: Scenario) -> Files:
    """Return the files that determine the requests, as they are now. Raises `FileNotFoundError`."""
    trace = scenario.keys.trace
    files = [scenario.locustfile(Path()), *([] if trace is None else [Path(trace)])]
    return tuple((str(file.resolve()), file.stat().st_mtime_ns) for file in files)
