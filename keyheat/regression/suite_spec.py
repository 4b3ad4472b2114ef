"""Format of a suite file: scenarios, targets, repetitions and the gates of each case."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from keyheat.analysis.measures import MEASURES
from keyheat.regression.outcome import LABELS, Gate
from keyheat.scenario.scenario import SUITE_FORMAT
from keyheat.scenario.spec.part import IN_WORDS, BudgetUnits, Dollars, Minutes, Name, ScenarioPart, TableName
from keyheat.words import Constraint

TARGET = r"^(simulated|local|aws|https?://[^\s/]+/?)$"
PATTERNS = {
    **IN_WORDS,
    TARGET: "simulated, local, aws, or the URL of an endpoint such as http://127.0.0.1:8000",
}

Target = Annotated[str, Field(pattern=TARGET)]
Repetitions = Annotated[int, Field(ge=1, le=1_000)]


def _check_gates(gates: Sequence[Gate] | None) -> Sequence[Gate] | None:
    """Raise for an unknown or repeated measure, or a field that its gate does not use."""
    names = [gate.measure for gate in gates or ()]
    for index, gate in enumerate(gates or ()):
        if gate.measure not in (LABELS, *MEASURES):
            accepted = ", ".join((LABELS, *sorted(MEASURES)))
            raise PydanticCustomError("measure", f"no measure {gate.measure!r}; there are: {accepted}")
        if gate.measure in names[:index]:
            raise PydanticCustomError("twice", f"two gates on {gate.measure}")
        if not gate.noisy and gate.model_fields_set & {"least_effect", "confidence"}:
            raise PydanticCustomError("exact", f"{gate.measure} is exact: any change of it counts")
    return gates


Gates = Annotated[tuple[Gate, ...] | None, AfterValidator(_check_gates)]


class CaseSpec(ScenarioPart):
    """One scenario on one target."""

    name: Name | None = Field(None, description="unique in the suite; absent: the scenario's name")
    scenario: Annotated[str, Field(min_length=1, max_length=1_000)] = Field(
        description="a name in configs/scenarios, or the path of a file, from the suite's own folder"
    )
    target: Target | None = Field(None, description="absent: the suite's")
    set: tuple[str, ...] = Field((), description='scenario fields to change, such as "load.duration_s=60"')
    repetitions: Repetitions | None = Field(None, description="absent: the suite's")
    expects: Constraint | None = Field(
        None, description="the intended constraint of its runs; absent: the scenario's"
    )
    compare: Literal["same_load", "always"] = Field(
        "same_load",
        description="always: compared with its baseline although its scenario changed since, which "
        "becomes a suspect; default for simulated cases",
    )
    gates: Gates = Field(None, description="absent: the suite's; empty: runs without checks")


class RunSpec(ScenarioPart):
    """Settings of runs that load a table; consent is given on the command line only."""

    table: TableName | None = Field(
        None,
        description="an existing table for every case that is not simulated; in AWS, --allow-table "
        "must allow it by name",
    )
    share: bool = Field(False, description="load a table although another run is loading it")
    clean_up: bool = Field(False, description="delete the items of each run at its end")
    keep_table: bool = Field(False, description="keep the tables that runs create")
    align: bool = Field(True, description="wait for a full minute before each load")
    collect: bool = Field(True, description="read CloudWatch; false: label from client data only")
    paired: bool = Field(False, description="rerun the baseline's scenarios next to the new ones, in turns")
    max_dollars: Dollars | None = Field(None, description="cap for each run; absent: its scenario's budget")
    max_units: BudgetUnits | None = Field(None, description="cap for each run, reads and writes together")
    max_minutes: Minutes | None = Field(None, description="cap for each run, in minutes of load")
    prices: Annotated[str, Field(min_length=1, max_length=1_000)] | None = Field(
        None, description="path of a price list, from the suite's folder; absent: Keyheat's own list"
    )


class SuiteSpec(ScenarioPart):
    """Scenarios to run again and again, and what must not get worse."""

    format: Literal["keyheat.suite/1"]
    name: Name
    question: Annotated[str, Field(min_length=1, max_length=300)]
    target: Target = Field("simulated", description="of every case without its own")
    repetitions: Repetitions | None = Field(
        None,
        description="of each case, interleaved, the n-th with the scenario's seed + n; absent: 5 with a "
        "statistical gate, else 1",
    )
    gates: Gates = Field(None, description="of every case without its own; absent: depends on its target")
    run: RunSpec = Field(default_factory=RunSpec, description="how to run loads, and their limits")
    cases: Annotated[tuple[CaseSpec, ...], Field(min_length=1, max_length=1_000)]


def json_schema() -> dict[str, Any]:
    """JSON Schema of a suite file, for editors."""
    schema = SuiteSpec.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SUITE_FORMAT, **schema}
