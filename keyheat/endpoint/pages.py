"""Pages about the endpoint itself, below `/_keyheat/`: JSON, except snapshots.

They are guarded as DynamoDB's own API is (`Guard`). What changes something is sent as JSON, or by PUT: no
page of another site can do either without a preflight request, which is refused here.
https://developer.mozilla.org/docs/Web/HTTP/Guides/CORS#preflighted_requests
A table of another Region than the endpoint's own is called by its ARN.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import orjson

from keyheat.endpoint.errors import ServiceError
from keyheat.endpoint.http import Headers, response
from keyheat.endpoint.itemkeys import key_texts
from keyheat.endpoint.keycounts import OTHERS
from keyheat.endpoint.service import Regions, ServiceClock
from keyheat.endpoint.tables.catalog import Table
from keyheat.model.table import TableModel

PREFIX: Final = b"/_keyheat/"
MOST_RULES_BYTES: Final = 1 << 20
HOW_TO_ADVANCE: Final = 'POST {"seconds": 300} as Content-Type: application/json'


class PageError(Exception):
    """A page that is not answered: the HTTP status, and why."""

    def __init__(self, status: int, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.content = {"error": message, **more}


@dataclass(frozen=True, slots=True)
class Visit:
    table: str
    headers: Headers
    body: bytes

    def json(self, accepted: str) -> Any:
        """Parse the body as JSON. Raises `PageError`."""
        kind = self.headers.get(b"content-type", b"").partition(b";")[0]
        if kind.strip().lower() != b"application/json":
            raise PageError(415, accepted)
        try:
            return orjson.loads(self.body)
        except orjson.JSONDecodeError as error:
            message = f"not JSON: {error}"
            raise PageError(400, message, errors=[f"{message} @ $"]) from None


@dataclass(slots=True)
class Pages:
    """The pages of one endpoint; its clock is None where it cannot be moved."""

    regions: Regions
    clock: ServiceClock | None = None

    def answer(
        self, method: bytes, url: bytes, headers: Headers, body: bytes, connection: int | None
    ) -> bytes | None:
        """The whole response to a request; None if it is for none of the pages."""
        if method == b"GET" and url == b"/":
            return response(200, b"healthy: keyheat\n", content_type=b"text/plain")
        if not url.startswith(PREFIX):
            return None
        split = urlsplit(url.decode("latin-1"))
        visit = Visit(parse_qs(split.query).get("table", [""])[0], headers, body)
        methods = PAGES.get(split.path.removeprefix(PREFIX.decode()))
        try:
            if methods is None:
                raise PageError(404, f"unknown page; use one of {', '.join(PAGES)}")
            if method.decode() not in methods:
                raise PageError(405, f"only {' and '.join(methods)} can be sent here")
            content = methods[method.decode()](self, visit)
        except PageError as error:
            return response(error.status, orjson.dumps(error.content))
        return content if isinstance(content, bytes) else response(200, orjson.dumps(content))

    def tables(self, visit: Visit) -> list[str]:
        return sorted(self.regions.tables())

    def model(self, visit: Visit) -> TableModel:
        if not visit.table:
            tables = ", ".join(self.tables(visit)) or "none"
            raise PageError(404, f"which table? Say ?table=T; tables are: {tables}")
        try:
            service, name = self.regions.find(visit.table)
            return service.catalog.get(name).model
        except ServiceError as error:
            raise PageError(404, f"{error.message}: {visit.table!r}") from None

    def recorded(self, visit: Visit) -> object:
        """The recorded requests of every table, also of deleted ones."""
        if self.regions.home.recordings is None:
            raise PageError(404, "nothing is recorded; start the endpoint with --record")
        tables, answer = self.regions.tables(), {}
        for service in self.regions:
            for name, recording in (service.recordings or {}).items():
                called = self.regions.table_named(service, name)
                table = tables[called][1] if called in tables else None
                answer[called] = [
                    {**row, "key": row["key"].hex(), "name": _key_name(table, row["index"], row["key"])}
                    for row in recording.rows()
                ]
        return answer

    def forget_recorded(self, visit: Visit) -> object:
        """Forget every recorded request, and the counts of requests."""
        self.regions.requests.clear()
        for service in self.regions:
            for recording in (service.recordings or {}).values():
                recording.uses.clear()
        return {}

    def faults(self, visit: Visit) -> object:
        """The rules that are set, how often each was asked and struck, and since when they are set."""
        faults = self.regions.home.faults
        return {"rules": []} if faults is None else faults.report(self.regions.home.clock())

    def set_faults(self, visit: Visit) -> object:
        """Set rules, or say everything that is wrong with them; then those that there were stay."""
        if len(visit.body) > MOST_RULES_BYTES:
            raise PageError(413, f"rules have at most {MOST_RULES_BYTES:,} bytes")
        rules = visit.json("rules are sent as Content-Type: application/json")
        from keyheat.endpoint.faultrules import FaultRulesError, checked_rules
        from keyheat.endpoint.faults import Faults

        try:
            self.regions.set_faults(Faults(checked_rules("rules", rules), self.regions.home.clock()))
        except FaultRulesError as error:
            raise PageError(400, str(error), errors=error.errors) from None
        return self.faults(visit)

    def clear_faults(self, visit: Visit) -> object:
        report = self.faults(visit)
        self.regions.set_faults(None)
        return report

    def snapshot(self, visit: Visit) -> bytes:
        from keyheat.endpoint.contents import snapshot

        return response(200, snapshot(self.regions), content_type=b"application/x-ndjson")

    def restore(self, visit: Visit) -> object:
        from keyheat.endpoint.contents import ContentsError, restore

        try:
            restore(self.regions, visit.body)
        except ContentsError as error:
            raise PageError(400, str(error)) from None
        return {"tables": {name: len(table.items) for name, (_, table) in self.regions.tables().items()}}

    def advance(self, visit: Visit) -> object:
        request = visit.json(f"time is moved on by {HOW_TO_ADVANCE}")
        if self.clock is None:
            raise PageError(404, "this endpoint runs on the clock of the process that started it")
        seconds = request["seconds"] if isinstance(request, dict) and set(request) == {"seconds"} else None
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            raise PageError(400, f"seconds: a number; {HOW_TO_ADVANCE}")
        try:
            self.clock.advance(seconds)
        except ValueError as error:
            raise PageError(400, f"seconds: {error}") from None
        return {"now_s": round(self.regions.home.clock(), 3), "ahead_s": self.clock.ahead_s}


def _key_name(table: Table | None, index: str | None, key: bytes) -> str | None:
    """The partition key that a hash stands for, as the first item that is there says; None without one."""
    if table is None or key == OTHERS:
        return None
    keys, shelf = table.schema.keys, table.items.items
    if index is not None:
        schema = next((schema for schema in table.schema.indexes if schema.name == index), None)
        if schema is None:
            return None
        keys, shelf = schema.keys, table.items.index(index)
    stored = next(iter(shelf.between(key, key + b"\xff" * 8)), None)
    return None if stored is None else ", ".join(key_texts(keys, stored))


Handler = Callable[[Pages, Visit], object]
PAGES: Final[Mapping[str, Mapping[str, Handler]]] = {
    "health": {"GET": lambda pages, visit: {"status": "ok", "scale": pages.regions.home.scale}},
    "requests": {"GET": lambda pages, visit: pages.regions.requests},
    "tables": {"GET": Pages.tables},
    "decisions": {"GET": lambda pages, visit: pages.model(visit).decisions()},
    "partitions": {"GET": lambda pages, visit: pages.model(visit).partition_record()},
    "recorded": {"GET": Pages.recorded, "DELETE": Pages.forget_recorded},
    "faults": {"GET": Pages.faults, "PUT": Pages.set_faults, "DELETE": Pages.clear_faults},
    "snapshot": {"GET": Pages.snapshot, "PUT": Pages.restore},
    "advance": {"POST": Pages.advance},
}
