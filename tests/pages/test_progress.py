"""Progress is seen: as a bar with a countdown in a terminal, as a line for each phase elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO

from rich.console import Console

from keyheat.show.console import Countdown, LoadBar


@dataclass(frozen=True)
class State:
    phase: str = "loading"
    elapsed_s: float = 0.0
    accepted_per_s: float = 0.0
    throttled_per_s: float = 0.0
    errors_per_s: float = 0.0
    left_s: float | None = None
    lines: Sequence[str] = ()


RUN = [
    State("preparing"),
    State("aligning", left_s=23.4),
    State("aligning", left_s=20.0),
    State("loading"),
    State(elapsed_s=12, accepted_per_s=1010, throttled_per_s=790),
    State(elapsed_s=13, accepted_per_s=1000, throttled_per_s=780, errors_per_s=3),
    State("collecting", left_s=55.0),
    State("analyzing"),
    State("done"),
]


def shown(terminal: bool) -> str:
    out = StringIO()
    console = Console(file=out, width=120, force_terminal=terminal, highlight=False, legacy_windows=False)
    with LoadBar("hotkey", 50, console) as bar:
        for state in RUN:
            bar.load(state)
            if terminal:
                bar._bar.refresh()
    return out.getvalue()


def test_without_a_terminal_each_phase_is_a_line():
    assert shown(terminal=False).splitlines() == [
        "hotkey: preparing the table",
        "hotkey: waiting for the next minute to begin, about 23 s",
        "hotkey: loading",
        "hotkey: asking CloudWatch what it counted, about 55 s",
        "hotkey: labelling throttles, writing the report",
    ]


def test_loads_beside_each_other_are_rows_of_one_bar() -> None:
    out = StringIO()
    console = Console(file=out, width=120, force_terminal=True, highlight=False, legacy_windows=False)
    first = LoadBar("hotkey", 50, console)
    second = LoadBar("sharded", 50, console, beside=first)
    with first:
        second.load(State(elapsed_s=9, accepted_per_s=50))
        first.load(State("loading"))
        first.load(State(elapsed_s=12, accepted_per_s=100, throttled_per_s=20))
        first._bar.refresh()
    assert "12 s     100/s accepted      20/s throttled" in out.getvalue()
    assert "sharded" in out.getvalue()


def test_in_a_terminal_the_rates_and_the_wait_are_seen():
    text = shown(terminal=True)
    assert "12 s   1,010/s accepted     790/s throttled" in text
    assert "3/s failed" in text
    assert "asking CloudWatch what it counted" in text
    assert "55 s" in text


def test_a_countdown_without_a_terminal_is_a_line_for_each_wait_and_then_one_now_and_then():
    out = StringIO()
    with Countdown(Console(file=out, force_terminal=False)) as countdown:
        for left_s in range(59, 0, -1):
            countdown.count("the last minute of the run to close", left_s)
        countdown.count("CloudWatch to publish", 1)
    assert out.getvalue().splitlines() == [
        "the last minute of the run to close: at most 59 s",
        "the last minute of the run to close: at most 29 s",
        "CloudWatch to publish: at most 1 s",
    ]
