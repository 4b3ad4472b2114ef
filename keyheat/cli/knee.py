"""The verb knee: demand is raised until something throttles; which limit it is, and how much is carried."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import click

from keyheat.cli.guards import Guards, agreed, guarded
from keyheat.cli.options import a_path, a_scenario, in_json, series_place, some_prices, some_settings
from keyheat.cli.run import NOT_STARTED, How, make_run
from keyheat.endpoint.options import Within
from keyheat.load.run.jobs import Job, find_scenario, made
from keyheat.runfiles import DIAGNOSIS, FILES, SECONDS, SIMULATED, write_json
from keyheat.scenario.variants import with_demand, with_files_of, with_own_tables, write_scenario
from keyheat.terminal.console import answer, bars, out, strong
from keyheat.words import DONE, INVALID

if TYPE_CHECKING:
    from keyheat.analysis.knee import KneeStep, Range
    from keyheat.analysis.thresholds import Thresholds
    from keyheat.scenario.scenario import Scenario
    from keyheat.terminal.progress import Trying

WIDE: Final = 64  # times the scenario's own demand, up and down, unless somebody says otherwise
MOST: Final = 10_000_000.0  # a second: what a scenario may ask for
a_demand = Within(0, MOST, min_open=True)


@click.command()
@click.argument("scenario", type=a_scenario)
@some_settings
@click.option(
    "--target", default=SIMULATED, show_default=True, help="simulated, local, aws, or the URL of an endpoint"
)
@click.option(
    "--from",
    "start",
    type=a_demand,
    metavar="R",
    help="the first demand, a second, in the unit of the scenario's load; nothing below is tried",
)
@click.option(
    "--to", "most", type=a_demand, metavar="R", help="the highest one  [default: 64 times the first]"
)
@click.option(
    "--precision",
    type=Within(0.01, 0.5),
    default=0.05,
    show_default=True,
    help="how near what is carried and what is not have to be",
)
@click.option(
    "--step", "--duration", "step_s", type=Within(10, 3_600), metavar="S", help="seconds of each step's load"
)
@click.option(
    "--out", "folder", type=a_path, help="where page and runs go  [default: reports/out/NAME-knee-TIME]"
)
@in_json("the knee")
@guarded
@some_prices
def knee(
    scenario: str,
    settings: tuple[str, ...],
    target: str,
    start: float | None,
    most: float | None,
    precision: float,
    step_s: float | None,
    folder: Path | None,
    guards: Guards,
    prices: Path,
) -> int:
    """How much SCENARIO's table carries, and what throttles first: the key, the table, an index, a maximum.

    Demand is doubled until a step is not carried, then halved between. On the simulator the table has spent
    its burst. Exit code 3: the load generator was the limit before the table was.
    """
    from keyheat.analysis.knee import search
    from keyheat.analysis.knee_steps import seconds_for, used_by
    from keyheat.pages.knee import NAME, write_knee
    from keyheat.simulator.rehearsal.ask import assumptions_of
    from keyheat.terminal.knee import FORMAT, knee_json, knee_text
    from keyheat.wording.knee import KneeAnswer

    loaded, path = find_scenario(scenario, settings)
    within = _range(loaded, start, most, precision)
    step_s = step_s or seconds_for(precision)
    folder = series_place(folder, f"{loaded.name}-knee")
    steps = _steps(loaded, path, target, folder, step_s, within, guards, prices)
    bars.print(f"{loaded.name}: at most {within.most_steps} steps of {step_s:g} s, {target}")
    try:
        with steps:
            found_knee = search(steps.measure, within)
    except _Ended as ended:
        return ended.code
    at = found_knee.carried or found_knee.limited
    demanded = with_demand(loaded, at.demand_per_s if at else within.most, step_s)
    uses = used_by(demanded, folder=path.parent, scale=steps.scale)
    found = KneeAnswer(
        scenario=loaded, target=target, step_s=step_s, knee=found_knee, uses=uses, scale=steps.scale,
        assumed=assumptions_of(loaded, path.parent),
    )  # fmt: skip
    content = knee_json(found)
    write_json(folder / "knee.json", FORMAT, content)
    page = write_knee(folder / NAME, found, datetime.now(UTC))
    answer(lambda: {**content, "page": str(page)}, lambda: knee_text(found))
    out.print(strong("The page: ", page))
    return DONE if found_knee.state in ("carried", "limited") else INVALID


def _range(scenario: "Scenario", start: float | None, most: float | None, precision: float) -> "Range":
    from keyheat.analysis.knee import Range

    if scenario.load.arrivals == "trace":
        raise click.UsageError(
            f"scenario {scenario.name} replays a trace, whose demand is what it is @ $.load.arrivals; "
            "keys.speed sends it faster"
        )
    if start is not None and most is not None and start >= most:
        raise click.UsageError(f"--from {start:g} is not below --to {most:g}")
    first = start or min(scenario.load.target_per_s, most or MOST)
    return Range(
        start=first,
        least=first if start is not None else first / WIDE,
        most=most or min(MOST, first * WIDE),
        precision=precision,
    )


def _steps(
    scenario: "Scenario",
    path: Path,
    target: str,
    folder: Path,
    step_s: float,
    within: "Range",
    guards: Guards,
    prices: Path,
) -> "_Simulated | _Loaded":
    """Who makes the steps; somebody has agreed to all of them where they cost."""
    from keyheat.analysis.thresholds import load_thresholds

    if target == SIMULATED:
        return _Simulated(scenario, path.parent, step_s, load_thresholds())
    if guards.table is not None:
        raise click.UsageError(
            "every step has a table of its own, so that none inherits another's burst: no --table"
        )
    traced = with_files_of(scenario, path.parent)
    demands = [*within.ladder, *[within.most] * (within.most_steps - len(within.ladder))]
    planned = [
        Job(with_own_tables(with_demand(traced, demand, step_s), f"-step-{number}"), path, folder)
        for number, demand in enumerate(demands, start=1)
    ]
    options = agreed(planned, target, guards, prices=prices)
    how = How(
        target=target, options=(*options, "--prices", str(prices)), quick=True, report=False, quiet=True
    )
    return _Loaded(traced, folder, step_s, how, within.most_steps)


class _Ended(Exception):
    """A step that could not be made; nothing more is tried."""

    def __init__(self, code: int) -> None:
        self.code = code


@dataclass(slots=True)
class _Simulated:
    """Steps on the simulator, with one bar over all of them."""

    scenario: "Scenario"
    folder: Path
    step_s: float
    numbers: "Thresholds"
    _bar: "Trying" = field(init=False)

    def __enter__(self) -> Self:
        from keyheat.terminal.progress import Trying

        self._bar = Trying(f"{self.scenario.name}: knee", bars).__enter__()
        return self

    def __exit__(self, *_error: object) -> None:
        self._bar.__exit__(None, None, None)

    @property
    def scale(self) -> float:
        return self.scenario.local.scale

    def measure(self, demand: float, again: int) -> "KneeStep":
        from keyheat.analysis.knee_steps import simulated_step

        self._bar.trying(round(demand))
        one = with_demand(self.scenario, demand, self.step_s)
        return simulated_step(
            one, one.seed + again, self.numbers, folder=self.folder, progress=self._bar.simulated
        )


@dataclass(slots=True)
class _Loaded:
    """Steps that are sent, each a run on a table of its own."""

    scenario: "Scenario"
    folder: Path
    step_s: float
    how: How
    most: int
    scale: float = 1.0
    number: int = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        """Each run has a bar of its own."""

    def measure(self, demand: float, again: int) -> "KneeStep":
        from keyheat.analysis.knee_steps import loaded_step
        from keyheat.runs.formats import read_diagnosis
        from keyheat.runs.manifest import read_manifest
        from keyheat.runs.records import second_counts

        self.number += 1
        name = f"step-{self.number}"
        one = with_own_tables(with_demand(self.scenario, demand, self.step_s), f"-{name}")
        one = one.model_copy(update={"seed": one.seed + again})
        job = Job(one, write_scenario(self.folder / f"{name}.json", one), self.folder / name)
        code = make_run(job, self.how, place=(self.number, self.most))
        if code in NOT_STARTED or not made(job):
            raise _Ended(code or INVALID)
        manifest = read_manifest(job.folder)
        seconds = second_counts(job.folder / FILES[SECONDS], manifest.rows_ahead_s)
        diagnosis = read_diagnosis(job.folder / FILES[DIAGNOSIS])
        self.scale = manifest.scale
        return loaded_step(one, diagnosis, manifest, seconds, job.folder)
