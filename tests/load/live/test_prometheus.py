"""Where Prometheus reads a load's metrics: on this machine alone, and mistakes are said before the load."""

from argparse import Namespace
from typing import Any

from werkzeug.test import Client

from keyheat.addresses import Hosts
from keyheat.load.live.prometheus import MetricsPort, metrics_page, metrics_port
from keyheat.load.live.run import LiveRun
from keyheat.metrics import Metric

USERS = Metric(name="keyheat_load_users", says="users", points=(({}, 3.0),))


class Live(LiveRun):
    """A run that stands still."""

    def __init__(self) -> None:
        super().__init__(environment=None)

    def metrics(self) -> tuple[Metric, ...]:
        return (USERS,)


def port_of(**options: Any) -> tuple[MetricsPort | None, list[str]]:
    """What options come to, and the mistakes in them."""
    errors = list[str]()
    given = {"prometheus_host": None, "prometheus_port": None, "allow_host": [], **options}
    return metrics_port(Namespace(**given), errors), errors


def test_it_is_on_this_machine_alone_unless_somebody_says_where() -> None:
    at, errors = port_of(prometheus_port=9464)
    assert at is not None
    assert (at.host, at.port, errors) == ("127.0.0.1", 9464, [])
    at, _errors = port_of(prometheus_port=0, prometheus_host="0.0.0.0", allow_host=["proxy.example"])
    assert at is not None
    assert at.host == "0.0.0.0"
    assert "proxy.example" in at.names


def test_mistakes_are_said_with_what_to_do() -> None:
    assert "1 to 65535" in port_of(prometheus_port=99_999)[1][0]
    assert "add --prometheus-port 9464" in port_of(prometheus_host="0.0.0.0")[1][0]


def answer(page: Any, path: str, **headers: str) -> tuple[int, str]:
    response = Client(page).get(path, headers={"Host": "127.0.0.1:9464", **headers})
    return response.status_code, response.text


def test_the_page_answers_to_its_own_name_alone() -> None:
    page = metrics_page(Live().metrics, Hosts(frozenset({"proxy.example"})))
    status, body = answer(page, "/metrics")
    assert status == 200
    assert "keyheat_load_users 3.0" in body
    assert answer(page, "/metrics", Host="proxy.example")[0] == 200
    assert answer(page, "/metrics", Host="evil.example")[0] == 403
    assert answer(page, "/metrics", Origin="http://evil.example")[0] == 403
    assert answer(page, "/") == (404, "keyheat: the metrics are at /metrics\n")


def test_nothing_is_served_without_a_port() -> None:
    assert port_of() == (None, [])
