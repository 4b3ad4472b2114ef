"""What happens to the capacity of a simulated table while the load runs: its timeline, and auto scaling."""

from collections import deque
from random import Random

from keyheat.model import limits
from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.model.table import TableModel
from keyheat.scenario.changes import AUTO_SCALING, TIMELINE, TimelineEvent, only_warms
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.table import CapacityPair
from keyheat.scenario.spec.timeline import ChangeSpec, requests_of
from keyheat.simulator.scaling import Scaler, Wanted
from keyheat.simulator.updating import Updating
from keyheat.words import Direction


class Timeline:
    """Changes the capacity of the scenario's own table: called with it at the start of every second.

    Steps of the scenario come first, in their order; one whose moment has come waits while the table is
    UPDATING, as a script would that waits for the table to be ACTIVE. Auto scaling then sees each minute some
    time after its end, and asks again a minute later where it could not ask.
    """

    __slots__ = ("_requests", "_scale", "_scalers", "_started_s", "_updating")

    def __init__(
        self, scenario: Scenario, *, started_s: float, seed: int, behaviour: Behaviour = DEFAULT
    ) -> None:
        rng = Random(f"timeline {seed}")
        self._started_s = started_s
        self._scale = scenario.local.scale
        self._requests = deque(requests_of(scenario.timeline))
        self._scalers = _scalers(scenario, behaviour, rng)
        self._updating = Updating(
            started_s=started_s, behaviour=behaviour, rng=rng, update_s=scenario.local.update_s
        )

    @property
    def log(self) -> tuple[TimelineEvent, ...]:
        """What was asked so far, in order of time, and what came of it."""
        return tuple(self._updating.log)

    def __call__(self, model: TableModel, now_s: float) -> None:
        """Do what is due at `now_s` (epoch seconds)."""
        self._updating.settle(model, now_s)
        self._ask_due_steps(model, now_s)
        for scaler in self._scalers:
            self._scale_one(scaler, model, now_s)

    def _ask_due_steps(self, model: TableModel, now_s: float) -> None:
        while self._requests and self._started_s + self._requests[0][0] <= now_s:
            at_s, steps = self._requests[0]
            if not (self._updating.idle or only_warms(steps)):
                return
            self._requests.popleft()
            late_s = now_s - self._started_s - at_s
            waited = f"due at {at_s:g} s, while the table was UPDATING" if late_s >= 1 else None
            self._updating.ask(model, steps, now_s, by=TIMELINE, because=waited)

    def _scale_one(self, scaler: Scaler, model: TableModel, now_s: float) -> None:
        minute = scaler.newly_seen(now_s)
        if minute is None or not self._updating.idle or model.capacity.on_demand:
            return
        provisioned = _provisioned(model, scaler)
        minutes = self._minutes(model, scaler, minute)
        found = scaler.look(minutes, provisioned, now_s)
        if found is not None:
            self._ask_for(scaler, model, found, provisioned, now_s)

    def _ask_for(
        self, scaler: Scaler, model: TableModel, found: Wanted, provisioned: float, now_s: float
    ) -> None:
        pair = CapacityPair(**{scaler.side.value: found.units})
        step = ChangeSpec(at_s=now_s - self._started_s, index=scaler.index, provisioned=pair)
        refused = self._updating.refusal(model, [step], now_s) is not None
        if not (refused and scaler.refused):  # it is said once, and tried every minute
            self._updating.ask(
                model,
                [step],
                now_s,
                by=AUTO_SCALING,
                because=found.because,
                done=lambda in_force_s: scaler.changed(found.units - provisioned, in_force_s),
            )
        scaler.refused = refused

    def _minutes(self, model: TableModel, scaler: Scaler, last: int) -> list[float | None]:
        """Consumed units per second, before `scale`, of the minutes that its alarms look at."""
        began = int(-(-self._started_s // limits.MINUTE_S))
        resource = model.resource(scaler.index)
        meter = resource.read.meter if scaler.side is Direction.READ else resource.write.meter
        tallies = meter.consumed_by_minute()
        return [
            tallies[minute].sum / limits.MINUTE_S / self._scale if minute in tallies else None
            for minute in range(max(began, last - limits.SCALE_IN_MINUTES + 1), last + 1)
        ]


def _scalers(scenario: Scenario, behaviour: Behaviour, rng: Random) -> tuple[Scaler, ...]:
    table = scenario.table
    owners = [(None, table.auto_scaling), *((index.name, index.auto_scaling) for index in table.indexes)]
    return tuple(
        Scaler(index, Direction(side), spec, rng.uniform(*behaviour.alarm_delay_s))
        for index, scaling in owners
        if scaling is not None
        for side, spec in scaling.sides().items()
    )


def _provisioned(model: TableModel, scaler: Scaler) -> float:
    """What the scaler's resource has now, units per second."""
    pair = model.capacity.parts[scaler.index].provisioned
    units = pair.of(scaler.side) if pair is not None else None
    assert units is not None, "a provisioned table has both"
    return units
