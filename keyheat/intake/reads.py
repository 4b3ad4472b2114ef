"""What a read of a scenario has to be to take as many units as were measured."""

from dataclasses import dataclass
from math import ceil
from typing import Final

from keyheat.intake.measured import TaskRate
from keyheat.model.limits import EVENTUAL_READ_FACTOR, READ_UNIT_BYTES

PUTS: Final = ("PutItem", "BatchWriteItem", "TransactWriteItems")
"""Operations that put the items which other tasks of the scenario read."""
CONSISTENT: Final = 1.5  # times the units of an eventually consistent read, above which a read is consistent


@dataclass(frozen=True, slots=True)
class ReadTask:
    """Reads of a scenario for one that was measured, and the lines of their task."""

    times: float = 1.0
    lines: tuple[str, ...] = ()
    note: str = ""  # why there are more or fewer reads than were measured


def read_of(
    task: TaskRate, per_s: float, units: float, item_bytes: int, *, sorts: bool, items: bool
) -> ReadTask:
    """Return the reads that take `units` for each that was measured: consistent ones, pages, or more of them.

    `sorts`: what is read has a sort key; `items`: other tasks put items there.
    """
    note = f"  # {units:.3g} RCU consumed per read"
    if items and task.operation == "Query" and sorts:
        page_bytes = (units / EVENTUAL_READ_FACTOR - 0.5) * READ_UNIT_BYTES
        return ReadTask(lines=(f"limit = {max(1, round(page_bytes / item_bytes))}{note}",))
    each = EVENTUAL_READ_FACTOR * (ceil(item_bytes / READ_UNIT_BYTES) if items else 1)
    consistent = task.index is None and units > CONSISTENT * each
    if consistent:
        each /= EVENTUAL_READ_FACTOR
    lines = (f"consistent = true{note}",) if consistent else ()
    if each == units or (items and units <= CONSISTENT * each):
        return ReadTask(lines=lines)
    why = "smaller items are read" if items else "no task puts items, so a read finds none"
    return ReadTask(units / each, lines, f"{per_s:,.5g} reads/s of {units:.3g} RCU; {why}: {each:g} RCU")
