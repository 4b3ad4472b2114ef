"""The verb simulate: a scenario on a virtual clock."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from keyheat.cli.conclude import (
    How,
    diagnosed,
    exit_code_of,
    say_outcome,
    say_problems,
    side_by_side,
    tell_runs,
)
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
from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.plan.prices import Billing
from keyheat.runfiles import EVIDENCE, FILES, SIMULATED
from keyheat.runs.claims import hold
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.jobs import Job, clear, find_scenarios
from keyheat.terminal.console import bars, err, out

if TYPE_CHECKING:
    from keyheat.runs.formats import Diagnosis
    from keyheat.simulator.flow import Traffic


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


def jobs_in(
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


def simulated(
    job: Job,
    how: How,
    *,
    seed: int | None = None,
    sent: "Traffic | None" = None,
    behaviour: Behaviour = DEFAULT,
) -> "Diagnosis":
    """Simulate a scenario to its report; the seed is the scenario's unless another is given.

    `sent` takes the place of what the scenario's load test sends.
    """
    from keyheat.evidence.simulated import evidence_of
    from keyheat.runs.formats import write_evidence
    from keyheat.show.report import write_report
    from keyheat.show.run import undecided
    from keyheat.simulator.alterations import spread_traffic
    from keyheat.simulator.folder import under_way, write_run
    from keyheat.simulator.rehearsal.ask import assumptions_of
    from keyheat.simulator.simulate import simulate
    from keyheat.terminal.progress import Simulating

    scenario, folder, path = job.scenario, job.path.parent, str(job.path)
    seed = scenario.seed if seed is None else seed
    traffic, notes = (sent, ()) if sent is not None else spread_traffic(scenario, seed, folder)
    notes = (*notes, *assumptions_of(scenario, folder))
    warn = partial(err.print, "keyheat:")
    with hold(job.folder), Simulating(scenario.name, scenario.load.duration_s, bars) as bar:
        clear(job.folder)
        with under_way(scenario, seed, job.folder, path, warn) as watch:
            simulation = simulate(
                scenario, seed=seed, traffic=traffic, folder=folder, behaviour=behaviour, progress=bar.show,
                seen=watch.seen, with_retries=True,
            )  # fmt: skip
            bar.analyzing()
            named = how.show_keys or (sent is None and scenario.invents_keys)
            write_run(simulation, job.folder, scenario_path=path, show_keys=named, notes=notes)
            watch.analyzing()
            write_evidence(job.folder / FILES[EVIDENCE], evidence_of(simulation))
            diagnosis = diagnosed(job.folder, how.further, how.billing)
            if how.report:
                write_report(job.folder, datetime.now(UTC))
    if not how.quiet:
        say_outcome(job, diagnosis)
        for line in (*notes, *undecided(diagnosis)):
            out.print(f"{'':<13}{line}")
    return diagnosis
