"""What requests gain by waiting for a limit: by retries where there are none yet, else in a queue."""

from collections.abc import Iterator
from typing import Final

from keyheat.analysis.advice.case import AdviceCase
from keyheat.numbers import percent
from keyheat.runs.formats import Recommendation

WAITING: Final = frozenset(("back_off", "queue_writes"))
"""The actions that may be advised here."""


def send_later(case: AdviceCase, *, why: str, expected: str) -> Iterator[Recommendation]:
    """Retries, for a client that is not known to make them; of one that does, what writes it gives up.

    Reads that are given up have somebody who waits for their answer: they stand in no queue.
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
