"""The verb fix: the recommended cure of a diagnosed run, tried beside the run as it was."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from keyheat.cli.common import a_folder, a_path, exit_code_of, price_list, series_place, some_prices
from keyheat.cli.guards import Guards, agreed, at_known_endpoint, guarded
from keyheat.cli.load import no_collect
from keyheat.cli.making import NOT_STARTED, How, make_run, simulated
from keyheat.cli.telling import in_json
from keyheat.load.run.jobs import Job, made
from keyheat.runfiles import SIMULATED, write_json
from keyheat.scenario.derived import with_own_tables, write_scenario
from keyheat.scenario.scenario import Scenario
from keyheat.terminal.console import out, print_json, shown, strong
from keyheat.words import BROKEN, DONE, INVALID

if TYPE_CHECKING:
    from keyheat.analysis.advising.proof import Limit
    from keyheat.analysis.advising.remedies import Remedy
    from keyheat.cli.fixing import Start
    from keyheat.plan.prices import Prices

BEFORE, AFTER, FIXED = "before", "after", "fixed.json"
EXIT_CODES = {"fixed": DONE, "not_fixed": BROKEN, "moved": BROKEN, "not_shown": INVALID, "invalid": INVALID}


@dataclass(frozen=True, slots=True)
class Turn:
    """One run of one side."""

    side: str
    job: Job


@click.command()
@click.argument("folder", metavar="RUN", type=a_folder)
@click.option("--target", help="simulated, local, aws, or the URL of an endpoint  [default: that of the run]")
@click.option(
    "--repetitions",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="runs of each side, by turns, each pair with a seed of its own",
)
@click.option("--recommendation", "action", metavar="ACTION", help="which one is tried  [default: the cure]")
@click.option(
    "--out", "place", type=a_path, help="where runs and page go  [default: reports/out/NAME-fix-TIME]"
)
@no_collect
@in_json("whether it is fixed, and both sides,")
@guarded
@some_prices
def fix(
    folder: Path,
    target: str | None,
    repetitions: int,
    action: str | None,
    place: Path | None,
    quick: bool,
    as_json: bool,
    guards: Guards,
    prices: Path,
) -> int:
    """Try what the diagnosis of RUN recommends: both sides are run again, with the same demand and seed.

    Exit code 1: it is not fixed, or another limit throttles now. 2: no rerun can show what is recommended.
    3: a run is invalid, or the original throttles no more.
    """
    from keyheat.cli.fixing import start_of

    if guards.table is not None:
        raise click.UsageError("both sides have tables of their own: no --table")
    listed, start = price_list(prices), at_known_endpoint(lambda url: start_of(folder, url), target)
    scenario, target = start.scenario, start.target
    remedy = _remedy(start, action)
    place = series_place(place, f"{scenario.name}-fix")
    turns = _turns(scenario, remedy.scenario, repetitions, place)
    jobs = [turn.job for turn in turns]
    options = [] if target == SIMULATED else agreed(jobs, target, guards, prices=prices)
    write_scenario(place / FIXED, remedy.scenario)
    if not as_json:
        _announce(scenario, remedy, place)
    how = How(target=target, options=(*options, "--prices", str(prices)), quick=quick, quiet=as_json)
    for number, turn in enumerate(turns, start=1):
        write_scenario(turn.job.path, turn.job.scenario)
        sent = start.sent if turn.side == BEFORE else start.sent_with(remedy)
        if sent is None:
            code = make_run(turn.job, how, place=(number, len(turns)))
        else:
            code = exit_code_of(simulated(turn.job, how, sent=sent()))
        if code in NOT_STARTED or not made(turn.job):
            return code or INVALID
    made_of = Made(scenario, remedy, start.limit_of(remedy), target, place)
    return _told(made_of, turns, listed, as_json=as_json)


def _remedy(start: "Start", action: str | None) -> "Remedy":
    """The recommendation as a scenario; where no rerun can show it, what can be done by hand."""
    from keyheat.analysis.advising.remedies import Remedy, chosen
    from keyheat.analysis.thresholds import load_thresholds

    found = chosen(
        start.diagnosis,
        start.scenario,
        simulated=start.target == SIMULATED,
        target=load_thresholds().recommend.target_utilisation,
        action=action,
    )
    if isinstance(found, Remedy):
        return found
    by_hand = "\n".join(f"  {one.words}" for one in found)
    raise ValueError(f"no rerun can show what is recommended; by hand:\n{by_hand}")


def _turns(before: Scenario, after: Scenario, repetitions: int, place: Path) -> list[Turn]:
    """Every run, in its order: before after, after before, before after ... with a seed for each pair."""
    made: list[Turn] = []
    for number in range(repetitions):
        pair = [(BEFORE, before), (AFTER, after)]
        for side, scenario in pair if number % 2 == 0 else reversed(pair):
            name = f"{side}-{number + 1}"
            one = with_own_tables(scenario, f"-{name}")
            one = one.model_copy(update={"seed": scenario.seed + number})
            made.append(Turn(side, Job(one, place / f"{name}.json", place / name)))
    return made


def _announce(scenario: Scenario, remedy: "Remedy", place: Path) -> None:
    """What is tried, and in which fields it differs."""
    from keyheat.scenario.differences import changes

    out.print(f"Trying {remedy.says}: {shown(place / FIXED)}", markup=False)
    for change in changes(scenario, remedy.scenario):
        out.print(f"  {change.words}", markup=False)
    out.print()


@dataclass(frozen=True, slots=True)
class Made:
    """What was tried, and where."""

    scenario: Scenario
    remedy: "Remedy"
    limit: "Limit"
    target: str
    place: Path


def _told(tried_: Made, turns: Sequence[Turn], prices: "Prices", *, as_json: bool) -> int:
    """Hold both sides against each other, write the page, say what came out; gives the exit code."""
    from keyheat.analysis.advising.proof import once_dollars, proof_of, tried
    from keyheat.pages.fix.page import NAME, write_fix
    from keyheat.pages.fix.words import Fix
    from keyheat.pages.series.columns import Column
    from keyheat.scenario.differences import changes
    from keyheat.terminal.fix import FORMAT, fix_json, fix_text

    sides = {
        side: [tried(turn.job.folder, turn.job.scenario, prices) for turn in turns if turn.side == side]
        for side in (BEFORE, AFTER)
    }
    columns = [Column.of_run(turn.job.folder, prices) for turn in turns]
    found = Fix(
        scenario=tried_.scenario,
        remedy=tried_.remedy,
        changes=changes(tried_.scenario, tried_.remedy.scenario),
        proof=proof_of(tried_.limit, sides[BEFORE], sides[AFTER]),
        columns=tuple(sorted(columns, key=lambda column: not column.label.startswith(BEFORE))),
        target=tried_.target,
        once_dollars=once_dollars(tried_.remedy.scenario, prices),
    )
    page = write_fix(tried_.place / NAME, found, prices, datetime.now(UTC))
    content = fix_json(found, page)
    write_json(
        tried_.place / "fix.json",
        FORMAT,
        {name: value for name, value in content.items() if name != "format"},
    )
    if as_json:
        print_json(content)
    else:
        out.print(fix_text(found))
        out.print(strong("\nBefore and after: ", page))
    return EXIT_CODES[found.proof.kind]
