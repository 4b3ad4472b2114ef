"""What a web page of somebody else's may ask: nothing, by no name and in no way that needs no permission."""

import logging

import orjson
import pytest

from keyheat.addresses import Hosts
from keyheat.endpoint.dynamodb import CONTROL
from keyheat.endpoint.router import KEPT, Router
from keyheat.endpoint.service import Regions, Service
from tests.endpoint.clients import FakeClock, taken_apart

SIGNED = {"authorization": "AWS4-HMAC-SHA256 Credential=x", "x-amz-target": "DynamoDB_20120810.ListTables"}
HERE = {"host": "127.0.0.1:8000"}
FORM = b"Action=PutMetricData&Namespace=Mine&MetricData.member.1.MetricName=a&MetricData.member.1.Value=1"


def router_of(*names: str) -> Router:
    return Router(Regions(Service(clock=FakeClock())), CONTROL, {}, hosts=Hosts(frozenset(names)))


def asked(
    router: Router,
    headers: dict[str, str],
    *,
    method: bytes = b"POST",
    url: bytes = b"/",
    body: bytes = b"{}",
) -> tuple[int, bytes]:
    raw = {name.encode(): value.encode("latin-1") for name, value in headers.items()}
    status, _, content = taken_apart(router.answer(method, url, raw, body))
    return status, content


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8000", 200), ("localhost:8000", 200), ("LOCALHOST", 200), ("localhost.", 200),
        ("[::1]:8000", 200), ("192.168.1.4:8000", 200), ("[fe80::1]", 200),
        ("table:8000", 200), ("Table.", 200), ("bench.example", 200),
        ("evil.example:8000", 403), ("127.0.0.1.evil.example", 403), ("localhost.evil.example:8000", 403),
        ("table.evil.example", 403), ("evil.example/127.0.0.1", 403), ("evil.example@127.0.0.1", 403),
        ("", 403), ("[::1", 403), ("0x7f000001", 403), ("127.1", 403), ("[::1]x", 403), ("table:80:90", 403),
        ("ta ble", 403), ("user@table", 403), (":80", 403),
    ],
)  # fmt: skip
def test_it_answers_by_its_own_names_alone(host: str, status: int) -> None:
    router = router_of("table", "bench.example")
    for _ in range(2):  # and again when it has seen the name
        assert asked(router, SIGNED | {"host": host})[0] == status


def test_what_may_be_known_by_another_name_is_refused_on_every_page() -> None:
    pages = ("health", "partitions?table=orders", "faults", "advance", "snapshot", "metrics")
    for url in (b"/", *(f"/_keyheat/{page}".encode() for page in pages)):
        for method in (b"GET", b"POST", b"PUT", b"DELETE", b"OPTIONS"):
            for who in ({"host": "evil.example"}, HERE | {"origin": "http://evil.example"},
                        HERE | {"origin": "null"}, HERE | {"sec-fetch-site": "cross-site"}):  # fmt: skip
                assert asked(router_of(), SIGNED | who, method=method, url=url)[0] == 403


@pytest.mark.parametrize(
    ("browser", "status"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://6.6.6.6:8000"}, 403),
        ({"origin": "http://127.0.0.1:3000"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:8000"}, 200),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ({"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 200),
        ({"sec-fetch-site": "none", "sec-fetch-mode": "navigate"}, 200),
    ],
)  # fmt: skip
def test_another_site_s_page_is_refused(browser: dict[str, str], status: int) -> None:
    assert asked(router_of(), SIGNED | HERE | browser)[0] == status


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data"])
def test_what_a_form_says_is_no_signature(kind: str) -> None:
    """Such a request needs nobody's permission in a browser, and older ones do not say where it is from."""
    headers, token = HERE | {"content-type": kind}, b"&X-Amz-Signature=x"
    for method, url, body in ((b"POST", b"/", FORM + token), (b"GET", b"/?" + FORM + token, b"")):
        status, content = asked(router_of(), headers, method=method, url=url, body=body)
        assert status in (400, 403)
        assert b"Authentication" in content or b"No X-Amz-Target" in content
    login = headers | {"authorization": "Basic dXNlcjpwYXNz"}  # of http://user:pass@127.0.0.1
    assert asked(router_of(), login, url=b"/?" + FORM, method=b"GET")[0] in (400, 403)


def test_the_terminal_is_told_once_and_shown_no_control_characters(caplog: pytest.LogCaptureFixture) -> None:
    router = router_of()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            status, content = asked(router, SIGNED | {"host": "db\x1b[2J\x9b:8000"})
    assert status == 403
    answer = orjson.loads(content)
    assert answer["__type"].endswith("#AccessDeniedException")
    message = answer["message"]
    assert message.startswith(r"this endpoint is not called 'db\x1b")
    assert "--allow-host" in message
    assert [record.getMessage() for record in caplog.records] == [f"refused: {message}"]
    for number in range(2 * KEPT):
        asked(router, SIGNED | {"host": f"n{number}.example"})
        asked(router, SIGNED | {"host": f"10.0.0.{number}"})
    assert len(caplog.records) <= KEPT
    assert len(router.guard.allowed) <= KEPT


def test_no_name_at_all_is_no_browser_s_and_an_address_is_nobody_s() -> None:
    assert asked(router_of(), SIGNED)[0] == 200
    assert asked(router_of(), {}, method=b"GET", url=b"/_keyheat/health")[0] == 200
    assert asked(router_of(), {"host": "10.1.2.3:8000"}, method=b"GET", url=b"/_keyheat/health")[0] == 200
    assert asked(router_of(), SIGNED | {"origin": "http://evil.example"})[0] == 403
