"""The endpoint tells of its partitions when a run is over; what is no such answer is not taken for one."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from keyheat.load.observation import NotTold, partitions_of
from keyheat.load.transport.target import Target, target_at

pytestmark = pytest.mark.opens


class Odd(BaseHTTPRequestHandler):
    """A server that answers by the name of the table: with its status, or with that text."""

    def do_GET(self) -> None:
        asked = self.path.partition("table=")[2].replace("%20", " ")
        self.send_response(int(asked) if asked.isdigit() else 200)
        self.end_headers()
        self.wfile.write(asked.replace("_", '"').encode())

    def log_message(self, *_words: Any) -> None:
        """A test says nothing."""


@pytest.fixture
def odd() -> Iterator[Target]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Odd) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield target_at(f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("table", "said"),
    [("404", "did not answer"), ("500", "did not answer"), ("coffee", "something else"),
     ("{_a_: 1}", "something else")],
)  # fmt: skip
def test_another_answer_is_none(odd: Target, table: str, said: str) -> None:
    with pytest.raises(NotTold, match=said):
        partitions_of(odd, table, 0.0, 10.0)


def test_nobody_there_is_said() -> None:
    with pytest.raises(NotTold, match="did not answer"):
        partitions_of(target_at("http://127.0.0.1:9"), "orders", 0.0, 10.0)
