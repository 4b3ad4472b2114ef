"""One page over several runs: the answer first, every measure in one table, a small chart of each run.

`keyheat compare`, `keyheat run A B C` and `keyheat sweep` end in it; a sweep puts its own charts in front.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import plotly.offline
from markupsafe import Markup

from keyheat.numbers import some
from keyheat.pages.charts.multiples import LEGEND, multiples
from keyheat.pages.page import figures_json, page, said_at
from keyheat.pages.run.hero import Stat
from keyheat.pages.run.sections import Section
from keyheat.pages.series.columns import Column, groups_of
from keyheat.plan.prices import Prices
from keyheat.runfiles import SIMULATED, write_atomically

NAME = "compare.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The first screen of a page over several runs."""

    kind: str
    title: str
    chip: str
    role: str
    sentence: str
    question: str | None = None
    where: str = ""
    stats: tuple[Stat, ...] = ()
    warnings: tuple[str, ...] = ()


def write_comparison(path: Path, folders: Sequence[Path], prices: Prices, generated_at: datetime) -> bool:
    """Write the page over run directories; whether each of them says something about its table.

    Raises `CannotWrite`.
    """
    columns = [Column.of_run(folder, prices) for folder in folders]
    write_page(path, columns, answer_of(columns), prices, generated_at)
    return all(column.valid for column in columns)


def write_page(
    path: Path,
    columns: Sequence[Column],
    answer: Answer,
    prices: Prices,
    generated_at: datetime,
    sections: Sequence[Section] = (),
) -> Path:
    """Write the page; gives its path. Raises `CannotWrite`."""
    text = render(columns, answer, prices, path.parent, generated_at, sections)
    write_atomically(path, lambda file: file.write(text.encode("utf-8")))
    return path


def render(
    columns: Sequence[Column],
    answer: Answer,
    prices: Prices,
    out_dir: Path,
    generated_at: datetime,
    sections: Sequence[Section] = (),
    *,
    plotlyjs: str | None = None,
) -> str:
    """The page; its links are relative to `out_dir`."""
    charts = multiples(columns)
    drawn = [chart for section in sections for chart in section.charts]
    links = [column.entry.link_from(out_dir) for column in columns]
    questions = {column.entry.hero.question for column in columns if column.entry.hero}
    return page(
        "side-by-side.html.j2",
        answer=answer,
        sections=sections,
        runs=list(zip(columns, links, charts, strict=True)),
        several=len(questions) > 1,
        groups=groups_of(columns),
        legend=LEGEND,
        reading=reading(prices),
        figures=Markup(figures_json([*drawn, *(chart for chart in charts if chart is not None)])),
        generated_at=said_at(generated_at),
        plotlyjs=Markup(plotly.offline.get_plotlyjs() if plotlyjs is None else plotlyjs),
    )


def answer_of(columns: Sequence[Column]) -> Answer:
    """What a comparison says first: how many runs did as their scenarios expect."""
    heroes = [column.entry.hero for column in columns]
    stated = [hero for hero in heroes if hero is not None and hero.expected is not None]
    surprises = [hero for hero in stated if hero.surprise]
    invalid = [column.label for column in columns if not column.valid]
    names = "; ".join(
        f"{column.label}: {column.entry.hero.chip.lower() if column.entry.hero else 'no diagnosis'}"
        for column in columns
    )
    return Answer(
        kind="comparison",
        title=f"{some(len(columns), 'run')} side by side",
        chip=_chip(len(stated), len(surprises), len(invalid)),
        role="invalid" if invalid else "undetermined" if surprises else "none",
        sentence=f"{names}.",
        question=_question(columns),
        warnings=warnings_of(columns),
    )


def warnings_of(columns: Sequence[Column]) -> tuple[str, ...]:
    """What makes runs hard to compare: invalid ones, other scales, other places."""
    said = [
        f"{column.label}: the run says nothing about its table; {_why(column)}"
        for column in columns
        if not column.valid
    ]
    runs = [column.run for column in columns if column.run is not None]
    if len({run.scale for run in runs}) > 1:
        said.append("The runs have different scales: their rates cannot be held against each other.")
    targets = {run.manifest.target for run in runs if run.manifest}
    if SIMULATED in targets:
        which = "The runs are" if len(targets) == 1 else "Some of the runs are"
        said.append(f"{which} simulated: nothing was sent, and there are no latencies.")
    elif len(targets) > 1:
        said.append("The runs went to different places, and some to a local table.")
    return tuple(said)


def _why(column: Column) -> str:
    if column.run is None:
        return column.entry.problem or "it cannot be read"
    bound = column.run.diagnosis.generator.bound
    return "the load generator was the limit." if bound else "evidence is missing."


def _chip(stated: int, surprises: int, invalid: int) -> str:
    if invalid:
        return f"{some(invalid, 'run')} not valid"
    if not stated:
        return "Compared"
    return "All as expected" if not surprises else f"{stated - surprises} of {stated} as expected"


def _question(columns: Sequence[Column]) -> str | None:
    """The question, where all runs have the same."""
    questions = {column.entry.hero.question for column in columns if column.entry.hero}
    return questions.pop() if len(questions) == 1 else None


def reading(prices: Prices) -> tuple[tuple[str, str], ...]:
    """What the measures are."""
    return (
        (
            "Accepted",
            "Capacity units of the table and its indexes that were consumed per second, on average over the "
            "whole seconds of the load, its burst included.",
        ),
        ("Throttled", "The share of the requests that were refused, of all that were sent."),
        (
            "Latency",
            "Service time is from sending to the whole answer, of accepted requests. A whole operation is "
            "more than one request: a read of every shard, or a write with its retries.",
        ),
        (
            "RCU per whole read",
            "What one checked read of a whole collection consumed, over all its requests.",
        ),
        (
            "A million writes",
            f"In dollars, {prices.shown}. On-demand: the write units that accepted writes took, those of "
            "tables beside it included. As provisioned: what the provisioned write capacity cost while a "
            "million writes were accepted, so throttled writes make the others dearer.",
        ),
        ("–", "Not known, or not a part of that run; never zero."),
    )
