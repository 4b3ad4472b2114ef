"""An answer as a page: one file that loads nothing, with a card for each part."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import plotly.graph_objects as go

from keyheat.pages.charts.figures import Chart, Mark, PageTable, Swatch
from keyheat.pages.page import figures_json, library, page, said_at
from keyheat.pages.style import LIGHT
from keyheat.show.answer import Answer, Figure, Table


def html_of(answer: Answer, generated_at: datetime) -> str:
    """The page. Links of parts are relative to it; figures bring the library that draws them."""
    charts = [_chart(number, one) for number, one in enumerate(answer.figures)]
    return page(
        "show.html.j2",
        answer=answer,
        charts=charts,
        tables=[page_table(one) for one in answer.tables],
        figures=figures_json(charts),
        plotlyjs=library(None if charts else ""),
        generated_at=said_at(generated_at),
    )


def _chart(number: int, figure: Figure) -> Chart:
    return Chart(
        id=f"figure-{number}", title=figure.title, summary=figure.summary, figure=figure.figure,
        table=page_table(figure.table) if figure.table else None, legend=tuple(_legend(figure.figure)),
    )  # fmt: skip


def _legend(figure: go.Figure) -> Iterator[Swatch]:
    """The traces and the lines that have a name, in the colours of the page."""
    roles = {colour: role for role, colour in LIGHT.items()}
    for drawn in (*figure.data, *figure.layout.shapes):
        if drawn.name:
            mark = _mark(drawn)
            colours = {"bar": lambda one: one.marker.color, "stripe": lambda one: one.marker.line.color}
            colour = colours.get(mark, lambda one: one.line.color)(drawn)
            yield Swatch(name=drawn.name, role=roles[colour], mark=mark)


def _mark(drawn: Any) -> Mark:
    if drawn.plotly_name == "bar":
        return "stripe" if drawn.marker.pattern.shape else "bar"
    if drawn.plotly_name == "scatter" and drawn.stackgroup:
        return "area"
    if drawn.plotly_name == "scatter" and drawn.mode.startswith("markers"):
        return "bar"
    return {"dash": "dash", "dot": "dot"}.get(drawn.line.dash, "line")  # type: ignore[return-value]


def page_table(table: Table) -> PageTable:
    """A table of an answer as pages draw it."""
    return PageTable(
        caption=table.title, columns=tuple(table.columns), rows=tuple(map(tuple, table.cells)),
        numeric=table.amounts,
    )  # fmt: skip
