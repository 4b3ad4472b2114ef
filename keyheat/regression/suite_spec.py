"""A suite's file as a person writes it: scenarios, targets, how often, and the gates of each case."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from keyheat.analysis.measures import MEASURES
from keyheat.regression.outcome import Gate
from keyheat.runfiles import SIMULATED
from keyheat.scenario.spec.part import (
    IN_WORDS,
    BudgetUnits,
    Dollars,
    Minutes,
    Name,
    ScenarioPart,
    TableName,
)
from keyheat.words import Constraint

FORMAT = "keyheat.suite/1"
LABELS = "labels"  # the gate that is no number
THROTTLE_SHARE: Final = "throttle_share"
CAPACITY_USED: Final = "capacity_used"
OF_LIMITS: Final = (THROTTLE_SHARE, CAPACITY_USED)  # held in simulated cases, too
OF_LOADS: Final = frozenset(name for name, one in MEASURES.items() if one.unit == "ms")
"""What no simulated run has: it takes no time."""
TARGET = r"^(simulated|local|aws|https?://[^\s/]+/?)$"
PATTERNS = {
    **IN_WORDS,
    TARGET: "simulated, local, aws, or the URL of an endpoint such as http://127.0.0.1:8000",
}

Target = Annotated[str, Field(pattern=TARGET)]
Repetitions = Annotated[int, Field(ge=1, le=1_000)]
Seeds = Literal["each", "same"]


class GateSpec(ScenarioPart):
    """One thing that is held on to."""

    measure: str = Field(
        description="a measure's name, or labels: what was limited",
        json_schema_extra={"enum": [LABELS, *MEASURES]},  # for editors; a person is told more than that
    )
    least_effect: Annotated[float, Field(ge=0, lt=1)] | None = Field(
        None,
        description="the smallest relative change that anybody cares for, 0.05 is five percent; absent: the "
        "measure's own. Statistical measures only",
    )
    confidence: Annotated[float, Field(gt=0.5, lt=1)] | None = Field(
        None,
        description="of all statistical gates of the suite together; absent: 0.99. Statistical measures only",
    )


class CaseSpec(ScenarioPart):
    """One scenario on one target."""

    name: Name | None = Field(
        None, description="absent: the scenario's name, with its target where it occurs more than once"
    )
    scenario: Annotated[str, Field(min_length=1, max_length=1_000)] = Field(
        description="a name in configs/scenarios, or the path of a file, from the suite's own folder"
    )
    target: Target | None = Field(None, description="absent: the suite's")
    set: tuple[str, ...] = Field(
        (), description='fields of the scenario with other values, such as "load.duration_s=60"'
    )
    repetitions: Repetitions | None = Field(None, description="absent: the suite's")
    seeds: Seeds | None = Field(None, description="absent: the suite's")
    expects: Constraint | None = Field(
        None, description="what limits its runs, as it is meant to be; absent: as the scenario says"
    )
    compare: Literal["same_load", "always"] = Field(
        "same_load",
        description="always: held against its baseline although its scenario has changed since, which is "
        "named as the suspect; simulated cases are so anyway",
    )
    gates: tuple[GateSpec, ...] | None = Field(
        None, description="absent: the suite's; empty: it is run, and held to nothing"
    )


class RunSpec(ScenarioPart):
    """How runs that load a table are made. What a person has to agree to is said on the command line only."""

    table: TableName | None = Field(
        None,
        description="an existing table, used as it is by every case that is not simulated; in AWS "
        "--allow-table has to allow it by name",
    )
    share: bool = Field(False, description="load a table although another run is loading it")
    clean_up: bool = Field(False, description="delete the items of each run at its end")
    keep_table: bool = Field(False, description="keep the tables that runs create")
    align: bool = Field(True, description="wait for a full minute before each load")
    collect: bool = Field(True, description="read CloudWatch; false: label from client data only")
    paired: bool = Field(False, description="rerun the baseline's scenarios beside the new ones, in turns")
    max_dollars: Dollars | None = Field(None, description="cap for each run; absent: its scenario's budget")
    max_units: BudgetUnits | None = Field(None, description="cap for each run, reads and writes together")
    max_minutes: Minutes | None = Field(None, description="cap for each run, in minutes of load")
    prices: Annotated[str, Field(min_length=1, max_length=1_000)] | None = Field(
        None, description="path of a price list, from the suite's folder; absent: Keyheat's own list"
    )


class SuiteSpec(ScenarioPart):
    """Scenarios that are run again and again, and what must not get worse from one time to the next."""

    format: Literal["keyheat.suite/1"]
    name: Name
    question: Annotated[str, Field(min_length=1, max_length=300)]
    target: Target = Field("simulated", description="of every case that says none")
    repetitions: Repetitions | None = Field(
        None, description="of each case, interleaved; absent: 5 where a gate is statistical, else 1"
    )
    seeds: Seeds = Field(
        "each", description="each: repetition n has the scenario's seed + n; same: all have the scenario's"
    )
    gates: tuple[GateSpec, ...] | None = Field(
        None, description="of every case that says none; absent: what fits its target"
    )
    run: RunSpec = Field(default_factory=RunSpec, description="how loads are run, and what they may consume")
    cases: Annotated[tuple[CaseSpec, ...], Field(min_length=1, max_length=1_000)]


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a suite's file, for editors."""
    schema = SuiteSpec.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": FORMAT, **schema}


REPETITIONS: Final = 5  # where a gate is statistical and nobody says how many
LEAST_REPETITIONS: Final = 2  # one run has no spread

LEAST_EFFECTS: Final = {
    "mean_units_per_operation.write": 0.02,
    "mean_units_per_operation.read": 0.02,
    "accepted_units_per_s.write": 0.05,
    "accepted_units_per_s.read": 0.05,
    "knee_units_per_s": 0.05,
    "throttle_share": 0.25,
    "capacity_used": 0.05,
    "p50_ms": 0.15,
    "p99_ms": 0.25,
    "first_throttle_s": 0.2,
    "recovery_s": 0.2,
}
"""The smallest relative change of each statistical measure that counts, where a gate does not say its own."""

DEFAULT_GATES: Final = (
    Gate(measure=LABELS),
    *(Gate(measure=name, least_effect=LEAST_EFFECTS.get(name, 0.0)) for name in MEASURES),
)
"""What a case without gates is held to: what was limited, and every measure; see `default_gates`."""


def default_gates(target: str, repetitions: int | None) -> tuple[Gate, ...]:
    """The default gates that fit a case.

    A simulated run has no noise: it is held to its exact measures, to the share that it throttles, and to
    what it lives on. And one repetition has no spread, so that nothing statistical can be decided by it.
    """
    noisy, simulated = target != SIMULATED and repetitions != 1, target == SIMULATED
    return tuple(
        gate
        for gate in DEFAULT_GATES
        if noisy or not statistical(gate) or (simulated and gate.measure in OF_LIMITS)
    )


def statistical(gate: Gate) -> bool:
    """Whether a gate needs several repetitions to be decided, where more than a seed decides the run."""
    return gate.measure != LABELS and MEASURES[gate.measure].kind == "statistical"


def gate_of(spec: GateSpec) -> Gate:
    """The gate that a file states, once it has no `gate_mistakes`."""
    least = LEAST_EFFECTS.get(spec.measure, 0.0) if spec.least_effect is None else spec.least_effect
    made = Gate(measure=spec.measure, least_effect=least)
    if spec.confidence is None:
        return made
    return Gate(measure=spec.measure, least_effect=least, confidence=spec.confidence)


def is_known(measure: str) -> bool:
    """Whether there is something of that name to hold on to."""
    return measure == LABELS or measure in MEASURES


def gate_mistakes(specs: Iterable[tuple[int, GateSpec]], place: str) -> Iterator[str]:
    """What is wrong with the gates at a place of the file, each as `message @ $.path`, by their numbers."""
    seen: set[str] = set()
    for number, spec in specs:
        here = f"{place}.gates[{number}]"
        if not is_known(spec.measure):
            accepted = ", ".join((LABELS, *sorted(MEASURES)))
            yield f"no measure {spec.measure!r}; there are: {accepted} @ {here}.measure"
            continue
        if spec.measure in seen:
            yield f"another gate holds on to {spec.measure} too @ {here}.measure"
        seen.add(spec.measure)
        if not statistical(Gate(measure=spec.measure)):
            for name in ("least_effect", "confidence"):
                if getattr(spec, name) is not None:
                    yield f"{spec.measure} is exact: any change of it counts @ {here}.{name}"
