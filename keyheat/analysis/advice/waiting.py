"""Advice to wait for a limit: by retries, or by a queue if the client retries already."""

from collections.abc import Iterator
from typing import Final

from keyheat.analysis.advice.case import AdviceCase
from keyheat.numbers import percent
from keyheat.runs.formats import Recommendation

WAITING: Final = frozenset(("back_off", "queue_writes"))
"""The actions that may be advised here."""


def send_later(case: AdviceCase, *, why: str, expected: str) -> Iterator[Recommendation]:
    """Advise retries, or for a retrying client a queue for the writes that it gives up.

    Reads cannot queue: their caller waits for the response.
    """
    if not case.retries:
        yield Recommendation(action="back_off", kind="mitigation", why=why, expected=expected)
    elif case.given_up and case.direction == "write":
        yield Recommendation(
            action="queue_writes",
            kind="mitigation",
            why=f"{why} Its client retries already, and gives {percent(case.given_up)} of its requests up "
            "all the same.",
            expected="A queue before the table keeps a write until there is room for it, so that a peak "
            "loses none; demand that stays above the limit piles up in it.",
        )
