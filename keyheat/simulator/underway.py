"""A simulated run while it goes on: its directory says so, and how far it is, as that of a load does."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from keyheat.runs.folder import RunFolder
from keyheat.runs.signs import Signs
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.folder import manifest_at_start
from keyheat.simulator.simulate import SIMULATED_START_S, ClientRecord

SIMULATING: Final = "simulating"
SAID_EVERY_S: Final = 0.5


@dataclass(slots=True)
class SimulationWatch:
    """Says of each simulated second what became of its requests."""

    signs: Signs
    _elapsed_s: int = 0
    _before: tuple[int, int, int] = (0, 0, 0)

    def seen(self, client: ClientRecord) -> None:
        """One more second is simulated."""
        attempts, throttled = sum(client.attempts.values()), sum(client.throttled.values())
        now = (attempts - throttled, throttled, client.conflicts)
        self._elapsed_s += 1
        self.signs.second(self._elapsed_s, *(new - old for new, old in zip(now, self._before, strict=True)))
        self._before = now

    def analyzing(self) -> None:
        """Everything is simulated and written; labels and report are made."""
        self.signs.enter("analyzing")


@contextmanager
def under_way(
    scenario: Scenario, seed: int, folder: Path, scenario_path: str, say: Callable[[str], None]
) -> Iterator[SimulationWatch]:
    """Have the folder say that the scenario is being simulated into it, until the end of the block.

    What was not simulated to its end leaves no run behind, unless the process is killed: a manifest that says
    `running`, without a process that is alive, is a run that never ended. Raises `CannotWrite`.
    """
    run = RunFolder(folder, manifest_at_start(scenario, seed, SIMULATED_START_S, scenario_path))
    run.begin()
    signs = Signs(folder, scenario.load.duration_s, say, least_s=SAID_EVERY_S)
    try:
        signs.enter(SIMULATING)
        yield SimulationWatch(signs)
    except BaseException:
        if signs.phase == SIMULATING:
            run.forget()
        raise
    finally:
        signs.end()
