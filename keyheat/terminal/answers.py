"""Answers that are a sentence, a table and notes: of a what-if search, and of retry policies."""

from collections.abc import Sequence

from rich.console import RenderableType
from rich.table import Table

from keyheat.plan.prices import Prices
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.retrying import RetriedRun
from keyheat.simulator.search import WhatIfSearch
from keyheat.terminal.layout import set_out
from keyheat.terms import THROTTLED_BY
from keyheat.wording import retries, whatif


def whatif_text(search: WhatIfSearch, prices: Prices, formula: int | None) -> RenderableType:
    """The whole answer, narrow enough for 80 columns. `formula`: the shards that the formula says."""
    style = "bold green" if search.answer is not None else "bold red"
    notes = whatif.notes_of(search, prices, formula)
    return set_out(whatif.sentence_of(search), style, [_whatif_table(search, prices)], notes)


def _whatif_table(search: WhatIfSearch, prices: Prices) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in whatif.columns_of(search):
        words = name == THROTTLED_BY
        table.add_column(name, justify="left" if words else "right", no_wrap=not words)
    for one in search.candidates:
        style = "bold green" if one is search.answer else ("" if one.enough else "dim")
        table.add_row(*whatif.row_of(search, one, prices), style=style)
    return table


def retries_text(scenario: Scenario, runs: Sequence[RetriedRun], clients: int) -> RenderableType:
    """The whole answer, narrow enough for 80 columns. The first run is the one without retries."""
    style = "bold green" if not runs[0].calm_from_s else "bold"
    notes = retries.notes_of(scenario, runs, clients)
    return set_out(retries.sentence_of(runs), style, [_retries_table(runs)], notes)


def _retries_table(runs: Sequence[RetriedRun]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in retries.COLUMNS:
        table.add_column(name, justify="left" if name == "SDK" else "right", no_wrap=name != "SDK")
    for run in runs:
        table.add_row(*retries.row_of(run))
    return table
