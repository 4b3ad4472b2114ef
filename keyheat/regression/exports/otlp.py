"""The outcome as OpenTelemetry metrics, sent once to a collector over OTLP/HTTP.

It needs the extra `otel` (`pip install 'keyheat[otel]'`). A collector that does not answer, or does not take
them, is an error that is said: nothing is tried in the background, and nothing is dropped in silence.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit, urlunsplit

from keyheat.masking import masked
from keyheat.regression.exports.numbers import Metric, metrics
from keyheat.regression.outcome import Outcome

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricsData

PATH: Final = "/v1/metrics"  # https://opentelemetry.io/docs/specs/otlp/#otlphttp-request
PATIENCE_S: Final = 10.0
NEEDED: Final = "opentelemetry.exporter.otlp.proto.http"
SCOPE: Final = "keyheat.regress"


class NotSent(OSError):
    """Metrics that no collector took; the message says which one, and why."""


def check_otlp(url: str) -> str:
    """The address that metrics are sent to: a collector's, with OTLP's own path where it has none.

    Raises `ValueError` where it is none, or where the libraries are not installed.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ValueError(
            f"--otlp {masked(url)!r} is not an address of a collector, such as http://localhost:4318"
        )
    if not _installed():
        raise ValueError(
            "--otlp needs OpenTelemetry's libraries, which are not installed: pip install 'keyheat[otel]'"
        )
    return urlunsplit(parts if parts.path.strip("/") else parts._replace(path=PATH))


def send_otlp(url: str, outcome: Outcome) -> None:
    """Send the metrics and wait until they are taken. Raises `NotSent`, and `ValueError` as `check_otlp`."""
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics.export import MetricExportResult

    address = check_otlp(url)
    exporter = OTLPMetricExporter(endpoint=address, timeout=PATIENCE_S)
    try:
        with _errors() as said:
            result = exporter.export(_collected(metrics(outcome), outcome))
    finally:
        exporter.shutdown()
    if result is not MetricExportResult.SUCCESS:
        why = "; ".join(said) or "it gave no reason"
        raise NotSent(masked(f"the collector at {address} did not take the metrics: {why}"))


def _installed() -> bool:
    try:
        return find_spec(NEEDED) is not None
    except ModuleNotFoundError:  # not even the package that it is in
        return False


def _collected(all_metrics: tuple[Metric, ...], outcome: Outcome) -> "MetricsData":
    """The points as the SDK collects them, without a thread that would send them again and again."""
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.resources import Resource

    reader = InMemoryMetricReader()
    named = {
        "service.name": "keyheat",
        "service.version": version("keyheat"),
        "keyheat.session": outcome.session,
    }
    provider = MeterProvider([reader], Resource.create(named), shutdown_on_exit=False)
    meter = provider.get_meter(SCOPE)
    for metric in all_metrics:
        gauge = meter.create_gauge(metric.name, metric.unit, metric.says)
        for labels, value in metric.points:
            gauge.set(value, dict(labels))
    collected = reader.get_metrics_data()
    assert collected is not None, "a session has metrics of its own"
    return collected


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
