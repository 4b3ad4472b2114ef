"""The table of an incident: as it was at a time, as it is now, and as a scenario."""

from datetime import datetime, timedelta
from typing import Any, Final

from keyheat.analysis.timeline import EvidenceTimeline
from keyheat.model.resources import BillingMode
from keyheat.runs.formats import Label
from keyheat.runs.table_facts import IndexFacts, TableFacts, region_of_arn
from keyheat.scenario.scenario import RECORDED, Scenario, ScenarioError, scenario_from_dict
from keyheat.scenario.spec.part import name_from
from keyheat.words import READ, WRITE, Capacity

SECOND: Final = timedelta(seconds=1)


def moment_of(label: Label) -> datetime:
    """The moment whose capacity a replay keeps: when throttles began, of a partition when they ended.

    A partition's limit is the same under each capacity that was tried.
    """
    return label.end - SECOND if label.constraint == "partition" else label.start


def as_it_was(table: TableFacts, arranged: EvidenceTimeline, second: float) -> TableFacts:
    """Return the table with the mode, capacity and maxima that CloudWatch published for a time."""
    capacity = _published(arranged, None, second, table.provisioned, table.provisioned_now)
    indexes = tuple(
        index.model_copy(
            update={
                "provisioned": _published(
                    arranged, index.name, second, index.provisioned, index.provisioned_now
                ),
                "max_on_demand": _published(arranged, index.name, second, index.max_on_demand, maximum=True),
            }
        )
        for index in table.indexes
    )
    maximum = _published(arranged, None, second, table.max_on_demand, maximum=True)
    mode = table.billing_mode or _mode_at(table, capacity, maximum, second)
    return table.model_copy(
        update={
            "billing_mode": mode, "provisioned": capacity, "max_on_demand": maximum, "indexes": indexes,
        }
    )  # fmt: skip


def _mode_at(
    table: TableFacts, capacity: Capacity | None, maximum: Capacity | None, second: float
) -> BillingMode | None:
    """Return the mode that what was published for a time implies, else a switch to on-demand before it."""
    if capacity:
        return "PROVISIONED"
    switched = table.on_demand_since is not None and table.on_demand_since.timestamp() <= second
    return "PAY_PER_REQUEST" if maximum or switched else None


def _published(
    arranged: EvidenceTimeline,
    index: str | None,
    second: float,
    otherwise: Capacity | None,
    now: Capacity | None = None,
    *,
    maximum: bool = False,
) -> Capacity | None:
    """Return units/s at scale 1 that CloudWatch published for a time, `otherwise` without any.

    A direction that was not published is taken to be as it is `now`.
    """
    tracks = {side: arranged.track(index, side) for side in (READ, WRITE)}
    units = {
        side: (track.maximum if maximum else track.provisioned).at(second) if track else None
        for side, track in tracks.items()
    }
    if all(value is None for value in units.values()):
        return otherwise
    described = otherwise or now or Capacity()
    read, write = (
        described.of(side) if value is None else value / arranged.scale for side, value in units.items()
    )
    return Capacity(read=read, write=write)


def as_it_is_now(table: TableFacts) -> TableFacts:
    """The table with the capacity that DescribeTable says, whenever it was set."""
    indexes = tuple(
        index.model_copy(update={"provisioned": index.provisioned_now or index.provisioned})
        for index in table.indexes
    )
    return table.model_copy(
        update={"provisioned": table.provisioned_now or table.provisioned, "indexes": indexes}
    )


def scenario_of_table(table: TableFacts, seconds: int, *, scale: float = 1.0) -> Scenario | None:
    """Turn a described table into a scenario; None if its capacity is unknown."""
    if table.billing_mode is None:
        return None
    capacities = [table.provisioned, *(index.provisioned for index in table.indexes)]
    if table.billing_mode == "PROVISIONED" and None in capacities:
        return None
    raw = {
        "format": "keyheat.scenario/1",
        "name": name_from(table.name),
        "question": "What if the demand that was seen met this table?",
        "loadtest": RECORDED,
        "table": {"name": table.name, "billing_mode": table.billing_mode, **_capacities(table)},
        "keys": {"kind": "uniform"},
        "load": {"duration_s": seconds},
        "local": {"scale": scale},
    }
    raw["table"]["indexes"] = [  # type: ignore[index]
        {"name": index.name, "partition_key": f"of_{number}", **_capacities(index)}
        for number, index in enumerate(table.indexes)
    ]
    if table.replicas and (here := table.region or region_of_arn(table.arn or "")):
        raw["table"]["regions"] = [here, *table.replicas]  # type: ignore[index]
    try:
        return scenario_from_dict(raw, "evidence")
    except ScenarioError:
        return None


def _capacities(facts: TableFacts | IndexFacts) -> dict[str, Any]:
    pairs = {"provisioned": facts.provisioned, "max_on_demand": facts.max_on_demand, "warm": facts.warm}
    return {name: _whole(pair) for name, pair in pairs.items() if pair is not None}


def _whole(pair: Capacity) -> dict[str, int]:
    """Round units to whole ones, at least one."""
    sides = {"read": pair.read, "write": pair.write}
    return {side: max(1, round(rate)) for side, rate in sides.items() if rate is not None}
