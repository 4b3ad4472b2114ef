"""A trial in a terminal."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from keyheat.numbers import whole
from keyheat.show.render import Paragraph
from tools.trial.judgement import FIRST, Judgement
from tools.trial.record import Trial
from tools.trial.words import notes_of, sentence_of


def trial_text(trial: Trial, judgement: Judgement) -> RenderableType:
    """The whole answer, narrow enough for 80 columns."""
    style = "bold yellow" if judgement.differing or not judgement.compared else "bold green"
    sentence = Paragraph(sentence_of(trial, judgement), style=style)
    notes = map(Paragraph, notes_of(trial, judgement))
    return Group(sentence, Text(""), _table(judgement), Text(""), *notes)


def _table(judgement: Judgement) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in ("scenario", "units", "model", "throttled from", "model", ""):
        table.add_column(name, justify="left" if name in ("scenario", "") else "right")
    for one in judgement.compared:
        first = next(held for held in one.held if held.name == FIRST)
        table.add_row(
            one.scenario, whole(sum(one.seen.units_by_10_s)), whole(sum(one.said.units_by_10_s)),
            f"{first.seen:.0f} s", f"{first.said:.0f} s", "" if one.agrees else "differs",
            style="" if one.agrees else "bold",
        )  # fmt: skip
    return table
