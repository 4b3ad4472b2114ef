"""An endpoint of an account that is somebody's, which writes down every call: what was asked, and of what.

It answers as the local endpoint does, in this process.
"""

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread
from typing import Any

import orjson

from keyheat.endpoint.http import Delivery, Headers
from keyheat.endpoint.router import Router
from keyheat.endpoint.server import Server
from keyheat.endpoint.service import Regions, Service

ACCOUNT = "123456789012"
TABLE_ARN = f"arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/"
SERVICES = {
    "DynamoDB": "dynamodb",
    "DynamoDBStreams": "dynamodb",
    "GraniteServiceVersion20100801": "cloudwatch",
}


@dataclass(frozen=True, slots=True, order=True)
class Call:
    """One call as a policy sees it: an action and a resource."""

    action: str  # dynamodb:PutItem
    resource: str  # an ARN, or *


class Recording(Router):
    """Answers, and keeps each kind of call once; `heads` are the requests' own headers."""

    def __init__(self, regions: Regions) -> None:
        super().__init__(regions)
        self.calls: set[Call] = set()
        self.heads: list[Headers] = []

    def answer(
        self, method: bytes, url: bytes, headers: Headers, body: bytes, connection: int | None = None
    ) -> bytes | Delivery:
        """Write it down, and answer."""
        if method == b"POST":
            self.heads.append(headers)
            self.calls.update(calls_in(headers.get(b"x-amz-target", b"").decode(), body))
        return Router.answer(self, method, url, headers, body, connection)


def calls_in(target: str, body: bytes) -> Iterator[Call]:
    """What one request asks for."""
    version, _, operation = target.partition(".")
    if operation == "GetRecords":
        return  # names an iterator, which is of a stream that somebody had to be permitted to read
    service = SERVICES[version.partition("_20120810")[0]]
    asked = orjson.loads(body)
    for resource in _resources(asked):
        for action in _actions(operation, asked):
            yield Call(f"{service}:{action}", resource)


def _actions(operation: str, asked: dict[str, Any]) -> Iterator[str]:
    """A transaction needs the permission for each thing that it does; so does a creation that tags.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis-iam.html
    """
    if operation in ("TransactWriteItems", "TransactGetItems"):
        yield from {
            "ConditionCheckItem" if verb == "ConditionCheck" else f"{verb}Item"
            for one in asked["TransactItems"]
            for verb in one
        }
        return
    yield operation
    if operation == "CreateTable" and asked.get("Tags"):
        yield "TagResource"


def _resources(asked: dict[str, Any]) -> Iterator[str]:
    names = [asked["TableName"]] if "TableName" in asked else list(asked.get("RequestItems", ()))
    for one in asked.get("TransactItems", ()):
        names += [part["TableName"] for part in one.values()]
    index = f"/index/{asked['IndexName']}" if asked.get("IndexName") else ""
    found = {name if name.startswith("arn:") else TABLE_ARN + name for name in names}
    arns = [asked[name] for name in ("ResourceArn", "StreamArn") if name in asked]
    yield from ([arn + index for arn in found] + arns) or ["*"]


@contextmanager
def recording() -> Iterator[tuple[str, Recording]]:
    """The endpoint's URL, and what it writes down."""
    router = Recording(Regions(Service(clock=time.time, account_id=ACCOUNT)))
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, int]] = Future()
    thread = Thread(target=lambda: asyncio.run(_serve(router, started)))
    thread.start()
    loop, ended, port = started.result()
    try:
        yield f"http://127.0.0.1:{port}", router
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()


async def _serve(router: Router, started: Future[Any]) -> None:
    server, ended = Server(router), asyncio.Event()
    started.set_result((asyncio.get_running_loop(), ended, await server.start("127.0.0.1", 0)))
    await ended.wait()
    await server.stop()
