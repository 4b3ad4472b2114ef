"""Metrics in Prometheus' text format, written by prometheus-client.

Names follow https://prometheus.io/docs/practices/naming/: the unit at the end, `_total` for a counter.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from prometheus_client import Metric as Family

PREFIX: Final = "keyheat"
BEYOND: Final = "+Inf"
TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
"""The content type of `prometheus_text`.
https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format"""

Labels = Mapping[str, str]


@cache
def own_version() -> str:
    """Keyheat's installed version, read from a file once."""
    from importlib.metadata import version  # the endpoint starts without it

    return version("keyheat")


@dataclass(frozen=True, slots=True)
class Distribution:
    """Number of values between each two of `bounds`, and beyond the last one."""

    bounds: tuple[float, ...]
    counts: tuple[int, ...]  # per span between two bounds, not cumulative
    total: float  # sum of all values


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric: a gauge, a counter that only rises, or a histogram."""

    name: str  # in Prometheus, with its unit: `keyheat_load_backoff_seconds_total`
    says: str
    points: tuple[tuple[Labels, float | Distribution], ...]
    kind: Literal["gauge", "counter", "histogram"] = "gauge"


def prometheus_text(metrics: Iterable[Metric]) -> bytes:
    """Write metrics in the text format of Prometheus."""
    from prometheus_client import generate_latest
    from prometheus_client.registry import Collector

    class Read(Collector):
        def collect(self) -> "Iterator[Family]":
            return map(_family, metrics)

    return generate_latest(Read())


def _family(metric: Metric) -> "Family":
    from prometheus_client import Metric as Family
    from prometheus_client.core import HistogramMetricFamily

    name, names = metric.name, sorted({name for labels, _ in metric.points for name in labels})
    if metric.kind != "histogram":
        family = Family(name.removesuffix("_total"), metric.says, metric.kind)
        for labels, value in metric.points:
            assert not isinstance(value, Distribution)
            family.add_sample(name, dict(labels), value)
        return family
    histogram = HistogramMetricFamily(name, metric.says, labels=names)
    for labels, value in metric.points:
        assert isinstance(value, Distribution)
        edges = [*(f"{bound:g}" for bound in value.bounds), BEYOND]
        buckets = list(zip(edges, map(float, accumulate(value.counts)), strict=True))
        histogram.add_metric([labels[name] for name in names], buckets, value.total)
    return histogram
