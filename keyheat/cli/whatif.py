"""The verb whatif: how many shards, how much capacity, how much load; and what retries make of throttling."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from keyheat.cli.guards import Guards, agreed, guarded
from keyheat.cli.options import (
    a_path,
    a_scenario,
    command_of,
    in_json,
    price_list,
    series_place,
    some_prices,
    some_settings,
)
from keyheat.cli.run import NOT_STARTED, How, make_run
from keyheat.flags import Within
from keyheat.model.retries import CLIENTS, NONE, POLICIES, USUAL, policy_named
from keyheat.runfiles import SIMULATED, write_json
from keyheat.scenario.variants import with_files_of, with_index_shards, with_own_tables, write_scenario
from keyheat.shipped import require
from keyheat.simulator.alterations import check_shards
from keyheat.simulator.jobs import Job, find_scenario, made
from keyheat.terminal.console import answer, bars, err, in_words, out, print_lines, strong
from keyheat.words import INVALID, WRITE, Direction

if TYPE_CHECKING:
    from keyheat.scenario.scenario import Scenario
    from keyheat.show.answer import Answer
    from keyheat.simulator.questions import Question
    from keyheat.simulator.search import Step
    from keyheat.simulator.whatif import Search

NAME: Final = "whatif"
LOADED_SHARDS_MOST: Final = 16
RETRIES: Final = "retries"
SEARCHES: Final = ("shards", "capacity", "load")
ONLY_FOR: Final = {
    "index": ("shards", "capacity"),
    "direction": ("capacity",),
    "precision": ("capacity", "load"),
    **dict.fromkeys(("start", "most", "allowed", "burst", "target"), SEARCHES),
    **dict.fromkeys(("sdks", "clients"), (RETRIES,)),
}
"""The questions that an option is for; the other options are for all of them."""

ABOVE_ZERO: Final = Within(0, min_open=True)


@click.command()
@click.argument("scenario", type=a_scenario)
@click.argument("question", type=click.Choice((*SEARCHES, RETRIES)))
@some_settings
@click.option(
    "--duration",
    "duration_s",
    type=ABOVE_ZERO,
    metavar="S",
    help="seconds of each run  [default: the scenario's; of load 60 or more]",
)
@click.option(
    "--target", default=SIMULATED, show_default=True, help="simulated, local, aws, or the URL of an endpoint"
)
@click.option("--index", help="search the keys, or the capacity, of this global index")
@click.option("--direction", type=click.Choice(("write", "read")), help="search only this capacity")
@click.option("--from", "start", type=ABOVE_ZERO, metavar="N", help="first number to try; none below it")
@click.option("--to", "most", type=ABOVE_ZERO, metavar="N", help="largest number to try")
@click.option(
    "--precision",
    type=Within(0.01, 0.5),
    help="relative distance at which the search stops  [default: 0.01, of load 0.05]",
)
@click.option(
    "--throttle-share",
    "allowed",
    type=Within(0, 1),
    default=0.001,
    show_default=True,
    help="largest share of the attempts that may be throttled",
)
@click.option("--with-burst", "burst", is_flag=True, help="count capacity that the table has saved up")
@click.option(
    "--sdk",
    "sdks",
    type=click.Choice([policy.name for policy in POLICIES]),
    multiple=True,
    metavar="POLICY",
    help=f"try this retry policy; may be repeated  [default: {', '.join(USUAL)}]",
)
@click.option(
    "--clients",
    type=click.IntRange(1, 10_000),
    help=f"clients that share the demand, each with a retry quota  [default: the scenario's, or {CLIENTS}]",
)
@click.option("--out", "folder", type=a_path, help="folder of the page and the runs")
@click.option("--markdown", is_flag=True, help="print Markdown, for a ticket or a chat")
@in_json("the answer")
@guarded
@some_prices
def whatif(
    scenario: str,
    question: str,
    settings: tuple[str, ...],
    duration_s: float | None,
    folder: Path | None,
    markdown: bool,
    guards: Guards,
    prices: Path,
    **asked: Any,
) -> int:
    """Search what SCENARIO needs, or how much it carries, and what that costs.

    \b
    shards    the smallest number of shards of every hot key that is enough
    capacity  the smallest provisioned capacity that is enough
    load      the largest demand that is carried, and what throttles first
    retries   what the retries of SDKs make of its throttles

    Exit code 1: not even the largest number is enough; 3: the load generator was the limit.
    """
    _check_options(question)
    if duration_s is not None and question != "load":
        settings = (*settings, f"load.duration_s={duration_s!r}")
    loaded, path = find_scenario(scenario, settings)
    loads = asked["target"] != SIMULATED
    for extra in ["load", "report"] if loads else ["report"] if folder is not None else []:
        require(extra)
    if folder is not None or loads:
        folder = series_place(folder, f"{loaded.name}-{question}")
    if question == RETRIES:
        return _say(_retries(loaded, path, asked, drawn=folder is not None), folder, 0, markdown=markdown)
    try:
        searches = [
            _searched(one, path, asked["target"], folder, guards, prices)
            for one in _questions(loaded, path, question, duration_s, asked)
        ]
    except _Ended as ended:
        err.print(f"keyheat: the search ended early; its runs are kept in {folder}")
        return ended.code
    from keyheat.show.steps import exit_code_of

    shown = _answer(searches, asked["target"], path, prices, drawn=folder is not None)
    return _say(shown, folder, max(map(exit_code_of, searches)), markdown=markdown)


def _check_options(question: str) -> None:
    """Refuse options that are for other questions. Raises `UsageError`."""
    context = click.get_current_context()
    for option in context.command.params:
        kinds = ONLY_FOR.get(option.name or "", (question,))
        source = context.get_parameter_source(option.name or "")
        if question not in kinds and source is not click.core.ParameterSource.DEFAULT:
            raise click.UsageError(f"{option.opts[0]} is for {' and '.join(kinds)}, not for {question}")


def _questions(
    scenario: "Scenario", path: Path, kind: str, duration_s: float | None, asked: dict[str, Any]
) -> "list[Question]":
    """What is searched: one question, or one for each direction whose capacity is short."""
    from keyheat.simulator.questions import capacity_question, load_question, shards_question
    from keyheat.simulator.whatif import throttled_directions

    start, most, share = asked["start"], asked["most"], asked["allowed"]
    if start is not None and most is not None and start >= most:
        raise click.UsageError(f"--from {start:g} is not below --to {most:g}")
    common = {"share_most": share, "burst": asked["burst"]}
    if kind == "load":
        exact = {"precision": asked["precision"]} if asked["precision"] else {}
        return [load_question(scenario, start=start, most=most, step_s=duration_s, **exact, **common)]
    for name, value in (("--from", start), ("--to", most)):
        if value is not None and value != int(value):
            raise click.UsageError(f"{name} {value:g} is not a whole number")
    index = asked["index"]
    if kind == "shards":
        usual = 100 if asked["target"] == SIMULATED else LOADED_SHARDS_MOST
        return [
            shards_question(scenario, index=index, start=int(start or 1), most=int(most or usual), **common)
        ]
    exact = {"precision": asked["precision"]} if asked["precision"] else {}
    bounds = {"start": start and int(start), "most": most and int(most)}

    def of(side: Direction) -> "Question":
        return capacity_question(scenario, side, index=index, **bounds, **exact, **common)

    if asked["direction"]:
        return [of(Direction(asked["direction"]))]
    return [of(side) for side in throttled_directions(of(WRITE), path.parent)]


def _searched(
    question: "Question", path: Path, target: str, folder: Path | None, guards: Guards, prices: Path
) -> "Search":
    """The answer by the simulator, or by real loads that somebody has agreed to."""
    from keyheat.simulator.whatif import searched, simulated_search
    from keyheat.terminal.progress import Trying

    name = f"{question.scenario.name}: {question.kind}"
    if target == SIMULATED:
        with Trying(name, bars) as trying:
            return simulated_search(question, path.parent, trying)
    assert folder is not None, "runs have a folder"
    question = replace(question, scenario=with_files_of(question.scenario, path.parent))
    loads = _loads(question, path, target, folder, guards, prices)
    bars.print(f"{name}: at most {question.within.most_steps} runs on {target}")
    return searched(question, loads, most_steps=question.within.most_steps)


def _loads(
    question: "Question", path: Path, target: str, folder: Path, guards: Guards, prices: Path
) -> "_Loads":
    """Real loads, each on a table of its own, once all of them may start. Raises `SafetyRefusal`."""
    if guards.table is not None:
        raise click.UsageError("each run has a table of its own: leave out --table")
    if question.kind == "shards":
        _check_sharded(question, path)
    within = question.within
    values = [*within.ladder, *[within.most] * (within.most_steps - len(within.ladder))]
    jobs = [Job(_own(question, value, 0), path, folder) for value in values]
    options = agreed(jobs, target, guards, prices=prices)
    how = How(target=target, options=(*options, "--prices", str(prices)), quick=True, quiet=True)
    return _Loads(question, folder, how)


def _check_sharded(question: "Question", path: Path) -> None:
    """Raise `ValueError` where the load test does not send to shards of its keys, or of the index's."""
    if question.index is None:
        check_shards(question.candidate(2), path.parent)
    elif with_index_shards(question.scenario, question.index, 2) is None:
        raise ValueError(
            f"scenario {question.scenario.name} does not say how index {question.index} is sharded; "
            "describe its key under [attributes], or search on the simulator"
        )


def _own(question: "Question", value: float, again: int) -> "Scenario":
    """The scenario with a number and a seed, on tables that no other run has loaded."""
    own = with_own_tables(question.candidate(value), _ending(question, value, again))
    return own.model_copy(update={"seed": own.seed + again})


class _Ended(Exception):
    """A run that could not be made; nothing more is tried."""

    def __init__(self, code: int) -> None:
        self.code = code


@dataclass(slots=True)
class _Loads:
    """Tries numbers by real loads."""

    question: "Question"
    folder: Path
    how: How
    number: int = field(default=0, init=False)

    def __call__(self, value: float, again: int) -> "Step":
        from keyheat.analysis.loaded_step import loaded_step

        self.number += 1
        scenario = _own(self.question, value, again)
        name = _ending(self.question, value, again).removeprefix("-")
        job = Job(scenario, write_scenario(self.folder / f"{name}.json", scenario), self.folder / name)
        code = make_run(job, self.how, place=(self.number, self.question.within.most_steps))
        if code in NOT_STARTED or not made(job):
            raise _Ended(code or INVALID)
        return loaded_step(self.question, value, scenario, job.folder)


def _ending(question: "Question", value: float, again: int) -> str:
    """What a run is called by: `-shards-4`, or `-load-136-4-again`."""
    number = f"{value:.10g}".replace(".", "-")  # names of scenarios have no dots
    return f"-{question.kind}-{number}{'-again' if again else ''}"


def _retries(scenario: "Scenario", path: Path, asked: dict[str, Any], *, drawn: bool) -> "Answer":
    """What each policy makes of the same demand, request by request on the simulator."""
    from keyheat.show.retries import retries_answer
    from keyheat.simulator.rehearsal.ask import assumptions_of
    from keyheat.simulator.retrying import demand_of, retried
    from keyheat.terminal.progress import Simulating

    own = scenario.client
    clients = asked["clients"] or (CLIENTS if own.sdk == "none" else own.clients)
    demand = demand_of(scenario, path.parent)
    runs = []
    for policy in dict.fromkeys((NONE, own.policy, *map(policy_named, asked["sdks"] or USUAL))):
        with Simulating(f"{scenario.name}, {policy.name}", scenario.load.duration_s, bars) as bar:
            runs.append(retried(scenario, demand, policy, clients=clients, progress=bar.show))
    return retries_answer(scenario, runs, clients, assumptions_of(scenario, path.parent), drawn=drawn)


def _answer(searches: "list[Search]", target: str, path: Path, prices: Path, *, drawn: bool) -> "Answer":
    from keyheat.plan.forecast import forecast
    from keyheat.show.load import load_answer
    from keyheat.show.smallest import smallest_answer
    from keyheat.show.steps import found_of, together
    from keyheat.simulator.rehearsal.ask import assumptions_of

    listed, answers = price_list(prices), []
    for search in searches:
        question = search.question
        key = forecast(question.scenario, listed, margin=1.0, folder=path.parent).hot_key
        writes = question.kind == "shards" and question.index is None and search.direction is WRITE
        found = found_of(
            search, target, listed, path.parent, formula=key.needed if key is not None and writes else None,
            assumed=assumptions_of(question.scenario, path.parent), drawn=drawn,
        )  # fmt: skip
        answers.append(load_answer(found) if question.kind == "load" else smallest_answer(found))
    return together(answers)


def _say(shown: "Answer", folder: Path | None, code: int, *, markdown: bool) -> int:
    """Print the answer, and write it as a page and as JSON where there is a folder; gives the exit code."""
    from keyheat.show.data import FORMAT, json_of
    from keyheat.show.markdown import markdown_of
    from keyheat.show.text import text_of

    shown = replace(shown, data={**shown.data, "exit_code": code})
    page = None
    if folder is not None:
        from keyheat.show.html import html_of, save

        whole = replace(shown, commands=(command_of(click.get_current_context(), "--out"),))
        write_json(folder / f"{NAME}.json", FORMAT, json_of(whole))
        page = save(folder / f"{NAME}.html", html_of(whole, datetime.now(UTC)))
        shown = replace(shown, link=str(page))
    if markdown and in_words():
        print_lines([markdown_of(shown)], to_stderr=False)
        return code
    answer(lambda: json_of(shown), lambda: text_of(shown))
    if page is not None:
        out.print(strong("\nPage: ", page))
    return code
