"""A scenario on a virtual clock: second after second, its load is sent to the model of its tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.model.table import TableModel
from keyheat.scenario.changes import TimelineEvent
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.capacity import capacity_of
from keyheat.simulator.client import ClientRecord
from keyheat.simulator.flow import Answer, Counting, Flow, Traffic
from keyheat.simulator.timeline import Timeline
from keyheat.simulator.wave import Wave

SIMULATED_START_S: Final = 1_796_083_200.0
"""When simulated runs begin, unless somebody says otherwise: a whole hour, 2026-12-01T00:00:00Z."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """A scenario that has been simulated. Times are epoch seconds of the virtual clock."""

    scenario: Scenario
    seed: int
    started_s: float
    ended_s: float
    models: Mapping[str, TableModel]  # by table name: the scenario's own and its companions
    client: ClientRecord
    log: tuple[TimelineEvent, ...] = ()
    """What the timeline and auto scaling did, and when."""
    counted: Mapping[str, float] = field(default_factory=dict)
    """What the load test counted, by `group.what`."""

    @property
    def model(self) -> TableModel:
        """The scenario's own table."""
        return self.models[self.scenario.table.name]


def simulate(
    scenario: Scenario,
    *,
    started_s: float = SIMULATED_START_S,
    seed: int | None = None,
    traffic: Traffic | None = None,
    folder: Path = Path(),
    behaviour: Behaviour = DEFAULT,
    progress: Callable[[float], None] | None = None,
) -> Simulation:
    """Send the scenario's load to a model of its tables: the same seed gives the same result, bit by bit.

    `traffic` is sent in place of what the scenario's load test sends; `folder` is the scenario's, where its
    trace is. `progress` is told every second how much of the run is done, from 0 to 1.
    """
    seed = scenario.seed if seed is None else seed
    if traffic is None:
        from keyheat.simulator.traffic import traffic_of  # here, since they are made of this

        traffic = traffic_of(scenario, seed=seed, folder=folder)
    waves = _waves(scenario, started_s, seed, behaviour)
    timeline = Timeline(scenario, started_s=started_s, seed=seed, behaviour=behaviour)
    client = ClientRecord()
    seconds = int(np.ceil(scenario.load.duration_s))
    for at_s in range(seconds):
        now_s = started_s + at_s
        timeline(waves[scenario.table.name].model, now_s)
        flows = traffic.second(at_s)
        answers = _send(waves, flows, now_s, own=scenario.table.name)
        traffic.answered(at_s, answers)
        client.saw(int(now_s), answers)
        if progress is not None:
            progress((at_s + 1) / seconds)
    client.end()
    return Simulation(
        scenario=scenario,
        seed=seed,
        started_s=started_s,
        ended_s=started_s + seconds,
        models={name: wave.model for name, wave in waves.items()},
        client=client,
        log=timeline.log,
        counted=dict(traffic.counts) if isinstance(traffic, Counting) else {},
    )


def _waves(scenario: Scenario, started_s: float, seed: int, behaviour: Behaviour) -> dict[str, Wave]:
    waves = {}
    for number, table in enumerate((scenario.table, *scenario.companions)):
        model = TableModel(
            capacity_of(table),
            now_s=started_s,
            scale=scenario.local.scale,
            seed=seed + number,
            behaviour=behaviour,
        )
        waves[table.name] = Wave(model, np.random.default_rng((seed, number)))
    return waves


def _send(waves: Mapping[str, Wave], flows: Sequence[Flow], now_s: float, *, own: str) -> list[Answer]:
    """Every flow to its table; the answers are in the order of the flows. Tables without flows grow, too."""
    answers: dict[int, Answer] = {}
    for name, wave in waves.items():
        places = [place for place, flow in enumerate(flows) if (flow.table or own) == name]
        found = wave.second([flows[place] for place in places], now_s)
        answers |= dict(zip(places, found, strict=True))
    return [answers[place] for place in range(len(flows))]
