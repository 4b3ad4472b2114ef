"""Consumption against its limits over time, and throttles by limit below it."""

from collections.abc import Iterator, Sequence
from typing import Final

import pandas as pd
import plotly.graph_objects as go

from keyheat.analysis.report import ReportRun
from keyheat.numbers import NOTHING, UNITS, measured, moment, saying, some, span, whole
from keyheat.show.answer import Figure, Mark, Picture, Table
from keyheat.show.charts.base import MOST_POINTS, figure, iso, stepped, time_axis
from keyheat.show.charts.rates import LIMITS, Rates
from keyheat.show.style import LIGHT, colour_of, pattern
from keyheat.show.verdict import NAMES
from keyheat.words import Constraint, Resource, capital, label_of, whose

MOST_ROWS: Final = 60
"""Of the table below a chart; a CSV file has them all."""


def capacity_figure(
    rates: Rates, title: str, *, consumed: str | None, changes_s: Sequence[float] = ()
) -> Figure:
    """One resource over time; `consumed` is its rate in words, `changes_s` when its capacity changed."""
    drawn, unit = rates.within(MOST_POINTS), UNITS[rates.resource.direction]
    throttled = drawn.constraints
    headings = (f"{unit} per second", "throttled per second")[: 2 if throttled else 1]
    chart = figure(390 if throttled else 300, headings, (0.62, 0.38) if throttled else (1.0,))
    if drawn.has("consumed"):
        area = go.Scatter(
            **stepped(drawn.frame["consumed"], drawn.step_s), name="consumed", fill="tozeroy",
            line={"color": LIGHT["accent"], "width": 1.5}, fillcolor=LIGHT["soft"],
            hovertemplate=f"%{{x}}<br>%{{y:,}} {unit} consumed<extra></extra>",
        )  # fmt: skip
        chart.add_trace(area)
    for name, limit in drawn.limits():
        line = {"color": LIGHT[limit.role], "dash": limit.mark, "width": 1.5}
        values = stepped(drawn.frame[name], drawn.step_s)
        trace = go.Scatter(**values, line=line, name=drawn.limit_words(name), hoverinfo="skip")
        chart.add_trace(trace)
    for constraint in throttled:
        chart.add_trace(_throttled(drawn, constraint), row=2, col=1)
    for number, at_s in enumerate(changes_s):
        chart.add_shape(
            type="line", x0=iso(at_s), x1=iso(at_s), yref="paper", y0=0, y1=1, name="capacity changed",
            showlegend=not number, line={"color": LIGHT["muted"], "dash": "dot", "width": 1.5},
        )  # fmt: skip
    chart.update_xaxes(time_axis(drawn.start_s, drawn.end_s), overwrite=True)
    return Figure(
        title=title, summary=" ".join(_sentences(rates, drawn.step_s, consumed)), figure=chart,
        table=rate_table(rates.within(MOST_ROWS)),
    )  # fmt: skip


def _throttled(rates: Rates, constraint: Constraint) -> go.Scatter:
    colour, name = colour_of(constraint), NAMES[constraint].lower()
    return go.Scatter(
        **stepped(rates.frame[constraint], rates.step_s), stackgroup="throttled", fillcolor=colour,
        fillpattern={**pattern(constraint), "bgcolor": colour}, name=f"throttled: {name}",
        line={"color": colour, "width": 1},
        hovertemplate=f"%{{x}}<br>%{{y:,}} throttled: {name}<extra></extra>",
    )  # fmt: skip


def _sentences(rates: Rates, step_s: int, consumed: str | None) -> Iterator[str]:
    """The chart in words, with its numbers."""
    unit = UNITS[rates.resource.direction]
    each = "minute" if rates.step_s == 60 else span(rates.step_s)
    if rates.step_s > 1:
        yield f"CloudWatch's sums per {each}, shown as rates."
    else:
        yield f"{'Each second' if step_s == 1 else f'Means of {span(step_s)}'}, as the client saw it."
    if rates.has("consumed"):
        most = f"{measured(rates.most('consumed'))} {unit}/s at most"
        yield f"Consumed {consumed}, and {most}." if consumed else f"Consumed {most}."
    drawn = [name for name, _ in rates.limits()]
    if rates.has("provisioned"):
        far = "" if "provisioned" in drawn else ", far above this chart"
        yield f"{capital(rates.limit_words('provisioned'))}{far}."
    counts = {constraint: rates.counts(constraint).sum() for constraint in rates.constraints}
    by_cause = ", ".join(f"{NAMES[name].lower()} {whole(count)}" for name, count in counts.items())
    total = some(round(sum(counts.values())), "time")
    yield f"Throttled {total} ({by_cause})." if by_cause else "No throttles."


def rate_table(rates: Rates) -> Table:
    """The numbers of one resource, step by step."""
    unit = UNITS[rates.resource.direction]
    amounts: dict[str, pd.Series] = {}
    if "consumed" in rates.frame:
        amounts[f"consumed, {unit}"] = rates.counts("consumed")
    if "provisioned" in rates.frame:
        amounts[f"provisioned, {unit}/s"] = rates.frame["provisioned"]
    if "attempts" in rates.frame:
        amounts["attempts"] = rates.counts("attempts")
    for constraint in rates.constraints:
        amounts[f"throttled: {NAMES[constraint].lower()}"] = rates.counts(constraint)
    rows = tuple(
        {"time (UTC)": moment(second), **dict(zip(amounts, map(whole, values), strict=True))}
        for second, *values in zip(rates.frame.index, *amounts.values(), strict=True)
    )
    return Table(title=rates.resource.title.capitalize(), rows=rows, folded=True)


def changes_of(run: ReportRun, resource: Resource) -> list[float]:
    """Times at which a capacity of a resource, or the billing mode, came into force."""
    if run.manifest is None:
        return []
    mine, began_s = (resource.index, str(resource.direction)), run.manifest.started_at.timestamp()
    in_force = {
        change.in_force_s
        for change in run.manifest.timeline
        if change.what == "billing_mode" or (change.index, change.what.partition(".")[2]) == mine
    }
    return sorted(began_s + at_s for at_s in in_force if at_s is not None)


def change_table(run: ReportRun) -> Table | None:
    """Every requested change of capacity with its outcome; None without changes."""
    if run.manifest is None or not run.manifest.timeline:
        return None
    changes, began_s, rows = run.manifest.timeline, run.manifest.started_at.timestamp(), []
    say = saying(began_s, began_s + max(max(change.at_s, change.in_force_s or 0.0) for change in changes))
    for change in changes:
        before, after = (
            whole(value) if isinstance(value, int | float) else value or NOTHING
            for value in (change.before, change.after)
        )
        in_force = NOTHING if change.in_force_s is None else say(began_s + change.in_force_s)
        rows.append(
            {
                "asked for (UTC)": say(began_s + change.at_s), "by": change.by,
                "resource": whose(label_of(change.index)),
                "what": change.what.replace("_", " ").replace(".", ", "), "from": before, "to": after,
                "because": change.because or NOTHING,
                "in force": f"refused: {change.refused}" if change.refused else in_force,
            }
        )  # fmt: skip
    return Table(title="Changes of capacity", rows=tuple(rows))


WIDTH, HEIGHT, BOTTOM, THROTTLED_HEIGHT = 320, 64, 96, 26


def picture_of(rates: Rates) -> Picture | None:
    """The picture of one resource; None if its consumption is unknown."""
    drawn = rates.within(WIDTH // 2)
    if not drawn.has("consumed"):
        return None
    limits = list(drawn.limits())
    top = 1.05 * max(map(drawn.most, ["consumed", *(name for name, _ in limits)])) or 1.0
    paths: list[tuple[Mark, str]] = [("area", _area(drawn.frame["consumed"], top, HEIGHT, HEIGHT))]
    paths += [(limit.mark, _line(drawn.frame[name], top)) for name, limit in limits]
    legend: list[tuple[Mark, str]] = [("area", "consumed")]
    legend += [(limit.mark, drawn.limit_words(name)) for name, limit in LIMITS.items() if drawn.has(name)]
    throttled = drawn.frame[drawn.constraints].sum(axis=1)
    if throttled.any():
        paths.append(("bar", _area(throttled, float(throttled.max()), THROTTLED_HEIGHT, BOTTOM)))
        legend.append(("bar", "throttled"))
    words = ", ".join(name for _, name in legend)
    return Picture(summary=f"{rates.resource.title}: {words}", paths=tuple(paths), legend=tuple(legend))


def _area(values: pd.Series, top: float, height: int, bottom: int) -> str:
    """A stepped area from the left bottom corner round to the right bottom corner."""
    width = WIDTH / len(values)
    heights = (bottom - height * (values.fillna(0) / top).clip(0, 1)).round(1)
    steps = (f"L{at * width:.1f} {y:g}L{(at + 1) * width:.1f} {y:g}" for at, y in enumerate(heights))
    return f"M0 {bottom}{''.join(steps)}L{WIDTH} {bottom}Z"


def _line(values: pd.Series, top: float) -> str:
    """A stepped line, one piece per level; gaps where the limit is unknown."""
    width = WIDTH / len(values)
    levels = values.reset_index(drop=True)
    pieces = levels.groupby((levels.diff() != 0).cumsum())
    spans = ((piece.index[0] * width, (piece.index[-1] + 1) * width, piece.iloc[0]) for _, piece in pieces)
    return "".join(
        f"M{start:.1f} {HEIGHT * (1 - value / top):.1f}H{end:.1f}"
        for start, end, value in spans
        if pd.notna(value)
    )
