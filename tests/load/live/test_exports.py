"""Where a load's metrics go: mistakes are said before the load, and a collector that goes away at its end."""

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

import pytest

from keyheat import otlp
from keyheat.addresses import Hosts
from keyheat.load.live import exporters
from keyheat.load.live.exporters import CannotExport, Exporters, MetricsPage
from keyheat.load.live.exports import EVERY_S, Exports, exports_of
from keyheat.load.live.run import LiveRun
from keyheat.load.live.view import Subject
from keyheat.metrics import Metric
from tests.collector import OtlpCollector, otlp_collector
from tests.outside import free_port

ONE = Metric(name="keyheat.load.users", unit="{user}", says="so many", points=(({}, 3.0),))


class Live(LiveRun):
    """A run that stands still."""

    def __init__(self) -> None:
        super().__init__(environment=None)

    def metrics(self) -> tuple[Metric, ...]:
        return (ONE,)

    @property
    def subject(self) -> Subject:
        return Subject(
            run_id="r1", scenario="s", question="?", table={"name": "orders"}, beside=(), target="local",
            scale=1.0, started_s=1_700_000_000.0, duration_s=None, users=3,
        )  # fmt: skip


def asked(environ: dict[str, str] | None = None, **options: Any) -> tuple[Exports, list[str], list[str]]:
    """What options and variables come to, the mistakes in them, and what is said."""
    given = {"prometheus_host": None, "prometheus_port": None, "otlp": None, "allow_host": [], **options}
    errors, said = list[str](), list[str]()
    return exports_of(Namespace(**given), environ or {}, errors, said.append), errors, said


def test_without_a_word_nothing_is_exported() -> None:
    exports, errors, said = asked()
    assert (exports.any, errors, said) == (False, [], [])


def test_it_is_on_this_machine_alone_unless_somebody_says_where() -> None:
    exports, errors, _said = asked(prometheus_port=9464)
    assert (exports.host, exports.port, exports.every_s, errors) == ("127.0.0.1", 9464, EVERY_S, [])
    exports, _errors, _said = asked(
        prometheus_port=0, prometheus_host="0.0.0.0", allow_host=["proxy.example"]
    )
    assert exports.host == "0.0.0.0"
    assert "proxy.example" in exports.names


def test_all_mistakes_are_said_at_once_with_what_to_do() -> None:
    wrong = {"prometheus_port": 99_999, "otlp": "localhost:4318"}
    _exports, errors, _said = asked({"OTEL_METRIC_EXPORT_INTERVAL": "often"}, **wrong)
    assert [error for error in errors if "1 to 65535" in error]
    assert [error for error in errors if "such as http://localhost:4318" in error]
    assert [error for error in errors if "OTEL_METRIC_EXPORT_INTERVAL=often" in error and "5000" in error]
    assert len(errors) == 3
    _exports, errors, _said = asked(prometheus_host="0.0.0.0")
    (error,) = errors
    assert "say which, --prometheus-port 9464" in error


def test_variables_name_a_collector_and_how_often(monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_METRIC_EXPORT_INTERVAL": "1500"}
    exports, errors, said = asked(environ)
    assert (exports.collector, exports.every_s) == ("http://c:4318/v1/metrics", 1.5)
    assert (errors, said) == ([], [])
    exports, _errors, _said = asked(environ, otlp="http://mine:4318")
    assert (exports.collector, exports.variable) == ("http://mine:4318/v1/metrics", None)
    monkeypatch.setattr(otlp, "NEEDED", "opentelemetry_that_is_not_there.exporter")
    exports, errors, said = asked(environ)
    assert (exports.any, errors) == (False, []), "the variable may be meant for something else"
    (line,) = said
    assert "OTEL_EXPORTER_OTLP_ENDPOINT needs OpenTelemetry's libraries" in line
    _exports, errors, _said = asked(otlp="http://mine:4318")
    assert errors == [
        "--otlp needs OpenTelemetry's libraries, which are not installed: pip install 'keyheat[otel]'"
    ]


def answer(page: MetricsPage, path: str, **headers: str) -> tuple[str, str]:
    told: list[str] = []
    environ = {"PATH_INFO": path, "HTTP_HOST": "127.0.0.1:9464", **headers}
    body = b"".join(page(environ, lambda status, _headers: told.append(status)))
    return told[0], body.decode()


def test_the_page_answers_to_its_own_name_alone() -> None:
    page = MetricsPage(Live(), Hosts(frozenset({"proxy.example"})))
    status, body = answer(page, "/metrics")
    assert status == "200 OK"
    assert "keyheat_load_users 3.0" in body
    assert answer(page, "/metrics", HTTP_HOST="proxy.example")[0] == "200 OK"
    assert answer(page, "/metrics", HTTP_HOST="evil.example")[0] == "403 Forbidden"
    assert answer(page, "/metrics", HTTP_ORIGIN="http://evil.example")[0] == "403 Forbidden"
    assert answer(page, "/") == ("404 Not Found", "keyheat: the metrics are at /metrics\n")


@pytest.fixture
def collector() -> Iterator[OtlpCollector]:
    with otlp_collector() as server:
        yield server


@pytest.mark.opens
def test_a_collector_that_goes_away_is_said_once_at_the_end(collector: OtlpCollector) -> None:
    said: list[str] = []
    exported = Exporters(Exports(collector=f"{collector.url}/v1/metrics"), Live(), said.append)
    exported.start()
    assert said == [f"metrics are sent to {collector.url}/v1/metrics every 5 s"]
    exported.send()
    named, sent = collector.last()
    assert (named["service.name"], named["service.instance.id"]) == ("keyheat", "r1")
    assert sent.keys() == {ONE.name}
    collector.status = 400
    exported.send()
    exported.send()
    collector.status, before = 200, len(collector.taken)
    exported.close()
    assert len(collector.taken) == before, "the last one is not tried: it would be waited for"
    assert len(said) == 2
    assert "metrics were not taken 2 of 3 times, and the load went on: " in said[1]
    assert "400" in said[1]


@pytest.mark.opens
def test_what_the_run_came_to_is_sent_at_the_end(collector: OtlpCollector) -> None:
    said: list[str] = []
    exported = Exporters(Exports(collector=f"{collector.url}/v1/metrics"), Live(), said.append)
    exported.start()
    exported.close()
    assert collector.last()[1].keys() == {ONE.name}
    assert len(said) == 1


@pytest.mark.opens
@pytest.mark.parametrize("variable", [None, "OTEL_EXPORTER_OTLP_ENDPOINT"])
def test_a_collector_that_is_not_there_ends_it_only_where_it_was_asked_for(
    variable: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporters, "TRIED_S", 0.2)
    said: list[str] = []
    exports = Exports(collector=f"http://127.0.0.1:{free_port()}/v1/metrics", variable=variable)
    exported = Exporters(exports, Live(), said.append)
    if variable is None:
        with pytest.raises(CannotExport, match="start it, or leave --otlp out"):
            exported.start()
    else:
        exported.start()
        assert f"no metrics are sent, though {variable} names a collector" in said[0]
    exported.close()
    assert len(said) == (variable is not None)
