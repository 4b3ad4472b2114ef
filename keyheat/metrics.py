"""A metric of Keyheat's, and how Prometheus reads it: one way of naming, whatever is measured, whoever reads.

Names are dotted and have their unit beside them, as OpenTelemetry has them. Prometheus' name is the one that
its own translation gives: dots become underscores, the unit and a counter's `_total` are added. So a series
has one name, whether it was read here or came by way of a collector.
https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from prometheus_client import Metric as Family

PREFIX: Final = "keyheat"
SUFFIXES: Final = {"s": "seconds", "{unit}/s": "per_second"}
BEYOND: Final = "+Inf"
TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
"""The content type of `prometheus_text`.
https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format"""

Labels = Mapping[str, str]


@cache
def own_version() -> str:
    """Keyheat's version, as it is installed: it is read from a file, and asked for every second."""
    from importlib.metadata import version  # the endpoint starts without it

    return version("keyheat")


@dataclass(frozen=True, slots=True)
class Distribution:
    """How many values did not exceed each of `bounds`, and one more, of those beyond the last one."""

    bounds: tuple[float, ...]
    counts: tuple[int, ...]  # of each span between two bounds, not added up
    total: float  # all values together


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """What is measured; its name is dotted, `keyheat.gate.failed`, its unit one of UCUM's.

    A counter only rises while what it counts goes on; a gauge is what stands now.
    """

    name: str
    unit: str
    says: str
    points: tuple[tuple[Labels, float | Distribution], ...]
    kind: Literal["gauge", "counter", "histogram"] = "gauge"


def name_of(metric: Metric) -> str:
    """The metric's name as Prometheus has it."""
    name = metric.name.replace(".", "_")
    suffix = "ratio" if metric.unit == "1" and metric.kind == "gauge" else SUFFIXES.get(metric.unit)
    if suffix is not None:
        name = f"{name}_{suffix}"
    return f"{name}_total" if metric.kind == "counter" else name


def prometheus_text(metrics: Iterable[Metric]) -> bytes:
    """The exposition, in the text format of Prometheus."""
    from prometheus_client import generate_latest
    from prometheus_client.registry import Collector

    class Read(Collector):
        def collect(self) -> "Iterator[Family]":
            return map(_family, metrics)

    return generate_latest(Read())


def _family(metric: Metric) -> "Family":
    from prometheus_client import Metric as Family
    from prometheus_client.core import HistogramMetricFamily

    name, names = name_of(metric), sorted({name for labels, _ in metric.points for name in labels})
    if metric.kind != "histogram":
        family = Family(name.removesuffix("_total"), metric.says, metric.kind)
        for labels, value in metric.points:
            assert not isinstance(value, Distribution)
            family.add_sample(name, dict(labels), value)
        return family
    histogram = HistogramMetricFamily(name, metric.says, labels=names)
    for labels, found in metric.points:
        assert isinstance(found, Distribution)
        edges = [*(f"{bound:g}" for bound in found.bounds), BEYOND]
        buckets = list(zip(edges, map(float, accumulate(found.counts)), strict=True))
        histogram.add_metric([labels[name] for name in names], buckets, found.total)
    return histogram
