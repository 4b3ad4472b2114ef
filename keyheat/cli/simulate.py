"""The verb simulate: a run on a virtual clock, to its report; nothing is sent, and nothing is waited for."""

from datetime import UTC, datetime
from pathlib import Path

import click

from keyheat.cli.common import (
    a_path,
    a_scenario,
    exit_code_of,
    further_analyzers,
    price_list,
    run_place,
    say_problems,
    series_place,
    some_prices,
)
from keyheat.cli.making import How, simulated
from keyheat.cli.telling import in_json
from keyheat.load.run.jobs import Job, find_scenarios
from keyheat.runfiles import SIMULATED
from keyheat.scenario.overrides import overridden
from keyheat.terminal.console import out, print_json, strong


@click.command()
@click.argument("scenarios", metavar="SCENARIO...", nargs=-1, required=True, type=a_scenario)
@click.option(
    "--out", "folder", type=a_path, help="run directory  [default: reports/out/NAME-simulated-TIME]"
)
@click.option(
    "--set",
    "settings",
    metavar="PATH=VALUE",
    multiple=True,
    help="another value for a field of the scenario, such as keys.shards=20; may be repeated",
)
@click.option("--seed", type=click.IntRange(0), help="what chance decides  [default: the scenario's seed]")
@click.option("--show-keys", is_flag=True, help="keys by their names instead of their digests")
@further_analyzers
@in_json("the diagnosis")
@some_prices
def simulate(
    scenarios: tuple[str, ...],
    folder: Path | None,
    settings: tuple[str, ...],
    seed: int | None,
    show_keys: bool,
    further: tuple[Path, ...],
    as_json: bool,
    prices: Path,
) -> int:
    """Load as SCENARIO says (a file, or a name in configs/scenarios) on a virtual clock, analyze, report.

    Minutes take a second or so. Several scenarios end in one page, each in a folder of its own in --out.
    """
    from keyheat.pages.series.index import INDEX
    from keyheat.pages.series.side_by_side import write_comparison

    loaded = find_scenarios(scenarios)
    made = [(overridden(scenario, settings, str(path)), path) for scenario, path in loaded]
    how = How(target=SIMULATED, show_keys=show_keys, quiet=as_json, further=further)
    if len(made) == 1:
        ((scenario, path),) = made
        place = run_place(folder, f"{scenario.name}-simulated")
        diagnoses = [simulated(Job(scenario, path, place), how, seed=seed)]
    else:
        listed = price_list(prices)
        folder = series_place(folder, "simulated")
        jobs = [Job(scenario, path, folder / scenario.name) for scenario, path in made]
        diagnoses = [simulated(job, how, seed=seed) for job in jobs]
        write_comparison(folder / INDEX, [job.folder for job in jobs], listed, datetime.now(UTC))
        if not as_json:
            out.print(strong("\nSide by side: ", folder / INDEX))
    if as_json:
        told = [diagnosis.model_dump(mode="json") for diagnosis in diagnoses]
        print_json(told[0] if len(told) == 1 else told)
    for diagnosis in diagnoses:
        say_problems(diagnosis)
    return max(map(exit_code_of, diagnoses))
