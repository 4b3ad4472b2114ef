"""Numbers that are tried on an endpoint: their runs, what these came to, and whether the table carries it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

from keyheat.analysis.run_result import OF, RunTraffic, most_provisioned, traffic_of
from keyheat.model.resources import CAUSE_OF_CONSTRAINT, Cause
from keyheat.runfiles import DIAGNOSIS, FILES
from keyheat.runs.formats import BEYOND, Diagnosis, Verdict, read_diagnosis
from keyheat.runs.manifest import read_manifest
from keyheat.runs.run import read_seconds
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.variants import with_files_of, with_index_shards, with_own_tables, write_scenario
from keyheat.simulator.jobs import Job
from keyheat.simulator.search import LimitHit, SimulationOutcome, State, Step
from keyheat.simulator.traffic import check_shards
from keyheat.simulator.whatif import Question, Search, searched
from keyheat.words import WRITE, Direction, index_of

Burst = tuple[str, Direction, str]
"""A resource that consumed more than its capacity, and a sentence about it."""


def loaded_search(
    question: Question,
    path: Path,
    folder: Path,
    *,
    agree: Callable[[Sequence[Job]], None],
    run: Callable[[Job, tuple[int, int]], None],
) -> Search:
    """Search with real loads, each on a table of its own, once all of them may start.

    `agree` raises where they may not, `run` where a run could not be made. Raises `ValueError` where the load
    test does not send to shards of its keys, or of the index's.
    """
    index = question.index
    if question.kind == "shards" and index is None:
        check_shards(question.candidate(2), path.parent)
    elif question.kind == "shards" and index and with_index_shards(question.scenario, index, 2) is None:
        raise ValueError(
            f"scenario {question.scenario.name} does not say how index {index} is sharded; "
            "describe its key under [attributes], or search on the simulator"
        )
    question = replace(question, scenario=with_files_of(question.scenario, path.parent))
    within, numbers = question.within, count(1)
    values = [*within.ladder, *[within.most] * (within.most_steps - len(within.ladder))]
    agree([Job(_candidate(question, value, 0), path, folder) for value in values])

    def measure(value: float, again: int) -> Step:
        scenario, name = _candidate(question, value, again), _ending(question, value, again).removeprefix("-")
        job = Job(scenario, write_scenario(folder / f"{name}.json", scenario), folder / name)
        run(job, (next(numbers), within.most_steps))
        return loaded_step(question, value, scenario, job.folder)

    return searched(question, measure, most_steps=within.most_steps)


def _candidate(question: Question, value: float, again: int) -> Scenario:
    """The scenario with a number and a seed, on tables that no other run has loaded."""
    candidate = with_own_tables(question.candidate(value), _ending(question, value, again))
    return candidate.model_copy(update={"seed": candidate.seed + again})


def _ending(question: Question, value: float, again: int) -> str:
    """The end of a run's name: `-shards-4`, or `-load-136-4-again`."""
    number = f"{value:.10g}".replace(".", "-")  # names of scenarios have no dots
    return f"-{question.kind}-{number}{'-again' if again else ''}"


def loaded_step(question: Question, value: float, scenario: Scenario, folder: Path) -> Step:
    """Read a step from the files of its run. Raises `FileProblem`."""
    manifest, diagnosis = read_manifest(folder), read_diagnosis(folder / FILES[DIAGNOSIS])
    traffic = traffic_of(manifest, read_seconds(folder))
    attempts = {side: side_traffic.attempts for side, side_traffic in traffic.items()}
    throttled = {side: side_traffic.throttled for side, side_traffic in traffic.items()}
    sides = [side for side in Direction if question.direction in (None, side)]
    total = sum(attempts[side] for side in sides)
    share = sum(throttled[side] for side in sides) / total if total else 0.0
    throttles = diagnosis.verdict.constraint != "none" and share > question.share_most
    on_burst = beyond_provisioned(traffic, most_provisioned(manifest, scenario))
    state = state_of(diagnosis, throttles=throttles, on_burst=on_burst is not None)
    burst = on_burst if state == "limited" and not throttles else None
    return Step(
        value=value, scenario=scenario, state=state, share=share, on_burst=burst is not None,
        verdict=diagnosis.verdict, folder=folder,
        attempts_per_s=sum(side_traffic.attempts_per_s or 0.0 for side_traffic in traffic.values()),
        throttled_per_s=sum(side_traffic.per_s("throttled") or 0.0 for side_traffic in traffic.values()),
        outcome=SimulationOutcome(
            seed=scenario.seed, seconds=scenario.load.duration_s, loaded_s=round(scenario.load.duration_s),
            attempts=attempts, throttled=throttled,
            accepted_per_s={
                (index_of(resource), side): per_s
                for side, side_traffic in traffic.items()
                for resource, per_s in side_traffic.units_per_s_of.items()
            },
            limits=() if state != "limited" else _limits(diagnosis.verdict, burst, sum(throttled.values())),
        ),
    )  # fmt: skip


def state_of(diagnosis: Diagnosis, *, throttles: bool, on_burst: bool) -> State:
    """Judge whether the table served a run, and if not, whether the table was the limit."""
    verdict = diagnosis.verdict
    if diagnosis.generator.bound and not (throttles and verdict.valid):
        return "generator"
    if throttles and (verdict.valid or verdict.constraint == "undetermined"):
        return "limited"
    if not verdict.valid:
        return "undecided"
    return "limited" if on_burst else "carried"


def _limits(verdict: Verdict, burst: Burst | None, events: int) -> tuple[LimitHit, ...]:
    """Return the limit of a run; empty if undetermined."""
    if burst is not None:
        resource, direction, _words = burst
        return (LimitHit(index=index_of(resource), direction=direction, cause=Cause.PROVISIONED, events=0),)
    cause = CAUSE_OF_CONSTRAINT.get(verdict.constraint)
    if cause is None or verdict.direction is None:
        return ()
    index, direction = index_of(verdict.resource), Direction(verdict.direction)
    return (LimitHit(index=index, direction=direction, cause=cause, events=events),)


def beyond_provisioned(
    traffic: Mapping[Direction, RunTraffic], most: Mapping[tuple[str, Direction], float]
) -> Burst | None:
    """Return the resource that exceeded its capacity in `most` the furthest in the second half of the load.

    None if no resource exceeded it by more than `BEYOND`.
    """
    used = {}
    for (resource, direction), has in most.items():
        units = traffic[direction].by_second.get(f"{OF}{resource}")
        if units is not None and len(units):
            used[resource, direction] = float(units[len(units) // 2 :].mean()), has
    (resource, direction), (per_s, has) = max(
        used.items(), key=lambda item: item[1][0] / item[1][1], default=(("", WRITE), (0.0, 0.0))
    )
    if per_s <= has * (1 + BEYOND):
        return None
    return resource, direction, f"{per_s:,.0f} units/s were consumed where {has:,.0f} are provisioned."
