"""Verbs that load a table, or simulate it: run, simulate."""

from datetime import UTC, datetime
from pathlib import Path

import click

from keyheat.cli.guards import Guards, agreed, guarded
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
from keyheat.load.run.arguments import RETRIES, RETRIES_HELP
from keyheat.load.run.jobs import Job, find_scenarios, made
from keyheat.plan.prices import Billing
from keyheat.runfiles import SIMULATED
from keyheat.simulator.alterations import check_shards
from keyheat.terminal.console import out, strong

no_collect = click.option(
    "--no-collect", "quick", is_flag=True, help="wait for no CloudWatch: judge by what the client saw alone"
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
    help="signed: our own client, the fastest; boto3: what an application would see",
)
@click.option(
    "--retries",
    type=click.Choice(RETRIES),
    default="client",
    show_default=True,
    help=RETRIES_HELP,
)
@click.option(
    "--throttled-keys",
    is_flag=True,
    help="have CloudWatch Contributor Insights name throttled keys during the run, which costs on AWS",
)
@click.option(
    "--prometheus-port", type=int, metavar="PORT", help="let Prometheus read metrics there while it loads"
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
    throttled_keys: bool,
    prometheus_port: int | None,
    quick: bool,
    guards: Guards,
    prices: Path,
) -> int:
    """Load as SCENARIO says (a file, or a name in configs/scenarios), then collect, analyze, report.

    Several scenarios run one after the other, each in a folder of its own in --out, and end in one page.
    """
    loaded = find_scenarios(scenarios, settings)
    for one, path in loaded:
        check_shards(one, path.parent)
    if throttled_keys and quick:
        raise click.UsageError(
            "say either --throttled-keys or --no-collect: collecting is what reads the keys"
        )
    options = ["--transport", transport, "--retries", retries, "--prices", str(prices)]
    options += ["--throttled-keys"] if throttled_keys else []
    options += [f"--prometheus-port={prometheus_port}"] if prometheus_port is not None else []
    listed, several = price_list(prices), len(loaded) > 1
    if several:
        folder = series_place(folder, "compare")
        jobs = [Job(scenario, path, folder / scenario.name, settings) for scenario, path in loaded]
    else:
        jobs = [Job(*loaded[0], run_place(folder, loaded[0][0].name), settings)]
    options += agreed(jobs, target, guards, prices=prices, throttled_keys=throttled_keys)
    codes = in_turn(jobs, How(target=target, options=tuple(options), quick=quick))
    code, page = codes[-1] if codes[-1] in NOT_STARTED else max(codes), None
    if several and (runs := [job.folder for job in jobs if made(job)]):
        from keyheat.pages.comparison import write_comparison  # half a second, once the loads are over
        from keyheat.pages.series import INDEX

        page = jobs[0].folder.parent / INDEX
        write_comparison(page, runs, listed, datetime.now(UTC))
        out.print(strong("\nSide by side: ", page))
    tell_runs(jobs, codes, code, page=page and str(page))
    return code


@click.command()
@click.argument("scenarios", metavar="SCENARIO...", nargs=-1, required=True, type=a_scenario)
@click.option(
    "--out", "folder", type=a_path, help="run directory  [default: reports/out/NAME-simulated-TIME]"
)
@changed
@click.option("--seed", type=click.IntRange(0), help="what chance decides  [default: the scenario's seed]")
@click.option("--show-keys", is_flag=True, help="keys by their names instead of their digests")
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
    """Load as SCENARIO says (a file, or a name in configs/scenarios) on a virtual clock, analyze, report.

    Minutes take a second or so. Several scenarios end in one page, each in a folder of its own in --out.
    """
    from keyheat.pages.comparison import write_comparison
    from keyheat.pages.series import INDEX

    made, listed = find_scenarios(scenarios, settings), price_list(prices)
    billing, page = Billing(listed, hours_per_day), None
    how = How(target=SIMULATED, show_keys=show_keys, further=further, billing=billing)
    if len(made) == 1:
        ((scenario, path),) = made
        jobs = [Job(scenario, path, run_place(folder, f"{scenario.name}-simulated"))]
        diagnoses = [simulated(jobs[0], how, seed=seed)]
    else:
        folder = series_place(folder, "simulated")
        jobs = [Job(scenario, path, folder / scenario.name) for scenario, path in made]
        diagnoses = [simulated(job, how, seed=seed) for job in jobs]
        page = folder / INDEX
        write_comparison(page, [job.folder for job in jobs], listed, datetime.now(UTC))
        out.print(strong("\nSide by side: ", page))
    codes = [exit_code_of(diagnosis) for diagnosis in diagnoses]
    tell_runs(jobs, codes, max(codes), page=page and str(page))
    for diagnosis in diagnoses:
        say_problems(diagnosis)
    return max(codes)
