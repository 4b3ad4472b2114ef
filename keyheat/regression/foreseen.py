"""What a run is going to be measured on, as far as that is known before anything is sent.

A baseline that was measured on another table, machine or demand is refused before a load starts, and not
after an hour. What only the run itself finds out, such as what an existing table is like, is taken to be as
it was; the setups that were really found are compared once the runs are made.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from keyheat.analysis.measures.setup import Flat, Setup, grows_by_itself, setup_of
from keyheat.analysis.summary import RunSummary
from keyheat.model.table import TableModel
from keyheat.runfiles import SIMULATED
from keyheat.runs.manifest import Manifest
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.capacity import capacity_of
from keyheat.simulator.folder import table_facts

NAMED: Final = (SIMULATED, "local", "aws")  # targets that a run calls as a suite does


def foreseen(
    before: RunSummary, scenario: Scenario, target: str, machine: Mapping[str, Any], *, existing: bool
) -> RunSummary:
    """The run `before` as it would be now: with this scenario, on this target, sent from this machine.

    `existing`: the table is there already, and what it is like stays to be found out; the scenario is the one
    that was adapted to it.
    """
    now = _setup(scenario, target, machine, before.started_at)
    then = before.setup
    said: dict[str, Any] = {"scenario": now.scenario}
    if target in NAMED:
        said |= {"target": target, "scale": now.scale}
    if target != SIMULATED and now.machine is not None:
        said |= {"machine": now.machine, "machine_says": now.machine_says}
    if not existing:
        said["table"] = _table(then.table, now.table, whole=target == SIMULATED)
    return before.model_copy(update={"setup": then.model_copy(update=said)})


def _setup(scenario: Scenario, target: str, machine: Mapping[str, Any], at: datetime) -> Setup:
    """The setup of a run of the scenario, by the manifest that it would have."""
    model = TableModel(capacity_of(scenario.table), now_s=0.0)
    return setup_of(
        Manifest.model_validate(
            {
                "started_at": at,
                "target": target,
                "scenario": scenario.model_dump(mode="json"),
                "scale": scenario.local.scale if target in (SIMULATED, "local") else 1.0,
                "machine": dict(machine),
                "table": table_facts(model, scenario.table.name),
            }
        )
    )


def _table(then: Flat, now: Flat, *, whole: bool) -> Flat:
    """The table as the scenario makes it; where a service describes it, only what both of them say."""
    if whole:
        return now
    known = {name for name, value in now.items() if value is not None and then.get(name) is not None}
    return {**then, **{name: now[name] for name in known if not grows_by_itself(name)}}
