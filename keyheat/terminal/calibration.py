"""What a suite can tell here, in a terminal: for each noisy measure, the smallest change that shows."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from keyheat.numbers import NOTHING, measured, percent, some, span
from keyheat.regression.calibration import Calibration, Noise
from keyheat.regression.words import value
from keyheat.terminal.diagnosis import Paragraph


def calibration_text(
    suite: str, found: Calibration, *, runs: int, took_s: float, session: str
) -> RenderableType:
    """The whole answer, narrow enough for 80 columns."""
    by_case: dict[str, list[Noise]] = {}
    for one in found.measures:
        by_case.setdefault(one.case, []).append(one)
    invalid = f", {found.left_out} left out as not valid" if found.left_out else ""
    return Group(
        Paragraph(_headline(suite, found), style="bold green"),
        *(part for case, rows in by_case.items() for part in _case(case, rows)),
        Text(""),
        *([Paragraph(_reading(found))] if found.measures else []),
        Paragraph(f"{some(runs, 'run')} in {span(took_s)}{invalid}. Session {session}, never a baseline."),
    )


def _headline(suite: str, found: Calibration) -> str:
    known = [one.smallest_change for one in found.measures if one.smallest_change is not None]
    if not found.measures:
        return f"{suite} holds on to nothing that has noise: every change can be told."
    if not known:
        return f"{suite}: nothing can be said of its noise from these runs."
    least, most = percent(min(known)), percent(max(known))
    return f"{suite} can tell changes of {least if least == most else f'{least} to {most}'} here."


def _reading(found: Calibration) -> str:
    return (
        "Noise is how much one run differs from the next. The smallest change is for the worse, and is found "
        f"{percent(found.power)} of the time with as many repetitions as the suite has; beside it are the "
        "repetitions, on each side, that a loss of 10 % or 5 % takes. In "
        f"{some(found.splits, 'comparison')} of these runs with each other a gate failed "
        f"{some(found.false_alarms, 'time')}."
    )


def _case(case: str, rows: Sequence[Noise]) -> Iterator[RenderableType]:
    yield Text(f"\n{case}", style="bold")
    if told := [one for one in rows if one.because is None]:
        yield _table(told)
    for one in rows:
        if one.because is not None:
            yield Paragraph(f"{one.measure}: {one.because}", "  ", "    ", "dim")


def _table(rows: Sequence[Noise]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("measure", no_wrap=True)
    for name in ("typical", "noise", "smallest\nchange", "runs for\n10 %", "runs for\n5 %"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in rows:
        table.add_row(
            one.measure, value(one.typical, one.measure), _share(one.noise),
            _share(one.smallest_change), _count(one.repetitions_for_10_percent),
            _count(one.repetitions_for_5_percent),
        )  # fmt: skip
    return table


def _share(share: float | None) -> str:
    return NOTHING if share is None else f"{measured(share * 100)} %"


def _count(repetitions: int | None) -> str:
    return "> 1,000" if repetitions is None else f"{repetitions:,}"
