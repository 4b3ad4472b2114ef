"""An OpenTelemetry collector on loopback, which keeps what it is sent."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

Labels = tuple[tuple[str, str], ...]


class OtlpCollector(ThreadingHTTPServer):
    """It answers with `status`; `taken` are path, content type and body of each request."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, str, bytes]] = []
        self.status = 200
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def requests(self) -> list[ExportMetricsServiceRequest]:
        """What came, decoded."""
        return [ExportMetricsServiceRequest.FromString(body) for _path, _kind, body in self.taken]

    def last(self) -> tuple[dict[str, str], dict[str, Metric]]:
        """Whose the last metrics were, and they by name."""
        (resource,) = self.requests()[-1].resource_metrics
        (scope,) = resource.scope_metrics
        named = {one.key: one.value.string_value for one in resource.resource.attributes}
        return named, {metric.name: metric for metric in scope.metrics}


def points_of(metric: Metric) -> dict[Labels, float]:
    """The points of a metric by their labels; of a histogram, how many values there are."""
    data = getattr(metric, metric.WhichOneof("data"))
    return {
        tuple(sorted((one.key, one.value.string_value) for one in point.attributes)): (
            point.count if metric.HasField("histogram") else point.as_double
        )
        for point in data.data_points
    }


class _Handler(BaseHTTPRequestHandler):
    server: OtlpCollector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.taken.append((self.path, self.headers["Content-Type"], body))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""


@contextmanager
def otlp_collector() -> Iterator[OtlpCollector]:
    """One that listens."""
    with OtlpCollector() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
