"""A proxy on loopback that breaks what it is told to, and counts exactly what it did with every request.

`python -m tests.faults.proxy URL` prints `ready http://127.0.0.1:PORT`. Each line on its standard
input is an order in JSON, which is answered by a line with what it has counted: see `process`. It ends when
its standard input ends.

A connection that it ends while its client may be sending is ended on one side only: what still comes in is
read and counted as `lost`, so that no request is ever unaccounted for. Only a request that found nobody
listening, or came to the door in the moment in which it was closed, is not among those that were seen.
"""

import asyncio
import json
import os
import socket
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import uvloop

from tests.faults.client import Client
from tests.faults.kinds import FAULTS
from tests.faults.upstream import Upstreams, keep

DOWN_S = 0.2


@dataclass(slots=True)
class Counts:
    """What became of the requests: `seen` is the sum of `forwarded`, `lost` and those broken before."""

    connections: int = 0
    seen: int = 0
    forwarded: int = 0
    lost: int = 0  # they came on a connection that was ended already
    answered: int = 0  # by the endpoint
    unanswered: int = 0  # forwarded, and the endpoint closed the connection
    ended: Counter[str] = field(default_factory=Counter)  # with a request under way: what it was waiting for
    by_fault: Counter[str] = field(default_factory=Counter)

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class Proxy:
    """One listening socket, the endpoint behind it, and the faults that are on."""

    upstreams: Upstreams
    counts: Counts = field(default_factory=Counts)
    clients: set[Client] = field(default_factory=set)
    planned: dict[int, str] = field(default_factory=dict)
    """What a request meets, by its number from 1; lost ones do not count."""
    port: int = 0
    listener: socket.socket | None = None

    def listen(self) -> None:
        """Let clients in, at the port that was free the first time."""
        if self.listener is not None:
            return
        self.listener = socket.create_server(("127.0.0.1", self.port), backlog=1024)
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]
        asyncio.get_running_loop().add_reader(self.listener.fileno(), self._accept)

    def refuse(self) -> None:
        """Let nobody in; those who wait at the door still come in.

        Who comes between the last `accept` and `close` is reset by the kernel; nobody here can count them.
        """
        if self.listener is not None:
            asyncio.get_running_loop().remove_reader(self.listener.fileno())
            self._accept()
            self.listener.close()
            self.listener = None

    def _accept(self) -> None:
        assert self.listener is not None
        with suppress(BlockingIOError):
            while True:
                connection, _ = self.listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.counts.connections += 1
                keep(asyncio.create_task(self._let_in(connection)))

    async def _let_in(self, connection: socket.socket) -> None:
        await asyncio.get_running_loop().connect_accepted_socket(lambda: Client(self, connection), connection)

    def fault(self) -> str | None:
        """What the request meets that was seen last; what concerns connections comes when it is under way."""
        planned = self.planned.get(self.counts.seen - self.counts.lost)
        if planned is None or FAULTS[planned].where != "connection":
            return planned
        loop = asyncio.get_running_loop()
        loop.call_soon(self._turn_on, planned)
        if planned != "close_idle":
            loop.call_later(DOWN_S, self.listen)
        return None

    def _turn_on(self, fault: str) -> None:
        """Do what concerns connections."""
        self.counts.by_fault[fault] += 1
        if fault != "close_idle":
            self.refuse()
        for client in list(self.clients):
            if fault == "restart" or not client.busy:
                client.end()

    def obey(self, order: dict[str, Any]) -> None:
        """`planned`: faults to come, by requests; `on`: one of connections; `up`: listen; `to`: a URL."""
        self.planned |= {int(number): fault for number, fault in order.get("planned", {}).items()}
        if "on" in order:
            self._turn_on(order["on"])
        if "to" in order:
            self.upstreams = Upstreams(order["to"])
        if "up" in order:
            self.listen()


async def serve(to: str) -> None:
    """Serve until standard input ends."""
    proxy, ended = Proxy(Upstreams(to)), asyncio.Event()
    proxy.listen()
    print(f"ready http://127.0.0.1:{proxy.port}", flush=True)
    held = b""

    def read() -> None:
        nonlocal held
        data = os.read(0, 65_536)
        if not data:
            ended.set()
        *lines, held = (held + data).split(b"\n")
        for line in lines:
            proxy.obey(json.loads(line))
            print(json.dumps(proxy.counts.to_json()), flush=True)

    asyncio.get_running_loop().add_reader(0, read)
    await ended.wait()


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1]))
