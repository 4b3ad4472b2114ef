"""A server that answers every request at once as an accepted one: all that is left is the generator.

Run it in a process of its own: `python -m benchmarks._null_server [CPU [OPERATION]]` prints
`ready http://127.0.0.1:PORT`.
"""

import asyncio
import os
import sys
from typing import Any
from zlib import crc32

import httptools
import uvloop

PAGE_ITEMS = 25
CAPACITY = b'{"TableName":"null","CapacityUnits":1.0}'
ITEM = b'{"pk":{"S":"hot"},"sk":{"S":"1763712000000-0000001-%06d"},"filler":{"S":"%b"}}'
PAGE = b",".join(ITEM % (number, b"x" * 150) for number in range(PAGE_ITEMS))
BODIES = {
    "PutItem": b'{"ConsumedCapacity":%b}' % CAPACITY,
    "Query": b'{"Count":%d,"ScannedCount":%d,"Items":[%b],"ConsumedCapacity":%b}'
    % (PAGE_ITEMS, PAGE_ITEMS, PAGE, CAPACITY),
    "BatchWriteItem": b'{"UnprocessedItems":{},"ConsumedCapacity":[%b]}' % CAPACITY,
}
ANSWER = (
    b"HTTP/1.1 200 OK\r\nServer: Server\r\nContent-Type: application/x-amz-json-1.0\r\n"
    b"Content-Length: %d\r\nConnection: keep-alive\r\n"
    b"x-amzn-RequestId: 0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123\r\n"
    b"x-amz-crc32: %d\r\n\r\n%b"
)


class NullProtocol(asyncio.Protocol):
    """Answers each whole request on one connection."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._parser = httptools.HttpRequestParser(self)

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        self._transport.write(self._answer)


async def serve(cpu: int | None, body: bytes) -> None:
    """Serve until stdin ends, which it does with the parent."""
    if cpu is not None:
        os.sched_setaffinity(0, {cpu})
    answer = ANSWER % (len(body), crc32(body), body)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: NullProtocol(answer), "127.0.0.1", 0)
    print(f"ready http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    ended = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), lambda: None if os.read(0, 1024) else ended.set())
    await ended.wait()


if __name__ == "__main__":
    cpu = int(sys.argv[1]) if len(sys.argv) > 1 else None
    uvloop.run(serve(cpu, BODIES[sys.argv[2] if len(sys.argv) > 2 else "PutItem"]))
