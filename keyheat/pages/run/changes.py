"""Changes of capacity while a load ran: marked in the charts of what was consumed, and said in words."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import plotly.graph_objects as go

from keyheat.numbers import UNITS, whole
from keyheat.pages.charts.figures import Chart, Swatch, iso
from keyheat.pages.moments import saying
from keyheat.pages.run.load import Run
from keyheat.pages.style import LIGHT
from keyheat.runs.manifest import CapacityChange
from keyheat.words import Resource

WORDS = {
    "provisioned": "provisioned for",
    "max_on_demand": "as the on-demand maximum of",
    "warm": "of warm throughput for",
}


def marked(chart: Chart, run: Run, resource: Resource) -> Chart:
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


def said_of(run: Run) -> list[str]:
    """Every change in a sentence, in order of time."""
    changes = list(_changes(run))
    if not changes:
        return []
    last_s = max(max(change.at_s, change.in_force_s or 0.0) for change in changes)
    say = saying(_epoch_s(run, 0.0), _epoch_s(run, last_s))
    return [_said(run, change, say) for change in changes]


def _said(run: Run, change: CapacityChange, say: Callable[[float], str]) -> str:
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


def _changes(run: Run) -> Iterable[CapacityChange]:
    return run.manifest.timeline if run.manifest is not None else ()


def _epoch_s(run: Run, elapsed_s: float) -> float:
    assert run.manifest is not None, "it holds the changes"
    return run.manifest.started_at.timestamp() + elapsed_s
