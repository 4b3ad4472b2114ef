"""Metrics sent to an OpenTelemetry collector, over OTLP's HTTP: https://opentelemetry.io/docs/specs/otlp/

The SDK's data and its exporter are used, its instruments are not: what is sent was counted already.
"""

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit

from keyheat.masking import masked
from keyheat.metrics import Distribution, Labels, Metric, own_version

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics import export as sdk

PATH: Final = "/v1/metrics"
PATIENCE_S: Final = 10.0
NEEDED: Final = "opentelemetry.exporter.otlp.proto.http"
OF_METRICS: Final = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
OF_ALL: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
"""https://opentelemetry.io/docs/specs/otel/protocol/exporter/#endpoint-urls-for-otlphttp"""
NOT_INSTALLED: Final = (
    "{what} needs OpenTelemetry's libraries, which are not installed: pip install 'keyheat[otel]'"
)


class NotSent(OSError):
    """Metrics that no collector took; the message says which one, and why."""


def check_otlp(url: str, said: str = "--otlp") -> str:
    """The address that metrics are sent to: a collector's, with OTLP's own path where it has none.

    Raises `ValueError` where it is none, or where the libraries are not installed; `said` is what named it.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ValueError(
            f"{said} {masked(url)!r} is not an address of a collector, such as http://localhost:4318"
        )
    if not _installed():
        raise ValueError(NOT_INSTALLED.format(what=said))
    return urlunsplit(parts if parts.path.strip("/") else parts._replace(path=PATH))


def in_environment(environ: Mapping[str, str]) -> tuple[str, str] | None:
    """The variable that names a collector of metrics, and the address that is meant; None where none does.

    Variables that turn metrics off are heeded: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
    """
    off = environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
    if off or environ.get("OTEL_METRICS_EXPORTER", "otlp") != "otlp":
        return None
    if url := environ.get(OF_METRICS):
        return OF_METRICS, url
    if url := environ.get(OF_ALL):
        return OF_ALL, f"{url.rstrip('/')}{PATH}"
    return None


def _installed() -> bool:
    try:
        return find_spec(NEEDED) is not None
    except ModuleNotFoundError:  # not even the package that it is in
        return False


@dataclass
class Collector:
    """A collector that takes metrics; `address` is what `check_otlp` gives, `scope` what measures them."""

    address: str
    scope: str
    patience_s: float = PATIENCE_S

    @cached_property
    def _exporter(self) -> Any:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

        return OTLPMetricExporter(endpoint=self.address, timeout=self.patience_s)

    def send(self, metrics: Iterable[Metric], of: Labels, *, began_s: float, at_s: float) -> None:
        """Send them, and wait until they are taken; the times are epoch seconds. Raises `NotSent`.

        `of`: whose they are, as OpenTelemetry names a resource; `began_s`: when what counters count began.
        """
        from opentelemetry.sdk.metrics.export import MetricExportResult

        with _errors() as said:
            result = self._exporter.export(self._data(metrics, of, int(began_s * 1e9), int(at_s * 1e9)))
        if result is not MetricExportResult.SUCCESS:
            why = _why(said) or f"not within {self.patience_s:g} s"
            raise NotSent(masked(f"the collector at {self.address} did not take the metrics: {why}"))

    def close(self) -> None:
        """Nothing more is sent; what waits to be sent again is given up."""
        self._exporter.shutdown()

    def _data(self, metrics: Iterable[Metric], of: Labels, began_ns: int, at_ns: int) -> "sdk.MetricsData":
        """The points as the SDK collects them, without a thread that would send them again and again."""
        from opentelemetry.sdk.metrics.export import Metric as Sent
        from opentelemetry.sdk.metrics.export import MetricsData, ResourceMetrics, ScopeMetrics
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope

        named = {"service.name": "keyheat", "service.version": own_version(), **of}
        sent = [
            Sent(name=one.name, description=one.says, unit=one.unit, data=_points(one, began_ns, at_ns))
            for one in metrics
        ]
        scope = ScopeMetrics(scope=InstrumentationScope(self.scope), metrics=sent, schema_url="")
        resource = ResourceMetrics(resource=Resource.create(named), scope_metrics=[scope], schema_url="")
        return MetricsData(resource_metrics=[resource])


def _points(metric: Metric, began_ns: int, at_ns: int) -> "sdk.DataT":
    from opentelemetry.sdk.metrics import export as sdk

    since_start = sdk.AggregationTemporality.CUMULATIVE
    points = [_point(labels, value, began_ns, at_ns) for labels, value in metric.points]
    if metric.kind == "gauge":
        return sdk.Gauge(data_points=points)
    if metric.kind == "counter":
        return sdk.Sum(data_points=points, aggregation_temporality=since_start, is_monotonic=True)
    return sdk.Histogram(data_points=points, aggregation_temporality=since_start)


def _point(labels: Labels, value: float | Distribution, began_ns: int, at_ns: int) -> Any:
    from opentelemetry.sdk.metrics.export import HistogramDataPoint, NumberDataPoint

    if not isinstance(value, Distribution):
        return NumberDataPoint(
            attributes=dict(labels), start_time_unix_nano=began_ns, time_unix_nano=at_ns, value=float(value)
        )
    unknown: Any = None  # OTLP can do without the least and the largest value, the SDK's types cannot
    return HistogramDataPoint(
        attributes=dict(labels), start_time_unix_nano=began_ns, time_unix_nano=at_ns,
        count=sum(value.counts), sum=value.total, bucket_counts=value.counts,
        explicit_bounds=value.bounds, min=unknown, max=unknown,
    )  # fmt: skip


SYSTEMS: Final = re.compile(r"\[Errno -?\d+\] ([^\"')]+)")  # within what several libraries said around it
TRIED_AGAIN: Final = re.compile(r"Transient error (.+) encountered while exporting .*")
GIVEN_UP: Final = "Failed to export metrics batch due to"


def _why(said: Sequence[str]) -> str:
    """What the exporter logged, each reason once; that it gave up is none where there is another."""
    reasons = [found[1] if (found := SYSTEMS.search(line)) else TRIED_AGAIN.sub(r"\1", line) for line in said]
    told = [one for one in dict.fromkeys(reasons) if not one.startswith(GIVEN_UP)]
    return "; ".join(told)


@contextmanager
def _errors() -> Iterator[list[str]]:
    """What the exporter logs while it sends: the one place where it gives its reasons."""
    said: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    logger, handler = logging.getLogger(NEEDED), Kept(logging.WARNING)
    before = logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield said
    finally:
        logger.removeHandler(handler)
        logger.propagate = before
