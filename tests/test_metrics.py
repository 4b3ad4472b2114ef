"""What a metric is called, and how Prometheus reads it: counters, gauges, histograms, hostile labels."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from keyheat.metrics import Distribution, Metric, name_of, prometheus_text
from keyheat.otlp import OF_ALL, OF_METRICS, in_environment

TIMES = Metric(
    name="keyheat.a.time", unit="s", says="how long", kind="histogram",
    points=(({"operation": 'Put"\n\\'}, Distribution((0.1, 1.0), (3, 0, 2), 5.5)),),
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "unit", "kind", "called"),
    [
        ("keyheat.gate.failed", "", "gauge", "keyheat_gate_failed"),
        ("keyheat.gate.change", "1", "gauge", "keyheat_gate_change_ratio"),
        ("keyheat.a.took", "s", "gauge", "keyheat_a_took_seconds"),
        ("keyheat.a.attempts", "{attempt}", "counter", "keyheat_a_attempts_total"),
        ("keyheat.a.backoff", "s", "counter", "keyheat_a_backoff_seconds_total"),
        ("keyheat.a.capacity.units", "{unit}/s", "gauge", "keyheat_a_capacity_units_per_second"),
        ("keyheat.a.time", "s", "histogram", "keyheat_a_time_seconds"),
    ],
)
def test_names_are_those_that_prometheus_makes_of_opentelemetrys(
    name: str, unit: str, kind: str, called: str
) -> None:
    """https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/#metric-metadata-1"""
    assert name_of(Metric(name=name, unit=unit, says="", points=(), kind=kind)) == called  # type: ignore[arg-type]


def test_prometheus_reads_a_histogram_with_counts_added_up_and_labels_escaped() -> None:
    (family,) = text_string_to_metric_families(prometheus_text([TIMES]).decode())
    assert (family.name, family.type) == ("keyheat_a_time_seconds", "histogram")
    found = {(one.name.removeprefix(family.name), one.labels.get("le")): one.value for one in family.samples}
    assert found == {
        ("_bucket", "0.1"): 3, ("_bucket", "1"): 3, ("_bucket", "+Inf"): 5, ("_count", None): 5,
        ("_sum", None): 5.5,
    }  # fmt: skip
    assert {one.labels["operation"] for one in family.samples} == {'Put"\n\\'}


def test_a_counter_has_its_own_type() -> None:
    counter = Metric(name="keyheat.a", unit="", says="so many", kind="counter", points=(({}, 2.0),))
    text = prometheus_text([counter]).decode()
    assert "# TYPE keyheat_a_total counter" in text
    assert "keyheat_a_total 2.0" in text


@pytest.mark.parametrize(
    ("environ", "found"),
    [
        ({}, None),
        ({OF_ALL: ""}, None),
        ({OF_ALL: "http://c:4318"}, (OF_ALL, "http://c:4318/v1/metrics")),
        ({OF_ALL: "http://c:4318/otlp/"}, (OF_ALL, "http://c:4318/otlp/v1/metrics")),
        ({OF_ALL: "http://c:4318", OF_METRICS: "http://m/x"}, (OF_METRICS, "http://m/x")),
        ({OF_ALL: "http://c:4318", "OTEL_SDK_DISABLED": "True"}, None),
        ({OF_ALL: "http://c:4318", "OTEL_METRICS_EXPORTER": "none"}, None),
        ({OF_ALL: "http://c:4318", "OTEL_METRICS_EXPORTER": "otlp"}, (OF_ALL, "http://c:4318/v1/metrics")),
    ],
)
def test_the_variables_of_opentelemetry_mean_what_it_says(
    environ: dict[str, str], found: tuple[str, str] | None
) -> None:
    """https://opentelemetry.io/docs/specs/otel/protocol/exporter/#endpoint-urls-for-otlphttp"""
    assert in_environment(environ) == found
