"""The outcome as metrics: as Prometheus text, and as OpenTelemetry sent once to a collector."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit, urlunsplit

from keyheat.analysis.measures import MEASURES
from keyheat.masking import masked
from keyheat.regression.outcome import SessionOutcome, medians
from keyheat.runfiles import write_atomically

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricsData


PREFIX: Final = "keyheat"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeMetric:
    """A gauge: what stood when the regress ended. Its name is dotted, `keyheat.gate.failed`."""

    name: str
    unit: str
    says: str
    points: tuple[tuple[Mapping[str, str], float], ...]


def metrics(outcome: SessionOutcome) -> tuple[OutcomeMetric, ...]:
    """All that have at least one point; what is not known is left out, and never zero."""
    found = (*_session(outcome), *_runs(outcome), *_gates(outcome), *_measures(outcome))
    return tuple(metric for metric in found if metric.points)


def _session(outcome: SessionOutcome) -> Iterator[OutcomeMetric]:
    suite = {"suite": outcome.suite}
    for name, unit, says, value in (
        ("exit_code", "", "what keyheat regress ended with: 0 as good as it was", float(outcome.exit_code)),
        ("forced", "", "1: compared although the setups differ", float(outcome.forced)),
        ("duration", "s", "from the first run to the verdict", outcome.took_s),
        ("ended_timestamp", "s", "when it ended, since 1970", outcome.ended_at.timestamp()),
    ):
        yield OutcomeMetric(name=f"{PREFIX}.regress.{name}", unit=unit, says=says, points=((suite, value),))


def _runs(outcome: SessionOutcome) -> Iterator[OutcomeMetric]:
    cases = [({"suite": outcome.suite, "case": case.name}, case.after) for case in outcome.cases]
    yield OutcomeMetric(
        name=f"{PREFIX}.regress.runs", unit="", says="runs that were made",
        points=tuple((labels, float(len(runs))) for labels, runs in cases),
    )  # fmt: skip
    yield OutcomeMetric(
        name=f"{PREFIX}.regress.invalid_runs", unit="", says="runs that say nothing about their table",
        points=tuple((labels, float(sum(not run.valid for run in runs))) for labels, runs in cases),
    )  # fmt: skip


def _gates(outcome: SessionOutcome) -> Iterator[OutcomeMetric]:
    labelled = [
        ({"suite": outcome.suite, "case": one.case, "measure": one.gate.measure}, one)
        for one in outcome.findings
    ]
    yield OutcomeMetric(
        name=f"{PREFIX}.gate.failed", unit="", says="1: worse than the baseline, or not measured",
        points=tuple((labels, float(one.failed)) for labels, one in labelled),
    )  # fmt: skip
    yield OutcomeMetric(
        name=f"{PREFIX}.gate.decision", unit="", says="always 1; the label says what was decided",
        points=tuple(({**labels, "decision": one.decision}, 1.0) for labels, one in labelled),
    )  # fmt: skip
    for name, says in (
        ("change", "relative to the baseline: -0.1 is ten percent less"),
        ("low", "lower end of the interval of the change"),
        ("high", "upper end of the interval of the change"),
    ):
        known = [(labels, getattr(one, name)) for labels, one in labelled]
        yield OutcomeMetric(
            name=f"{PREFIX}.gate.change{'' if name == 'change' else f'_{name}'}", unit="1", says=says,
            points=tuple((labels, float(value)) for labels, value in known if value is not None),
        )  # fmt: skip


def _measures(outcome: SessionOutcome) -> Iterator[OutcomeMetric]:
    found = {case.name: medians([run for run in case.after if run.valid]) for case in outcome.cases}
    for measure in MEASURES.values():
        yield OutcomeMetric(
            name=f"{PREFIX}.measure.{measure.name}", unit=measure.unit,
            says=f"{measure.says}; median of the valid runs",
            points=tuple(
                ({"suite": outcome.suite, "case": case}, values[measure.name])
                for case, values in found.items()
                if measure.name in values
            ),
        )  # fmt: skip


SUFFIXES: Final = {"s": "seconds", "1": "ratio"}


def write_prometheus(path: Path, outcome: SessionOutcome) -> None:
    """Write the file, whole or not at all: a collector that reads meanwhile gets the old one.

    Raises `CannotWrite`.
    """
    body = prometheus_text(outcome)
    write_atomically(path, lambda file: file.write(body))


def prometheus_text(outcome: SessionOutcome) -> bytes:
    """The exposition."""
    from prometheus_client import CollectorRegistry, Gauge, generate_latest

    registry = CollectorRegistry()
    for metric in metrics(outcome):
        labels = sorted({name for named, _ in metric.points for name in named})
        gauge = Gauge(name_of(metric), metric.says, labels, registry=registry)
        for named, value in metric.points:
            gauge.labels(**named).set(value)
    return generate_latest(registry)


def name_of(metric: OutcomeMetric) -> str:
    """The metric's name as Prometheus has them."""
    name = metric.name.replace(".", "_")
    suffix = SUFFIXES.get(metric.unit)
    return name if suffix is None or name.endswith("_s") else f"{name}_{suffix}"


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


def send_otlp(url: str, outcome: SessionOutcome) -> None:
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


def _collected(all_metrics: tuple[OutcomeMetric, ...], outcome: SessionOutcome) -> "MetricsData":
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
