"""The proxy's side of the endpoint: connections that are kept, and one request at a time on each."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit

BLANK_LINE = b"\r\n\r\n"
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
Answered = Callable[[bytes | None], None]
"""Is given the endpoint's answer, or None where there is none."""


@dataclass(slots=True)
class Upstreams:
    """The connections to one endpoint."""

    to: str
    idle: list["Upstream"] = field(default_factory=list)

    def forward(self, request: bytes, answered: Answered) -> None:
        """Send a request on."""
        if self.idle:
            self.idle.pop().send(request, answered)
        else:
            keep(asyncio.create_task(self._forward_anew(request, answered)))

    async def _forward_anew(self, request: bytes, answered: Answered) -> None:
        where = urlsplit(self.to)
        try:
            _, upstream = await asyncio.get_running_loop().create_connection(
                lambda: Upstream(self), where.hostname or "", where.port or 80
            )
        except OSError:
            answered(None)
        else:
            upstream.send(request, answered)


class Upstream(asyncio.Protocol):
    """One connection to the endpoint: one request at a time."""

    def __init__(self, upstreams: Upstreams) -> None:
        self._upstreams, self._held = upstreams, b""
        self._answered: Answered | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def send(self, request: bytes, answered: Answered) -> None:
        self._answered = answered
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._held += data
        whole = whole_message(self._held)
        if whole is None or self._answered is None:
            return
        answer, self._held = self._held[:whole], b""
        answered, self._answered = self._answered, None
        self._upstreams.idle.append(self)
        answered(answer)

    def connection_lost(self, error: Exception | None) -> None:
        if self in self._upstreams.idle:
            self._upstreams.idle.remove(self)
        if self._answered is not None:
            self._answered(None)


def whole_message(held: bytes) -> int | None:
    """How long the HTTP message is that these bytes begin with; None where it is not whole."""
    end = held.find(BLANK_LINE)
    if end < 0:
        return None
    length = LENGTH.search(held, 0, end + 2)
    whole = end + len(BLANK_LINE) + (int(length[1]) if length else 0)
    return whole if len(held) >= whole else None


_tasks: set[asyncio.Task[Any]] = set()


def keep(task: asyncio.Task[Any]) -> None:
    """A task that nobody refers to may be collected before it ends."""
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
