"""Pages about the endpoint itself: is it up, what was it asked, and what did it decide."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

import orjson

from keyheat.endpoint.errors import ServiceError
from keyheat.endpoint.service import Service
from keyheat.endpoint.wire.http import Headers
from keyheat.endpoint.wire.responses import response
from keyheat.model.table import TableModel

PREFIX = b"/_keyheat/"
NO_SUCH_PAGE = "no such page; there are health, requests, decisions?table=T, partitions?table=T and recorded"
ABOUT_A_TABLE: Mapping[str, Callable[[TableModel], object]] = {
    "decisions": lambda model: model.decisions.rows(),  # second by second
    "partitions": lambda model: model.partition_record(),  # step by step, for each partition
}


@dataclass(frozen=True, slots=True)
class Admin:
    """`/_keyheat/health`, `requests`, `decisions?table=T`, `partitions?table=T`, `recorded`: GET, JSON."""

    service: Service
    asked: Mapping[str, int]
    """Requests by operation, since the endpoint was started."""

    def answer(self, method: bytes, url: bytes, headers: Headers, body: bytes) -> bytes | None:
        """The whole response, or None: another URL."""
        if not url.startswith(PREFIX):
            return None
        status, content = self._page(method, url)
        return response(status, orjson.dumps(content))

    def _page(self, method: bytes, url: bytes) -> tuple[int, object]:
        split = urlsplit(url.decode("latin-1"))
        page = split.path.removeprefix(PREFIX.decode())
        if method != b"GET":
            return 405, {"error": "only GET is answered here"}
        if page == "health":
            return 200, {"status": "ok", "scale": self.service.scale}
        if page == "requests":
            return 200, self.asked
        if page in ABOUT_A_TABLE:
            return self._of_table(ABOUT_A_TABLE[page], parse_qs(split.query).get("table", [""])[0])
        if page == "recorded":
            return self._recorded()
        return 404, {"error": NO_SUCH_PAGE}

    def _of_table(self, page: Callable[[TableModel], object], table: str) -> tuple[int, object]:
        """What a table's model admitted and refused."""
        try:
            return 200, page(self.service.catalog.get(table).model)
        except ServiceError as error:
            return 404, {"error": f"{error.message}: {table!r}"}

    def _recorded(self) -> tuple[int, object]:
        """What was asked of every table that there is or was, by its name."""
        recordings, catalog = self.service.recordings, self.service.catalog
        if recordings is None:
            return 404, {"error": "nothing is recorded; start the endpoint with --record"}
        there = {table.name: table for table in catalog}
        return 200, {name: list(one.rows(there.get(name))) for name, one in recordings.items()}
