"""What the model gives for a case, and whether that is what was observed."""

from dataclasses import dataclass
from functools import cache
from statistics import median

from keyheat.model.behaviour import DEFAULT, Behaviour
from tests.calibration.arithmetic import worked
from tests.calibration.cases import Case, Observation
from tests.calibration.loads import run
from tests.calibration.simulated import runs

NEAR = 0.03
"""Two ways to run a load give the same if they are no further apart than this part of the number."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One observation and what the model gave for it, a value for each seed."""

    observation: Observation
    values: tuple[float, ...]

    @property
    def middle(self) -> float:
        """The median over the seeds."""
        return median(self.values)

    @property
    def met(self) -> bool:
        """Whether the model gives what was observed, by the tolerance of the observation."""
        value = self.observation.value
        off = self.observation.tolerance * abs(value) + 1e-9
        if self.observation.spread:
            return min(self.values) - off <= value <= max(self.values) + off
        return abs(self.middle - value) <= off

    def like(self, other: "Verdict") -> bool:
        """Whether the other run of the same load gives the same number."""
        return abs(self.middle - other.middle) <= NEAR * abs(other.middle)


@cache
def verdicts(case: Case, behaviour: Behaviour = DEFAULT) -> tuple[Verdict, ...]:
    """A verdict on every observation of a case; none where the case is not modelled."""
    if case.not_modelled:
        return ()
    if case.load["kind"] == "arithmetic":
        return tuple(Verdict(one, (worked(one.metric),)) for one in case.observations)
    records = [run(case, seed, behaviour) for seed in range(1, case.seeds + 1)]
    return tuple(
        Verdict(one, tuple(float(record.metric(one.metric, one.from_s, one.to_s)) for record in records))
        for one in case.observations
    )


@cache
def simulated_verdicts(case: Case) -> tuple[Verdict | None, ...]:
    """The same of the case's scenario, run by the simulator; None for what no scenario shows."""
    records = list(runs(case))
    return tuple(
        Verdict(one, tuple(float(record.metric(one.metric, one.from_s, one.to_s)) for record in records))
        if records and one.simulated
        else None
        for one in case.observations
    )
