"""Which partition served and refused what, and when: the run as rows of key ranges.

0 %  ┌───────────────┬──── partition 2 ────    A partition that split is drawn over the rows of those
     │  partition 0  ┆                         that came of it, so that a row is a range of keys all
50 % ├───────────────┴──── partition 3 ────    the time.
     │  partition 1
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from keyheat.analysis.report.bins import Floats, joined_up
from keyheat.numbers import UNITS, measured, percent, rate, some, span, whole
from keyheat.pages.charts.figures import (
    Chart,
    PageTable,
    Swatch,
    compact,
    figure,
    iso,
    joined,
    lay_out,
    times,
)
from keyheat.pages.charts.heat import HEAT
from keyheat.pages.charts.partition_rates import PartitionRates, read_ones, refused_column, units_column
from keyheat.pages.sheets import Sheet
from keyheat.pages.style import LIGHT
from keyheat.wording.constraints import saying
from keyheat.words import Direction, Resource

if TYPE_CHECKING:
    import pandas as pd


def leaves(ones: list[PartitionRates], most: int) -> list[PartitionRates]:
    """The partitions that there were in the end, in the order of their keys; of many, the busiest."""
    children: dict[int | None, list[int]] = {}
    for one in ones:
        children.setdefault(one.parent, []).append(one.number)

    def below(number: int) -> Iterable[int]:
        if number not in children:
            yield number
        for child in children.get(number, ()):
            yield from below(child)

    ordered = [ones[leaf] for root in children[None] for leaf in below(root)]
    if len(ordered) <= most:
        return ordered
    busiest = sorted(ordered, key=lambda one: -float(np.nansum(one.units_per_s + one.refused_per_s)))
    kept = {one.number for one in busiest[:most]}
    return [one for one in ordered if one.number in kept]


def chain_of(one: PartitionRates, ones: list[PartitionRates]) -> list[int]:
    """A partition and those that it came of, the newest first."""
    chain = [one.number]
    while (parent := ones[chain[-1]].parent) is not None:
        chain.append(parent)
    return chain


def overlaid(values: list[Floats]) -> Floats:
    """The first of these that is known, step by step."""
    found = values[0].copy()
    for other in values[1:]:
        found = np.where(np.isnan(found), other, found)
    return found


def splits_of(
    ones: list[PartitionRates], chains: list[list[int]], start_s: float
) -> list[tuple[float, int, int]]:
    """When a partition split during the run, and the first and last row that it was drawn over."""
    rows: dict[int, list[int]] = {}
    for row, chain in enumerate(chains):
        for number in chain[1:]:
            rows.setdefault(number, []).append(row)
    when: Mapping[int, float] = {one.parent: one.since_s for one in ones if one.parent is not None}
    return [
        (when[number], min(mine), max(mine))
        for number, mine in sorted(rows.items())
        if when[number] >= start_s
    ]


MOST_ROWS, MOST_COLUMNS, NAMED_ROWS = 96, 720, 32
REFUSED = [[0.0, LIGHT["throttles0"]], [0.4, LIGHT["throttles1"]], [1.0, LIGHT["partition"]]]


def partition_chart(
    rows: "pd.DataFrame", resource: Resource, ceiling_per_s: float, chart_id: str, worth: float = 1.0
) -> Chart | None:
    """The heat of the partitions of one resource; None where it has no rows. `worth` as in `read_ones`."""
    mine = rows[rows["resource"] == resource.label_name]
    if mine.empty:
        return None
    start_s, step_s, ones = read_ones(mine, resource.direction, worth)
    shown = leaves(ones, MOST_ROWS)
    steps = len(ones[0].units_per_s)
    each = 1 + (steps - 1) // MOST_COLUMNS
    chains = [chain_of(one, ones) for one in shown]
    units = np.array([joined_up(overlaid([ones[n].units_per_s for n in chain]), each) for chain in chains])
    refused = np.array(
        [joined_up(overlaid([ones[n].refused_per_s for n in chain]), each) for chain in chains]
    )
    end_s = start_s + steps * step_s
    made = figure(height=64 + max(120, len(shown) * (22 if len(shown) <= NAMED_ROWS else 8)))
    highest = max(float(np.nanmax(units, initial=0.0)), ceiling_per_s)
    where: dict[str, Any] = {
        "x0": iso(start_s + each * step_s / 2),
        "dx": each * step_s * 1000,
        "y": list(range(len(shown))),
        "ygap": 2 if len(shown) <= NAMED_ROWS else 0,
        "showscale": False,
    }
    made.add_trace(_heat(where, units, highest))
    throttled = bool(np.nanmax(refused, initial=0.0) > 0)
    if throttled:
        made.add_trace(_refusals(where, refused))
    splits = splits_of(ones, chains, start_s)
    lay_out(
        made,
        margin_t=8,
        xaxis=times(start_s, end_s),
        yaxis=_axis(shown, ones),
        shapes=[_mark(at_s, low, high) for at_s, low, high in splits],
    )
    return Chart(
        id=chart_id,
        title=f"Partitions: {resource.title}",
        summary=_summary(ones, shown, resource, step_s, splits, saying(start_s, end_s)),
        figure=made,
        legend=_legend(highest, resource, throttled, bool(splits)),
        table=_table(ones, resource, step_s, saying(start_s, end_s)),
        sheet=Sheet(
            name=f"partitions-{resource.slug}",
            columns=_columns(ones, resource.direction),
            start_s=start_s,
            step_s=step_s,
            end_s=end_s,
        ),
    )


def _heat(where: Mapping[str, Any], units: Floats, highest: float) -> go.Heatmap:
    """What each partition served."""
    return go.Heatmap(
        **where,
        z=[compact(row) for row in units],
        colorscale=HEAT,
        zmin=0,
        zmax=highest,
        hovertemplate="%{x}<br>%{z:,} units a second<extra></extra>",
    )


def _refusals(where: Mapping[str, Any], refused: Floats) -> go.Heatmap:
    """What each partition refused, over its heat."""
    return go.Heatmap(
        **where,
        z=[compact(np.where(row > 0, row, np.nan)) for row in refused],
        colorscale=REFUSED,
        zmin=0,
        zmax=float(np.nanmax(refused)),
        hovertemplate="%{x}<br>%{z:,} throttled a second<extra></extra>",
    )


def _columns(ones: list[PartitionRates], direction: Direction) -> dict[str, Floats]:
    """The columns of the sheet: two for each partition."""
    return {
        name: values
        for one in ones
        for name, values in (
            (units_column(one.number, direction), one.units_per_s),
            (refused_column(one.number, direction), one.refused_per_s),
        )
    }


def _mark(at_s: float, low: int, high: int) -> dict[str, Any]:
    line = {"color": LIGHT["ink"], "dash": "dot", "width": 1.5}
    return {"type": "line", "x0": iso(at_s), "x1": iso(at_s), "y0": low - 0.5, "y1": high + 0.5, "line": line}


def _axis(shown: list[PartitionRates], ones: list[PartitionRates]) -> dict[str, Any]:
    every = -(-len(shown) // NAMED_ROWS)
    places = list(range(0, len(shown), every))
    return {
        "tickvals": places,
        "ticktext": [f"{shown[place].number}: from {percent(shown[place].from_share)}" for place in places],
        "range": [len(shown) - 0.5, -0.5],
        "automargin": True,
        "fixedrange": True,
        "showgrid": False,
        "zeroline": False,
        "ticklabelstandoff": 6,
        "tickfont": {"color": LIGHT["muted"]},
    }


def _legend(highest: float, resource: Resource, refused: bool, splits: bool) -> tuple[Swatch, ...]:
    entries = [
        Swatch(name=f"0 to {rate(highest, UNITS[resource.direction])}", role="accent", mark="heat"),
        Swatch(name="throttled, the stronger the more", role="partition", mark="bar") if refused else None,
        Swatch(name="split", role="ink", mark="dot") if splits else None,
    ]
    return tuple(entry for entry in entries if entry is not None)


def _summary(
    ones: list[PartitionRates],
    shown: list[PartitionRates],
    resource: Resource,
    step_s: float,
    splits: list[tuple[float, int, int]],
    say: Callable[[float], str],
) -> str:
    totals = [float(np.nansum(one.units_per_s)) for one in ones]
    total = sum(totals)
    hottest = int(np.argmax(totals))
    present = len(ones) - len({one.parent for one in ones if one.parent is not None})
    said = [f"{some(present, 'partition')}; {span(step_s)} to a step."]
    if total:
        share = f"partition {hottest} served {percent(totals[hottest] / total)} of all units"
        said.append(f"The busiest, {share}.")
    refused = [float(np.nansum(one.refused_per_s)) * step_s for one in ones]
    if any(refused):
        worst = int(np.argmax(refused))
        most = percent(refused[worst] / sum(refused))
        said.append(f"{some(round(sum(refused)), 'throttle')}, {most} of them on partition {worst}.")
    else:
        said.append("No partition throttled.")
    if splits:
        moments = ", ".join(say(at_s) for at_s, _, _ in splits[:6])
        said.append(f"{some(len(splits), 'split')} (at {moments}{', ...' if len(splits) > 6 else ''}).")
    if len(shown) < present:
        said.append(f"The {len(shown)} busiest are drawn.")
    return joined(said)


def _table(
    ones: list[PartitionRates], resource: Resource, step_s: float, say: Callable[[float], str]
) -> PageTable:
    unit = UNITS[resource.direction]
    busiest = sorted(ones, key=lambda one: (-float(np.nansum(one.units_per_s)), one.number))[:MOST_ROWS]
    rows = tuple(
        (
            str(one.number),
            percent(one.from_share),
            "" if one.parent is None else f"{one.parent}, at {say(one.since_s)}",
            measured(float(np.nansum(one.units_per_s)) * step_s),
            measured(float(np.nanmax(one.units_per_s, initial=0.0))),
            whole(float(np.nansum(one.refused_per_s)) * step_s),
        )
        for one in busiest
    )
    columns = ("partition", "its hashes begin at", "split from", unit,
               f"most, {unit}/s", "throttles")  # fmt: skip
    return PageTable(
        caption="Partitions, the busiest first", columns=columns, rows=rows, numeric=frozenset((3, 4, 5))
    )
