"""A table's billing mode followed through a timeline as a file states it, to find steps without a meaning.

UpdateTable refuses the rest during the run, and the run says so: a change of nothing, warm throughput that
falls, one decrease or switch too many.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keyheat.scenario.spec.part import is_number, listed, part_of

SIDES = ("read", "write")
CHANGES = ("billing_mode", "provisioned", "max_on_demand", "warm")
ON_DEMAND = "PAY_PER_REQUEST"

Raw = Mapping[str, Any]
Placed = tuple[str, Raw]


@dataclass(slots=True)
class Walk:
    """The table between two steps."""

    mode: str
    indexes: frozenset[str]  # global ones
    local: frozenset[str]
    scaled: bool
    was_provisioned: bool

    @classmethod
    def of(cls, table: Raw) -> "Walk":
        """The table as it is created."""
        named = [(index.get("name"), index.get("local") is True) for _n, index in listed(table, "indexes")]
        mode = str(table.get("billing_mode", "PROVISIONED"))
        return cls(
            mode=mode,
            indexes=frozenset(name for name, local in named if isinstance(name, str) and not local),
            local=frozenset(name for name, local in named if isinstance(name, str) and local),
            scaled=bool(part_of(table, "auto_scaling")),
            was_provisioned=mode != ON_DEMAND,
        )

    def request(self, placed: Sequence[Placed]) -> Iterator[str]:
        """What is wrong with the steps of one moment; after that, they have been made."""
        yield from self._mode(placed)
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
            elif index is not None and index not in self.indexes:
                yield self._no_index(index) + f" @ {path}.index"
            elif step.get("provisioned") is not None and self.mode == ON_DEMAND:
                yield f"{ON_DEMAND} mode by then, without provisioned capacity @ {path}.provisioned"
            elif step.get("max_on_demand") is not None and self.mode != ON_DEMAND:
                yield f"PROVISIONED mode by then, without an on-demand maximum @ {path}.max_on_demand"

    def unused_scaling(self) -> Iterator[str]:
        """Auto scaling of a table that is on demand all the time."""
        if not self.was_provisioned and self.scaled:
            yield "PAY_PER_REQUEST mode has no capacity to scale @ $.table.auto_scaling"

    def _mode(self, placed: Sequence[Placed]) -> Iterator[str]:
        for path, step in placed:
            mode = step.get("billing_mode")
            if mode not in ("PROVISIONED", ON_DEMAND):
                continue
            if step.get("index") is not None:
                yield f"it is that of the table and all its indexes: leave index out @ {path}.billing_mode"
            elif mode == self.mode:
                yield f"the table is in {mode} mode already @ {path}.billing_mode"
            else:
                self.mode = mode
                self.was_provisioned |= mode != ON_DEMAND
                yield from () if mode == ON_DEMAND else self._lacking(path, placed)

    def _lacking(self, path: str, placed: Sequence[Placed]) -> Iterator[str]:
        """The capacities that a switch to provisioned mode does not name."""
        steps = [(step.get("index"), pair_of(step, "provisioned")) for _path, step in placed]
        for name in (None, *sorted(self.indexes)):
            stated = next((pair for index, pair in steps if index == name), {})
            lacking = [side for side in SIDES if side not in stated]
            if lacking:
                where = "" if name is None else f" of index {name!r}, in a step of the same at_s"
                yield f"PROVISIONED mode needs provisioned.{' and .'.join(lacking)}{where} @ {path}"

    def _no_index(self, name: str) -> str:
        if name in self.local:
            return f"{name!r} is a local index, which shares the table's capacity"
        there = ", ".join(map(repr, sorted(self.indexes)))
        return f"there is no global index {name!r}; global indexes: {there or 'none'}"


def pair_of(raw: Raw, name: str) -> dict[str, float]:
    """The sides of a capacity pair that are stated, as far as they are numbers."""
    sides = part_of(raw, name)
    return {side: sides[side] for side in SIDES if is_number(sides.get(side))}
