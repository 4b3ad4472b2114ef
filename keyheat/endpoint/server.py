"""The endpoint as a server: it listens, collects garbage between requests, and ends cleanly."""

import asyncio
import gc
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

from keyheat.endpoint.http import Connection, Connections
from keyheat.endpoint.options import ClientBounds

if TYPE_CHECKING:
    from keyheat.endpoint.router import Router

SWEEP_S = 1.0
BACKLOG = 1024
QUIET_SWEEPS = 3
YOUNG, OLDEST = 0, 2  # the collector's generations


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
        """Collect garbage once a second; `answered` requests in all so far."""
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
    router: "Router"
    bounds: ClientBounds = field(default_factory=ClientBounds)
    housekeeping: Housekeeping | None = None
    connections: Connections = field(init=False)
    _listening: asyncio.Server | None = None
    _timer: asyncio.TimerHandle | None = None

    def __post_init__(self) -> None:
        self.connections = Connections(self.router.answer, self.bounds)

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
