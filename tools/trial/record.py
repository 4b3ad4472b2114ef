"""What a trial leaves to be shared: numbers alone, of which no account, table or key can be told.

keyheat.trial/1    2026-11   first

Nothing is copied into it that somebody else wrote: a reason or a Region that is none is left out.
"""

import re
from collections import Counter
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Annotated, Final, Literal, get_args

from pydantic import Field

from keyheat.model.limits import MINUTE_S
from keyheat.model.resources import parse_reason
from keyheat.runfiles import DIAGNOSIS, FILES, SECONDS, THROTTLES, read_json, write_json
from keyheat.runs.formats import read_diagnosis
from keyheat.runs.manifest import read_manifest
from keyheat.runs.parquet import second_counts, throttle_counts
from keyheat.scenario.scenario import Scenario, load_scenario
from keyheat.simulator.simulate import Simulation
from keyheat.validation import Count, Part, Quantity, checked
from keyheat.words import WRITE

FORMAT: Final = "keyheat.trial/1"
STEP_S: Final = 10
OTHER: Final = "other"
"""A throttle whose reason is none of DynamoDB's, or was not given."""
ScenarioName = Literal[
    "hot-key", "small-table", "index-held-back", "start-on-demand", "maximum-on-demand", "burst-spent"
]
NAMES: Final = get_args(ScenarioName)
FOLDER: Final = Path(__file__).parent / "cases"
State = Literal["measured", "generator", "invalid", "stopped"]


class MinuteCount(Part):
    """What came of one minute of a scenario."""

    attempts: Count
    units: Quantity  # write units of the table that were admitted
    throttles: dict[str, Count]  # by DynamoDB's reason


class Observed(Part):
    """What one scenario came to; times are seconds since its first request."""

    scenario: ScenarioName
    state: State  # "measured"; or why it says nothing
    scale: Annotated[float, Field(ge=1e-6, le=1000)] = 1.0  # of a local endpoint's limits
    attempts: Count
    minutes: tuple[MinuteCount, ...]
    units_by_10_s: tuple[Quantity, ...]
    first_throttle_s: Count | None  # None: nothing was throttled
    at_limit_s: Count  # seconds in which anything was throttled


class Trial(Part):
    """A whole trial, as it is shared."""

    format: Literal["keyheat.trial/1"] = FORMAT
    version: str  # of Keyheat
    day: date
    target: Literal["aws", "local", "endpoint"]
    region: str | None  # None: not in AWS
    complete: bool  # False: it was ended, or only some scenarios were asked for
    scenarios: tuple[Observed, ...]


Sent = tuple[int, int, float]  # second, attempts, units
Refused = tuple[int, str | None, int]  # second, reason, how many


def observation(
    name: ScenarioName, sent: Iterable[Sent], refused: Iterable[Refused], *, duration_s: float,
    state: State = "measured", scale: float = 1.0,
) -> Observed:  # fmt: skip
    """The rows of a client, summed up."""
    sent, refused = list(sent), list(refused)
    start = min((second for second, attempts, _units in sent if attempts), default=0)
    minutes: dict[int, Counter[str]] = {}
    reasons: dict[int, Counter[str]] = {}
    steps = [0.0] * int(duration_s // STEP_S)
    for second, attempts, units in sent:
        minute = minutes.setdefault((second - start) // MINUTE_S, Counter())
        minute["attempts"] += attempts
        minute["units"] += units  # type: ignore[assignment]
        if (step := (second - start) // STEP_S) < len(steps):
            steps[step] += units
    for second, reason, count in refused:
        known = reason if reason is not None and parse_reason(reason) else OTHER
        reasons.setdefault((second - start) // MINUTE_S, Counter())[known] += count
    at_limit = {second for second, _reason, count in refused if count}
    return Observed(
        scenario=name,
        state=state,
        scale=scale,
        attempts=sum(attempts for _second, attempts, _units in sent),
        minutes=tuple(
            MinuteCount(
                attempts=counts["attempts"], units=round(counts["units"], 1),
                throttles=dict(sorted(reasons.get(minute, Counter()).items())),
            )
            for minute, counts in sorted(minutes.items())
        ),
        units_by_10_s=tuple(round(units, 1) for units in steps),
        first_throttle_s=min(at_limit) - start if at_limit else None,
        at_limit_s=len(at_limit),
    )  # fmt: skip


def observed_run(name: ScenarioName, folder: Path, duration_s: float) -> Observed:
    """What a run directory says. Raises `FileProblem`."""
    run, diagnosis = read_manifest(folder), read_diagnosis(folder / FILES[DIAGNOSIS])
    state: State = "measured"
    if run.status != "finished":
        state = "stopped"
    elif diagnosis.generator.bound:
        state = "generator"
    elif not diagnosis.verdict.valid:
        state = "invalid"
    seconds = second_counts(folder / FILES[SECONDS])
    throttles = throttle_counts(folder / FILES[THROTTLES])
    own = [row for row in seconds if row.index is None and row.direction is WRITE]
    return observation(
        name,
        [(int(row.second.timestamp()), row.attempts, row.consumed) for row in own],
        [(int(row.second.timestamp()), row.reason, row.count) for row in throttles],
        duration_s=duration_s,
        state=state,
        scale=run.scale,
    )


def observed_simulation(name: ScenarioName, simulation: Simulation) -> Observed:
    client = simulation.client
    return observation(
        name,
        [(row[0], row[4], row[8]) for row in client.seconds if row[1] is None],
        [(row[0], row[3], row[7]) for row in client.throttles],
        duration_s=simulation.scenario.load.duration_s,
    )


def region_of(said: str | None) -> str | None:
    """A Region of AWS; None for any other word."""
    return said if said and re.fullmatch(r"[a-z]{2}(-[a-z]{2,10}){1,3}-\d{1,2}", said) else None


def write_trial(path: Path, trial: Trial) -> None:
    """Write the file whole or not at all. Raises `CannotWrite`."""
    write_json(path, FORMAT, trial.model_dump(mode="json", exclude={"format"}))


def read_trial(path: Path) -> Trial:
    """A trial from its file. Raises `FileProblem` with every mistake in it."""
    return checked(path, Trial, read_json(path, FORMAT))


def trial_scenario(name: str) -> Scenario:
    return load_scenario(FOLDER / f"{NAMES.index(name) + 1}-{name}.toml")


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
