"""The outcome as Prometheus text, for node_exporter's textfile collector or a Pushgateway.

Names are `keyheat_gate_failed`, `keyheat_measure_p99_ms`; units that a name lacks are behind it, as in
`keyheat_regress_duration_seconds`. No sample has a time of its own: neither of the two takes any.
"""

from pathlib import Path
from typing import Final

from keyheat.regression.exports.numbers import Metric, metrics
from keyheat.regression.outcome import Outcome
from keyheat.runfiles import write_atomically

SUFFIXES: Final = {"s": "seconds", "1": "ratio"}


def write_prometheus(path: Path, outcome: Outcome) -> None:
    """Write the file, whole or not at all: a collector that reads meanwhile gets the old one.

    Raises `CannotWrite`.
    """
    body = prometheus_text(outcome)
    write_atomically(path, lambda file: file.write(body))


def prometheus_text(outcome: Outcome) -> bytes:
    """The exposition."""
    from prometheus_client import CollectorRegistry, Gauge, generate_latest

    registry = CollectorRegistry()
    for metric in metrics(outcome):
        labels = sorted({name for named, _ in metric.points for name in named})
        gauge = Gauge(name_of(metric), metric.says, labels, registry=registry)
        for named, value in metric.points:
            gauge.labels(**named).set(value)
    return generate_latest(registry)


def name_of(metric: Metric) -> str:
    """The metric's name as Prometheus has them."""
    name = metric.name.replace(".", "_")
    suffix = SUFFIXES.get(metric.unit)
    return name if suffix is None or name.endswith("_s") else f"{name}_{suffix}"
