"""What UpdateTable is asked while the load runs, and when: the `[[timeline]]` of a scenario.

Steps with the same `at_s` are one request, as one UpdateTable may change a table together with its indexes.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import inf
from typing import Annotated, Any, Literal

from pydantic import Field

from keyheat.scenario.spec.changing import Walk, is_number
from keyheat.scenario.spec.part import Part, TableName
from keyheat.scenario.spec.table import CapacityPair

Mode = Literal["PROVISIONED", "PAY_PER_REQUEST"]


class ChangeSpec(Part):
    """One change of the table's capacity, or of an index's. What is not named stays as it is."""

    at_s: Annotated[float, Field(ge=0, le=7 * 86_400)] = Field(
        description="seconds into the run; steps of the same moment are one request"
    )
    index: TableName | None = Field(None, description="a global secondary index; absent: the table itself")
    billing_mode: Mode | None = Field(None, description="of the table together with its indexes")
    provisioned: CapacityPair | None = Field(None, description="units per second; a side not named stays")
    max_on_demand: CapacityPair | None = Field(
        None, description="self-imposed ceiling; a side not named stays"
    )
    warm: CapacityPair | None = Field(
        None, description="pre-warming: throughput to be ready for, units per second; it only ever rises"
    )


def requests_of(steps: Sequence[ChangeSpec]) -> list[tuple[float, tuple[ChangeSpec, ...]]]:
    """The steps as requests, each with its moment: those of the same moment are asked together."""
    return [(at_s, tuple(same)) for at_s, same in groupby(steps, key=lambda step: step.at_s)]


def broken_timeline(raw: Mapping[str, Any], default_duration_s: float) -> Iterator[str]:
    """Every step that cannot be, as `message @ $.path`; `raw` is the whole scenario."""
    table, listed = raw.get("table"), raw.get("timeline")
    steps = listed if isinstance(listed, list | tuple) else ()
    placed = [(f"$.timeline[{n}]", step) for n, step in enumerate(steps) if isinstance(step, Mapping)]
    yield from _times(placed, _duration_s(raw, default_duration_s))
    if not isinstance(table, Mapping):
        return
    walk = Walk.of(table)
    for at_s, same in groupby(placed, key=lambda one: one[1].get("at_s")):
        yield from walk.request(at_s, list(same))
    yield from walk.unused_scaling()


def _times(placed: Sequence[tuple[str, Mapping[str, Any]]], duration_s: float) -> Iterator[str]:
    before_s = -inf
    for path, step in placed:
        at_s = step.get("at_s")
        if not is_number(at_s):
            continue
        if at_s < before_s:
            yield f"the steps are in order of time, and the one before is at {before_s:g} s @ {path}.at_s"
        if at_s >= duration_s:
            yield f"the load ends after {duration_s:g} s @ {path}.at_s"
        before_s = max(before_s, at_s)


def _duration_s(raw: Mapping[str, Any], default_s: float) -> float:
    load = raw.get("load")
    stated = load.get("duration_s", default_s) if isinstance(load, Mapping) else default_s
    return float(stated) if is_number(stated) and stated > 0 else inf
