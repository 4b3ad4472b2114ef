"""The cases: what others measured on real tables, one TOML file each, in our words and with their sources."""

import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from keyheat.model.resources import IndexCapacity, TableCapacity
from keyheat.words import Capacity
from tests.calibration.words import in_words, span_in_words

FOLDER = Path(__file__).with_name("cases")


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One number that somebody saw, and how closely the model is held to it.

    `tolerance` is relative to the value; 0 means exactly. `spread`: the number is one draw of something that
    varies by chance, so it has to lie within what the model gives over its seeds. `from_s` and `to_s` bound
    the part of the load it is about, where that is not all of it. `why` says where the tolerance is ours.
    `simulated`: whether the case's scenario shows it, too; `differs`: why the simulator gives another number.
    """

    metric: str
    value: float
    tolerance: float = 0.0
    spread: bool = False
    from_s: float | None = None
    to_s: float | None = None
    missed: str = ""
    why: str = ""
    simulated: bool = True
    differs: str = ""

    @property
    def name(self) -> str:
        """The metric in words, with its part of the load."""
        return in_words(self.metric) + span_in_words(self.from_s, self.to_s)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """One published measurement or worked example. `not_modelled` is the reason why it is only listed.

    `simulated` names its scenario, a file in scenarios/: `starts_s` is when what was before the measurement
    is over in it, `seeds` how many runs it takes. `not_simulated` is what it
    does not show, and why.
    """

    id: str
    title: str
    source: str
    not_modelled: str = ""
    table: dict[str, Any] = field(default_factory=dict)
    load: dict[str, Any] = field(default_factory=dict)
    observations: tuple[Observation, ...] = ()
    seeds: int = 5
    assumed: str = ""
    simulated: dict[str, Any] = field(default_factory=dict)
    not_simulated: str = ""

    @property
    def capacity(self) -> TableCapacity:
        """The table as it was set up."""
        return TableCapacity(
            billing_mode=self.table.get("mode", "PROVISIONED"),
            provisioned=_throughput(self.table),
            max_on_demand=_throughput(self.table.get("most", {})),
            warm=_throughput(self.table.get("warm", {})),
            indexes=tuple(
                IndexCapacity(
                    name=index["name"],
                    provisioned=_throughput(index),
                    max_on_demand=_throughput(index.get("most", {})),
                )
                for index in self.table.get("indexes", ())
            ),
        )


def read_case(path: Path) -> Case:
    """A case from its file, which is named after it."""
    found = tomllib.loads(path.read_text())
    observations = tuple(Observation(**one) for one in found.pop("observations", ()))
    return Case(id=path.stem, observations=observations, **found)


@cache
def all_cases() -> tuple[Case, ...]:
    """Every case, in the order of their names."""
    return tuple(read_case(path) for path in sorted(FOLDER.glob("*.toml")))


def _throughput(found: dict[str, Any]) -> Capacity | None:
    sides = found.get("read"), found.get("write")
    return None if sides == (None, None) else Capacity(*sides)
