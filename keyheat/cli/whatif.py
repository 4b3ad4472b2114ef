"""The verb whatif: how many shards, how much capacity, how much load; and what retries make of throttling."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from keyheat.cli.guards import Guards, agreed
from keyheat.cli.mistakes import CheckedCommand, Mistakes
from keyheat.cli.options import (
    AS_MARKDOWN,
    Priced,
    a_path,
    a_scenario,
    give,
    in_json,
    series_place,
    some_settings,
    typed_options,
    write_answer,
)
from keyheat.cli.run import make_run
from keyheat.cli.simulate import NOT_STARTED, How
from keyheat.flags import Within, option, options_of, takes
from keyheat.model.retries import CLIENTS, NONE, POLICIES, USUAL, policy_named
from keyheat.runfiles import SIMULATED
from keyheat.shipped import require
from keyheat.show.console import bars, err
from keyheat.simulator.jobs import Job, find_scenario, is_done
from keyheat.words import INVALID, WRITE

if TYPE_CHECKING:
    from keyheat.scenario.scenario import Scenario
    from keyheat.show.answer import Answer
    from keyheat.simulator.whatif import Question, Search

NAME: Final = "whatif"
LOADED_SHARDS_MOST: Final = 16
RETRIES: Final = "retries"
SEARCHES: Final = ("shards", "capacity", "load")
ONLY_FOR: Final = {
    "index": ("shards", "capacity"),
    **dict.fromkeys(("start", "most", "burst", "target"), SEARCHES),
    **dict.fromkeys(("sdks", "clients"), (RETRIES,)),
}
"""The questions that an option is for; the other options are for all of them."""
ABOVE_ZERO: Final = Within(0, min_open=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """Options of a search: range and target."""

    step_s: float | None = option(
        "seconds of each run  [default: the scenario's; of load 60 or more]",
        flag="--duration", type=ABOVE_ZERO, metavar="S",
    )  # fmt: skip
    target: str = option("simulated, local, aws, or the URL of an endpoint", default=SIMULATED)
    index: str | None = option("search the keys, or the capacity, of this global index")
    start: float | None = option(
        "first number to try; none below it", flag="--from", type=ABOVE_ZERO, metavar="N"
    )
    most: float | None = option("largest number to try", flag="--to", type=ABOVE_ZERO, metavar="N")
    burst: bool = option("count capacity that the table has saved up", default=False, flag="--with-burst")
    sdks: tuple[str, ...] = option(
        f"try this retry policy  [default: {', '.join(USUAL)}]",
        default=(), flag="--sdk", type=click.Choice([policy.name for policy in POLICIES]), metavar="POLICY",
    )  # fmt: skip
    clients: int | None = option(
        f"clients that share the demand, each with a retry quota  [default: the scenario's, or {CLIENTS}]",
        type=click.IntRange(1, 10_000),
    )
    folder: Path | None = option("folder of the page and the runs", flag="--out", type=a_path)
    markdown: bool = option(AS_MARKDOWN, default=False)
    guards: Guards = options_of(Guards)
    priced: Priced = options_of(Priced)


@click.command(cls=CheckedCommand)
@click.argument("scenario", type=a_scenario)
@click.argument("question", type=click.Choice((*SEARCHES, RETRIES)))
@some_settings
@takes("search", SearchOptions)
@in_json("the answer")
def whatif(scenario: str, question: str, settings: tuple[str, ...], search: SearchOptions) -> int:
    """Search what SCENARIO needs, or how much it carries, and what that costs.

    \b
    shards    the smallest number of shards of every hot key that is enough
    capacity  the smallest provisioned capacity that is enough
    load      the largest demand that is carried, and what throttles first
    retries   how the retries of SDKs change its throttles

    Exit code 1: not even the largest number is enough; 3: the load generator was the limit.
    """
    target, folder, mistakes = search.target, search.folder, Mistakes()
    _check_options(question, search, mistakes)
    if search.step_s is not None and question != "load":
        settings = (*settings, f"load.duration_s={search.step_s!r}")
    with mistakes.noted():
        loaded, path = find_scenario(scenario, settings)
    mistakes.refuse()
    loads = target != SIMULATED
    for extra in ["load", "report"] if loads else ["report"] if folder is not None else []:
        require(extra)
    if folder is not None or loads:
        folder = series_place(folder, f"{loaded.name}-{question}")
    if question == RETRIES:
        answer, code = _retries(loaded, path, search), 0
    else:
        questions = list(_questions(loaded, path, question, search))
        try:
            searches = [_searched(each, path, search, folder) for each in questions]
        except _Ended as ended:
            err.print(f"keyheat: the search ended early; its runs are kept in {folder}")
            return ended.code
        answer, code = _answer(searches, search, path)
    page = None if folder is None else write_answer(folder, NAME, answer, code)
    return give(answer, code, page=page, markdown=search.markdown)


def _check_options(question: str, search: SearchOptions, mistakes: Mistakes) -> None:
    """Note options of other questions, and a range that is empty."""
    for name, flag in typed_options().items():
        if question not in (kinds := ONLY_FOR.get(name, (question,))):
            mistakes.add(f"{flag} is for {' and '.join(kinds)}, not for {question}")
    if search.start is not None and search.most is not None and search.start >= search.most:
        mistakes.add(f"--from {search.start:g} is not below --to {search.most:g}")
    for number in (search.start, search.most):
        if question != "load" and number is not None and number != int(number):
            mistakes.add(f"--from and --to of {question} are whole numbers, not {number:g}")


def _questions(scenario: "Scenario", path: Path, kind: str, options: SearchOptions) -> "Iterator[Question]":
    """One question, or one for each direction with too little capacity."""
    from keyheat.simulator.whatif import (
        SHARDS_MOST,
        capacity_question,
        load_question,
        shards_question,
        throttled_directions,
    )

    start, most = (int(number) if number else None for number in (options.start, options.most))
    if kind == "load":
        yield load_question(
            scenario, start=options.start, most=options.most, step_s=options.step_s, burst=options.burst
        )
    elif kind == "shards":
        usual = SHARDS_MOST if options.target == SIMULATED else LOADED_SHARDS_MOST
        yield shards_question(
            scenario, index=options.index, start=start or 1, most=most or usual, burst=options.burst
        )
    else:
        capacity = partial(
            capacity_question, scenario, index=options.index, start=start, most=most, burst=options.burst
        )
        yield from map(capacity, throttled_directions(capacity(WRITE), path.parent))


def _searched(question: "Question", path: Path, options: SearchOptions, folder: Path | None) -> "Search":
    """The answer by the simulator, or by real loads after consent."""
    from keyheat.show.console import Trying
    from keyheat.simulator.whatif import simulated_search

    name, target = f"{question.scenario.name}: {question.kind}", options.target
    if target == SIMULATED:
        with Trying(name, bars) as trying:
            return simulated_search(question, path.parent, trying)
    from keyheat.analysis.loaded_step import loaded_search  # frames: the base does without

    assert folder is not None, "runs have a folder"
    if options.guards.table is not None:
        raise click.UsageError("each run creates its own table: leave out --table")
    of_load: tuple[str, ...] = ()

    def agree(jobs: Sequence[Job]) -> None:
        nonlocal of_load
        of_load = tuple(agreed(jobs, target, options.guards, prices=options.priced.prices))
        bars.print(f"{name}: at most {len(jobs)} runs on {target}")

    def run(job: Job, of_series: tuple[int, int]) -> None:
        how = How(target=target, options=of_load, quick=True, quiet=True)
        code = make_run(job, how, of_series=of_series)
        if code in NOT_STARTED or not is_done(job):
            raise _Ended(code or INVALID)

    return loaded_search(question, path, folder, agree=agree, run=run)


class _Ended(Exception):
    """A run that could not be made; nothing more is tried."""

    def __init__(self, code: int) -> None:
        self.code = code


def _retries(scenario: "Scenario", path: Path, options: SearchOptions) -> "Answer":
    """Simulate the same demand under each retry policy, request by request."""
    from keyheat.show.console import Simulating
    from keyheat.show.retries import retries_answer
    from keyheat.simulator.dryrun import assumptions_of
    from keyheat.simulator.retrying import demand_of, retried

    client = scenario.client
    clients = options.clients or (CLIENTS if client.sdk == "none" else client.clients)
    demand, runs = demand_of(scenario, path.parent), []
    for policy in dict.fromkeys((NONE, client.policy, *map(policy_named, options.sdks or USUAL))):
        with Simulating(f"{scenario.name}, {policy.name}", scenario.load.duration_s, bars) as bar:
            runs.append(retried(scenario, demand, policy, clients=clients, progress=bar.simulated))
    return retries_answer(scenario, runs, clients, assumptions_of(scenario, path.parent))


def _answer(searches: "list[Search]", options: SearchOptions, path: Path) -> "tuple[Answer, int]":
    """The answer over all searches, and the exit code."""
    from keyheat.show.whatif import Found, exit_code_of, search_answer, together
    from keyheat.simulator.dryrun import assumptions_of

    listed = options.priced.listed
    results = [
        Found(
            search=search, target=options.target, prices=listed,
            assumed=assumptions_of(search.question.scenario, path.parent),
        )
        for search in searches
    ]  # fmt: skip
    return together(list(map(search_answer, results))), max(map(exit_code_of, searches))
