"""Capacity over time: consumed against provisioned, throttles by constraint below; and the labels."""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from analyzers.formats import Constraint, Direction, Label
from reports.constraints import NAMES, SHOWN
from reports.downsample import Floats
from reports.figures import (
    Chart,
    Mark,
    Swatch,
    Table,
    amounts,
    compact,
    figure,
    heading,
    iso,
    joined,
    level,
    rows_of,
    safe,
    steps,
    times,
)  # fmt: skip
from reports.numbers import UNITS, clock, measured, moment, percent, some, span, whole
from reports.style import LIGHT, PATTERNS, colour_of
from reports.timeline import Timeline

MARKS: dict[str, Mark] = {"": "bar", "/": "stripe", "x": "cross", ".": "dots", "-": "level"}
FAR_ABOVE = (
    8  # a limit this many times above the highest point would flatten the chart: it is said, not drawn
)
SPLIT = {"top": [0.42, 1.0], "bottom": [0.0, 0.3]}


def second_chart(timeline: Timeline, chart_id: str, *, ceiling_per_s: float | None) -> Chart:
    """What the client saw of one resource, second by second."""
    made = _panels(timeline)
    if timeline.consumed is not None:
        made.add_trace(_area(timeline, timeline.consumed))
    for constraint in _occurring(timeline):
        made.add_trace(_throttled_area(timeline, constraint))
    _add_limits(made, timeline, ceiling_per_s)
    each = "Each second" if timeline.step_s == 1 else f"Means of {span(timeline.step_s)}"
    return Chart(
        id=chart_id,
        title=f"Second by second: {timeline.resource.title}",
        summary=joined([f"{each}, as the client saw it.", *_said(timeline, ceiling_per_s)]),
        figure=made,
        legend=_legend(timeline, "area", ceiling=ceiling_per_s is not None),
    )


def minute_chart(timeline: Timeline, chart_id: str, *, ceiling_per_s: float | None) -> Chart:
    """What CloudWatch published of one resource, minute by minute."""
    made = _panels(timeline, barmode="stack")
    if timeline.consumed is not None:
        made.add_trace(
            go.Bar(
                **_bars(timeline),
                y=compact(timeline.consumed),
                marker={"color": LIGHT["accent"]},
                hovertemplate="%{x}<br>%{y:,} consumed a second<extra></extra>",
            )
        )
    for constraint in _occurring(timeline):
        made.add_trace(_throttled_bars(timeline, constraint))
    _add_limits(made, timeline, ceiling_per_s)
    each = "minute" if timeline.step_s == 60 else span(timeline.step_s)
    return Chart(
        id=chart_id,
        title=f"Minute by minute: {timeline.resource.title}",
        summary=joined([f"CloudWatch's sums per {each}, shown as rates.", *_said(timeline, ceiling_per_s)]),
        figure=made,
        legend=_legend(timeline, "bar", ceiling=ceiling_per_s is not None),
        table=rate_table(timeline),
    )


def rate_table(timeline: Timeline) -> Table:
    """The numbers of a timeline, row by row."""
    unit = UNITS[timeline.resource.direction]
    unknown = np.full(timeline.points, np.nan)
    columns = {
        "time (UTC)": [moment(start) for start in timeline.moments()],
        f"consumed, {unit}/s": _measured_or(timeline.consumed, unknown),
        f"provisioned, {unit}/s": [whole(v) for v in _or(timeline.provisioned, unknown)],
    }
    if timeline.attempts is not None:
        columns["attempts/s"] = _measured_or(timeline.attempts, unknown)
    for constraint in _occurring(timeline):
        columns[f"throttled: {NAMES[constraint].lower()}"] = [
            whole(value * timeline.step_s) for value in timeline.throttled[constraint]
        ]
    if not timeline.throttled:
        columns["throttled"] = ["0"] * timeline.points
    return Table(
        caption=timeline.resource.title.capitalize(),
        columns=tuple(columns),
        rows=rows_of(*columns.values()),
        numeric=frozenset(range(1, len(columns))),
    )


def label_chart(labels: tuple[Label, ...], chart_id: str) -> Chart | None:
    """Every label as a span of time, one row for each resource and direction."""
    if not labels:
        return None
    owners = sorted({(label.resource != "table", label.resource, label.direction) for label in labels})
    rows = {owner[1:]: len(owners) - 1 - place for place, owner in enumerate(owners)}
    made = figure(height=70 + 46 * len(owners), barmode="overlay")
    for constraint in sorted({label.constraint for label in labels}):
        made.add_trace(
            _spans([label for label in labels if label.constraint == constraint], rows, constraint)
        )
    start, end = min(label.start for label in labels), max(label.end for label in labels)
    made.update_layout(
        xaxis=times(start.timestamp(), end.timestamp()),
        yaxis={
            "tickvals": list(rows.values()),
            "ticktext": [safe(f"{name}, {direction}s", 24) for name, direction in rows],
            "range": [-0.6, len(owners) - 0.4],
            "automargin": True,
            "fixedrange": True,
            "showgrid": False,
            "zeroline": False,
        },
    )
    found = sorted({label.constraint for label in labels})
    return Chart(
        id=chart_id,
        title="What limited the table, and when",
        summary=joined([_label_sentence(label) for label in sorted(labels, key=lambda one: one.start)[:4]]),
        figure=made,
        legend=tuple(_swatch(constraint) for constraint in found),
    )


def _spans(labels: list[Label], rows: Mapping[tuple[str, Direction], int], constraint: Constraint) -> go.Bar:
    return go.Bar(
        orientation="h",
        base=[iso(label.start.timestamp()) for label in labels],
        x=[(label.end - label.start).total_seconds() * 1000 for label in labels],
        y=[rows[label.resource, label.direction] for label in labels],
        width=0.6,
        marker={
            "color": colour_of(constraint),
            "pattern": {"shape": PATTERNS[constraint], "fgcolor": LIGHT["card"], "size": 6, "solidity": 0.25},
        },
        customdata=[
            [NAMES[constraint], whole(label.throttles), percent(label.confidence),
             clock(label.start.timestamp()), clock(label.end.timestamp())]
            for label in labels
        ],
        hovertemplate="%{customdata[0]}<br>%{customdata[3]} to %{customdata[4]}<br>"
        "%{customdata[1]} throttles, confidence %{customdata[2]}<extra></extra>",
    )  # fmt: skip


def _label_sentence(label: Label) -> str:
    times_said = f"{clock(label.start.timestamp())} to {clock(label.end.timestamp())}"
    what = NAMES[label.constraint].lower()
    return f"{times_said}: {label.resource} {label.direction}s, {what}, {some(label.throttles, 'throttle')}."


def _panels(timeline: Timeline, **layout: str) -> go.Figure:
    """Capacity above; throttles below it on the same times, where there are any."""
    unit = UNITS[timeline.resource.direction]
    if not timeline.throttled:
        made = figure(height=270, **layout)
        made.update_layout(annotations=[heading(f"{unit} per second", 1.0)])
        made.update_layout(xaxis=times(timeline.start_s, timeline.end_s), yaxis=amounts(domain=[0, 1]))
        return made
    made = figure(height=380, **layout)
    made.update_layout(
        xaxis=times(timeline.start_s, timeline.end_s, anchor="y2"),
        yaxis=amounts(domain=SPLIT["top"]),
        yaxis2=amounts(domain=SPLIT["bottom"], nticks=4),
        annotations=[
            heading(f"{unit} per second", SPLIT["top"][1]),
            heading("throttled per second", SPLIT["bottom"][1]),
        ],
    )
    return made


def _area(timeline: Timeline, values: Floats) -> go.Scatter:
    return go.Scatter(
        **steps(timeline.start_s, timeline.step_s),
        y=compact(values),
        mode="lines",
        line={"color": LIGHT["accent"], "width": 1.5, "shape": "hv"},
        fill="tozeroy",
        fillcolor=LIGHT["soft"],
        hovertemplate="%{x}<br>%{y:,} consumed a second<extra></extra>",
    )


def _throttled_area(timeline: Timeline, constraint: Constraint) -> go.Scatter:
    return go.Scatter(
        **steps(timeline.start_s, timeline.step_s),
        y=compact(timeline.throttled[constraint]),
        yaxis="y2",
        mode="lines",
        stackgroup="throttled",
        line={"color": colour_of(constraint), "width": 1, "shape": "hv"},
        fillcolor=colour_of(constraint),
        fillpattern={
            "shape": PATTERNS[constraint],
            "fgcolor": LIGHT["card"],
            "bgcolor": colour_of(constraint),
            "size": 6,
            "solidity": 0.25,
        },
        hovertemplate=f"%{{x}}<br>%{{y:,}} throttled a second: {NAMES[constraint].lower()}<extra></extra>",
    )


def _throttled_bars(timeline: Timeline, constraint: Constraint) -> go.Bar:
    return go.Bar(
        **_bars(timeline),
        y=compact(timeline.throttled[constraint]),
        yaxis="y2",
        marker={
            "color": colour_of(constraint),
            "pattern": {"shape": PATTERNS[constraint], "fgcolor": LIGHT["card"], "size": 6, "solidity": 0.25},
        },
        hovertemplate=f"%{{x}}<br>%{{y:,}} throttled a second: {NAMES[constraint].lower()}<extra></extra>",
    )


def _bars(timeline: Timeline) -> dict[str, object]:
    """Bars that begin where their minute begins."""
    return {**steps(timeline.start_s, timeline.step_s), "offset": 0, "width": timeline.step_s * 850}


def _add_limits(made: go.Figure, timeline: Timeline, ceiling_per_s: float | None) -> None:
    """Provisioned capacity, as it changed, and what one partition admits."""
    limits = [] if ceiling_per_s is None else [("one partition", ceiling_per_s, LIGHT["ceiling"], "dot")]
    provisioned = timeline.provisioned
    if provisioned is not None and not _too_high(timeline, float(np.nanmax(provisioned))):
        if np.nanmin(provisioned) == np.nanmax(provisioned) and not np.isnan(provisioned).any():
            limits.append(("provisioned", float(provisioned[0]), LIGHT["ink"], "dash"))
        else:
            made.add_trace(_provisioned_line(timeline, provisioned))
    shapes = [
        level(f"{name} {whole(value)}", value, colour, dash)
        for name, value, colour, dash in limits
        if not _too_high(timeline, value)
    ]
    made.update_layout(shapes=shapes)
    highest = max([_peak(timeline.consumed), *(shape["y0"] for shape in shapes)], default=0.0)
    if shapes and highest > 0:
        made.update_layout(yaxis_range=[0, highest * 1.12])


def _provisioned_line(timeline: Timeline, provisioned: Floats) -> go.Scatter:
    return go.Scatter(
        **steps(timeline.start_s, timeline.step_s),
        y=compact(provisioned),
        mode="lines",
        line={"color": LIGHT["ink"], "width": 1.5, "dash": "dash", "shape": "hv"},
        hovertemplate="%{x}<br>%{y:,} provisioned<extra></extra>",
    )


def _said(timeline: Timeline, ceiling_per_s: float | None) -> list[str]:
    """The chart in sentences, with its numbers."""
    unit = UNITS[timeline.resource.direction]
    said = []
    if timeline.consumed is not None and np.isfinite(timeline.consumed).any():
        mean, peak = float(np.nanmean(timeline.consumed)), _peak(timeline.consumed)
        said.append(f"Consumed {measured(mean)} {unit}/s on average and {measured(peak)} at most.")
    if timeline.provisioned is not None:
        low, high = float(np.nanmin(timeline.provisioned)), float(np.nanmax(timeline.provisioned))
        amount = whole(low) if low == high else f"{whole(low)} to {whole(high)}"
        far = ", far above this chart" if _too_high(timeline, high) else ""
        said.append(f"Provisioned: {amount} {unit}/s{far}.")
    total = float(timeline.all_throttled().sum() * timeline.step_s)
    by_cause = ", ".join(
        f"{NAMES[c].lower()} {whole(timeline.throttled[c].sum() * timeline.step_s)}"
        for c in _occurring(timeline)
    )
    said.append(f"Throttled {some(round(total), 'time')} ({by_cause})." if by_cause else "No throttles.")
    return said


def _too_high(timeline: Timeline, value: float) -> bool:
    peak = _peak(timeline.consumed)
    return peak > 0 and value > FAR_ABOVE * peak


def _peak(values: Floats | None) -> float:
    return float(np.nanmax(values)) if values is not None and np.isfinite(values).any() else 0.0


def _occurring(timeline: Timeline) -> list[Constraint]:
    return [constraint for constraint in SHOWN if constraint in timeline.throttled]


def _legend(timeline: Timeline, mark: Mark, *, ceiling: bool) -> tuple[Swatch, ...]:
    entries = [Swatch(name="consumed", role="accent", mark=mark)]
    if timeline.provisioned is not None:
        entries.append(Swatch(name="provisioned", role="ink", mark="dash"))
    if ceiling:
        entries.append(Swatch(name="what one partition admits", role="ceiling", mark="dot"))
    return (*entries, *(_swatch(constraint, "throttled: ") for constraint in _occurring(timeline)))


def _swatch(constraint: Constraint, before: str = "") -> Swatch:
    name = f"{before}{NAMES[constraint].lower()}"
    return Swatch(
        name=name, role="calm" if constraint == "none" else constraint, mark=MARKS[PATTERNS[constraint]]
    )


def _or(values: Floats | None, unknown: Floats) -> Floats:
    return unknown if values is None else values


def _measured_or(values: Floats | None, unknown: Floats) -> list[str]:
    return [measured(value) for value in _or(values, unknown)]
