"""Verbs that load a table, or simulate it: run, simulate."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from keyheat.cli.guards import agreed, guarded
from keyheat.cli.options import (
    a_path,
    a_scenario,
    changed,
    further_analyzers,
    hours_a_day,
    in_json,
    price_list,
    run_place,
    series_place,
    some_prices,
)
from keyheat.cli.run import NOT_STARTED, How, exit_code_of, in_turn, say_problems, simulated, tell_runs
from keyheat.load.guard.options import Guards
from keyheat.load.run.arguments import RETRIES, RETRIES_HELP
from keyheat.plan.prices import Billing, Prices
from keyheat.runfiles import SIMULATED
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.alterations import check_shards
from keyheat.simulator.jobs import Job, find_scenarios, made
from keyheat.terminal.console import out, strong

no_collect = click.option(
    "--no-collect", "quick", is_flag=True, help="skip CloudWatch; label from client data only"
)


@click.command()
@click.argument("scenarios", metavar="SCENARIO...", nargs=-1, required=True, type=a_scenario)
@changed
@click.option("--target", default="local", show_default=True, help="local, aws, or the URL of an endpoint")
@click.option("--out", "folder", type=a_path, help="run directory  [default: reports/out/NAME-TIME]")
@click.option(
    "--transport",
    type=click.Choice(["signed", "boto3"]),
    default="signed",
    show_default=True,
    help="signed is the fastest; boto3 is what an application has",
)
@click.option(
    "--retries",
    type=click.Choice(RETRIES),
    default="client",
    show_default=True,
    help=RETRIES_HELP,
)
@click.option(
    "--prometheus-port", type=int, metavar="PORT", help="serve metrics for Prometheus during the load"
)
@no_collect
@in_json("the runs and what came out")
@guarded
@some_prices
def run(
    scenarios: tuple[str, ...],
    settings: tuple[str, ...],
    target: str,
    folder: Path | None,
    transport: str,
    retries: str,
    prometheus_port: int | None,
    quick: bool,
    guards: Guards,
    prices: Path,
) -> int:
    """Load a table as SCENARIO says (a file, or a name in configs/scenarios), then collect, analyze, report.

    Several scenarios run one after the other, each in a folder of its own in --out, and end in one page.
    """
    loaded = find_scenarios(scenarios, settings)
    for one, path in loaded:
        check_shards(one, path.parent)
    options = ["--transport", transport, "--retries", retries, "--prices", str(prices)]
    options += [f"--prometheus-port={prometheus_port}"] if prometheus_port is not None else []
    listed = price_list(prices)
    jobs = _jobs(loaded, folder, series="compare", settings=settings)
    options += agreed(jobs, target, guards, prices=prices)
    codes = in_turn(jobs, How(target=target, options=tuple(options), quick=quick))
    code = codes[-1] if codes[-1] in NOT_STARTED else max(codes)
    tell_runs(jobs, codes, code, page=_side_by_side(jobs, listed))
    return code


def _jobs(
    loaded: Sequence[tuple[Scenario, Path]],
    folder: Path | None,
    *,
    series: str,
    ending: str = "",
    settings: tuple[str, ...] = (),
) -> list[Job]:
    """One run in its own folder, or several below one."""
    if len(loaded) == 1:
        ((scenario, path),) = loaded
        return [Job(scenario, path, run_place(folder, f"{scenario.name}{ending}"), settings)]
    folder = series_place(folder, series)
    return [Job(scenario, path, folder / scenario.name, settings) for scenario, path in loaded]


def _side_by_side(jobs: Sequence[Job], prices: Prices) -> str | None:
    """Write the page of several runs; gives its path, None if there are not several."""
    runs = [job.folder for job in jobs if made(job)]
    if len(jobs) == 1 or not runs:
        return None
    from keyheat.show.compare import INDEX, write_comparison  # half a second, once the loads are over

    page = jobs[0].folder.parent / INDEX
    write_comparison(page, runs, prices, datetime.now(UTC))
    out.print(strong("\nSide by side: ", page))
    return str(page)


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
    jobs = _jobs(find_scenarios(scenarios, settings), folder, series="simulated", ending="-simulated")
    diagnoses = [simulated(job, how, seed=seed) for job in jobs]
    codes = list(map(exit_code_of, diagnoses))
    tell_runs(jobs, codes, max(codes), page=_side_by_side(jobs, listed))
    for diagnosis in diagnoses:
        say_problems(diagnosis)
    return max(codes)
