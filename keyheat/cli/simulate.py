"""The verb simulate: a scenario on a virtual clock."""

from pathlib import Path

import click

from keyheat.cli.conclude import How, exit_code_of, jobs_in, say_problems, side_by_side, simulated, tell_runs
from keyheat.cli.options import (
    a_path,
    a_scenario,
    changed,
    further_analyzers,
    hours_a_day,
    in_json,
    price_list,
    some_prices,
)
from keyheat.plan.prices import Billing
from keyheat.runfiles import SIMULATED
from keyheat.simulator.jobs import find_scenarios


@click.command()
@click.argument("scenarios", metavar="SCENARIO...", nargs=-1, required=True, type=a_scenario)
@click.option(
    "--out", "folder", type=a_path, help="run directory  [default: reports/out/NAME-simulated-TIME]"
)
@changed
@click.option("--seed", type=click.IntRange(0), help="seed of all random draws  [default: the scenario's]")
@click.option("--show-keys", is_flag=True, help="write keys instead of their digests")
@further_analyzers
@in_json("the runs and what came out")
@hours_a_day
@some_prices
def simulate(
    scenarios: tuple[str, ...],
    folder: Path | None,
    settings: tuple[str, ...],
    seed: int | None,
    show_keys: bool,
    further: tuple[Path, ...],
    hours_per_day: float,
    prices: Path,
) -> int:
    """Run SCENARIO (a file, or a name in configs/scenarios) on a virtual clock, analyze, report.

    A minute of load takes about a second. Several scenarios end in one page, each in a folder of its own
    in --out.
    """
    listed = price_list(prices)
    billing = Billing(listed, hours_per_day)
    how = How(target=SIMULATED, show_keys=show_keys, further=further, billing=billing)
    jobs = jobs_in(find_scenarios(scenarios, settings), folder, series="simulated", ending="-simulated")
    diagnoses = [simulated(job, how, seed=seed) for job in jobs]
    codes = list(map(exit_code_of, diagnoses))
    tell_runs(jobs, codes, max(codes), page=side_by_side(jobs, listed))
    for diagnosis in diagnoses:
        say_problems(diagnosis)
    return max(codes)
