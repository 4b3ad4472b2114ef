"""A suite's file as a person writes it: scenarios, targets, how often, and what is held on to."""

from typing import Annotated, Any, Literal

from pydantic import Field

from keyheat.analysis.measures.catalogue import MEASURES
from keyheat.scenario.spec.part import IN_WORDS, Name, ScenarioPart

FORMAT = "keyheat.suite/1"
LABELS = "labels"  # the gate that is no number
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
    gates: tuple[GateSpec, ...] | None = Field(
        None, description="absent: the suite's; empty: it is run, and held to nothing"
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
    cases: Annotated[tuple[CaseSpec, ...], Field(min_length=1, max_length=1_000)]


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a suite's file, for editors."""
    schema = SuiteSpec.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": FORMAT, **schema}
