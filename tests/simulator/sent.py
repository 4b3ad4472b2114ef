"""The same flows sent to two tables: in waves, and request by request as an endpoint's clients would."""

from collections.abc import Callable, Sequence

from keyheat.model.retries import NONE
from keyheat.model.table import TableCapacity, TableModel
from keyheat.simulator.flow import Flow, FlowAnswer
from keyheat.simulator.second import SimulatedTables
from keyheat.words import Direction

T0 = 1_800_000_000.0
WRITE, READ = Direction.WRITE, Direction.READ

Sent = Callable[[int], Sequence[Flow]]
Counts = dict[tuple[str | None, str, str], list[float]]
"""By (index, direction, accepted | units | a cause): a number for each minute."""


def always(*flows: Flow) -> Sent:
    return lambda _second: flows


def in_waves(
    capacity: TableCapacity, sent: Sent, *, seconds: int, scale: float = 1.0, seed: int = 1
) -> tuple[TableModel, list[list[FlowAnswer]]]:
    """Every second as a whole."""
    model = TableModel(capacity, now_s=T0, scale=scale, seed=seed)
    table = SimulatedTables({"t": model}, own_table="t", seed=seed, started_s=T0)
    return model, [table.second(sent(second), T0 + second) for second in range(seconds)]


def one_by_one(
    capacity: TableCapacity, sent: Sent, *, seconds: int, scale: float = 1.0, seed: int = 1
) -> TableModel:
    """Every request by itself, from a client that never retries."""
    model = TableModel(capacity, now_s=T0, scale=scale, seed=seed)
    table = SimulatedTables(
        {"t": model}, own_table="t", seed=seed + 1_000, started_s=T0, policy=NONE, clients=1
    )
    for second in range(seconds):
        table.second(sent(second), T0 + second)
    return model


def by_minute(model: TableModel, seconds: int) -> Counts:
    """What a model decided."""
    minutes = -(-seconds // 60)
    counts: Counts = {}
    for row in model.decisions():
        for what, number in (
            ("accepted", row["accepted"]),
            ("units", row["consumed"]),
            *row["refused"].items(),
        ):
            each = counts.setdefault((row["index"], row["direction"], what), [0.0] * minutes)
            each[int(row["second"] - T0) // 60] += number
    return counts


def apart(one: Counts, other: Counts, *, share: float, units: float) -> list[str]:
    """Every number that differs by more than a share of it and by more than so many units."""
    found = []
    for key in sorted({*one, *other}, key=str):
        zeros = [0.0] * max(len(each) for each in (*one.values(), *other.values()))
        for minute, pair in enumerate(zip(one.get(key, zeros), other.get(key, zeros), strict=True)):
            if abs(pair[0] - pair[1]) > max(units, share * max(pair)):
                found.append(f"{key} in minute {minute}: {pair[0]:,.0f} one by one, {pair[1]:,.0f} in waves")
    return found
