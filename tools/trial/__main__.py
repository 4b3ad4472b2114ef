"""`python -m tools.trial`: six small scenarios in an account, held against the model."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import click

from keyheat.cli.guards import SafetyRefusal, agreed, plan_of, target_of
from keyheat.cli.main import main
from keyheat.cli.options import a_file, a_path, in_json, price_list, series_place
from keyheat.cli.run import make_run
from keyheat.cli.simulate import NOT_STARTED, How
from keyheat.flags import Within
from keyheat.load.options import Guards
from keyheat.plan.prices import DEFAULT as PRICES
from keyheat.runs.folder import versions
from keyheat.scenario.spec.part import BudgetSpec
from keyheat.scenario.variants import with_own_tables, write_scenario
from keyheat.show.console import bars, err, in_words, out, print_json, strong, working
from keyheat.show.render import html_of, save, text_of
from keyheat.simulator.jobs import Job, is_done
from keyheat.words import BROKEN, DONE, INVALID
from tools.trial.answer import answer_of
from tools.trial.judgement import judged
from tools.trial.record import (
    NAMES,
    Observed,
    ScenarioName,
    Trial,
    observed_run,
    read_trial,
    region_of,
    trial_scenario,
    write_trial,
)

SHARED, PAGE = "trial.json", "trial.html"


@click.command()
@click.option("--target", default="local", show_default=True, help="local, aws, or the URL of an endpoint")
@click.option("--only", type=click.Choice(NAMES), multiple=True, help="this scenario; may be repeated")
@click.option(
    "--from",
    "earlier",
    type=a_file,
    metavar="FILE",
    help="a trial.json of somebody: nothing is sent, it is held against this version's model",
)
@click.option(
    "--out", "folder", type=a_path, help="where runs, page and file go  [default: reports/out/trial-TIME]"
)
@click.option(
    "--max-dollars",
    type=Within(0, 1, min_open=True),
    default=1.0,
    show_default=True,
    metavar="D",
    help="what all scenarios together may cost",
)
@click.option("--yes", is_flag=True, help="do not ask whether to go on; required without a terminal")
@in_json("what was found")
@click.option("--prices", type=a_file, default=PRICES, help="price list  [default: configs/prices.toml]")
def trial(
    target: str, only: tuple[str, ...], earlier: Path | None, folder: Path | None, max_dollars: float,
    yes: bool, prices: Path,
) -> int:  # fmt: skip
    """Does DynamoDB do in this account what the model says? Six scenarios of 25 to 40 s, at most $1.

    It writes a page, and a file to be shared that names no account, table or key. Exit code 1: it does
    otherwise; 3: a scenario says nothing.
    """
    folder = series_place(folder, "trial")
    if earlier is not None:
        found, code = read_trial(earlier), DONE
        write_trial(folder / SHARED, found)
    else:
        jobs, how = _agreed(only or NAMES, target, folder, max_dollars, yes=yes, prices=prices)
        found, code = _made(jobs, how, folder / SHARED)
    if not found.scenarios:
        return code
    return _told(found, folder, code)


def _agreed(
    names: Sequence[str], target: str, folder: Path, max_dollars: float, *, yes: bool, prices: Path
) -> tuple[dict[str, Job], How]:
    """The runs, each on a new table and with its part of the dollars, once somebody has agreed."""
    guards = Guards(yes=yes, no_align=True)
    ending = f"-{datetime.now(UTC):%Y%m%d%H%M%S}"
    jobs = {}
    for name in dict.fromkeys(names):
        # On a table that nobody has loaded before: burst that was spent is not there again.
        scenario = with_own_tables(trial_scenario(name), ending)
        jobs[name] = Job(scenario, folder / f"{name}.json", folder / name)
    found = target_of(target)
    price_list(prices)
    if found is not None and not found.local:
        bills = {name: plan_of(job, found, guards, prices).bill.dollars for name, job in jobs.items()}
        spare = max_dollars - sum(bills.values())
        if spare < 0:
            raise SafetyRefusal(
                f"the trial costs at most {sum(bills.values()):.2f} dollars, and {max_dollars:g} may be "
                "spent: nothing was started. --max-dollars allows up to 1, and --only NAME makes less of it"
            )
        for name, job in jobs.items():
            budget = BudgetSpec(dollars=bills[name] + spare / len(jobs))
            jobs[name] = replace(job, scenario=job.scenario.model_copy(update={"budget": budget}))
    options = agreed(list(jobs.values()), target, guards, prices=prices)
    for job in jobs.values():
        write_scenario(job.path, job.scenario)
    return jobs, How(target=target, options=tuple(options), quick=True, report=False, quiet=True)


def _made(jobs: dict[str, Job], how: How, path: Path) -> tuple[Trial, int]:
    """Make the runs, and write what there is after each of them; gives the code of what went wrong, too."""
    seen: list[Observed] = []
    found, ended = _trial(seen, how.target, jobs), DONE
    for number, (name, job) in enumerate(jobs.items(), start=1):
        code = make_run(job, how, of_series=(number, len(jobs)))
        if is_done(job):
            one = cast("ScenarioName", name)
            seen.append(observed_run(one, job.folder, job.scenario.load.duration_s))
            found = _trial(seen, how.target, jobs)
            write_trial(path, found)
        elif code not in NOT_STARTED:
            err.print(f"keyheat: {name} says nothing: it came to no result")
            ended = INVALID
        if code in NOT_STARTED:
            return found, code
    return found, ended


def _trial(seen: Sequence[Observed], target: str, jobs: dict[str, Job]) -> Trial:
    at = target_of(target)
    local, aws = at is None or at.local, at is not None and at.aws
    return Trial(
        version=versions("keyheat")["keyheat"] or "",
        day=datetime.now(UTC).date(),
        target="local" if local else "aws" if aws else "endpoint",
        region=region_of(at.region) if at is not None and aws else None,
        complete=[one.scenario for one in seen] == list(NAMES) and len(jobs) == len(NAMES),
        scenarios=tuple(seen),
    )


def _told(found: Trial, folder: Path, code: int) -> int:
    """Judge it, write the page, and tell; gives the exit code."""
    with working("holding it against the model", bars):
        judgement = judged(found.scenarios)
    answer, shared = answer_of(found, judgement), folder / SHARED
    page = save(folder / PAGE, html_of(answer, datetime.now(UTC)))
    if in_words():
        out.print(text_of(answer))
    else:
        print_json({**answer.data, "page": str(page), "shared": str(shared)})
    out.print(strong("The page: ", page))
    out.print(strong("To be shared: ", shared))
    if code in NOT_STARTED or judgement.differing:
        return code if code in NOT_STARTED else BROKEN
    return code if len(judgement.compared) == len(found.scenarios) else INVALID


if __name__ == "__main__":
    sys.exit(main(command=trial))
