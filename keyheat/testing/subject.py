"""What a check is about: a table, and the load that is sent to it on the simulator."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypedDict

from pydantic import BaseModel

from keyheat.model.behaviour import DEFAULT
from keyheat.scenario.scenario import FORMAT, Scenario, load_scenario, scenario_file, scenario_from_dict
from keyheat.scenario.variants import overridden
from keyheat.simulator.flow import Traffic
from keyheat.simulator.search import STEADY
from keyheat.simulator.simulate import Simulation, simulate
from keyheat.simulator.traffic import Altered, Change, spread_traffic

PLAIN_PUTS: Final = "hotkey"
"""The load test that puts one item after the other on the drawn keys."""
Part = Mapping[str, Any] | BaseModel


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedLoad:
    """A load on the simulator: `scenario` is the table and how long, `traffic` what is sent to it.

    `named` says in words what this is. A `burst` counts what the table has saved up while it was idle;
    without it, what holds holds however long the load lasts. `ours`: the scenario says all that is sent.
    """

    scenario: Scenario
    named: str
    seed: int
    traffic: Callable[[], Traffic]  # one for each simulation, since it hears the answers
    folder: Path = Path()
    burst: bool = False
    show_keys: bool = False
    ours: bool = True

    @property
    def notes(self) -> tuple[str, ...]:
        note = "checked with nothing saved up: the table serves what it could serve for ever"
        return () if self.burst else (note,)

    def simulated(self, change: Change | None = None) -> Simulation:
        """What becomes of it, or of the same with every request changed on its way."""
        traffic = self.traffic()
        return simulate(
            self.scenario,
            seed=self.seed,
            traffic=traffic if change is None else Altered(traffic, change),
            folder=self.folder,
            behaviour=DEFAULT if self.burst else STEADY,
        )


Source = str | os.PathLike[str] | Scenario | CheckedLoad
"""A scenario, its file or its name in configs/scenarios; or what a test sent (`LocalDynamoDB.sent`)."""


class Chances(TypedDict, total=False):
    """How any load is checked.

    `seed` decides what chance does. `burst` counts capacity that the table has saved up. `show_keys`: the
    failure names keys instead of their digests.
    """

    seed: int
    burst: bool
    show_keys: bool


class CheckOptions(Chances, total=False):
    """What every check takes beside its own numbers.

    `table`, `keys`, `load` and `loadtest` are as in a scenario file and stand in place of one; `set` gives
    other values to fields of it, each as PATH=VALUE.
    """

    table: Part
    keys: Part
    load: Part
    loadtest: str
    set: Sequence[str]


KNOWN: Final = CheckOptions.__optional_keys__
IN_PYTHON: Final = ("table", "keys", "load", "loadtest")


def asked_of(source: Source | None, options: CheckOptions) -> CheckedLoad:
    """The load that a check is asked about. Raises `ScenarioError`, and `TypeError` for wrong options."""
    unknown = options.keys() - KNOWN
    if unknown:
        fields = ", ".join(sorted(KNOWN))
        raise TypeError(f"no option is called {', '.join(sorted(unknown))}; there are {fields}")
    if isinstance(options.get("set"), str):
        raise TypeError(f"set is a list, such as [{options['set']!r}]")
    if isinstance(source, CheckedLoad):
        if beside := options.keys() - Chances.__optional_keys__:
            named = ", ".join(sorted(beside))
            raise TypeError(f"recorded requests are what they are: {named} cannot be given")
        chances: dict[str, Any] = {name: options[name] for name in options}  # type: ignore[literal-required]
        return replace(source, **chances)
    scenario, named, folder = _scenario(source, options)
    seed = options.get("seed", scenario.seed)
    return CheckedLoad(
        scenario=scenario,
        named=named,
        seed=seed,
        traffic=lambda: spread_traffic(scenario, seed, folder)[0],
        folder=folder,
        burst=options.get("burst", False),
        show_keys=options.get("show_keys", scenario.invents_keys),
    )


def _scenario(source: Source | None, options: CheckOptions) -> tuple[Scenario, str, Path]:
    """The scenario, what it is called in a failure, and the folder in which its trace is."""
    built = [name for name in IN_PYTHON if name in options]
    if source is not None and built:
        raise TypeError(f"a scenario already has its {', '.join(built)}: give the one or the other")
    changes = options.get("set", ())
    if isinstance(source, Scenario):
        return overridden(source, changes, source.name), f"scenario {source.name}", Path()
    if source is None:
        if "table" not in options or "keys" not in options:
            raise TypeError("what is to be checked? Give a scenario file, or table= and keys= (and load=)")
        raw = {
            "format": FORMAT,
            "name": "check",
            "question": "Does this table take this load?",
            "loadtest": options.get("loadtest", PLAIN_PUTS),
            "table": {"name": "table", **_plain(options["table"])},
            "keys": _plain(options["keys"]),
            "load": _plain(options.get("load", {})),
        }
        checked = scenario_from_dict(raw, "this check")
        return overridden(checked, changes, "this check"), f"table {checked.table.name}", Path()
    assert not isinstance(source, CheckedLoad), "handled by the caller"
    path = scenario_file(source)
    scenario = overridden(load_scenario(path), changes, str(path))
    return scenario, f"scenario {scenario.name} ({path})", path.parent


def _plain(spec: Part) -> dict[str, Any]:
    return spec.model_dump(mode="json", exclude_unset=True) if isinstance(spec, BaseModel) else dict(spec)
