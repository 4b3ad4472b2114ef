"""The page of a sweep: where more shards stop paying, what each number of them costs, and a chart of each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from keyheat.analysis.knee import RISE_MOST, THROTTLED_MOST, ShardKnee, SweepPoint, knee_of
from keyheat.analysis.report.latency import TABLE_PERCENTILES, OperationLatency
from keyheat.numbers import (
    NOTHING,
    UNITS,
    dollars,
    exact_percent,
    measured,
    milliseconds,
    percent,
    rate,
    some,
    whole,
)
from keyheat.pages.charts.figures import (
    Chart,
    Swatch,
    amounts,
    compact,
    figure,
    heading,
    joined,
    lay_out,
    level,
)
from keyheat.pages.comparison import warnings_of, write_page
from keyheat.pages.page import PageAnswer, Stat
from keyheat.pages.run.sections import Section
from keyheat.pages.series import RunColumn
from keyheat.pages.style import LIGHT
from keyheat.plan.forecast import Forecast, HotKeyForecast, forecast
from keyheat.plan.prices import Prices
from keyheat.scenario.scenario import Scenario
from keyheat.terms import DEMAND

Runs = Sequence[tuple[int, RunColumn]]
P99 = TABLE_PERCENTILES.index(99.0)
WHOLE_READ, ONE_QUERY = "ReadCollection.logical", "Query.accepted"
HEIGHT = 230


def charts_of(runs: Runs, planned: Forecast, knee: ShardKnee | None) -> tuple[Chart, ...]:
    """Every chart that the runs have numbers for."""
    enough = knee.point.shards if knee and knee.point else None
    found = [_accepted(runs, planned, enough), _throttled(runs, enough), _reads(runs, enough)]
    found += [_units_per_read(runs, enough), _dollars(runs, enough)]
    return tuple(chart for chart in found if chart is not None)


def whole_read(column: RunColumn) -> OperationLatency | None:
    """How long reads of whole collections took, all their requests together."""
    return column.latency(WHOLE_READ)


def _accepted(runs: Runs, planned: Forecast, enough: int | None) -> Chart | None:
    values = _values(runs, lambda one: one.measured.write.units_per_s if one.measured else None)
    asked_per_s = planned.write_units.mean_per_s if planned.write_units else None
    chart = _chart(
        "accepted", "Accepted write units", "WCU per second", runs, values, enough, lambda v: rate(v, "WCU")
    )
    if chart is not None and asked_per_s is not None:
        highest = max(asked_per_s, *(value for value in values if value is not None))
        lay_out(chart.figure, shapes=[level(asked_per_s, "ink", "dash")], yaxis_range=[0, highest * 1.1])
        demand = Swatch(name=f"{DEMAND}, if all wrote: {rate(asked_per_s, 'WCU')}", role="ink", mark="dash")
        return replace(chart, legend=(demand,))
    return chart


def _throttled(runs: Runs, enough: int | None) -> Chart | None:
    values = _values(runs, lambda one: _percent(one.measured.write.throttled_share) if one.measured else None)
    return _chart(
        "throttled", "Throttled writes", "% of the writes", runs, values, enough,
        lambda value: percent(value / 100), role="throttled",
    )  # fmt: skip


def _percent(share: float | None) -> float | None:
    return None if share is None else share * 100


def _reads(runs: Runs, enough: int | None) -> Chart | None:
    values = _values(runs, lambda one: _p99(whole_read(one)))
    if any(value is not None for value in values):
        title, about = "Whole reads, p99", "From the first query to the merged answer."
    else:
        values = _values(runs, lambda one: _p99(one.latency(ONE_QUERY)))
        title = "Single queries, p99"
        about = "Whole reads were not timed: this is the service time of one query of one shard."
    return _chart("reads", title, "milliseconds", runs, values, enough, milliseconds, about=about)


def _p99(latency: OperationLatency | None) -> float | None:
    return None if latency is None else latency.table[P99]


def _units_per_read(runs: Runs, enough: int | None) -> Chart | None:
    values = _values(runs, lambda one: one.measured.units_per_read if one.measured else None)
    return _chart(
        "units",
        "Units of one whole read",
        "RCU per read",
        runs,
        values,
        enough,
        lambda v: f"{measured(v)} RCU",
    )


def _dollars(runs: Runs, enough: int | None) -> Chart | None:
    provisioned = _values(runs, lambda one: one.measured.provisioned_dollars if one.measured else None)
    on_demand = _values(runs, lambda one: one.measured.on_demand_dollars if one.measured else None)
    if all(value is None for value in provisioned):
        return _chart("dollars", "A million writes, on-demand", "dollars", runs, on_demand, enough, dollars)
    chart = _chart(
        "dollars", "A million accepted writes", "dollars", runs, provisioned, enough, dollars,
        about="As provisioned; the same units on-demand are the dotted line.",
    )  # fmt: skip
    if chart is None:
        return None
    chart.figure.add_trace(
        go.Scatter(
            x=_names(runs), y=compact([float("nan") if v is None else v for v in on_demand]), mode="lines",
            line={"color": LIGHT["muted"], "width": 1.5, "dash": "dot"},
            hovertemplate="%{x} shards: $%{y} on-demand<extra></extra>",
        )
    )  # fmt: skip
    highest = max(value for value in (*provisioned, *on_demand) if value is not None)
    lay_out(chart.figure, yaxis_range=[0, highest * 1.1])
    legend = (
        Swatch(name="as provisioned", role="accent", mark="line"),
        Swatch(name="on-demand", role="muted", mark="dot"),
    )
    return replace(chart, legend=legend)


def _values(runs: Runs, of: Callable[[RunColumn], float | None]) -> list[float | None]:
    return [of(column) for _shards, column in runs]


def _names(runs: Runs) -> list[str]:
    return [str(shards) for shards, _column in runs]


def _chart(
    name: str,
    title: str,
    unit: str,
    runs: Runs,
    values: Sequence[float | None],
    enough: int | None,
    say: Callable[[float], str],
    *,
    role: str = "accent",
    about: str = "",
) -> Chart | None:
    """One measure against the number of shards; the number that is enough is a filled green point."""
    if all(value is None for value in values):
        return None
    made = figure(height=HEIGHT)
    made.add_trace(
        go.Scatter(
            x=_names(runs), y=compact([float("nan") if value is None else value for value in values]),
            mode="lines+markers", connectgaps=False, cliponaxis=False,
            line={"color": LIGHT[role], "width": 2},
            marker=_markers(runs, enough, role),
            customdata=[NOTHING if value is None else say(value) for value in values],
            hovertemplate="%{x} shards: %{customdata}<extra></extra>",
        )
    )  # fmt: skip
    lay_out(
        made, annotations=[heading(unit, 1.0)],
        xaxis=amounts(
            type="category", gridcolor="rgba(0,0,0,0)", nticks=len(runs), ticklabelstandoff=8,
            title={"text": "shards per key", "font": {"size": 11}},
        ),
        yaxis=amounts(),
    )  # fmt: skip
    told = "; ".join(
        f"{shards:,}: {NOTHING if value is None else say(value)}"
        for (shards, _column), value in zip(runs, values, strict=True)
    )
    return Chart(id=f"chart-{name}", title=title, summary=joined([about, f"{told}."]), figure=made)


def _markers(runs: Runs, enough: int | None, role: str) -> dict[str, Any]:
    colours = [LIGHT["good"] if shards == enough else LIGHT[role] for shards, _column in runs]
    return {
        "size": [13 if shards == enough else 8 for shards, _column in runs],
        "color": [
            colour if column.valid else LIGHT["card"]
            for colour, (_n, column) in zip(colours, runs, strict=True)
        ],
        "line": {"color": colours, "width": 2},
    }


NAME = "sweep.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """One scenario with several numbers of shards, in ascending order, each with its run."""

    scenario: Scenario
    planned: Forecast
    runs: tuple[tuple[int, RunColumn], ...]

    @property
    def columns(self) -> tuple[RunColumn, ...]:
        return tuple(column for _shards, column in self.runs)

    @property
    def points(self) -> tuple[SweepPoint, ...]:
        """The runs that say something about the table."""
        return tuple(
            SweepPoint(
                shards=shards,
                accepted_per_s=write.units_per_s,
                throttled_share=write.throttled_share,
            )
            for shards, column in self.runs
            if column.valid and column.measured
            if (write := column.measured.write).units_per_s is not None and write.throttled_share is not None
        )

    @property
    def knee(self) -> ShardKnee | None:
        return knee_of(self.points)

    def run_of(self, point: SweepPoint) -> RunColumn:
        """The run that a point stands for."""
        return dict(self.runs)[point.shards]


def write_sweep(
    path: Path,
    scenario: Scenario,
    folders: Mapping[int, Path],
    prices: Prices,
    generated_at: datetime,
    *,
    margin: float,
) -> PageAnswer:
    """Write the page over the run directories by their numbers of shards; gives what it says first.

    Raises `CannotWrite`.
    """
    runs = ((n, RunColumn.of_run(folders[n], prices, label=some(n, "shard"))) for n in sorted(folders))
    planned = forecast(scenario, prices, margin=margin)
    sweep = Sweep(scenario=scenario, planned=planned, runs=tuple(runs))
    answer = answer_of(sweep)
    section = Section(
        id="sweep",
        title="Against the number of shards",
        short="Shards",
        charts=charts_of(sweep.runs, sweep.planned, sweep.knee),
        notes=tuple(_notes(sweep)),
    )
    write_page(path, sweep.columns, answer, prices, generated_at, [section])
    return answer


def answer_of(sweep: Sweep) -> PageAnswer:
    """The verdict of a sweep: how many shards are enough."""
    knee, key = sweep.knee, sweep.planned.hot_key
    point = knee.point if knee else None
    return PageAnswer(
        kind="sweep over shards",
        title=sweep.scenario.name,
        chip=_chip(knee),
        role="invalid" if knee is None else "none" if point else "failed",
        sentence=sentence_of(sweep),
        question=sweep.scenario.question,
        where=f"{some(len(sweep.runs), 'run')}, shards {', '.join(str(shards) for shards, _ in sweep.runs)}",
        stats=(
            Stat(
                name="Enough",
                value=some(point.shards, "shard") if point else "none of these",
                beside="the smallest number that is",
            ),
            *((_formula(key),) if key else ()),
            *_costs(sweep),
        ),
        warnings=warnings_of(sweep.columns),
    )


def sentence_of(sweep: Sweep) -> str:
    """The verdict in a sentence, with the numbers that carry it."""
    knee = sweep.knee
    if knee is None:
        return "No run of this sweep says anything about its table."
    if knee.point is None:
        best = knee.best
        still = percent(best.throttled_share)
        return (
            f"None of these is enough: {some(best.shards, 'shard')} accepted most, "
            f"{rate(best.accepted_per_s, 'WCU')}, and {still} of the writes were still throttled."
        )
    point = knee.point
    few = "1 shard is enough" if point.shards == 1 else f"{point.shards:,} shards are enough"
    throttled = percent(point.throttled_share) if point.throttled_share else "none"
    accepted = f"{rate(point.accepted_per_s, 'WCU')} accepted and {throttled} of the writes throttled"
    return f"{few}: {accepted}{_before(sweep, point)}."


def _before(sweep: Sweep, point: SweepPoint) -> str:
    """What the next smaller number of shards did."""
    smaller = [one for one in sweep.points if one.shards < point.shards]
    if not smaller:
        return ""
    one = max(smaller, key=lambda other: other.shards)
    share = percent(one.throttled_share)
    return f"; with {one.shards:,} it was {rate(one.accepted_per_s, 'WCU')} and {share}"


def _chip(knee: ShardKnee | None) -> str:
    if knee is None:
        return "Not valid"
    return f"{knee.point.shards:,} enough" if knee.point else "Not enough"


def _formula(key: HotKeyForecast) -> Stat:
    with_margin = f"{key.needed_with_margin:,} with a margin of {key.margin:g}"
    return Stat(
        name="The formula says",
        value=some(key.needed, "shard"),
        beside=f"ceil({whole(key.units_per_s)} / {whole(key.ceiling_per_s)}); {with_margin}",
    )


def _costs(sweep: Sweep) -> tuple[Stat, ...]:
    """What the chosen number of shards costs; without one, what the best costs."""
    knee = sweep.knee
    if knee is None:
        return ()
    point = knee.point or knee.best
    column, of_point = sweep.run_of(point), f"with {some(point.shards, 'shard')}"
    found = []
    latency = whole_read(column)
    if latency is not None:
        found.append(Stat(name="Whole read, p99", value=milliseconds(latency.table[P99]), beside=of_point))
    numbers = column.measured
    if numbers is not None and numbers.units_per_read is not None:
        value = f"{measured(numbers.units_per_read)} {UNITS['read']}"
        found.append(Stat(name="One whole read", value=value, beside=of_point))
    if numbers is not None and numbers.provisioned_dollars is not None:
        found.append(
            Stat(
                name="A million writes",
                value=dollars(numbers.provisioned_dollars),
                beside=f"as provisioned, {of_point}",
            )
        )
    return tuple(found)


def _notes(sweep: Sweep) -> list[str]:
    said = [
        f"Enough is the smallest number of shards with which at most {exact_percent(THROTTLED_MOST)} of the "
        f"writes are throttled, and from which no larger number accepts over {exact_percent(RISE_MOST)} more "
        "units per second."
    ]
    key, knee = sweep.planned.hot_key, sweep.knee
    if key and knee and knee.point and knee.point.shards > key.needed:
        said.append(
            f"The formula, {key.needed:,}, gives every shard a partition to itself. Shards are placed by a "
            "hash and share partitions, until DynamoDB splits those that stay hot."
        )
    return said
