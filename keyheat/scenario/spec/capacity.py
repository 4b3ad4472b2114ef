"""A table's capacity followed through a timeline as a file states it, to see which step cannot be.

What depends on the load itself (auto scaling, on-demand growth, the number of decreases in a day) is left to
the run: there UpdateTable says no, and the run says so.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from keyheat.model import limits
from keyheat.model.resources import recent_switches_s
from keyheat.scenario.spec.part import is_number

SIDES = ("read", "write")
CHANGES = ("billing_mode", "provisioned", "max_on_demand", "warm")
ON_DEMAND = "PAY_PER_REQUEST"
START = {"read": limits.ON_DEMAND_START_READ, "write": limits.ON_DEMAND_START_WRITE}

Raw = Mapping[str, Any]
Placed = tuple[str, Raw]


@dataclass(slots=True)
class ResourceCapacity:
    """The table itself, or one of its indexes, as far as the file says it."""

    raw: Raw
    provisioned: dict[str, float] = field(default_factory=dict)
    warm: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, raw: Raw) -> "ResourceCapacity":
        capacity = cls(raw, pair_of(raw, "provisioned"), pair_of(raw, "warm"))
        capacity.raise_warm(capacity.provisioned)
        return capacity

    @property
    def scaled(self) -> bool:
        """Whether auto scaling may have changed it by then."""
        return isinstance(self.raw.get("auto_scaling"), Mapping)

    def has(self, pair: Mapping[str, float]) -> bool:
        """Whether it is certain to have this provisioned capacity already."""
        return not self.scaled and all(self.provisioned.get(side) == pair[side] for side in pair)

    def raise_warm(self, pair: Mapping[str, float]) -> None:
        """Warm throughput never falls."""
        for side, units in pair.items():
            self.warm[side] = max(units, self.warm.get(side, 0))


@dataclass(slots=True)
class Walk:
    """The table between two steps."""

    mode: str
    resources: dict[str | None, ResourceCapacity]
    local: frozenset[str]
    was_provisioned: bool
    to_on_demand_s: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, table: Raw) -> "Walk":
        """The table as it is created."""
        listed = table.get("indexes")
        indexes = (
            [index for index in listed if isinstance(index, Mapping)]
            if isinstance(listed, list | tuple)
            else []
        )
        named = {index["name"]: index for index in indexes if isinstance(index.get("name"), str)}
        mode = str(table.get("billing_mode", "PROVISIONED"))
        walk = cls(
            mode=mode,
            resources={
                None: ResourceCapacity.of(table),
                **{
                    name: ResourceCapacity.of(index)
                    for name, index in named.items()
                    if index.get("local") is not True
                },
            },
            local=frozenset(name for name, index in named.items() if index.get("local") is True),
            was_provisioned=mode != ON_DEMAND,
        )
        if mode == ON_DEMAND:
            walk._start_on_demand()
            walk.to_on_demand_s.append(0.0)  # making it on demand counts
        return walk

    def request(self, at_s: Any, placed: Sequence[Placed]) -> Iterator[str]:
        """What is wrong with the steps of one moment; after that, they have been made."""
        yield from self._mode(at_s, placed)
        path_of: dict[str | None, str] = {}
        for path, step in placed:
            index = step.get("index")
            if not isinstance(index, str | None):
                continue
            if index in path_of:
                yield f"{path_of[index]} is of the same moment: say both in one step @ {path}"
            path_of[index] = path
            if all(not step.get(name) for name in CHANGES):
                yield f"say what to change: {', '.join(CHANGES)} @ {path}"
            elif index not in self.resources:
                yield self._no_index(index) + f" @ {path}.index"
            else:
                yield from self._step(path, step, self.resources[index])

    def unused_scaling(self) -> Iterator[str]:
        """Auto scaling of a table that is on demand all the time."""
        if not self.was_provisioned and self.resources[None].scaled:
            yield "PAY_PER_REQUEST mode has no capacity to scale @ $.table.auto_scaling"

    def _mode(self, at_s: Any, placed: Sequence[Placed]) -> Iterator[str]:
        for path, step in placed:
            mode = step.get("billing_mode")
            if mode not in ("PROVISIONED", ON_DEMAND):
                continue
            if step.get("index") is not None:
                yield f"it is that of the table and all its indexes: leave index out @ {path}.billing_mode"
            elif mode == self.mode:
                yield f"the table is in {mode} mode already @ {path}.billing_mode"
            elif mode == ON_DEMAND:
                yield from self._to_on_demand(path, at_s)
            else:
                yield from self._to_provisioned(path, placed)

    def _to_on_demand(self, path: str, at_s: Any) -> Iterator[str]:
        self.mode = ON_DEMAND
        self._start_on_demand()
        if is_number(at_s):
            self.to_on_demand_s.append(at_s)
            if len(recent_switches_s(self.to_on_demand_s, at_s)) > limits.ON_DEMAND_SWITCHES:
                yield (
                    f"a table goes to PAY_PER_REQUEST at most {limits.ON_DEMAND_SWITCHES} times in "
                    f"{limits.ON_DEMAND_SWITCH_WINDOW_S / 3600:g} hours, and being made in that mode counts "
                    f"@ {path}.billing_mode"
                )

    def _to_provisioned(self, path: str, placed: Sequence[Placed]) -> Iterator[str]:
        self.mode, self.was_provisioned = "PROVISIONED", True
        stated = {
            index: pair_of(step, "provisioned")
            for _path, step in placed
            if isinstance(index := step.get("index"), str | None)
        }
        for name in self.resources:
            lacking = [side for side in SIDES if side not in stated.get(name, {})]
            if lacking:
                where = "" if name is None else f" of index {name!r}, in a step of the same at_s"
                yield f"PROVISIONED mode needs provisioned.{' and .'.join(lacking)}{where} @ {path}"

    def _step(self, path: str, step: Raw, resource: ResourceCapacity) -> Iterator[str]:
        provisioned, warm = pair_of(step, "provisioned"), pair_of(step, "warm")
        if step.get("provisioned") is not None and self.mode == ON_DEMAND:
            yield f"{ON_DEMAND} mode by then, without provisioned capacity @ {path}.provisioned"
        if step.get("max_on_demand") is not None and self.mode != ON_DEMAND:
            yield f"PROVISIONED mode by then, without an on-demand maximum @ {path}.max_on_demand"
        if provisioned and resource.has(provisioned) and step.get("billing_mode") is None:
            yield f"UpdateTable refuses what changes nothing, and it has that by then @ {path}.provisioned"
        resource.provisioned |= provisioned
        resource.raise_warm(provisioned)
        for side, units in warm.items():
            if units < (floor := resource.warm.get(side, 0)):
                yield f"warm throughput never falls, and is {floor:g} by then @ {path}.warm.{side}"
        resource.raise_warm(warm)

    def _start_on_demand(self) -> None:
        for resource in self.resources.values():
            resource.provisioned.clear()
            resource.raise_warm(START)

    def _no_index(self, name: str | None) -> str:
        if name in self.local:
            return f"{name!r} is a local index, which shares the table's capacity"
        there = ", ".join(repr(index) for index in self.resources if index is not None)
        return f"there is no global index {name!r}; there {f'are {there}' if there else 'is none'}"


def pair_of(raw: Raw, name: str) -> dict[str, float]:
    """The sides of a capacity pair that are stated, as far as they are numbers."""
    pair = raw.get(name)
    sides = pair if isinstance(pair, Mapping) else {}
    return {side: sides[side] for side in SIDES if is_number(sides.get(side))}
