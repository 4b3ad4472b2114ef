"""Heat over time: which keys and partitions were hot, and when."""

from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from keyheat.analysis.report import ReportRun
from keyheat.numbers import UNITS, measured, percent, rate, saying, some, span, whole
from keyheat.show.answer import Figure, Table
from keyheat.show.charts import (
    LIGHT,
    coarser,
    color_bar,
    compact,
    figure,
    heat_map,
    highest,
    named_rows,
    row_axis,
    safe,
    shortened,
    time_axis,
)
from keyheat.show.rates import FAR_ABOVE, MOST_ROWS
from keyheat.terms import DEMAND
from keyheat.words import TABLE, WRITES_FIRST, Direction, Resource, index_of, key_name, label_of, whose

MOST_KEYS: Final = 12
MOST_COLUMNS: Final = 720
MOST_PARTITIONS, NAMED_PARTITIONS = 96, 32
COLD: Final = 0.02  # of what one partition admits: below it there is no heat to show
REFUSED: Final = [[0.0, LIGHT["throttles0"]], [0.4, LIGHT["throttles1"]], [1.0, LIGHT["partition"]]]


def key_windows(keys: pd.DataFrame, direction: Direction) -> pd.DataFrame | None:
    """Units per second of the hottest keys by window, a column for each key; None without two windows.

    Keys stand in the order in which they were first hot; rows are by epoch second.
    """
    windows = keys[keys["window"].notna() & (keys["direction"] == direction)]
    if windows["window"].nunique() < 2:
        return None
    start_s = windows["window"].astype("datetime64[us, UTC]").astype("int64") / 1e6
    width_s = float(windows["window_s"].iloc[0])
    first_s, end_s = float(start_s.min()), float((start_s + windows["window_s"].astype("float64")).max())
    column = ((start_s - first_s) // width_s).astype("int64")
    rates = windows.assign(column=column, rate=windows["units"].astype("float64") / width_s).pivot_table(
        index="column", columns="key", values="rate", aggfunc="sum"
    )
    rates = rates.reindex(range(max(1, round((end_s - first_s) / width_s)))).fillna(0.0)
    total = rates.sum().nlargest(MOST_KEYS)
    rates = rates[list(total[total >= COLD * total.max()].index)]
    rates.index = first_s + rates.index * width_s
    first_hot = (rates >= rates.max() / 2).idxmax().to_dict()
    return rates[sorted(rates, key=lambda key: (first_hot[key], str(key)))]


def key_heat_figure(keys: pd.DataFrame, direction: Direction, ceiling_per_s: float) -> Figure | None:
    """A row for each key, a column for each window; None if no key came near what one partition admits."""
    finest = key_windows(keys, direction)
    if finest is None or highest(finest) < COLD * ceiling_per_s:
        return None
    rates, step_s = _fitting(finest)
    value_of = keys.set_index("key")["shown"].dropna().to_dict()
    names = [key_name(key, value_of.get(key), 8).removeprefix("sha256:") for key in map(str, rates)]
    most = max(highest(rates), ceiling_per_s)  # so that an even load looks as cool as it is
    chart = figure(
        [heat_map(rates, step_s, most, UNITS[direction])], 104 + 26 * len(names),
        xaxis=time_axis(rates.index[0], rates.index[-1] + step_s), yaxis=row_axis(names),
    )  # fmt: skip
    return Figure(
        title=f"Where the heat was, {direction}s", summary=_key_sentences(rates, step_s, names), figure=chart,
        table=_hottest_table(rates, names, direction),
    )  # fmt: skip


def _hottest_table(rates: pd.DataFrame, names: list[str], direction: Direction) -> Table:
    means, _step_s = _fitting(rates, MOST_ROWS)
    say = saying(rates.index[0], rates.index[-1])
    hottest = means.to_numpy().argmax(axis=1)
    rows = tuple(
        {
            "from (UTC)": say(at_s), "key": shortened(names[position], 40),
            f"{DEMAND}, {UNITS[direction]}/s": measured(most),
        }
        for at_s, position, most in zip(means.index, hottest, means.max(axis=1), strict=True)
    )  # fmt: skip
    return Table(title="Hottest key of each window", rows=rows, folded=True)


def _fitting(rates: pd.DataFrame, most: int = MOST_COLUMNS) -> tuple[pd.DataFrame, float]:
    """Return the rates in at most `most` steps, and the length of a step in seconds."""
    step_s = float(rates.index[1] - rates.index[0]) if len(rates) > 1 else 1.0
    step_s *= -(-len(rates) // most)
    return coarser(rates, step_s), step_s


def _key_sentences(rates: pd.DataFrame, step_s: float, names: list[str]) -> str:
    hottest = rates.to_numpy().argmax(axis=1)
    moved = pd.Series(hottest, rates.index).diff().fillna(0).ne(0) & (rates.max(axis=1) > 0)
    moments = list(rates.index[moved])
    say = saying(rates.index[0], rates.index[-1])
    if highest(rates) < 3 * np.nanmedian(rates[rates > 0]) and len(moments) > len(rates) / 3:
        words = "No key stands out: the load is spread."
    elif not moments:
        words = f"One key, {names[hottest[0]]}, was the hottest from beginning to end."
    elif len(moments) <= 12:
        words = (
            f"The heat moved to another key {some(len(moments), 'time')}, at {', '.join(map(say, moments))}."
        )
    else:
        words = f"The hottest key changed {some(len(moments), 'time')}."
    return f"The stronger the colour, the hotter; {measured(step_s)} s to a column. {words}"


def partition_resources(rows: pd.DataFrame) -> list[Resource]:
    """Resources and directions with demand on any partition, the table first."""
    if rows.empty:
        return []
    sums = rows.groupby("resource").sum(numeric_only=True)
    return [
        Resource(index_of(name), side)
        for name in sorted(sums.index, key=lambda name: (name != TABLE, name))
        for side in WRITES_FIRST
        if sums.loc[name, f"{side}_units"] or sums.loc[name, f"throttled_{side}s"]
    ]


def partition_rates(rows: pd.DataFrame, resource: Resource, worth: float) -> tuple[Any, Any, Any]:
    """Units and throttles per second by partition, by epoch second, and the partitions by their number.

    Partitions stand in the order of their keys; before one came to be, and after it split, its rates are
    unknown. A partition counts eventually consistent reads for less: `worth` is what one of its units is.
    """
    mine = rows[rows["resource"] == resource.label_name]
    at, step_s = mine["at"].astype("int64"), int(mine["seconds"].iloc[0])
    born = mine.drop_duplicates("partition").set_index("partition")[["parent", "since", "from_share"]]
    born = born.assign(since=born["since"].astype("int64").astype("float64")).sort_values(
        ["from_share", "since"]
    )
    ends = born.dropna(subset="parent").groupby("parent")["since"].min()
    born["until"] = ends.reindex(born.index).astype("float64").fillna(float("inf"))
    steps = range(at.min(), at.max() + 1, step_s)
    names = [f"{resource.direction}_units", f"throttled_{resource.direction}s"]
    sums = mine.groupby([at - (at - at.min()) % step_s, "partition"])[names].sum().astype("float64").unstack()
    units, refused = (
        pd.DataFrame(sums[name]).reindex(index=steps, columns=born.index).fillna(0.0) / step_s
        for name in names
    )
    moments = units.index.to_numpy()[:, None]
    alive = (moments + step_s > born["since"].to_numpy()) & (moments <= born["until"].to_numpy())
    return units.where(alive) * worth, refused.where(alive), born


def partition_figure(
    rows: pd.DataFrame, resource: Resource, ceiling_per_s: float, worth: float = 1.0
) -> Figure:
    """A row for each partition: served units as heat, with throttles on top."""
    units, refused, born = partition_rates(rows, resource, worth)
    step_s = float(units.index[1] - units.index[0]) if len(units) > 1 else 1.0
    end_s = units.index[-1] + step_s
    busiest = set((units.sum() + refused.sum()).nlargest(MOST_PARTITIONS).index)
    numbers = [number for number in born.index if number in busiest]
    heat, width_s = _fitting(units[numbers])
    unit, (row_px, gap) = UNITS[resource.direction], (22, 2) if len(numbers) <= NAMED_PARTITIONS else (8, 0)
    most = max(highest(heat), ceiling_per_s)
    traces = [heat_map(heat, width_s, most, unit, ygap=gap)]
    if worst := highest(throttled := _fitting(refused[numbers])[0]):
        overlay = heat_map(
            throttled.where(throttled > 0), width_s, worst, "throttled", ygap=gap,
            colorscale=REFUSED, colorbar=color_bar(worst, "throttled", 0.52),
            hovertemplate="%{x}<br>%{z:,} throttled a second<extra></extra>",
        )  # fmt: skip
        traces.append(overlay)
    names = [f"{number}: from {percent(born.loc[number, 'from_share'])}" for number in numbers]
    axis, every = row_axis(names), -(-len(names) // NAMED_PARTITIONS)
    axis |= {"tickvals": axis["tickvals"][::every], "ticktext": axis["ticktext"][::every]}
    chart = figure(
        traces, 104 + max(120, len(numbers) * row_px), xaxis=time_axis(units.index[0], end_s), yaxis=axis
    )
    return Figure(
        title=f"Partitions: {resource.title}", figure=chart,
        summary=_partition_sentences(units, refused * step_s, born, step_s, len(numbers)),
        table=_partition_table(units, refused * step_s, born, unit, step_s),
    )  # fmt: skip


def _partition_sentences(
    units: pd.DataFrame, refused: pd.DataFrame, born: pd.DataFrame, step_s: float, count: int
) -> str:
    totals, lost, parents = units.sum(), refused.sum(), born["parent"].dropna()
    present = len(born) - parents.nunique()
    words = [f"{some(present, 'partition')}; {span(step_s)} to a step."]
    if total := totals.sum():
        share = percent(totals.max() / total)
        words.append(f"The busiest, partition {totals.idxmax()}, served {share} of all units.")
    if lost.any():
        worst = percent(lost.max() / lost.sum())
        words.append(f"{some(round(lost.sum()), 'throttle')}, {worst} of them on partition {lost.idxmax()}.")
    else:
        words.append("No partition throttled.")
    splits = sorted(set(born.loc[parents.index, "since"][lambda since: since >= units.index[0]]))
    if splits:
        moments = ", ".join(map(saying(units.index[0], units.index[-1]), splits[:6]))
        words.append(f"{some(len(splits), 'split')} (at {moments}{', ...' if len(splits) > 6 else ''}).")
    if count < len(born):
        words.append(f"The {count} busiest are drawn.")
    return " ".join(words)


def _partition_table(
    units: pd.DataFrame, refused: pd.DataFrame, born: pd.DataFrame, unit: str, step_s: float
) -> Table:
    say = saying(units.index[0], units.index[-1])
    totals = units.sum()
    split_from = {
        number: "" if pd.isna(of["parent"]) else f"{of['parent']}, at {say(of['since'])}"
        for number, of in born.iterrows()
    }
    rows = tuple(
        {
            "partition": str(number), "its hashes begin at": percent(born.loc[number, "from_share"]),
            "split from": split_from[number], unit: measured(totals[number] * step_s),
            f"most, {unit}/s": measured(units[number].max()), "throttles": whole(refused[number].sum()),
        }
        for number in totals.sort_values(ascending=False, kind="stable").index[:MOST_PARTITIONS]
    )  # fmt: skip
    return Table(title="Partitions, the busiest first", rows=rows, folded=True)


FEWEST_BARS, MOST_BARS = 3, 10


def key_figure(run: ReportRun, direction: Direction, ceiling_per_s: float) -> Figure | None:
    """Units per second of demand for each key, with the line of one partition; None without keys."""
    unit = UNITS[direction]
    hot = (key for key in run.diagnosis.hot_keys if key.direction in (None, direction))
    keys = sorted(hot, key=lambda key: (-key.units_per_s, key.key))
    if not keys:
        return None
    hottest = keys[0]
    seen = sum(key.units_per_s >= 0.01 * hottest.units_per_s for key in keys)
    top = keys[: min(max(FEWEST_BARS, seen), MOST_BARS)]
    names = {key.key: key_name(key.key, key.shown) for key in keys}
    places, notes, axis = named_rows(
        [f"{shortened(names[key.key], 24)}  {percent(key.share)}" for key in top]
    )
    traces: list[Any] = []
    for name, role, throttled in (("with", "throttled", True), ("no", "accent", False)):
        rows_of_keys = zip(top, places, strict=True)
        if mine := [(key, at) for key, at in rows_of_keys if bool(key.throttles) is throttled]:
            bars = go.Bar(
                orientation="h", width=0.36, marker_color=LIGHT[role],
                name=f"{DEMAND}, {name} throttles",
                x=compact(key.units_per_s for key, _at in mine), y=[at for _key, at in mine],
                customdata=[
                    [safe(names[key.key]), percent(key.share), whole(key.throttles)] for key, _at in mine
                ],
                hovertemplate=f"%{{customdata[0]}}<br>%{{x:,}} {unit}/s, %{{customdata[1]}} of all<br>"
                "%{customdata[2]} throttles<extra></extra>",
            )  # fmt: skip
            traces.append(bars)
    if ceiling_per_s <= FAR_ABOVE * hottest.units_per_s:
        line = go.Scatter(
            x=[ceiling_per_s, ceiling_per_s], y=[places[-1] - 0.5, 0.65], mode="lines", hoverinfo="skip",
            line={"color": LIGHT["ceiling"], "dash": "dot", "width": 1.5},
            name=f"one partition admits: {whole(ceiling_per_s)} {unit}/s",
        )  # fmt: skip
        traces.append(line)
    chart = figure(
        traces, 84 + 44 * len(top), annotations=notes, barmode="overlay", yaxis=axis,
        xaxis={"rangemode": "tozero", "gridcolor": LIGHT["line"], "nticks": 5},
    )  # fmt: skip
    throttles = some(hottest.throttles, "throttle")
    outcome = f"It met {throttles}." if hottest.throttles else "It was never throttled."
    summary = (
        f"The {DEMAND} for the hottest key was {rate(hottest.units_per_s, unit)} while it was hot, "
        f"{percent(hottest.share)} of all; one partition admits {whole(ceiling_per_s)} {unit}/s. {outcome}"
    )
    rows = tuple(
        {
            "key": shortened(names[key.key], 80), f"{DEMAND}, {unit}/s": measured(key.units_per_s),
            "share": percent(key.share), "throttles": whole(key.throttles),
        }
        for key in keys
    )  # fmt: skip
    table = Table(title="Hottest keys over the whole run", rows=rows, folded=True)
    return Figure(title=f"Hottest keys, {direction}s", summary=summary, figure=chart, table=table)


def throttled_key_table(run: ReportRun) -> Table | None:
    """The keys that were throttled most, by Contributor Insights; None: unknown, or our record has them."""
    rules = (run.evidence.contributors or ()) if run.evidence is not None and run.keys is None else ()
    rows = tuple(
        {
            "key": shortened(key_name(key.key, key.shown), 80), "resource": whose(label_of(rule.index)),
            "throttled requests": whole(key.value), "share": percent(key.value / rule.total),
        }
        for rule in rules
        if rule.counts == "throttled" and rule.total
        for key in rule.keys
    )  # fmt: skip
    return (
        Table(title="Most throttled keys, by Contributor Insights", rows=rows, folded=True) if rows else None
    )
