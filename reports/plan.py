"""A plan in a terminal: what a scenario is going to ask for, and a picture of it over time."""

from collections.abc import Iterator
from typing import Any

import plotext  # type: ignore[import-untyped]
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from analyzers.numbers import measured, percent, rate, some, span, whole
from reports.terminal import Paragraph
from tablemodel.forecast import Demand, Forecast, HotKeyForecast
from tablemodel.scenario import Scenario

WIDTH, HEIGHT = 76, 11
HALVES = 2  # a character of the picture is two points wide


def plan_text(scenario: Scenario, made: Forecast) -> RenderableType:
    """The whole plan, narrow enough for 80 columns."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows_of(scenario, made):
        table.add_row(name, value)
    return Group(
        Text.assemble((scenario.name, "bold"), f"  {span(made.duration_s)}, {_manner(scenario)}"),
        Paragraph(scenario.question),
        Text(""),
        Text(f"{_unit(made)} per second asked for, over the run{_extremes(made)}"),
        Text(picture(made), no_wrap=True),
        table,
        *(Paragraph(f"! {warning}", style="yellow") for warning in warnings_of(scenario, made)),
    )


def rows_of(scenario: Scenario, made: Forecast) -> Iterator[tuple[str, str]]:
    """The plan as names and values."""
    if made.requests is not None:
        yield "Requests", _demand(made.requests, "requests")
    guessed = made.requests is not None and not made.traced
    beside = " if every request writes" if guessed else ""
    if made.write_units is not None:
        yield "Write units", _demand(made.write_units, "WCU") + beside
    if made.read_units is not None:
        beside = " if every request reads, eventually consistent" if guessed else ""
        yield "Read units", _demand(made.read_units, "RCU") + beside
    if not made.traced:
        yield (
            "One item",
            f"{measured(made.units_per_write)} WCU to write, {measured(made.units_per_read)} to read",
        )
    yield "Table", _table(scenario, made)
    if made.hot_key is not None:
        yield from _hot_key(made, made.hot_key)
    else:
        yield "Hottest key", "only the run can tell"
    yield "Dollars", _dollars(made)


def warnings_of(scenario: Scenario, made: Forecast) -> Iterator[str]:
    """What is going to throttle by these numbers alone, whatever the run will show."""
    key, unit = made.hot_key, _hot_unit(made)
    if key is not None and key.over_ceiling:
        each = "the hottest key" if key.shards == 1 else "each shard of the hottest key"
        yield (
            f"At the peak {each} is asked for {rate(key.shard_units_per_s, unit)}, and one partition "
            f"sustains {whole(key.ceiling_per_s)}: expect throttles with the constraint partition."
        )
    if made.over_provisioned and made.write_units is not None:
        yield (
            f"The table is asked for {rate(made.write_units.mean_per_s, 'WCU')} on average and has "
            f"{whole(made.provisioned_write_per_s)}: once its burst is spent, expect the constraint table."
        )
    if scenario.local.scale != 1:
        yield f"At scale {scenario.local.scale:g} the local table multiplies every limit by it."


def plan_json(scenario: Scenario, made: Forecast) -> dict[str, Any]:
    """The plan as plain values; `load` has the rate at the breakpoints of the shape."""
    key = made.hot_key
    return {
        "format": "keyheat.plan/1",
        "scenario": scenario.name,
        "question": scenario.question,
        "duration_s": made.duration_s,
        "unit": made.unit,
        "target": _plain(made.target),
        "requests": _plain(made.requests),
        "write_units": _plain(made.write_units),
        "read_units": _plain(made.read_units),
        "units_per_write": made.units_per_write,
        "units_per_read": made.units_per_read,
        "provisioned": {"write": made.provisioned_write_per_s, "read": made.provisioned_read_per_s},
        "hot_key": None
        if key is None
        else {
            "share": key.share,
            "units_per_s": key.units_per_s,
            "shards": key.shards,
            "shard_units_per_s": key.shard_units_per_s,
            "ceiling_per_s": key.ceiling_per_s,
            "shards_by_formula": key.needed,
            "shards_with_margin": key.needed_with_margin,
            "margin": key.margin,
        },
        "dollars": {
            "on_demand": made.on_demand_dollars,
            "provisioned": made.provisioned_dollars,
            "region": made.prices.region,
            "as_of": made.prices.as_of.isoformat(),
        },
        "load": [
            {"at_s": at_s, "per_s": made.shape.rate(at_s)} for at_s in dict.fromkeys(made.shape.breakpoints)
        ],
        "warnings": list(warnings_of(scenario, made)),
    }


def picture(made: Forecast, width: int = WIDTH, height: int = HEIGHT) -> str:
    """The rate over time, drawn in characters, without colours."""
    top = made.target.peak_per_s
    labels = [f"{measured(top * part / 2)} " for part in range(3)]
    points = (width - max(map(len, labels))) * HALVES
    step_s = made.duration_s / points
    moments = [(number + 0.5) * step_s for number in range(points)]
    figure = plotext.figure
    figure.clear()
    plotext.terminal.limit(False, False)  # the size is ours, also where there is no terminal
    figure.plot_size(width, height)
    figure.theme("colorless")
    figure.axes(False)
    figure.axes(True, axis="x", side="lower")
    figure.ruler("y").lim(0, top * 1.05).ticks([top * part / 2 for part in range(3)], labels)
    marks = [made.duration_s * part / 4 for part in range(5)]
    figure.ruler("x").lim(0, made.duration_s).ticks(marks, [span(mark) for mark in marks])
    figure.draw(figure.signal(moments, [made.shape.rate(at_s) for at_s in moments], marker="hd").fillx())
    drawn: str = figure.build().string(colorless=True)
    return "\n".join(line.rstrip() for line in drawn.splitlines())


def _plain(demand: Demand | None) -> dict[str, float] | None:
    if demand is None:
        return None
    return {"mean_per_s": demand.mean_per_s, "peak_per_s": demand.peak_per_s, "total": demand.total}


def _manner(scenario: Scenario) -> str:
    load = scenario.load
    manners = {"closed": "closed loop", "trace": "open loop, at the times of a trace"}
    manner = manners.get(load.arrivals, f"open loop, {load.arrivals} arrivals")
    return f"{manner}, {some(load.users, 'user')}"


def _unit(made: Forecast) -> str:
    return "Requests" if made.unit == "requests" else made.unit


def _extremes(made: Forecast) -> str:
    mean, peak = made.target.mean_per_s, made.target.peak_per_s
    return f": {measured(mean)} on average, {measured(peak)} at the peak" if peak > mean else ""


def _hot_unit(made: Forecast) -> str:
    return "WCU" if made.write_units is not None else "RCU"


def _demand(demand: Demand, unit: str) -> str:
    peak = f", {rate(demand.peak_per_s, unit)} at the peak" if demand.peak_per_s > demand.mean_per_s else ""
    return f"{rate(demand.mean_per_s, unit)}{peak}, {measured(demand.total)} in all"


def _table(scenario: Scenario, made: Forecast) -> str:
    if scenario.table.billing_mode == "PAY_PER_REQUEST":
        return f"{scenario.table.name}, on-demand"
    pair = f"{whole(made.provisioned_write_per_s)} WCU/s and {whole(made.provisioned_read_per_s)} RCU/s"
    return f"{scenario.table.name}, {pair} provisioned"


def _hot_key(made: Forecast, key: HotKeyForecast) -> Iterator[tuple[str, str]]:
    unit = _hot_unit(made)
    over = percent(key.shard_units_per_s / key.ceiling_per_s)
    asked = f"{percent(key.share)} of the load, {rate(key.units_per_s, unit)} at the peak"
    yield "Hottest key", asked
    of_each = "it" if key.shards == 1 else f"each of {key.shards:,} shards"
    yield "One partition", f"sustains {whole(key.ceiling_per_s)} {unit}/s: {of_each} takes {over} of that"
    formula = f"ceil({whole(key.units_per_s)} / {whole(key.ceiling_per_s)}) = {key.needed:,}"
    yield "Shards needed", f"{formula}; with a margin of {key.margin:g}: {key.needed_with_margin:,}"


def _dollars(made: Forecast) -> str:
    of_table = made.provisioned_dollars
    provisioned = f", ${of_table:.4f} provisioned" if of_table is not None else ""
    on_demand = f"${made.on_demand_dollars:.4f} on-demand"
    return f"{on_demand}{provisioned} ({made.prices.shown}); nothing on a local table"
