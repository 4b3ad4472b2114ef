"""An answer as a page: one file that loads nothing, with a card for each part."""

from datetime import datetime

from keyheat.pages.charts.figures import Chart, PageTable
from keyheat.pages.page import figures_json, library, page, said_at
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
        table=page_table(figure.table) if figure.table else None,
    )  # fmt: skip


def page_table(table: Table) -> PageTable:
    """A table of an answer as pages draw it."""
    return PageTable(caption=table.title, columns=tuple(table.columns), rows=tuple(map(tuple, table.cells)))
