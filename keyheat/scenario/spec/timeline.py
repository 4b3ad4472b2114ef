"""A table's billing mode followed through a timeline, to find steps without a meaning.

UpdateTable refuses the rest during the run, and the run says so: a change of nothing, warm throughput that
falls, one decrease or switch too many.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import inf

from keyheat.scenario.spec.part import numbered
from keyheat.scenario.spec.tables import ChangeSpec, TableSpec

Step = tuple[str, ChangeSpec]
"""A step of a timeline, with its path in the file."""
CHANGES = ("billing_mode", "provisioned", "max_on_demand", "warm")
ON_DEMAND = "PAY_PER_REQUEST"


def broken_timeline(steps: Sequence[Step], table: TableSpec | None, duration_s: float) -> Iterator[str]:
    """Every step that cannot be, as `message @ $.path`."""
    before_s = -inf
    for path, step in steps:
        if step.at_s is None:
            continue  # the field's own check has said so
        if step.at_s < before_s:
            yield f"the steps are in order of time, and the one before is at {before_s:g} s @ {path}.at_s"
        if step.at_s >= duration_s:
            yield f"the load ends after {duration_s:g} s @ {path}.at_s"
        before_s = max(before_s, step.at_s)
    if table is None:
        return
    indexes = [index for _path, index in numbered(table.indexes, "") if isinstance(index.name, str)]
    local = {index.name: index.local for index in indexes}
    modes: list[str] = [table.billing_mode]
    for _at_s, same in groupby(steps, key=lambda entry: entry[1].at_s):
        yield from _broken_request(list(same), modes, local)
    if table.auto_scaling is not None and set(modes) == {ON_DEMAND}:
        yield "PAY_PER_REQUEST mode has no capacity to scale @ $.table.auto_scaling"


def _broken_request(steps: Sequence[Step], modes: list[str], local: Mapping[str, bool]) -> Iterator[str]:
    """What is wrong with the steps of one moment; a new mode of the table is added to `modes`.

    `local` says of each index whether it is a local one.
    """
    yield from _broken_switch(steps, modes, [name for name, is_local in local.items() if not is_local])
    path_of: dict[str | None, str] = {}
    for path, step in steps:
        if step.index in path_of:
            yield f"{path_of[step.index]} is of the same moment: say both in one step @ {path}"
        path_of[step.index] = path
        if not step.stated & {*CHANGES}:
            yield f"say what to change: {', '.join(CHANGES)} @ {path}"
        elif step.index is not None and local.get(step.index, True):
            yield f"{_no_index(step.index, local)} @ {path}.index"
        elif step.provisioned is not None and modes[-1] == ON_DEMAND:
            yield f"{ON_DEMAND} mode by then, without provisioned capacity @ {path}.provisioned"
        elif step.max_on_demand is not None and modes[-1] != ON_DEMAND:
            yield f"PROVISIONED mode by then, without an on-demand maximum @ {path}.max_on_demand"


def _broken_switch(steps: Sequence[Step], modes: list[str], indexes: Sequence[str]) -> Iterator[str]:
    for path, step in steps:
        if step.billing_mode not in ("PROVISIONED", ON_DEMAND):
            continue
        if step.index is not None:
            yield f"it is that of the table and all its indexes: leave index out @ {path}.billing_mode"
        elif step.billing_mode == modes[-1]:
            yield f"the table is in {modes[-1]} mode already @ {path}.billing_mode"
        else:
            modes.append(step.billing_mode)
            if step.billing_mode == "PROVISIONED":
                yield from _lacking(path, steps, indexes)


def _lacking(path: str, steps: Sequence[Step], indexes: Sequence[str]) -> Iterator[str]:
    """The capacities that a switch to provisioned mode does not name."""
    pairs = {step.index: step.provisioned for _path, step in reversed(steps)}
    for name in (None, *sorted(indexes)):
        lacking = [side for side in ("read", "write") if getattr(pairs.get(name), side, None) is None]
        if lacking:
            where = "" if name is None else f" of index {name!r}, in a step of the same at_s"
            yield f"PROVISIONED mode needs provisioned.{' and .'.join(lacking)}{where} @ {path}"


def _no_index(name: str, local: Mapping[str, bool]) -> str:
    if local.get(name):
        return f"{name!r} is a local index, which shares the table's capacity"
    there = ", ".join(repr(each) for each, is_local in sorted(local.items()) if not is_local)
    return f"there is no global index {name!r}; global indexes: {there or 'none'}"
