"""The verb fix: the recommended cure of a diagnosed run, tried beside the run as it was."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import click

from keyheat.analysis.advice.actions import Applied, Setting
from keyheat.analysis.advice.fix import chosen
from keyheat.analysis.advice.proof import once_dollars, proof_of, tried
from keyheat.analysis.advice.start import Start, start_of
from keyheat.analysis.thresholds import load_thresholds
from keyheat.cli.guards import agreed, at_known_endpoint, guarded
from keyheat.cli.load import no_collect
from keyheat.cli.options import (
    a_folder,
    a_path,
    hours_a_day,
    in_json,
    price_list,
    series_place,
    some_prices,
)
from keyheat.cli.run import NOT_STARTED, How, exit_code_of, make_run, simulated
from keyheat.load.guard.options import Guards
from keyheat.masking import shown
from keyheat.plan.prices import Billing
from keyheat.runfiles import SIMULATED, write_json
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.variants import changes, with_own_tables, write_scenario
from keyheat.show.questions import throttled_words
from keyheat.simulator.jobs import Job, made
from keyheat.terminal.console import answer, out, strong
from keyheat.words import BROKEN, DONE, INVALID

BEFORE, AFTER, FIXED = "before", "after", "fixed.json"
EXIT_CODES = {"fixed": DONE, "not_fixed": BROKEN, "moved": BROKEN, "not_shown": INVALID, "invalid": INVALID}


@dataclass(frozen=True, slots=True)
class Turn:
    """One run of one side."""

    side: str
    job: Job


@click.command()
@click.argument("folder", metavar="RUN", type=a_folder)
@click.option("--target", help="simulated, local, aws or a URL  [default: the run's]")
@click.option(
    "--repetitions",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="runs of each side, in turns, each pair with its own seed",
)
@click.option("--recommendation", "action", metavar="ACTION", help="try this one  [default: the cure]")
@click.option(
    "--out", "place", type=a_path, help="directory of runs and page  [default: reports/out/NAME-fix-TIME]"
)
@no_collect
@in_json("the answer")
@guarded
@hours_a_day
@some_prices
def fix(
    folder: Path,
    target: str | None,
    repetitions: int,
    action: str | None,
    place: Path | None,
    quick: bool,
    guards: Guards,
    hours_per_day: float,
    prices: Path,
) -> int:
    """Try what the diagnosis of RUN recommends: run both sides again, with the same demand and seed.

    Exit code 1: it is not fixed, or another limit throttles now. 2: no rerun can show the recommendation.
    3: a run is invalid, or the original throttles no more.
    """
    if guards.table is not None:
        raise click.UsageError("each side creates its own table: leave out --table")
    billing = Billing(price_list(prices), hours_per_day)
    start = at_known_endpoint(lambda url: start_of(folder, url), target)
    scenario, target = start.scenario, start.target
    remedy = _remedy(start, action)
    place = series_place(place, f"{scenario.name}-fix")
    turns = _turns(scenario, remedy.scenario, repetitions, place)
    jobs = [turn.job for turn in turns]
    options = [] if target == SIMULATED else agreed(jobs, target, guards, prices=prices)
    write_scenario(place / FIXED, remedy.scenario)
    _announce(scenario, remedy, place)
    how = How(target=target, options=(*options, "--prices", str(prices)), quick=quick, billing=billing)
    for number, turn in enumerate(turns, start=1):
        write_scenario(turn.job.path, turn.job.scenario)
        sent = start.sent if turn.side == BEFORE else start.sent_with(remedy, turn.job.scenario)
        if sent is None:
            code = make_run(turn.job, how, place=(number, len(turns)))
        else:
            code = exit_code_of(simulated(turn.job, how, sent=sent(), behaviour=start.behaviour))
        if code in NOT_STARTED or not made(turn.job):
            return code or INVALID
    return _told(start, remedy, turns, place, billing)


def _remedy(start: Start, action: str | None) -> Applied:
    """The recommendation as a scenario; where no rerun can show it, what can be done by hand."""
    on = Setting(
        target_utilisation=load_thresholds().recommend.target_utilisation,
        simulated=start.target == SIMULATED, whole=True,
    )  # fmt: skip
    choose = partial(chosen, start.diagnosis, start.scenario, action=action)
    found = choose(on)
    if isinstance(found, Applied):
        return replace(found, notes=(*found.notes, *start.assumed))
    by_hand = "\n".join(f"  {one.words}" for one in found)
    said = f"no rerun can show what is recommended; by hand:\n{by_hand}"
    if start.assumed:
        said += "\n`keyheat init --from-diagnosis DIR` writes a scenario of it, with a hot key if need be"
    if isinstance(choose(replace(on, simulated=True)), Applied):
        said += f"\nOn the simulator it can be shown: add --target {SIMULATED}"
    raise ValueError(said)


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


def _announce(scenario: Scenario, remedy: Applied, place: Path) -> None:
    """What is tried, and in which fields it differs."""
    out.print(f"Trying {remedy.says}: {shown(place / FIXED)}")
    for change in changes(scenario, remedy.scenario):
        out.print(f"  {change.words}")
    out.print()


def _told(start: Start, remedy: Applied, turns: Sequence[Turn], place: Path, billing: Billing) -> int:
    """Compare both sides, write the page and print the answer; gives the exit code."""
    from keyheat.show.compare import ComparedRun
    from keyheat.show.data import FORMAT, json_of
    from keyheat.show.fix import Fix, fix_answer
    from keyheat.show.fix_page import NAME, write_fix
    from keyheat.show.text import text_of

    sides = {
        side: [tried(turn.job.folder, turn.job.scenario, billing) for turn in turns if turn.side == side]
        for side in (BEFORE, AFTER)
    }
    prices = billing.prices
    found = Fix(
        scenario=start.scenario,
        remedy=remedy,
        changes=changes(start.scenario, remedy.scenario),
        proof=proof_of(start.limit_of(remedy), sides[BEFORE], sides[AFTER]),
        target=start.target,
        once_dollars=once_dollars(remedy.scenario, prices),
        observed=throttled_words(start.diagnosis.labels) if start.sent is not None else "",
    )
    columns = [
        ComparedRun.read(turn.job.folder, prices)
        for turn in sorted(turns, key=lambda turn: turn.side != BEFORE)
    ]
    page = write_fix(place / NAME, found, columns, prices, datetime.now(UTC))
    made = fix_answer(found, page)
    write_json(place / "fix.json", FORMAT, json_of(made))
    answer(lambda: json_of(made), lambda: text_of(made))
    out.print(strong("\nBefore and after: ", page))
    return EXIT_CODES[found.proof.kind]
