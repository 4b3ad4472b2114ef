"""The proxy's side of a client: one request at a time, and what is done to it."""

import asyncio
import re
import socket
import struct
from typing import TYPE_CHECKING, cast

from tests.faults import broken
from tests.faults.kinds import FAULTS
from tests.faults.upstream import BLANK_LINE, keep, whole_message

if TYPE_CHECKING:
    from tests.faults.proxy import Proxy

OPERATION = re.compile(rb"\r\nx-amz-target: *DynamoDB_20120810\.(\w+)", re.IGNORECASE)
LOAD = re.compile(rb"(Batch)?(Get|Put|Update|Delete|Write)Item|Query|Scan|Transact\w+")
"""Operations that are load. Others pass, and are not counted: tables are made, and asked for, in peace."""
LINGER_S = 30.0
PIECES, PIECE_S = 8, 0.04
RESET_SOON_S = 0.005
AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: a connection that is closed is reset


class Client(asyncio.Protocol):
    """One client's connection: one request at a time."""

    def __init__(self, proxy: "Proxy", connection: socket.socket) -> None:
        self._proxy, self._connection = proxy, connection
        self._held, self._ended = b"", False
        self._doing: str | None = None  # "answer", "silence", "dribble" or "reset"

    @property
    def busy(self) -> bool:
        """Whether a request is under way."""
        return self._doing is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._proxy.clients.add(self)
        if self._proxy.listener is None:  # it stood at the door when that was closed
            self.end()

    def connection_lost(self, error: Exception | None) -> None:
        self._proxy.clients.discard(self)
        self._ended = True

    def data_received(self, data: bytes) -> None:
        self._held += data
        whole = whole_message(self._held)
        if whole is not None and not self.busy:
            request, self._held = self._held[:whole], self._held[whole:]
            self._take(request)

    def _take(self, request: bytes) -> None:
        operation = OPERATION.search(request, 0, request.find(BLANK_LINE))
        load, counts = bool(operation and LOAD.fullmatch(operation[1])), self._proxy.counts
        counts.seen += load
        if self._ended:
            counts.lost += load
            return
        fault, self._doing = self._proxy.fault() if load else None, "answer"
        if fault is not None and FAULTS[fault].where == "before":
            self._break_before(fault)
            return
        counts.forwarded += load
        self._proxy.upstreams.forward(request, lambda raw: self._answer(raw, fault, load))

    def _break_before(self, fault: str) -> None:
        self._proxy.counts.by_fault[fault] += 1
        if fault == "reset_request":
            self._reset()
        elif fault == "hang_up":
            self._hang_up()
        elif fault == "garbage":
            self._say(broken.GARBAGE)
            self._hang_up()
        elif fault == "silence":
            self._doing = "silence"
        else:
            self._say(broken.REFUSALS[fault])

    def _answer(self, raw: bytes | None, fault: str | None, load: bool) -> None:
        counts = self._proxy.counts
        counts.answered += load and raw is not None
        counts.unanswered += load and raw is None
        if self._ended:
            return
        if raw is None:
            self._reset()
        elif fault is None:
            self._say(raw)
        else:
            counts.by_fault[fault] += 1
            self._break_after(raw, fault)

    def _break_after(self, raw: bytes, fault: str) -> None:
        if fault == "reset_answer":
            self._transport.write(raw[: len(raw) // 2])
            self._doing = "reset"
            asyncio.get_running_loop().call_later(RESET_SOON_S, self._reset)
        elif fault in ("half_answer", "half_head"):
            self._transport.write(raw[: len(raw) - 10 if fault == "half_answer" else 20])
            self._hang_up()
        elif fault == "slow_answer":
            self._doing = "dribble"
            keep(asyncio.create_task(self._dribble(raw)))
        elif fault == "wrong_crc":
            self._say(broken.with_wrong_crc(raw))
        elif fault == "close_after":
            self._say(raw)
            self._hang_up()

    async def _dribble(self, raw: bytes) -> None:
        size = -(-len(raw) // PIECES)
        for start in range(0, len(raw), size):
            if self._ended:
                return
            if start + size >= len(raw):
                self._say(raw[start:])
                return
            self._transport.write(raw[start : start + size])
            await asyncio.sleep(PIECE_S)

    def _say(self, raw: bytes) -> None:
        self._doing = None  # before the client can know
        self._transport.write(raw)

    def _reset(self) -> None:
        if not self._transport.is_closing():
            self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
            self._transport.abort()

    def end(self) -> None:
        """The proxy goes down, and this connection with it."""
        if self._ended or self._doing == "reset":
            return
        if self._doing is not None:
            self._proxy.counts.ended[self._doing] += 1
        self._hang_up()

    def _hang_up(self) -> None:
        """End our side. What the client still sends is read, and counted as lost."""
        if self._transport.is_closing():
            return
        idle, self._ended, self._doing = not self.busy, True, None
        if idle and not self._transport.get_write_buffer_size():
            self._connection.shutdown(socket.SHUT_WR)  # now, and not when the loop comes round to it
        else:
            self._transport.write_eof()
        asyncio.get_running_loop().call_later(LINGER_S, self._transport.abort)
