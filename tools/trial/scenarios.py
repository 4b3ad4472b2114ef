"""The six scenarios of a trial, each with one thing that AWS does not publish."""

from pathlib import Path
from typing import Final

from keyheat.scenario.scenario import Scenario, load_scenario
from keyheat.scenario.spec.part import BudgetSpec
from keyheat.scenario.variants import with_own_tables

FOLDER: Final = Path(__file__).parent / "cases"
NAMES: Final = (
    "hot-key", "small-table", "index-held-back", "start-on-demand", "maximum-on-demand", "burst-spent",
)  # fmt: skip


def file_of(name: str) -> Path:
    """The file of a scenario of the trial."""
    return FOLDER / f"{NAMES.index(name) + 1}-{name}.toml"


def trial_scenario(name: str) -> Scenario:
    """A scenario of the trial, as its file has it."""
    return load_scenario(file_of(name))


def on_new_table(name: str, ending: str) -> Scenario:
    """The same on a table that nobody has loaded before: burst that was spent is not there again."""
    return with_own_tables(trial_scenario(name), ending)


def with_dollars(scenario: Scenario, dollars: float) -> Scenario:
    """The scenario, stopped once it has cost so much."""
    return scenario.model_copy(update={"budget": BudgetSpec(dollars=dollars)})


def as_sent(name: str, attempts: int, scale: float) -> Scenario:
    """The scenario at the rate that was really sent, and at the endpoint's scale, for the model to repeat."""
    scenario = trial_scenario(name)
    rate = attempts / scenario.load.duration_s
    return scenario.model_copy(
        update={
            "load": scenario.load.model_copy(update={"requests_per_s": rate}),
            "local": scenario.local.model_copy(update={"scale": scale}),
        }
    )
