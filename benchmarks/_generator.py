"""Load for an HTTP server: wrk where it is installed, and a small generator of ours where it is not.

Both keep some connections busy, each of which sends its next request when the last is answered. Requests are
of one operation; `{n}` in the body is a number that differs from request to request (wrk: once in it).
"""

import asyncio
import gc
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import cast
from urllib.parse import urlsplit

import uvloop

LUA = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/x-amz-json-1.0"
wrk.headers["X-Amz-Target"] = "DynamoDB_20120810.{operation}"
wrk.headers["X-Amz-Date"] = "20261120T120000Z"
wrk.headers["Authorization"] = "{authorization}"
local head, tail, n = [==[{head}]==], [==[{tail}]==], 0
function request()
  n = (n * 1103515245 + 12345) % {keys}
  return wrk.format(nil, nil, nil, head .. n .. tail)
end
function done(summary, latency)
  local errors = summary.errors
  local form = '{{"requests": %d, "us": %d, "p99_us": %d, "max_us": %d, "failed": %d}}'
  io.write('\\nresult ', string.format(form,
    summary.requests, summary.duration, latency:percentile(99), latency.max,
    errors.status + errors.connect + errors.read + errors.write + errors.timeout))
end
"""
AUTHORIZATION = (
    "AWS4-HMAC-SHA256 Credential=test/20261120/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host;x-amz-date;x-amz-target, Signature=" + "0" * 64
)
LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is sent: `keys` different numbers stand for `{n}` in the body."""

    operation: str
    body: str
    keys: int
    connections: int = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What came back."""

    answered: int
    per_s: float
    p99_ms: float
    longest_ms: float
    failed: int


def drive(url: str, load: Load, seconds: float) -> Answered:
    """Send for some seconds, as fast as the answers come."""
    return _wrk(url, load, seconds) if shutil.which("wrk") else ours(url, load, seconds=seconds)


def _wrk(url: str, load: Load, seconds: float) -> Answered:
    head, _, tail = load.body.partition("{n}")
    script = LUA.format(
        operation=load.operation, authorization=AUTHORIZATION, head=head, tail=tail, keys=load.keys
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "load.lua")
        path.write_text(script)
        command = ["wrk", "-t1", f"-c{load.connections}", f"-d{max(1, round(seconds))}", "-s", str(path), url]
        out = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout
    result = json.loads(out.rpartition("result ")[2])
    return Answered(
        answered=result["requests"],
        per_s=result["requests"] / result["us"] * 1e6,
        p99_ms=result["p99_us"] / 1000,
        longest_ms=result["max_us"] / 1000,
        failed=result["failed"],
    )


class _Client(asyncio.Protocol):
    """One connection of our generator."""

    def __init__(self, requests: Iterator[bytes], took_s: Callable[[float, bool], None]) -> None:
        self._requests = requests
        self._took_s = took_s
        self._held = b""
        self._sent_s = 0.0
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._next()

    def data_received(self, data: bytes) -> None:
        held = self._held + data if self._held else data
        head = held.find(b"\r\n\r\n")
        length = LENGTH.search(held, 0, head) if head >= 0 else None
        if length is None or len(held) < head + 4 + int(length[1]):
            self._held = held
            return
        self._held = b""
        self._took_s(perf_counter() - self._sent_s, held.startswith(b"HTTP/1.1 200"))
        self._next()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.over.done():
            self.over.set_exception(error or ConnectionError("the server closed a connection"))

    def _next(self) -> None:
        request = next(self._requests, None)
        if request is None:
            if not self.over.done():
                self.over.set_result(None)
            self._transport.close()
            return
        self._sent_s = perf_counter()
        self._transport.write(request)


def ours(url: str, load: Load, *, seconds: float | None = None, requests: int | None = None) -> Answered:
    """Our generator: for some seconds, or for some requests, whose numbers then count up from 0."""
    took: list[float] = []
    failed = 0

    def record(took_s: float, good: bool) -> None:
        nonlocal failed
        took.append(took_s)
        failed += not good

    started_s = perf_counter()
    ends_s = started_s + seconds if seconds is not None else None
    gc.disable()  # a collection here would look like a stall there
    uvloop.run(_all(url, load.connections, _requests(url, load, ends_s, requests), record))
    gc.enable()
    elapsed_s = perf_counter() - started_s
    took.sort()
    return Answered(
        answered=len(took),
        per_s=len(took) / elapsed_s,
        p99_ms=took[int(len(took) * 0.99)] * 1000,
        longest_ms=took[-1] * 1000,
        failed=failed,
    )


async def _all(
    url: str, connections: int, requests: Iterator[bytes], record: Callable[[float, bool], None]
) -> None:
    loop, split = asyncio.get_running_loop(), urlsplit(url)
    host, port = split.hostname or "127.0.0.1", split.port or 80
    clients = [
        (await loop.create_connection(lambda: _Client(requests, record), host, port))[1]
        for _ in range(connections)
    ]
    await asyncio.gather(*(client.over for client in clients))


def _requests(url: str, load: Load, ends_s: float | None, requests: int | None) -> Iterator[bytes]:
    fixed = (
        f"POST / HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\nContent-Type: application/x-amz-json-1.0\r\n"
        f"X-Amz-Target: DynamoDB_20120810.{load.operation}\r\nX-Amz-Date: 20261120T120000Z\r\n"
        f"Authorization: {AUTHORIZATION}\r\nContent-Length: "
    )
    for n in count() if requests is None else range(requests):
        if ends_s is not None and perf_counter() >= ends_s:
            return
        body = load.body.replace("{n}", str(n % load.keys))
        yield f"{fixed}{len(body)}\r\n\r\n{body}".encode()
