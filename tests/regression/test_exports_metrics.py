"""Metrics: Prometheus' own parser reads them, and a collector on loopback gets the same by OTLP."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from keyheat import otlp
from keyheat.metrics import name_of, prometheus_text
from keyheat.otlp import NotSent, check_otlp
from keyheat.regression.exports.metrics import metrics, send_otlp, write_prometheus
from keyheat.regression.outcome import SessionOutcome
from tests.collector import OtlpCollector, otlp_collector, points_of
from tests.outside import free_port
from tests.regression.outcomes import GOOD, HOSTILE, HOSTILE_WORDS, INVALID, OUTCOMES, REGRESSED

Sample = tuple[str, tuple[tuple[str, str], ...]]


def samples(outcome: SessionOutcome) -> dict[Sample, float]:
    families = list(text_string_to_metric_families(prometheus_text(metrics(outcome)).decode()))
    assert all(family.type == "gauge" and family.documentation for family in families)
    found = [sample for family in families for sample in family.samples]
    assert all(sample.timestamp is None for sample in found), "collectors of files take none"
    return {(one.name, tuple(sorted(one.labels.items()))): one.value for one in found}


@pytest.mark.parametrize("name", OUTCOMES)
def test_prometheus_reads_every_point(name: str) -> None:
    expected = {
        (name_of(metric), tuple(sorted(labels.items()))): value
        for metric in metrics(OUTCOMES[name])
        for labels, value in metric.points
    }
    assert samples(OUTCOMES[name]) == pytest.approx(expected)


def test_what_a_regression_looks_like() -> None:
    found = samples(REGRESSED)
    suite, case = ("suite", "nightly"), ("case", "hotkey")
    gate = (case, ("measure", "accepted_units_per_s.write"), suite)
    assert found["keyheat_regress_exit_code", (suite,)] == 1
    assert found["keyheat_regress_duration_seconds", (suite,)] == 192
    assert found["keyheat_gate_failed", gate] == 1
    assert found["keyheat_gate_change_ratio", gate] == pytest.approx(-0.0998)
    assert found["keyheat_gate_decision", (case, ("decision", "worse"), gate[1], suite)] == 1
    assert found["keyheat_measure_accepted_units_per_s_write", (case, suite)] == 902
    assert found["keyheat_measure_throttle_share", (case, suite)] == 0.2


def test_what_is_not_known_is_not_there() -> None:
    """A missing measure has no change, and runs that say nothing have no measure."""
    assert not any(name == "keyheat_gate_change_ratio" and ("measure", "labels") in labels
                   for name, labels in samples(REGRESSED))  # fmt: skip
    of_hotkey = [name for name, labels in samples(INVALID) if ("case", "hotkey") in labels]
    assert "keyheat_regress_invalid_runs" in of_hotkey
    assert not any(name.startswith("keyheat_measure") for name in of_hotkey)


def test_labels_from_outside_are_escaped(tmp_path: Path) -> None:
    write_prometheus(tmp_path / "keyheat.prom", HOSTILE_WORDS)
    assert ("keyheat_regress_exit_code", (("suite", HOSTILE),)) in samples(HOSTILE_WORDS)
    assert (tmp_path / "keyheat.prom").read_bytes() == prometheus_text(metrics(HOSTILE_WORDS))


@pytest.fixture
def collector() -> Iterator[OtlpCollector]:
    with otlp_collector() as server:
        yield server


@pytest.mark.opens
def test_a_collector_gets_every_point(collector: OtlpCollector) -> None:
    send_otlp(f"http://127.0.0.1:{collector.server_port}", REGRESSED)
    ((path, kind, _body),) = collector.taken
    assert (path, kind) == ("/v1/metrics", "application/x-protobuf")
    named, sent = collector.last()
    assert (named["service.name"], named["keyheat.session"]) == ("keyheat", "s7")
    got = {
        (name, one.unit, labels): value
        for name, one in sent.items()
        for labels, value in points_of(one).items()
    }
    expected = {
        (metric.name, metric.unit, tuple(sorted(labels.items()))): value
        for metric in metrics(REGRESSED)
        for labels, value in metric.points
    }
    assert got == pytest.approx(expected)


@pytest.mark.opens
def test_a_path_of_ones_own_is_kept(collector: OtlpCollector) -> None:
    send_otlp(f"http://127.0.0.1:{collector.server_port}/otlp/v1/metrics", GOOD)
    assert [path for path, _kind, _body in collector.taken] == ["/otlp/v1/metrics"]


@pytest.mark.opens
def test_a_collector_that_does_not_take_them_is_an_error(collector: OtlpCollector) -> None:
    collector.status = 400
    with pytest.raises(NotSent, match=r"did not take the metrics: .*400"):
        send_otlp(f"http://127.0.0.1:{collector.server_port}", GOOD)
    assert len(collector.taken) == 1


@pytest.mark.opens
def test_a_collector_that_is_not_there_is_an_error() -> None:
    with pytest.raises(NotSent, match=r"did not take the metrics: Connection refused$"):
        send_otlp(f"http://127.0.0.1:{free_port()}", GOOD, patience_s=1.3)


@pytest.mark.opens
def test_a_collector_that_is_busy_is_asked_again_and_its_reason_said_once(collector: OtlpCollector) -> None:
    collector.status = 503
    with pytest.raises(NotSent, match=r"did not take the metrics: Service Unavailable$"):
        send_otlp(collector.url, GOOD, patience_s=1.3)
    assert collector.taken


@pytest.mark.opens
@pytest.mark.parametrize(
    "url", ["http://me:s3cr3t@127.0.0.1:{port}", "http://127.0.0.1:{port}/v1/metrics?api_key=s3cr3t"]
)
def test_a_collectors_password_is_in_no_words(collector: OtlpCollector, url: str) -> None:
    collector.status = 400
    with pytest.raises(NotSent, match="did not take") as refused:
        send_otlp(url.format(port=collector.server_port), GOOD)
    assert "s3cr3t" not in str(refused.value)
    with pytest.raises(ValueError, match="is not an address") as wrong:
        check_otlp("grpc://me:s3cr3t@collector")
    assert "s3cr3t" not in str(wrong.value)


@pytest.mark.parametrize("url", ["localhost:4318", "grpc://collector:4317", "http://", ""])
def test_an_address_that_is_none_is_refused_before_anything_is_sent(url: str) -> None:
    with pytest.raises(ValueError, match="such as http://localhost:4318"):
        check_otlp(url)


def test_without_the_libraries_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp, "NEEDED", "opentelemetry_that_is_not_there.exporter")
    with pytest.raises(ValueError, match=r"pip install 'keyheat\[otel\]'"):
        check_otlp("http://localhost:4318")
