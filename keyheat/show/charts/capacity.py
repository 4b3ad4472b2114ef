"""Capacity over time: what was consumed against its limits, and below it what was throttled, by limit."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import pandas as pd
import plotly.graph_objects as go

from keyheat.analysis.report.facts import Facts
from keyheat.analysis.report.run import ReportRun
from keyheat.numbers import UNITS, measured, moment, rate, some, span, whole
from keyheat.runs.manifest import CapacityChange
from keyheat.show.answer import Figure, Mark, Picture, Table
from keyheat.show.charts.base import FAR_ABOVE, MOST_POINTS, figure, iso, limit_line, stepped, time_axis
from keyheat.show.charts.rates import Rates
from keyheat.show.constraints import NAMES, saying
from keyheat.show.style import LIGHT, colour_of, pattern
from keyheat.words import Constraint, Resource

MOST_ROWS: Final = 120
"""Of the table below a chart; a CSV file has them all."""
WORDS: Final = {
    "provisioned": "provisioned for",
    "max_on_demand": "as the on-demand maximum of",
    "warm": "of warm throughput for",
}


def capacity_figure(
    rates: Rates,
    title: str,
    *,
    ceiling_per_s: float | None,
    consumed: str | None,
    changes_s: Sequence[float] = (),
) -> Figure:
    """One resource over time; `consumed` is its rate in words, `changes_s` when its capacity changed."""
    drawn, unit = rates.within(MOST_POINTS), UNITS[rates.resource.direction]
    throttled = drawn.constraints
    headings = (f"{unit} per second", "throttled per second")[: 2 if throttled else 1]
    made = figure(390 if throttled else 300, headings, (0.62, 0.38) if throttled else (1.0,))
    if drawn.known("consumed"):
        area = {
            "name": "consumed",
            "line_color": LIGHT["accent"],
            "line_width": 1.5,
            "fill": "tozeroy",
            "fillcolor": LIGHT["soft"],
            "hovertemplate": f"%{{x}}<br>%{{y:,}} {unit} consumed<extra></extra>",
        }
        made.add_trace(go.Scatter(**stepped(drawn.frame["consumed"], drawn.step_s), **area), row=1, col=1)
    for line in _limits(drawn, ceiling_per_s):
        made.add_trace(line, row=1, col=1)
    for constraint in throttled:
        made.add_trace(_throttled(drawn, constraint), row=2, col=1)
    for number, at_s in enumerate(changes_s):
        made.add_shape(
            type="line", x0=iso(at_s), x1=iso(at_s), yref="paper", y0=0, y1=1, name="capacity changed",
            showlegend=not number, line={"color": LIGHT["muted"], "dash": "dot", "width": 1.5},
        )  # fmt: skip
    made.update_xaxes(time_axis(drawn.start_s, drawn.end_s))
    return Figure(
        title=title, summary=" ".join(_sentences(rates, drawn.step_s, consumed)), figure=made,
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


def _limits(rates: Rates, ceiling_per_s: float | None) -> Iterator[go.Scatter]:
    """Provisioned capacity, as it changed, and what one partition admits; none far above the chart."""
    unit, provisioned = UNITS[rates.resource.direction], rates.frame.get("provisioned")
    if provisioned is not None and not _too_high(rates, float(provisioned.max())):
        low, high = float(provisioned.min()), float(provisioned.max())
        line = {"color": LIGHT["ink"], "dash": "dash", "width": 1.5}
        yield go.Scatter(
            **stepped(provisioned, rates.step_s), line=line, hoverinfo="skip",
            name="provisioned" + (f": {rate(low, unit)}" if low == high else ""),
        )  # fmt: skip
    if ceiling_per_s is not None and not _too_high(rates, ceiling_per_s):
        name = f"one partition admits: {rate(ceiling_per_s, unit)}"
        yield limit_line(rates.start_s, rates.end_s, ceiling_per_s, name, "ceiling", "dot")


def _too_high(rates: Rates, value: float) -> bool:
    return 0 < FAR_ABOVE * rates.most("consumed") < value


def _sentences(rates: Rates, step_s: int, consumed: str | None) -> Iterator[str]:
    """The chart in words, with its numbers."""
    unit = UNITS[rates.resource.direction]
    each = "minute" if rates.step_s == 60 else span(rates.step_s)
    if rates.step_s > 1:
        yield f"CloudWatch's sums per {each}, shown as rates."
    else:
        yield f"{'Each second' if step_s == 1 else f'Means of {span(step_s)}'}, as the client saw it."
    if rates.known("consumed"):
        most = f"{measured(rates.most('consumed'))} {unit}/s at most"
        yield f"Consumed {consumed}, and {most}." if consumed else f"Consumed {most}."
    if rates.known("provisioned"):
        low, high = float(rates.frame["provisioned"].min()), rates.most("provisioned")
        amount = whole(low) if low == high else f"{whole(low)} to {whole(high)}"
        yield f"Provisioned: {amount} {unit}/s{', far above this chart' if _too_high(rates, high) else ''}."
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


WIDTH, HEIGHT, BOTTOM, THROTTLED_HEIGHT = 320, 64, 96, 26


def picture_of(rates: Rates, facts: Facts, *, partition: bool) -> Picture | None:
    """A run in small: consumed against its limits, throttles below; None if consumption is unknown."""
    drawn, unit = rates.within(WIDTH // 2), UNITS[rates.resource.direction]
    if not drawn.known("consumed"):
        return None
    steady = pd.Series(1.0, drawn.frame.index)
    limits: list[tuple[Mark, str, pd.Series]] = []
    if drawn.known("provisioned"):
        low, high = float(drawn.frame["provisioned"].min()), drawn.most("provisioned")
        amount = whole(low) if low == high else f"{whole(low)} to {whole(high)}"
        limits.append(("dash", f"provisioned: {amount} {unit}/s", drawn.frame["provisioned"]))
    elif facts.max_on_demand_per_s:
        name = f"on-demand maximum: {whole(facts.max_on_demand_per_s)} {unit}/s"
        limits.append(("dash", name, steady * facts.max_on_demand_per_s))
    if partition:
        name = f"one partition admits: {whole(facts.ceiling_per_s)} {unit}/s"
        limits.append(("dot", name, steady * facts.ceiling_per_s))
    shown = [values for *_, values in limits if not _too_high(drawn, float(values.max()))]
    top = 1.05 * max([drawn.most("consumed"), *(float(values.max()) for values in shown)]) or 1.0
    paths: list[tuple[Mark, str]] = [("area", _area(drawn.frame["consumed"], top, HEIGHT, HEIGHT))]
    paths += [(mark, _line(one, top)) for mark, _, one in limits if not _too_high(drawn, float(one.max()))]
    legend: list[tuple[Mark, str]] = [("area", "consumed"), *((mark, name) for mark, name, _ in limits)]
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
    """A stepped line, a piece for each level; none where the limit is not known."""
    width = WIDTH / len(values)
    levels = values.reset_index(drop=True)
    pieces = levels.groupby((levels.diff() != 0).cumsum())
    spans = ((one.index[0] * width, (one.index[-1] + 1) * width, one.iloc[0]) for _, one in pieces)
    return "".join(
        f"M{start:.1f} {HEIGHT * (1 - value / top):.1f}H{end:.1f}"
        for start, end, value in spans
        if pd.notna(value)
    )


def changes_of(run: ReportRun, resource: Resource) -> list[float]:
    """The moments from which another capacity of a resource held; the billing mode is every resource's."""
    return sorted(
        {
            _epoch_s(run, change.in_force_s)
            for change in _changes(run)
            if change.in_force_s is not None
            and (
                change.what == "billing_mode"
                or (change.index == resource.index and change.what.endswith(f".{resource.direction}"))
            )
        }
    )


def change_sentences(run: ReportRun) -> list[str]:
    """Every change in a sentence, in order of time."""
    changes = _changes(run)
    if not changes:
        return []
    last_s = max(max(change.at_s, change.in_force_s or 0.0) for change in changes)
    say = saying(_epoch_s(run, 0.0), _epoch_s(run, last_s))
    return [_change_sentence(run, change, say) for change in changes]


def _change_sentence(run: ReportRun, change: CapacityChange, say: Callable[[float], str]) -> str:
    who = "auto scaling" if change.by == "auto scaling" else "the timeline"
    words = f"{say(_epoch_s(run, change.at_s))} UTC: {who} asks for {_asked(change)}"
    if change.because:
        words += f" ({change.because})"
    if change.refused:
        return f"{words}; refused: {change.refused}."
    if change.in_force_s is None:
        return f"{words}; not in force by the end of the run."
    return f"{words}; in force at {say(_epoch_s(run, change.in_force_s))}."


def _asked(change: CapacityChange) -> str:
    name, _, side = change.what.partition(".")
    owner = "the table" if change.index is None else f"index {change.index}"
    before = "" if change.before is None else f" instead of {_amount(change.before)}"
    if side not in UNITS:
        return f"{change.after} mode of {owner}{before}"
    return f"{_amount(change.after)} {UNITS[side]}/s {WORDS.get(name, name)} {owner}{before}"


def _amount(value: Any) -> str:
    return whole(value) if isinstance(value, int | float) else str(value)


def _changes(run: ReportRun) -> Sequence[CapacityChange]:
    return run.manifest.timeline if run.manifest is not None else ()


def _epoch_s(run: ReportRun, elapsed_s: float) -> float:
    assert run.manifest is not None, "it holds the changes"
    return run.manifest.started_at.timestamp() + elapsed_s
