"""Rates over time of one resource, as a frame, and what is made from it: its chart, picture and table."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from keyheat.analysis.report import ReportRun
from keyheat.numbers import UNITS, measured, moment, some, span, whole
from keyheat.runs.formats import Label
from keyheat.runs.frames import throttles_of
from keyheat.show.answer import Figure, Mark, Picture, Table
from keyheat.show.charts import (
    LIGHT,
    MOST_POINTS,
    coarser,
    colour_of,
    figure,
    iso,
    panel_heading,
    pattern,
    stepped,
    time_axis,
    width_for,
)
from keyheat.show.verdict import NAMES, SHOWN
from keyheat.words import Constraint, Resource, capital


@dataclass(frozen=True, slots=True)
class Limit:
    """How a limit is drawn, and what it is called."""

    mark: Mark
    role: str
    words: str


LIMITS: Final = {
    "provisioned": Limit("dash", "ink", "provisioned"),
    "maximum": Limit("dash", "ink", "on-demand maximum"),
    "ceiling": Limit("dot", "ceiling", "one partition admits"),
}
"""The columns of rates that are limits: none has the name of a constraint, whose column is its throttles."""
FAR_ABOVE: Final = 8
"""A limit this many times above the highest consumption would flatten a chart: words name it instead."""
MINUTE_S: Final = 60
MOST_MINUTES: Final = 1_440


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rates:
    """Rates per second in steps of `step_s`; of the last step, which may be shorter, up to `end_s`.

    `frame` is indexed by the epoch second at which a step begins. Its columns are `consumed`, `attempts` and
    those of `LIMITS`, as far as they are known at all, and each constraint that throttled. NaN is unknown.
    """

    resource: Resource
    frame: pd.DataFrame
    step_s: int
    end_s: int

    @property
    def start_s(self) -> int:
        return int(self.frame.index[0])

    @property
    def constraints(self) -> list[Constraint]:
        """The limits that throttled, in the order in which pages show them."""
        return [constraint for constraint in SHOWN if constraint in self.frame]

    @property
    def used(self) -> bool:
        """Whether anything was consumed or throttled, as far as that is known."""
        return bool(self.constraints or self.most("consumed") or not self.has("consumed"))

    def has(self, column: str) -> bool:
        """Whether a column has any value."""
        return column in self.frame and bool(self.frame[column].notna().any())

    def most(self, column: str) -> float:
        """The highest value of a column, 0 if nothing of it is known."""
        return float(self.frame[column].max()) if self.has(column) else 0.0

    def limits(self) -> Iterator[tuple[str, Limit]]:
        """The limits that can be drawn beside what was consumed, by their column."""
        highest = FAR_ABOVE * self.most("consumed") or np.inf
        return (
            (name, limit) for name, limit in LIMITS.items() if self.has(name) and self.most(name) <= highest
        )

    def limit_words(self, column: str) -> str:
        """A limit with its number, or with the least and the most of it: `provisioned: 4,000 WCU/s`."""
        low, high = whole(float(self.frame[column].min())), whole(self.most(column))
        amount = low if low == high else f"{low} to {high}"
        return f"{LIMITS[column].words}: {amount} {UNITS[self.resource.direction]}/s"

    def under(self, ceiling_per_s: float) -> "Rates":
        """Add the limit of one partition."""
        return replace(self, frame=self.frame.assign(ceiling=ceiling_per_s))

    def counts(self, column: str) -> pd.Series:
        """Counts in each step, rather than rates."""
        ends = np.append(self.frame.index[1:], self.end_s)
        counted: pd.Series = self.frame[column] * (ends - self.frame.index)
        return counted

    def within(self, points: int) -> "Rates":
        """Resample to at most `points` steps of a round length."""
        step_s = width_for(self.end_s - self.start_s, points)
        if step_s <= self.step_s:
            return self
        step_s = -(-step_s // self.step_s) * self.step_s
        return replace(self, frame=coarser(self.frame, step_s), step_s=step_s)


def client_rates(run: ReportRun, resource: Resource) -> Rates | None:
    """Rates of one resource by second, from the client; None without its record."""
    limits = run.record.range()
    if limits is None:
        return None
    seconds = pd.RangeIndex(*limits)
    frame = pd.DataFrame(index=seconds)
    rows = run.record.of(resource)
    if rows is not None and len(rows["second"]):
        sums = pd.DataFrame(rows).set_index("second")[["consumed_units", "attempts"]]
        frame[["consumed", "attempts"]] = sums.reindex(seconds, fill_value=0.0)
    throttled = client_throttles(run, resource)
    counts = throttled.pivot_table(index="second", columns="constraint", values="count", aggfunc="sum")
    frame = frame.join(counts.astype("float64").reindex(seconds).fillna(0.0))
    return Rates(resource=resource, frame=_with_limits(frame, run, resource), step_s=1, end_s=limits[1])


def published_rates(run: ReportRun, resource: Resource) -> Rates | None:
    """Rates of one resource by CloudWatch's periods; None if it published nothing."""
    track = run.track(resource)
    if run.evidence is None or track is None or not track.consumed:
        return None
    window = run.evidence.window
    start_s = int(window.start.timestamp()) // MINUTE_S * MINUTE_S
    end_s = -(-int(window.end.timestamp()) // MINUTE_S) * MINUTE_S
    step_s = max(track.step_s, width_for(end_s - start_s, MOST_MINUTES), MINUTE_S)
    causes = list(map(str, track.causes))
    published = dict(zip(causes, track.causes.values(), strict=True))
    published |= {"consumed": track.consumed, "events": track.events or {}}
    cells = pd.DataFrame({name: pd.Series(of, dtype="float64") for name, of in published.items()})
    cells = cells[(cells.index >= start_s) & (cells.index < end_s)]
    steps = cells.groupby((cells.index - start_s) // step_s).sum(min_count=1)
    lengths = np.diff([*range(start_s, end_s, step_s), end_s])
    frame = steps.reindex(range(len(lengths))).div(lengths, axis=0)
    frame.index = start_s + frame.index * step_s
    unpublished = frame.isna().all(axis=1)
    named = [name for name in causes if frame[name].sum()]
    frame[causes] = frame[causes].fillna(0.0)
    rest = (frame["events"].fillna(0.0) - frame[causes].sum(axis=1)).clip(lower=0.0)
    frame = frame[["consumed", *named]]
    if (rest * lengths).sum() >= 1:
        frame = frame.assign(undetermined=rest)
    frame = frame.mask(unpublished)
    return Rates(resource=resource, frame=_with_limits(frame, run, resource), step_s=step_s, end_s=end_s)


def published_resources(run: ReportRun) -> list[Resource]:
    """Every resource with published consumption above zero, or throttles."""
    return [
        Resource(track.index, track.direction)
        for track in run.tracks
        if any(
            counted and any(counted.values())
            for counted in (track.consumed, track.events, *track.causes.values())
        )
    ]


def client_throttles(run: ReportRun, resource: Resource | None = None) -> pd.DataFrame:
    """Throttles by second, resource, direction, reason and constraint; of those without a reason, what the
    label of their second says. Of a run that kept no throttles, those of its seconds.
    """
    kept = run.throttles
    if kept is None and run.evidence is not None and run.evidence.throttles is not None:
        kept = throttles_of(run.evidence)
    if kept is not None:
        at_s = kept["at"].astype("datetime64[s, UTC]").astype("int64")
        rows = kept.assign(second=at_s, constraint=kept["constraint"].astype(object))
    else:
        nothing: dict[str, Any] = dict.fromkeys(("second", "resource", "direction", "throttled"), ())
        rows = pd.DataFrame(nothing | dict(run.record.seconds or {}))
        rows = rows.rename(columns={"throttled": "count"}).assign(reason=None, constraint=None)
    if resource is not None:
        rows = rows[(rows["resource"] == resource.label_name) & (rows["direction"] == resource.direction)]
    refused = rows[rows["count"] > 0]
    unnamed = refused["constraint"].isna()
    if unnamed.any():
        refused.loc[unnamed, "constraint"] = [
            _label_at(run.diagnosis.labels, row) for row in refused[unnamed].itertuples()
        ]
    return refused


def _label_at(labels: Iterable[Label], row: Any) -> Constraint:
    """The constraint for throttles without a reason: the label of their resource and second."""
    for label in labels:
        if (
            (label.resource, label.direction) == (row.resource, row.direction)
            and label.start.timestamp() <= row.second < label.end.timestamp()
            and label.constraint != "none"
        ):
            return label.constraint
    return "undetermined"


def _with_limits(frame: pd.DataFrame, run: ReportRun, resource: Resource) -> pd.DataFrame:
    """Add the capacity in force at each step, else the maximum of an on-demand table."""
    for name, steps in (("provisioned", run.provisioned(resource)), ("maximum", run.maximum(resource))):
        units = [steps.at(second) or np.nan for second in frame.index]
        if np.isfinite(units).any():
            return frame.assign(**{name: units})
    return frame


THROTTLED_TOP: Final = 0.33
"""Where the panel of the throttles ends, of the chart's height."""
MOST_ROWS: Final = 60
"""Of the table below a chart; a CSV file has them all."""


def capacity_figure(
    rates: Rates, title: str, *, consumed: str | None, changes_s: Sequence[float] = ()
) -> Figure:
    """One resource over time; `consumed` is its rate in words, `changes_s` when its capacity changed."""
    drawn, unit = rates.within(MOST_POINTS), UNITS[rates.resource.direction]
    throttled = drawn.constraints
    traces, shapes = [], []
    if drawn.has("consumed"):
        area = go.Scatter(
            **stepped(drawn.frame["consumed"], drawn.step_s), name="consumed", fill="tozeroy",
            line={"color": LIGHT["accent"], "width": 1.5}, fillcolor=LIGHT["soft"],
            hovertemplate=f"%{{x}}<br>%{{y:,}} {unit} consumed<extra></extra>",
        )  # fmt: skip
        traces.append(area)
    for name, limit in drawn.limits():
        line = {"color": LIGHT[limit.role], "dash": limit.mark, "width": 1.5}
        values = stepped(drawn.frame[name], drawn.step_s)
        traces.append(go.Scatter(**values, line=line, name=drawn.limit_words(name), hoverinfo="skip"))
    traces += (_throttled(drawn, constraint) for constraint in throttled)
    for number, at_s in enumerate(changes_s):
        shapes.append({
            "type": "line", "x0": iso(at_s), "x1": iso(at_s), "yref": "paper", "y0": 0, "y1": 1,
            "name": "capacity changed", "showlegend": not number,
            "line": {"color": LIGHT["muted"], "dash": "dot", "width": 1.5},
        })  # fmt: skip
    layout: dict[str, Any] = {"xaxis": time_axis(drawn.start_s, drawn.end_s), "shapes": shapes}
    if throttled:  # in a panel of their own below it, over the same time
        layout["xaxis"]["anchor"] = "y2"
        layout |= {"yaxis": {"domain": [0.47, 1]}, "yaxis2": {"domain": [0, THROTTLED_TOP]}}
        layout["annotations"] = [panel_heading("throttled per second", THROTTLED_TOP)]
    chart = figure(traces, 390 if throttled else 300, f"{unit} per second", **layout)
    return Figure(
        title=title, summary=" ".join(_rate_sentences(rates, drawn.step_s, consumed)), figure=chart,
        table=rate_table(rates.within(MOST_ROWS)),
    )  # fmt: skip


def _throttled(rates: Rates, constraint: Constraint) -> go.Scatter:
    colour, name = colour_of(constraint), NAMES[constraint].lower()
    return go.Scatter(
        **stepped(rates.frame[constraint], rates.step_s), stackgroup="throttled", yaxis="y2",
        fillcolor=colour,
        fillpattern={**pattern(constraint), "bgcolor": colour}, name=f"throttled: {name}",
        line={"color": colour, "width": 1},
        hovertemplate=f"%{{x}}<br>%{{y:,}} throttled: {name}<extra></extra>",
    )  # fmt: skip


def _rate_sentences(rates: Rates, step_s: int, consumed: str | None) -> Iterator[str]:
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
