"""The hottest keys: the demand of each against what one partition admits."""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from keyheat.analysis.report.run import ReportRun
from keyheat.numbers import UNITS, measured, percent, rate, some, whole
from keyheat.pages.charts.figures import (
    Chart,
    PageTable,
    Swatch,
    amounts,
    compact,
    figure,
    lay_out,
    safe,
    shortened,
)
from keyheat.pages.sheets import Sheet
from keyheat.pages.style import LIGHT
from keyheat.terms import DEMAND
from keyheat.words import Direction, key_name, label_of, whose

SHOWN = "key_shown"
"""The one column with values of keys, where the run recorded them."""
BARS, FEWEST_BARS = 10, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatOfKey:
    """One key's load over the run."""

    key: str
    shown: str | None
    units_per_s: float
    share: float
    throttles: int

    @property
    def name(self) -> str:
        return key_name(self.key, self.shown)


def hottest(run: ReportRun, direction: Direction) -> list[HeatOfKey]:
    """The hottest keys: those of the diagnosis with the rates it found, then the others of `keys.json`."""
    found = {
        key.key: HeatOfKey(
            key=key.key,
            shown=key.shown,
            units_per_s=key.units_per_s,
            share=key.share,
            throttles=key.throttles,
        )
        for key in run.diagnosis.hot_keys
        if key.direction in (None, direction)
    }
    for load in run.keys.overall.get(direction, ()) if run.keys is not None else ():
        rate_per_s = None if load.key in found else _rate_while_hot(run, load.key, direction)
        if rate_per_s is not None:
            found[load.key] = HeatOfKey(
                key=load.key,
                shown=load.shown,
                units_per_s=rate_per_s,
                share=load.share,
                throttles=load.throttles,
            )
    return sorted(found.values(), key=lambda key: (-key.units_per_s, key.key))


def _rate_while_hot(run: ReportRun, key: str, direction: Direction) -> float | None:
    """Mean units per second over the windows in which the key had at least half of its highest rate."""
    assert run.keys is not None
    rates = [
        load.units / window.seconds
        for window in run.keys.windows
        if window.direction == direction
        for load in window.top
        if load.key == key
    ]
    half = max(rates, default=0.0) / 2
    hot = [one for one in rates if one >= half]
    return sum(hot) / len(hot) if hot else None


def key_chart(
    keys: list[HeatOfKey], direction: Direction, ceiling_per_s: float, chart_id: str
) -> Chart | None:
    """Units per second of demand for each key, with what one partition admits as a line."""
    if not keys:
        return None
    unit, top = UNITS[direction], _worth_drawing(keys)
    places = list(range(len(top) - 1, -1, -1))
    made = figure(height=60 + 44 * len(top))
    made.add_trace(
        go.Bar(
            orientation="h",
            x=compact([key.units_per_s for key in top]),
            y=places,
            width=0.36,
            marker={"color": [LIGHT["throttled" if key.throttles else "accent"] for key in top]},
            customdata=[[safe(key.name), percent(key.share), whole(key.throttles)] for key in top],
            hovertemplate=f"%{{customdata[0]}}<br>%{{x:,}} {unit}/s, %{{customdata[1]}} of all<br>"
            "%{customdata[2]} throttles<extra></extra>",
        )
    )
    made.add_trace(_names(top, places))
    widest = max(key.units_per_s for key in top)
    drawn = ceiling_per_s <= 8 * widest
    lay_out(
        made,
        xaxis=amounts(range=[0, max(widest, ceiling_per_s if drawn else 0) * 1.08], nticks=5),
        yaxis={"visible": False, "range": [-0.6, len(top) - 0.35], "fixedrange": True},
        shapes=[_ceiling_line(ceiling_per_s)] if drawn else [],
    )
    return Chart(
        id=chart_id,
        title=f"Hottest keys, {direction}s",
        summary=_key_summary(top[0], direction, ceiling_per_s),
        figure=made,
        legend=_legend(top, f"{whole(ceiling_per_s)} {unit}/s" if drawn else None),
        table=_key_table(keys, unit),
        sheet=Sheet(
            name=f"hottest-keys-{direction}",
            columns={
                "key": [key.key for key in keys],
                f"asked_{direction}_units_per_s": np.array([key.units_per_s for key in keys]),
                "share": np.array([key.share for key in keys]),
                "throttles": np.array([key.throttles for key in keys], np.float64),
                **({SHOWN: [key.shown or "" for key in keys]} if any(key.shown for key in keys) else {}),
            },
        ),
    )


def _legend(top: list[HeatOfKey], ceiling: str | None) -> tuple[Swatch, ...]:
    kinds = {bool(key.throttles) for key in top}
    entries = [
        Swatch(name=f"{DEMAND}, with throttles", role="throttled", mark="bar") if True in kinds else None,
        Swatch(name=f"{DEMAND}, no throttles", role="accent", mark="bar") if False in kinds else None,
        Swatch(name=f"one partition admits: {ceiling}", role="ceiling", mark="dot") if ceiling else None,
    ]
    return tuple(entry for entry in entries if entry is not None)


def _worth_drawing(keys: list[HeatOfKey]) -> list[HeatOfKey]:
    """The hottest few, and after them those that would have a bar one can see."""
    seen = [key for key in keys if key.units_per_s >= 0.01 * keys[0].units_per_s]
    return keys[: max(FEWEST_BARS, len(seen))][:BARS]


def _names(top: list[HeatOfKey], places: list[int]) -> go.Scatter:
    """The name of each key above its bar, where a narrow screen has room for it."""
    return go.Scatter(
        x=[0] * len(top),
        y=[place + 0.36 for place in places],
        mode="text",
        textposition="middle right",
        text=[f"{safe(key.name, 24)}  {percent(key.share)}" for key in top],
        textfont={"size": 12, "color": LIGHT["ink"]},
        hoverinfo="skip",
        cliponaxis=False,
    )


def _ceiling_line(ceiling_per_s: float) -> dict[str, object]:
    line = {"color": LIGHT["ceiling"], "dash": "dot", "width": 1.5}
    ends = {"x0": ceiling_per_s, "x1": ceiling_per_s, "y0": 0, "y1": 1}
    return {"type": "line", "xref": "x", "yref": "paper", "line": line, **ends}


def _key_summary(first: HeatOfKey, direction: Direction, ceiling_per_s: float) -> str:
    unit = UNITS[direction]
    met = f"It met {some(first.throttles, 'throttle')}." if first.throttles else "It was never throttled."
    return (
        f"The {DEMAND} for the hottest key was {rate(first.units_per_s, unit)} while it was hot, "
        f"{percent(first.share)} of all; one partition admits {whole(ceiling_per_s)} {unit}/s. {met}"
    )


def _key_table(keys: list[HeatOfKey], unit: str) -> PageTable:
    return PageTable(
        caption="Hottest keys over the whole run",
        columns=("key", f"{DEMAND}, {unit}/s", "share", "throttles"),
        rows=tuple(
            (shortened(key.name, 80), measured(key.units_per_s), percent(key.share), whole(key.throttles))
            for key in keys
        ),
        numeric=frozenset({1, 2, 3}),
    )


def throttled_key_table(run: ReportRun) -> PageTable | None:
    """The keys that were throttled most, by our record, else by Contributor Insights; None: unknown."""
    uses = [
        (direction, use)
        for direction, found in (run.keys.by_throttles.items() if run.keys is not None else ())
        for use in found
        if use.throttles
    ]
    if not uses:
        return _throttled_by_insights(run) if run.keys is None else None
    uses.sort(key=lambda one: (-one[1].throttles, one[1].key))
    return PageTable(
        caption="Most throttled keys over the whole run",
        columns=("key", "direction", "throttles", f"{DEMAND}, units", "units consumed"),
        rows=tuple(
            (
                shortened(key_name(use.key, use.shown), 80),
                direction,
                whole(use.throttles),
                measured(use.units),
                "" if use.consumed_units is None else measured(use.consumed_units),
            )
            for direction, use in uses
        ),
        numeric=frozenset({2, 3, 4}),
    )


def _throttled_by_insights(run: ReportRun) -> PageTable | None:
    """The keys that Contributor Insights names, of the table and of each index that it counts for."""
    rules = (run.evidence.contributors or ()) if run.evidence is not None else ()
    rows = tuple(
        (
            shortened(key_name(key.key, key.shown), 80),
            whose(label_of(rule.index)),
            whole(key.value),
            percent(key.value / rule.total),
        )
        for rule in rules
        if rule.counts == "throttled" and rule.total
        for key in rule.keys
    )
    if not rows:
        return None
    return PageTable(
        caption="Most throttled keys, by Contributor Insights",
        columns=("key", "resource", "throttled requests", "share"),
        rows=rows,
        numeric=frozenset({2, 3}),
    )
