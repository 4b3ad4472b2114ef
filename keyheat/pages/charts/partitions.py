"""Which partition served and refused what, and when: a row for each key range, splits marked.

0 %  ┌───────────────┬──── partition 2 ────    A partition that split is drawn over the rows of those
     │  partition 0  ┆                         that came of it, so that a row is a range of keys all
50 % ├───────────────┴──── partition 3 ────    the time.
     │  partition 1
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pyarrow as pa

from keyheat.numbers import UNITS, measured, percent, rate, some, span, whole
from keyheat.pages.charts.figures import Chart, Swatch, Table, compact, figure, iso, joined, times
from keyheat.pages.charts.heat import HEAT
from keyheat.pages.moments import saying
from keyheat.pages.run.downsample import joined_up
from keyheat.pages.run.partitions import One, chain_of, leaves, of_index, overlaid, read_ones, splits_of
from keyheat.pages.run.sheets import Sheet
from keyheat.pages.style import LIGHT
from keyheat.words import Direction, Resource

MOST_ROWS, MOST_COLUMNS, NAMED_ROWS = 96, 720, 32
REFUSED = [[0.0, LIGHT["account"]], [0.4, LIGHT["max_on_demand"]], [1.0, LIGHT["partition"]]]


def partition_chart(rows: pa.Table, resource: Resource, ceiling_per_s: float, chart_id: str) -> Chart | None:
    """The heat of the partitions of one resource; None where it has no rows."""
    mine = of_index(rows, resource.index)
    if not len(mine):
        return None
    start_s, step_s, ones = read_ones(mine, resource.direction)
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
    made.add_trace(
        go.Heatmap(
            **where,
            z=[compact(row) for row in units],
            colorscale=HEAT,
            zmin=0,
            zmax=highest,
            meta={"z": [[_units_column(n, resource.direction) for n in chain] for chain in chains]},
            hovertemplate="%{x}<br>%{z:,} units a second<extra></extra>",
        )
    )
    if np.nanmax(refused, initial=0.0) > 0:
        made.add_trace(
            go.Heatmap(
                **where,
                z=[compact(np.where(row > 0, row, np.nan)) for row in refused],
                colorscale=REFUSED,
                zmin=0,
                zmax=float(np.nanmax(refused)),
                meta={
                    "z": [[_refused_column(n, resource.direction) for n in chain] for chain in chains],
                    "positive": True,
                },
                hovertemplate="%{x}<br>%{z:,} throttled a second<extra></extra>",
            )
        )
    splits = splits_of(ones, chains, start_s)
    made.update_layout(
        margin={"l": 8, "r": 12, "t": 8, "b": 8},
        xaxis=times(start_s, end_s),
        yaxis=_axis(shown, ones),
        shapes=[_mark(at_s, low, high) for at_s, low, high in splits],
    )
    return Chart(
        id=chart_id,
        title=f"Partitions: {resource.title}",
        summary=_summary(ones, shown, resource, step_s, splits, saying(start_s, end_s)),
        figure=made,
        legend=_legend(highest, resource, bool(np.nanmax(refused, initial=0.0) > 0), bool(splits)),
        table=_table(ones, resource, step_s, saying(start_s, end_s)),
        sheet=Sheet(
            name=f"partitions-{resource.slug}",
            columns={
                name: values
                for one in ones
                for name, values in (
                    (_units_column(one.number, resource.direction), one.units_per_s),
                    (_refused_column(one.number, resource.direction), one.refused_per_s),
                )
            },
            start_s=start_s,
            step_s=step_s,
            end_s=end_s,
        ),
    )


def _mark(at_s: float, low: int, high: int) -> dict[str, Any]:
    line = {"color": LIGHT["ink"], "dash": "dot", "width": 1.5}
    return {"type": "line", "x0": iso(at_s), "x1": iso(at_s), "y0": low - 0.5, "y1": high + 0.5, "line": line}


def _axis(shown: list[One], ones: list[One]) -> dict[str, Any]:
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
    ones: list[One],
    shown: list[One],
    resource: Resource,
    step_s: float,
    splits: list[tuple[float, int, int]],
    say: Callable[[float], str],
) -> str:
    totals = [float(np.nansum(one.units_per_s)) for one in ones]
    total = sum(totals)
    hottest = int(np.argmax(totals))
    present = len(ones) - len({one.parent for one in ones if one.parent is not None})
    said = [f"{some(present, 'partition')}; {span(step_s)} to a step. A row is a range of hashes of keys."]
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


def _table(ones: list[One], resource: Resource, step_s: float, say: Callable[[float], str]) -> Table:
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
    return Table(
        caption="Partitions, the busiest first", columns=columns, rows=rows, numeric=frozenset((3, 4, 5))
    )


def _units_column(number: int, direction: Direction) -> str:
    return f"partition_{number}_{direction}_units_per_s"


def _refused_column(number: int, direction: Direction) -> str:
    return f"partition_{number}_throttled_{direction}s_per_s"
