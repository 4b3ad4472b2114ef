"""The labels of a diagnosis over time: what limited which resource, and when."""

from typing import Any, Final

import pandas as pd
import plotly.graph_objects as go

from keyheat.numbers import percent, some, whole
from keyheat.runs.formats import Diagnosis
from keyheat.runs.frames import labels_of
from keyheat.show.answer import Figure
from keyheat.show.charts.base import figure, iso, lay_out, row_axis, rows_of, safe, time_axis
from keyheat.show.constraints import NAMES, SHOWN, saying
from keyheat.show.style import colour_of, pattern

SENTENCES: Final = 4
FINEST: Final = 600  # a gap narrower than this part of the run cannot be seen: spans across it are one bar


def label_figure(diagnosis: Diagnosis, load: tuple[int, int] | None) -> Figure | None:
    """Every label as a bar over its span, a row for each resource and direction; None without labels.

    `load` is when the run began and ended, epoch seconds, if that is known.
    """
    labels = label_rows(diagnosis)
    if labels.empty:
        return None
    first_s, last_s = labels["from_s"].min(), labels["to_s"].max()
    start_s, end_s = (min(first_s, load[0]), max(last_s, load[1])) if load else (first_s, last_s)
    owners = labels.groupby(["owner"], sort=False)["throttles"].sum()
    made = figure(84 + 52 * len(owners))
    for constraint in (*SHOWN, "none"):
        mine = labels[labels["constraint"] == constraint]
        if len(mine):
            bars = _joined(mine, (end_s - start_s) / FINEST)
            made.add_trace(_bars(bars, list(owners.index), constraint))
    lay_out(made, barmode="overlay")
    made.update_xaxes(time_axis(start_s, end_s), overwrite=True)
    names = [f"{safe(str(name), 24)}<br>{some(int(count), 'throttle')}" for name, count in owners.items()]
    made.update_yaxes({**row_axis(list(owners.index)), "ticktext": names}, overwrite=True)
    return Figure(title="Constraints over time", summary=_sentences(labels), figure=made)


def label_rows(diagnosis: Diagnosis) -> pd.DataFrame:
    """The labels in order of time, the table's rows first, with their spans in epoch seconds."""
    labels = labels_of(diagnosis)
    labels["from_s"], labels["to_s"] = (
        labels[name].astype("int64") / 1e6 if len(labels) else [] for name in ("start", "end")
    )
    labels["owner"] = labels["resource"] + ", " + labels["direction"] + "s"
    place = (labels["resource"] != "table").astype(int)
    return labels.assign(place=place).sort_values(["place", "owner", "from_s"], ignore_index=True)


def _joined(labels: pd.DataFrame, gap_s: float) -> pd.DataFrame:
    """Spans of one resource with no visible gap between them as one."""
    new = (labels["owner"] != labels["owner"].shift()) | (labels["from_s"] - labels["to_s"].shift() > gap_s)
    return labels.groupby(new.fillna(True).astype(int).cumsum()).agg(
        {"owner": "first", "from_s": "min", "to_s": "max", "throttles": "sum", "confidence": "min"}
    )


def _bars(bars: pd.DataFrame, owners: list[str], constraint: Any) -> go.Bar:
    say = saying(bars["from_s"].min(), bars["to_s"].max())
    return go.Bar(
        orientation="h", name=NAMES[constraint].lower(), width=0.6,
        base=list(map(iso, bars["from_s"])), x=list((bars["to_s"] - bars["from_s"]) * 1000),
        y=list(map(owners.index, bars["owner"])),
        marker={"color": colour_of(constraint), "pattern": pattern(constraint)},
        customdata=[
            [say(row.from_s), say(row.to_s), whole(row.throttles), percent(row.confidence)]
            for row in rows_of(bars)
        ],
        hovertemplate="%{customdata[0]} to %{customdata[1]}<br>%{customdata[2]} throttles, "
        "confidence %{customdata[3]}<extra></extra>",
    )  # fmt: skip


def _sentences(labels: pd.DataFrame) -> str:
    throttled = labels[labels["throttles"] > 0].sort_values("from_s", kind="stable")
    if throttled.empty:
        return "No span has throttles."
    say = saying(labels["from_s"].min(), labels["to_s"].max())
    words = [
        f"{say(row.from_s)} to {say(row.to_s)}: {row.resource} {row.direction}s, "
        f"{NAMES[row.constraint].lower()}, {some(row.throttles, 'throttle')}."
        for row in rows_of(throttled[:SENTENCES])
    ]
    more = len(throttled) - SENTENCES
    return " ".join([*words, *([f"{some(more, 'more span')} with throttles."] if more > 0 else [])])
