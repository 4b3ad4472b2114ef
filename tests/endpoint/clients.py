"""Clients for tests: unmodified boto3, over a socket or straight into a service of this process."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import boto3
import orjson
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config
from botocore.exceptions import ConnectionClosedError

from keyheat.endpoint.http import Delivery
from keyheat.endpoint.router import Router
from keyheat.endpoint.service import Regions, Service

START_S = 1_800_000_000.0  # begins a minute, and a period of five


def client(service: str, url: str, *, region: str = "us-east-1", **config: Any) -> Any:
    """An unmodified boto3 client: dummy credentials, retries off."""
    return boto3.client(
        service,
        endpoint_url=url,
        region_name=region,
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"total_max_attempts": 1}, **config),
    )


def unasked_client(service: str, region: str = "us-east-1") -> Any:
    """A client for botocore's Stubber to answer: it has the address of nothing."""
    return client(service, "http://no.address", region=region)


@dataclass(slots=True)
class FakeClock:
    """Epoch seconds that move when a test says so."""

    now_s: float = START_S

    def __call__(self) -> float:
        return self.now_s

    def advance(self, seconds: float) -> None:
        self.now_s += seconds


class Body(BytesIO):
    """A response body as botocore reads it."""

    def stream(self, amt: int | None = None, decode_content: bool | None = None) -> Iterator[bytes]:
        yield self.read()


@dataclass(slots=True)
class Direct:
    """Stands where botocore keeps its HTTP session, and asks the router without a socket."""

    router: Router
    _pool_classes_by_scheme: dict[str, Any] = field(
        init=False, default_factory=dict
    )  # of botocore's own session

    def send(self, request: AWSPreparedRequest) -> AWSResponse:
        headers = {
            name.lower().encode(): value if isinstance(value, bytes) else str(value).encode()
            for name, value in request.headers.items()
        }
        body = request.body or b""
        split = urlsplit(request.url)
        url = f"{split.path}?{split.query}" if split.query else split.path
        raw = self.router.answer(
            request.method.encode(), url.encode(), headers, body if isinstance(body, bytes) else body.encode()
        )
        if isinstance(raw, Delivery):
            if raw.loses != "none":
                raise ConnectionClosedError(endpoint_url=request.url)
            raw = raw.sent()
        status, answered, content = taken_apart(raw)
        return AWSResponse(request.url, status, answered, Body(content))

    def close(self) -> None: ...


def taken_apart(raw: bytes | Delivery) -> tuple[int, dict[str, str], bytes]:
    """Status, headers with lower-case names, and body of one whole response."""
    raw = raw if isinstance(raw, bytes) else raw.sent()
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    return int(first.split()[1]), headers, body


TARGETS = {"dynamodb": "DynamoDB_20120810", "dynamodbstreams": "DynamoDBStreams_20120810"}


def posted(
    router: Router, operation: str, request: Any, api: str = "dynamodb"
) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Status, headers and body of the answer to a request that need not be one that a client would send."""
    body = request if isinstance(request, bytes) else orjson.dumps(request)
    target = f"{TARGETS[api]}.{operation}".encode()
    headers = {b"authorization": b"AWS4-HMAC-SHA256 x", b"x-amz-target": target}
    status, answered, content = taken_apart(router.answer(b"POST", b"/", headers, body))
    return status, answered, orjson.loads(content)


def refusal(app: "ServiceApp", operation: str, request: Any, api: str = "dynamodb") -> tuple[str, str]:
    """Code and message of a refused request."""
    status, _, body = posted(app.router, operation, request, api)
    assert status == 400, body
    return body["__type"].rpartition("#")[2], body["message"]


@dataclass
class ServiceApp:
    """A whole endpoint without sockets or processes, whose clock tests move. Clients are made when used."""

    clock: FakeClock
    service: Service
    router: Router

    @cached_property
    def ddb(self) -> Any:
        return self.client("dynamodb")

    @cached_property
    def cloudwatch(self) -> Any:
        return self.client("cloudwatch")

    def page(self, url: str, method: str = "GET", body: bytes = b"", **headers: str) -> tuple[int, Any]:
        """Status and content of a page about the endpoint itself."""
        sent = {"content_type": "application/json", **headers}.items()
        named = {name.replace("_", "-").encode(): value.encode() for name, value in sent}
        raw = self.router.answer(method.encode(), f"/_keyheat/{url}".encode(), named, body)
        status, _headers, content = taken_apart(raw)
        return status, orjson.loads(content)

    def client(self, service: str, region: str = "us-east-1") -> Any:
        """An unmodified boto3 client that talks to this service."""
        made = client(service, "http://in.process", region=region)
        made._endpoint.http_session = Direct(self.router)
        return made


def service_app_at(**more: Any) -> ServiceApp:
    """A service in this process, and its clients."""
    clock = FakeClock()
    service = Service(clock=clock, **more)
    return ServiceApp(clock, service, Router(Regions(service)))
