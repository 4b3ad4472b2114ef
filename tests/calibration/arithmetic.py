"""Worked examples: numbers that follow from the model without a load."""

from collections.abc import Callable

from keyheat.model import limits
from keyheat.model.partitions import provisioned_partitions
from keyheat.model.resources import CapacityHistory, IndexCapacity, TableCapacity, recent_switches_s
from keyheat.model.splits import position
from keyheat.model.table import IndexWrite, TableModel
from keyheat.model.units import read_units
from keyheat.words import Capacity

T0 = 1_800_000_000.0
ON_DEMAND = TableCapacity(billing_mode="PAY_PER_REQUEST")
TEN_GB = limits.PARTITION_BYTES


def _provisioned(read: float, write: float) -> TableCapacity:
    return TableCapacity(provisioned=Capacity(read, write))


def _new(read: float, write: float) -> TableModel:
    return TableModel(_provisioned(read, write), now_s=T0)


def _raised(read: float, write: float, then_read: float, then_write: float) -> int:
    model = _new(read, write)
    model.change_capacity(_provisioned(then_read, then_write), T0 + 60)
    return model.partition_count()


def _after_10_gb(read: float, write: float) -> int:
    model = _new(read, write)
    model.grown(position(b"any"), TEN_GB, T0)
    return model.partition_count()


def _kept(read: float, write: float) -> float:
    model = _new(read, write)
    model.change_capacity(_provisioned(10, 10), T0 + 600)
    model.change_capacity(ON_DEMAND, T0 + 1_200)
    return model.warm_throughput()[1]


def _after_peak(peak_per_s: float) -> float:
    """Writes per second that an on-demand table serves at once, twelve minutes into a new peak."""
    scale, roomy = 0.01, 1.5 * peak_per_s
    quota = TableCapacity(billing_mode="PAY_PER_REQUEST", warm=Capacity(1, roomy), account=Capacity(1e6, 1e6))
    model = TableModel(quota, now_s=T0, scale=scale)
    per_s = round(peak_per_s * scale)
    for number in range(720 * per_s):
        model.admit_write(position(b"%d" % number), 1.0, T0 + number / per_s)
    return model.warm_throughput()[1]


def _in_a_second(asked: float, entries: float) -> int:
    """Writes that a warm on-demand table with an index serves in one second, each with so many entries."""
    warm = Capacity(1, 200_000)
    index = IndexCapacity(name="any", warm=warm)
    capacity = TableCapacity(billing_mode="PAY_PER_REQUEST", warm=warm, indexes=(index,))
    model = TableModel(capacity, now_s=T0)
    at = [position(b"%d" % number) for number in range(int(asked))]
    return sum(
        model.admit_write(key, 1.0, T0, tuple(IndexWrite("any", key, 1.0) for _ in range(int(entries))))
        is None
        for key in at
    )


def _switches(of_new: TableCapacity) -> int:
    """How often such a table may go to on-demand mode on the day on which it is made, asked every minute."""
    history, provisioned = CapacityHistory.of_new(of_new, T0), _provisioned(1, 1)
    done = 0
    for minute in range(1, 32):
        now_s = T0 + 60 * minute
        if len(recent_switches_s(history.to_on_demand_s, now_s)) < limits.ON_DEMAND_SWITCHES:
            history.note(provisioned, ON_DEMAND, now_s)
            done += 1
    return done


def _warm_after_switch() -> tuple[float, float]:
    """The warm reads and writes per second of an on-demand table after a switch to 1 unit of each."""
    model = TableModel(ON_DEMAND, now_s=T0)
    model.change_capacity(_provisioned(1, 1), T0 + 60)
    return model.warm_throughput()


METRICS: dict[str, Callable[..., float]] = {
    "partitions": lambda read, write: provisioned_partitions(Capacity(read, write)),
    "partitions_after_raise": _raised,
    "partitions_after_10_gb": _after_10_gb,
    "switches_born_on_demand": lambda: _switches(ON_DEMAND),
    "switches_born_provisioned": lambda: _switches(_provisioned(1, 1)),
    "warm_read_after_switch": lambda: _warm_after_switch()[0],
    "warm_write_after_switch": lambda: _warm_after_switch()[1],
    "warm_read": lambda read, write: _new(read, write).warm_throughput()[0],
    "warm_write": lambda read, write: _new(read, write).warm_throughput()[1],
    "warm_read_new_on_demand": lambda: TableModel(ON_DEMAND, now_s=T0).warm_throughput()[0],
    "warm_write_new_on_demand": lambda: TableModel(ON_DEMAND, now_s=T0).warm_throughput()[1],
    "write_kept_on_demand": _kept,
    "write_served_after_peak": _after_peak,
    "write_served_in_a_second_on_demand": _in_a_second,
    "read_units_eventual": lambda size: read_units(int(size), consistent=False),
    "read_units_strong": lambda size: read_units(int(size), consistent=True),
}


def worked(metric: str) -> float:
    """The number that a metric such as `partitions 1000 500` stands for; `KeyError` for an unknown one."""
    name, *numbers = metric.split()
    if name == "quota":
        return float(getattr(limits, numbers[0]))
    return float(METRICS[name](*map(float, numbers)))
