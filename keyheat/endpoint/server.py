"""The endpoint as a server: pages about itself, all that answers put together, housekeeping, a clean end."""

import asyncio
import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import orjson

from keyheat.addresses import Hosts
from keyheat.endpoint.cloudwatch.protocols import CloudWatchPage
from keyheat.endpoint.dynamodb import operations
from keyheat.endpoint.errors import ServiceError
from keyheat.endpoint.faults.page import FaultsPage
from keyheat.endpoint.http import Connection, Connections, Headers, response
from keyheat.endpoint.metrics import MetricsPage
from keyheat.endpoint.options import ClientBounds
from keyheat.endpoint.regions import Regions
from keyheat.endpoint.router import Guard, Router
from keyheat.endpoint.service import Handler
from keyheat.endpoint.state.clock import ServiceClock
from keyheat.endpoint.state.page import StatePage
from keyheat.endpoint.stream_operations import STREAMS
from keyheat.model.table import TableModel

if TYPE_CHECKING:
    from keyheat.endpoint.faults.rules import FaultRules

PREFIX = b"/_keyheat/"
NO_SUCH_PAGE = (
    "no such page; there are health, requests, metrics, tables, decisions?table=T, partitions?table=T, "
    "recorded, faults, snapshot and advance"
)
ABOUT_A_TABLE: Mapping[str, Callable[[TableModel], object]] = {
    "decisions": lambda model: model.decisions.rows(),  # second by second
    "partitions": lambda model: model.partition_record(),  # step by step, for each partition
}
PAGES = frozenset({"health", "requests", "tables", "recorded", *ABOUT_A_TABLE})


@dataclass(frozen=True, slots=True)
class Admin:
    """`/_keyheat/health`, `requests`, `tables`, `decisions?table=T`, `partitions?table=T`, `recorded`: JSON.

    A table of another Region than the endpoint's own is called by its ARN.
    """

    regions: Regions

    def answer(self, method: bytes, url: bytes, headers: Headers, body: bytes) -> bytes | None:
        """The whole response, or None: another URL."""
        if not url.startswith(PREFIX):
            return None
        status, content = self._page(method, url)
        return response(status, orjson.dumps(content))

    def _page(self, method: bytes, url: bytes) -> tuple[int, object]:
        split = urlsplit(url.decode("latin-1"))
        page = split.path.removeprefix(PREFIX.decode())
        if page not in PAGES:
            return 404, {"error": NO_SUCH_PAGE}
        if method != b"GET":
            return 405, {"error": "only GET is answered here"}
        if page == "health":
            return 200, {"status": "ok", "scale": self.regions.home.scale}
        if page == "requests":
            return 200, self.regions.asked
        if page == "tables":
            return 200, self._tables()
        if page in ABOUT_A_TABLE:
            return self._of_table(ABOUT_A_TABLE[page], parse_qs(split.query).get("table", [""])[0])
        return self._recorded()

    def _of_table(self, page: Callable[[TableModel], object], table: str) -> tuple[int, object]:
        """What a table's model admitted and refused."""
        if not table:
            there = ", ".join(self._tables()) or "none"
            return 404, {"error": f"which table? Say ?table=T; tables are: {there}"}
        try:
            service, name = self.regions.find(table)
            return 200, page(service.catalog.get(name).model)
        except ServiceError as error:
            return 404, {"error": f"{error.message}: {table!r}"}

    def _tables(self) -> list[str]:
        return sorted(self.regions.tables())

    def _recorded(self) -> tuple[int, object]:
        """What was asked of every table that there is or was, by what it is called."""
        if self.regions.home.recordings is None:
            return 404, {"error": "nothing is recorded; start the endpoint with --record"}
        there = self.regions.tables()
        return 200, {
            called: list(one.rows(there[called][1] if called in there else None))
            for service in self.regions
            for name, one in (service.recordings or {}).items()
            for called in (self.regions.table_named(service, name),)
        }


SWEEP_S = 1.0
BACKLOG = 1024
QUIET_SWEEPS = 3
YOUNG, OLDEST = 0, 2  # the collector's generations


def build_router(
    regions: Regions,
    control: Mapping[str, Handler],
    data: Mapping[str, Handler],
    *,
    hosts: Hosts | None = None,
    rules: "FaultRules | None" = None,
    clock: ServiceClock | None = None,
) -> Router:
    """Everything that answers the requests of one endpoint.

    `hosts`: the names by which it may be called besides this machine's own.
    `rules`: faults that it begins with.
    `clock`: the services', where its time may be moved on.
    """
    named = operations(control, data, STREAMS)
    faults = FaultsPage(regions, named, dict(named))
    if rules is not None:
        faults.set(rules)
    return Router(
        operations=named,
        regions=regions,
        pages=(
            CloudWatchPage(regions),
            faults,
            StatePage(regions, clock),
            MetricsPage(regions),
            Admin(regions),
        ),
        guard=Guard(hosts or Hosts()),
    )


@dataclass(slots=True)
class Housekeeping:
    """Collects garbage between requests, since a collection inside one would look like service latency.

    Requests leave next to no cycles behind, so the automatic collector, which would walk a million stored
    items, is off. Once a second the young objects alone are looked at; a full collection waits until the
    endpoint has been quiet for some seconds.
    """

    collect: Callable[[int], object] = gc.collect
    quiet: int = 0
    due: bool = False
    answered: int = 0

    def start(self) -> None:
        """Set what was made at start-up apart, never to be looked at again."""
        gc.collect()
        gc.freeze()
        gc.disable()

    def sweep(self, answered: int) -> None:
        """One second has passed; `answered` requests in all."""
        if answered != self.answered:
            self.answered, self.quiet, self.due = answered, 0, True
            self.collect(YOUNG)
            return
        self.quiet += 1
        if self.due and self.quiet >= QUIET_SWEEPS:
            self.collect(OLDEST)
            self.due = False


@dataclass(slots=True)
class Server:
    """One listening socket and its connections."""

    router: Router
    bounds: ClientBounds = field(default_factory=ClientBounds)
    housekeeping: Housekeeping | None = None
    connections: Connections = field(init=False)
    _listening: asyncio.Server | None = None
    _timer: asyncio.TimerHandle | None = None

    def __post_init__(self) -> None:
        caller = self.router.regions.home.caller
        self.connections = Connections(self.router.answer, self.bounds, caller)

    async def start(self, host: str, port: int) -> int:
        """Listen, and give the port, which was free to choose where 0 was asked. Raises OSError."""
        loop = asyncio.get_running_loop()
        self._listening = await loop.create_server(
            partial(Connection, self.connections), host, port, backlog=BACKLOG
        )
        self._timer = loop.call_later(SWEEP_S, self._sweep)
        return int(self._listening.sockets[0].getsockname()[1])

    async def stop(self, grace_s: float = 3.0) -> None:
        """Stop accepting; let requests that have begun end, for `grace_s` at most; hang up."""
        if self._listening is not None:
            self._listening.close()
        if self._timer is not None:
            self._timer.cancel()
        ends_s = perf_counter() + grace_s
        while not self.connections.close_idle() and perf_counter() < ends_s:
            await asyncio.sleep(0.01)
        for connection in list(self.connections.open):
            connection.abort()

    def _sweep(self) -> None:
        self.connections.sweep()
        if self.housekeeping is not None:
            self.housekeeping.sweep(self.connections.answered)
        self._timer = asyncio.get_running_loop().call_later(SWEEP_S, self._sweep)
