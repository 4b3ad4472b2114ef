"""Capacity over time: consumed against provisioned, throttles by constraint below, changes of it marked."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go

from keyheat.analysis.report.bins import Floats, width_for
from keyheat.analysis.report.rates import RateTimeline
from keyheat.analysis.report.run import ReportRun
from keyheat.numbers import UNITS, measured, moment, rate, some, span, whole
from keyheat.pages.charts.figures import (
    Chart,
    Mark,
    PageTable,
    Swatch,
    amounts,
    area,
    compact,
    figure,
    heading,
    held,
    iso,
    joined,
    lay_out,
    level,
    rows_of,
    steps,
    times,
)  # fmt: skip
from keyheat.pages.sheets import Sheet
from keyheat.pages.style import LIGHT, PATTERNS, colour_of, pattern
from keyheat.runs.manifest import CapacityChange
from keyheat.wording.constraints import NAMES, SHOWN, saying
from keyheat.words import Constraint, Resource

MARKS: dict[str, Mark] = {"": "bar", "/": "stripe", "x": "cross", ".": "dots", "-": "level"}
FAR_ABOVE = (
    8  # a limit this many times above the highest point would flatten the chart: it is said, not drawn
)
MOST_ROWS = 360
"""Of a table in the page; a file that is saved has them all."""
SPLIT = {"top": [0.42, 1.0], "bottom": [0.0, 0.3]}


def second_chart(
    timeline: RateTimeline, chart_id: str, *, ceiling_per_s: float | None, consumed: str | None = None
) -> Chart:
    """What the client saw of one resource: drawn in steps that can be seen, kept second by second.

    `consumed` is its rate in words, which the whole page has.
    """
    finest, timeline = timeline, timeline.in_steps_of(width_for(timeline.end_s - timeline.start_s))
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
        summary=joined([f"{each}, as the client saw it.", *_said(finest, consumed)]),
        figure=made,
        legend=_legend(timeline, ceiling_per_s),
        sheet=_sheet(finest, "seconds"),
    )


def minute_chart(
    timeline: RateTimeline, chart_id: str, *, ceiling_per_s: float | None, consumed: str | None = None
) -> Chart:
    """What CloudWatch published of one resource, minute by minute; of a long run in longer steps."""
    finest, timeline = timeline, timeline.in_steps_of(width_for(timeline.end_s - timeline.start_s))
    made = _panels(timeline, barmode="stack")
    if timeline.consumed is not None:
        made.add_trace(
            go.Bar(
                **_bars(timeline),
                y=compact(timeline.consumed),
                marker={"color": LIGHT["soft"], "line": {"color": LIGHT["accent"], "width": 1.5}},
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
        summary=joined([f"CloudWatch's sums per {each}, shown as rates.", *_said(finest, consumed)]),
        figure=made,
        legend=_legend(timeline, ceiling_per_s),
        table=rate_table(finest.in_steps_of(width_for(finest.end_s - finest.start_s, MOST_ROWS))),
        sheet=_sheet(finest, "minutes"),
    )


def rate_table(timeline: RateTimeline) -> PageTable:
    """The numbers of a timeline, row by row."""
    unit = UNITS[timeline.resource.direction]
    unknown = np.full(timeline.points, np.nan)
    columns = {
        "time (UTC)": [moment(start) for start in timeline.moments()],
        f"consumed, {unit}": _counted(timeline, timeline.consumed),
        f"provisioned, {unit}/s": [whole(v) for v in _or(timeline.provisioned, unknown)],
    }
    if timeline.attempts is not None:
        columns["attempts"] = _counted(timeline, timeline.attempts)
    for constraint in _occurring(timeline):
        columns[f"throttled: {NAMES[constraint].lower()}"] = _counted(
            timeline, timeline.throttled[constraint]
        )
    if not timeline.throttled:
        columns["throttled"] = ["0"] * timeline.points
    return PageTable(
        caption=timeline.resource.title.capitalize(),
        columns=tuple(columns),
        rows=rows_of(*columns.values()),
        numeric=frozenset(range(1, len(columns))),
    )


def _panels(timeline: RateTimeline, **layout: str) -> go.Figure:
    """Capacity above; throttles below it on the same times, where there are any."""
    unit = UNITS[timeline.resource.direction]
    if not timeline.throttled:
        made = figure(height=270, **layout)
        lay_out(made, annotations=[heading(f"{unit} per second", 1.0)])
        lay_out(made, xaxis=times(timeline.start_s, timeline.end_s), yaxis=amounts(domain=[0, 1]))
        return made
    made = figure(height=360, **layout)
    lay_out(
        made,
        xaxis=times(timeline.start_s, timeline.end_s, anchor="y2"),
        yaxis=amounts(domain=SPLIT["top"]),
        yaxis2=amounts(domain=SPLIT["bottom"], nticks=4),
        annotations=[
            heading(f"{unit} per second", SPLIT["top"][1]),
            heading("throttled per second", SPLIT["bottom"][1]),
        ],
    )
    return made


def _area(timeline: RateTimeline, values: Floats) -> go.Scatter:
    made = area(
        values,
        LIGHT["accent"],
        LIGHT["soft"],
        "%{x}<br>%{y:,} consumed a second",
        **steps(timeline.start_s, timeline.step_s),
        fill="tozeroy",
    )
    return made.update(line_width=1.5)


def _throttled_area(timeline: RateTimeline, constraint: Constraint) -> go.Scatter:
    return area(
        timeline.throttled[constraint],
        colour_of(constraint),
        colour_of(constraint),
        f"%{{x}}<br>%{{y:,}} throttled a second: {NAMES[constraint].lower()}",
        **steps(timeline.start_s, timeline.step_s),
        yaxis="y2",
        stackgroup="throttled",
        fillpattern={**pattern(constraint), "bgcolor": colour_of(constraint)},
    )


def _throttled_bars(timeline: RateTimeline, constraint: Constraint) -> go.Bar:
    return go.Bar(
        **_bars(timeline),
        y=compact(timeline.throttled[constraint]),
        yaxis="y2",
        marker={
            "color": colour_of(constraint),
            "pattern": pattern(constraint),
        },
        hovertemplate=f"%{{x}}<br>%{{y:,}} throttled a second: {NAMES[constraint].lower()}<extra></extra>",
    )


def _bars(timeline: RateTimeline) -> dict[str, object]:
    """Bars that begin where their minute begins."""
    return {**steps(timeline.start_s, timeline.step_s), "offset": 0, "width": timeline.step_s * 940}


def _add_limits(made: go.Figure, timeline: RateTimeline, ceiling_per_s: float | None) -> None:
    """Provisioned capacity, as it changed, and what one partition admits."""
    constant = _constant(timeline.provisioned)
    if timeline.provisioned is not None and constant is None:
        made.add_trace(_provisioned_line(timeline, timeline.provisioned))
    shapes = [
        level(value, role, dash)
        for value, role, dash in ((constant, "ink", "dash"), (ceiling_per_s, "ceiling", "dot"))
        if value is not None and not _too_high(timeline, value)
    ]
    lay_out(made, shapes=shapes)
    highest = max([_peak(timeline.consumed), *(shape["y0"] for shape in shapes)])
    if shapes and highest > 0:
        lay_out(made, yaxis_range=[0, highest * 1.08])


def _constant(values: Floats | None) -> float | None:
    """The one value that held throughout; None where it changed, or was not known all the time."""
    if values is None or np.isnan(values).any() or values.min() != values.max():
        return None
    return float(values[0])


def _provisioned_line(timeline: RateTimeline, provisioned: Floats) -> go.Scatter:
    return go.Scatter(
        **steps(timeline.start_s, timeline.step_s),
        y=held(provisioned),
        mode="lines",
        line={"color": LIGHT["ink"], "width": 1.5, "dash": "dash", "shape": "hv"},
        hovertemplate="%{x}<br>%{y:,} provisioned<extra></extra>",
    )


def _said(timeline: RateTimeline, consumed: str | None) -> list[str]:
    """The chart in sentences, with its numbers."""
    unit = UNITS[timeline.resource.direction]
    said = []
    if timeline.consumed is not None and np.isfinite(timeline.consumed).any():
        most = f"{measured(_peak(timeline.consumed))} {unit}/s at most"
        said.append(f"Consumed {consumed}, and {most}." if consumed else f"Consumed {most}.")
    if timeline.provisioned is not None:
        low, high = float(np.nanmin(timeline.provisioned)), float(np.nanmax(timeline.provisioned))
        amount = whole(low) if low == high else f"{whole(low)} to {whole(high)}"
        far = ", far above this chart" if _too_high(timeline, high) else ""
        said.append(f"Provisioned: {amount} {unit}/s{far}.")
    total = float(timeline.counted(timeline.all_throttled()).sum())
    by_cause = ", ".join(
        f"{NAMES[c].lower()} {whole(timeline.counted(timeline.throttled[c]).sum())}"
        for c in _occurring(timeline)
    )
    said.append(f"Throttled {some(round(total), 'time')} ({by_cause})." if by_cause else "No throttles.")
    return said


def _too_high(timeline: RateTimeline, value: float) -> bool:
    peak = _peak(timeline.consumed)
    return peak > 0 and value > FAR_ABOVE * peak


def _peak(values: Floats | None) -> float:
    return float(np.nanmax(values)) if values is not None and np.isfinite(values).any() else 0.0


def _occurring(timeline: RateTimeline) -> list[Constraint]:
    return [constraint for constraint in SHOWN if constraint in timeline.throttled]


def _legend(timeline: RateTimeline, ceiling_per_s: float | None) -> tuple[Swatch, ...]:
    unit = UNITS[timeline.resource.direction]
    entries = [Swatch(name="consumed", role="accent", mark="area")]
    if timeline.provisioned is not None and not _too_high(timeline, float(np.nanmax(timeline.provisioned))):
        constant = _constant(timeline.provisioned)
        amount = f": {rate(constant, unit)}" if constant else ""
        entries.append(Swatch(name=f"provisioned{amount}", role="ink", mark="dash"))
    if ceiling_per_s is not None and not _too_high(timeline, ceiling_per_s):
        name = f"one partition admits: {rate(ceiling_per_s, unit)}"
        entries.append(Swatch(name=name, role="ceiling", mark="dot"))
    return (*entries, *(swatch(constraint, "throttled: ") for constraint in _occurring(timeline)))


def swatch(constraint: Constraint, before: str = "") -> Swatch:
    """A constraint in a legend, with its pattern."""
    name = f"{before}{NAMES[constraint].lower()}"
    return Swatch(
        name=name, role="calm" if constraint == "none" else constraint, mark=MARKS[PATTERNS[constraint]]
    )


def _or(values: Floats | None, unknown: Floats) -> Floats:
    return unknown if values is None else values


def _counted(timeline: RateTimeline, rates: Floats | None) -> list[str]:
    """How much of it there was in each step."""
    unknown = np.full(timeline.points, np.nan)
    return [whole(count) for count in timeline.counted(_or(rates, unknown))]


WORDS = {
    "provisioned": "provisioned for",
    "max_on_demand": "as the on-demand maximum of",
    "warm": "of warm throughput for",
}


def marked(chart: Chart, run: ReportRun, resource: Resource) -> Chart:
    """The chart with a line at each moment from which another capacity of its resource held."""
    moments = [
        _epoch_s(run, change.in_force_s)
        for change in _changes(run)
        if change.in_force_s is not None and _concerns(change, resource)
    ]
    if not moments:
        return chart
    figure = go.Figure(chart.figure)
    for at_s in sorted(set(moments)):
        figure.add_shape(
            type="line",
            xref="x",
            x0=iso(at_s),
            x1=iso(at_s),
            yref="paper",
            y0=0,
            y1=1,
            line={"color": LIGHT["muted"], "dash": "dot", "width": 1.5},
        )
    legend = (*chart.legend, Swatch(name="capacity changed", role="muted", mark="dot"))
    return replace(chart, figure=figure, legend=legend)


def said_of(run: ReportRun) -> list[str]:
    """Every change in a sentence, in order of time."""
    changes = list(_changes(run))
    if not changes:
        return []
    last_s = max(max(change.at_s, change.in_force_s or 0.0) for change in changes)
    say = saying(_epoch_s(run, 0.0), _epoch_s(run, last_s))
    return [_change_said(run, change, say) for change in changes]


def _change_said(run: ReportRun, change: CapacityChange, say: Callable[[float], str]) -> str:
    who = "auto scaling" if change.by == "auto scaling" else "the timeline"
    said = f"{say(_epoch_s(run, change.at_s))} UTC: {who} asks for {_asked(change)}"
    if change.because:
        said += f" ({change.because})"
    if change.refused:
        return f"{said}; refused: {change.refused}."
    if change.in_force_s is None:
        return f"{said}; not in force by the end of the run."
    return f"{said}; in force at {say(_epoch_s(run, change.in_force_s))}."


def _asked(change: CapacityChange) -> str:
    name, _, side = change.what.partition(".")
    whose = "the table" if change.index is None else f"index {change.index}"
    before = "" if change.before is None else f" instead of {_amount(change.before)}"
    if side not in UNITS:
        return f"{change.after} mode of {whose}{before}"
    return f"{_amount(change.after)} {UNITS[side]}/s {WORDS.get(name, name)} {whose}{before}"


def _amount(value: float | str | None) -> str:
    return whole(value) if isinstance(value, int | float) else str(value)


def _concerns(change: CapacityChange, resource: Resource) -> bool:
    """Whether a change is of this resource and direction; the billing mode is everybody's."""
    if change.what == "billing_mode":
        return True
    return change.index == resource.index and change.what.endswith(f".{resource.direction}")


def _changes(run: ReportRun) -> Iterable[CapacityChange]:
    return run.manifest.timeline if run.manifest is not None else ()


def _epoch_s(run: ReportRun, elapsed_s: float) -> float:
    assert run.manifest is not None, "it holds the changes"
    return run.manifest.started_at.timestamp() + elapsed_s


def _sheet(timeline: RateTimeline, what: str) -> Sheet:
    of = timeline.resource.direction
    columns = {
        f"consumed_{of}_units_per_s": timeline.consumed,
        f"provisioned_{of}_units_per_s": timeline.provisioned,
        **{f"throttled_{name}_per_s": values for name, values in timeline.throttled.items()},
    }
    return Sheet(
        name=f"{what}-{timeline.resource.slug}",
        columns={name: values for name, values in columns.items() if values is not None},
        start_s=float(timeline.start_s),
        step_s=float(timeline.step_s),
        end_s=float(timeline.end_s),
    )
