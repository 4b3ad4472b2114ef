"""Moments of a run in words: by the clock, and with their date where midnight lies within the run."""

from collections.abc import Callable

from keyheat.numbers import clock, moment

DAY = len("2026-11-20")


def saying(start_s: float, end_s: float) -> Callable[[float], str]:
    """How a moment between the two is said; of several days, the time of day alone says nothing."""
    return moment if crosses_midnight(start_s, end_s) else clock


def crosses_midnight(start_s: float, end_s: float) -> bool:
    """Whether two moments are on different days (UTC)."""
    return moment(start_s)[:DAY] != moment(end_s)[:DAY]
