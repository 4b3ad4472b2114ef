"""What verbs share: exit codes, the options that several of them have, and how a run is judged."""

from collections.abc import Sequence
from datetime import UTC, datetime
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from keyheat.claims import Claim, claim, hold
from keyheat.cli.codes import BROKEN, DONE, INVALID, WRONG_USE
from keyheat.load.run.jobs import new_folder
from keyheat.plan.prices import DEFAULT as PRICES
from keyheat.plan.prices import Prices, load_prices
from keyheat.runfiles import DIAGNOSIS, FILES, FileProblem
from keyheat.scenario.scenario import SCENARIOS
from keyheat.terminal.console import err

if TYPE_CHECKING:
    from keyheat.runs.formats import Diagnosis

OUT = Path("reports") / "out"

a_folder = click.Path(exists=True, file_okay=False, path_type=Path)
a_file = click.Path(exists=True, dir_okay=False, path_type=Path)
a_path = click.Path(path_type=Path)
a_time = click.DateTime(["%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%MZ"])


class ScenarioName(click.ParamType[str]):
    """A scenario: a name in configs/scenarios, which a shell completes, or a file."""

    name = "scenario"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The names that begin so; where there is none, the shell looks for files."""
        names = sorted(file.stem for file in SCENARIOS.glob("*.toml"))
        found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type="file")]


a_scenario = ScenarioName()


class Within(click.FloatRange):
    """A number in a range. `nan` is in none, though no comparison finds it outside."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number. Ends the command where it is none, or outside."""
        number = float(super().convert(value, param, ctx))
        if isnan(number):
            self.fail(f"{value} is no number.", param, ctx)
        return number


some_prices = click.option(
    "--prices", type=a_file, default=PRICES, help="a price list  [default: configs/prices.toml]"
)


def run_place(asked: Path | None, name: str) -> Path:
    """Where one run goes: the folder that was asked for, or a new one, which goes again if it stays empty."""
    if asked is not None:
        return asked
    new = new_folder(OUT, name)
    new.unlock()  # who makes the run claims it
    return _until_the_end(new)


def series_place(asked: Path | None, name: str) -> Path:
    """Where several runs go, and nothing of anybody else, until the verb is done. Raises `Taken`."""
    return _until_the_end(new_folder(OUT, name) if asked is None else claim(asked))


def same_place(folder: Path) -> Path:
    """A folder whose earlier runs are replaced, and which nobody else has meanwhile. Raises `Taken`."""
    return _until_the_end(hold(folder))


def _until_the_end(claimed: Claim) -> Path:
    """Keep a claim for as long as the verb goes on."""
    click.get_current_context().call_on_close(claimed.release)
    return claimed.folder


further_analyzers = click.option(
    "--with", "further", type=click.Path(exists=True, path_type=Path), multiple=True, metavar="FILE|FOLDER",
    help="an analyzer of your own, or a folder of them; may be repeated (docs/analyzers.md)",
)  # fmt: skip


def diagnosed(folder: Path, further: Sequence[Path] = ()) -> "Diagnosis":
    """Analyze a run directory by the files that are there, and keep the diagnosis and the summary.

    `further` are analyzers of the user's own, which are asked as well.
    """
    from keyheat.analysis.diagnosis import analyze_run
    from keyheat.analysis.summary import keep_summary
    from keyheat.runs.formats import write_diagnosis

    diagnosis = analyze_run(folder, further=further)
    write_diagnosis(folder / FILES[DIAGNOSIS], diagnosis)
    keep_summary(folder)
    return diagnosis


def say_problems(diagnosis: "Diagnosis") -> None:
    """Say which of the user's analyzers said nothing, and why."""
    for problem in diagnosis.problems:
        err.print(problem)


def exit_code_of(diagnosis: "Diagnosis") -> int:
    """The code that a verb ends with; an analyzer of the user's that said nothing was used wrongly."""
    if diagnosis.problems:
        return WRONG_USE
    if not diagnosis.verdict.valid:
        return INVALID
    return BROKEN if any(threshold.broken for threshold in diagnosis.thresholds) else DONE


def price_list(path: Path) -> Prices:
    try:
        return load_prices(path)
    except FileProblem as problem:
        raise click.UsageError(str(problem)) from problem


def in_utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.replace(tzinfo=UTC)
