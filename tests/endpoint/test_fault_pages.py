"""Rules of faults by HTTP: set, counted and taken back; and a connection that a fault cuts."""

import orjson
import pytest

from keyheat.endpoint.http import Connections
from keyheat.endpoint.options import ClientBounds
from tests.endpoint.account import on_demand
from tests.endpoint.clients import ServiceApp
from tests.endpoint.peers import Peer, request

PUT = {"TableName": "orders", "Item": {"pk": {"S": "hot"}}}
MINE = {"name": "mine", "error": 500}
GARBAGE = [
    b"", b"[", b"{}", b"[]", b"null", b'{"rules": [{"error": 500, "sha', b'{"rules":' + b"[" * 5_000,
    b'"\xed\xa0\x80"', orjson.dumps({"rules": [{"error": 404}]}),
]  # fmt: skip


@pytest.fixture
def app(service_app: ServiceApp) -> ServiceApp:
    service_app.ddb.create_table(**on_demand())
    return service_app


def set_rules(app: ServiceApp, *rules: object) -> None:
    assert app.page("faults", "PUT", orjson.dumps({"rules": rules}))[0] == 200


def test_mistakes_are_all_said_and_what_was_set_stays(app: ServiceApp) -> None:
    set_rules(app, MINE)
    status, said = app.page("faults", "PUT", orjson.dumps({"rules": [{"error": 404}, {}]}))
    assert status == 400
    assert [error.rpartition(" @ ")[2] for error in said["errors"]] == ["$.rules[0].error", "$.rules[1]"]
    assert [app.page("faults", "PUT", body)[0] for body in GARBAGE] == [400] * len(GARBAGE)
    assert app.page("faults", "PUT", b" " * (2 << 20))[0] == 413
    assert app.page("faults")[1]["rules"][0]["name"] == "mine"


@pytest.mark.parametrize(("cut", "kept"), [("before", []), ("after", ["first"]), ("middle", ["first"])])
def test_nothing_is_carried_out_behind_a_cut_answer(app: ServiceApp, cut: str, kept: list[str]) -> None:
    set_rules(app, {"cut": cut, "key": "first"})
    peer = Peer(Connections(app.router.answer, ClientBounds()))
    for key in ("first", "second"):
        peer.send(request("PutItem", orjson.dumps({"TableName": "orders", "Item": {"pk": {"S": key}}})))
    assert peer.transport.aborted
    assert bool(peer.transport.written) == (cut == "middle")
    assert not peer.transport.written.endswith(b"{}")
    assert app.page("faults", "DELETE")[1]["rules"][0]["struck"] == 1
    assert [item["pk"]["S"] for item in app.ddb.scan(TableName="orders")["Items"]] == kept
