"""Which API a request is for: DynamoDB, CloudWatch and the admin pages share one port."""

import logging
from dataclasses import dataclass, field
from typing import Protocol

from keyheat.endpoint.wire.dynamodb import DynamoDB, Operation, internal_error, unknown_operation
from keyheat.endpoint.wire.guard import Guard
from keyheat.endpoint.wire.http import Headers
from keyheat.endpoint.wire.responses import response

LOG = logging.getLogger(__name__)


class Page(Protocol):
    """Something else that answers requests, where it finds that they are meant for it."""

    def answer(self, method: bytes, url: bytes, headers: Headers, body: bytes) -> bytes | None:
        """The whole response, or None: not meant for it."""


@dataclass(slots=True, kw_only=True)
class Router:
    """Answers every request. DynamoDB's data operations come first and cost one look-up."""

    operations: dict[bytes, Operation]
    dynamodb: DynamoDB
    pages: tuple[Page, ...]
    guard: Guard = field(default_factory=Guard)

    def answer(self, method: bytes, url: bytes, headers: Headers, body: bytes) -> bytes:
        """The whole response to any request; never raises."""
        if (
            headers.get(b"host") not in self.guard.known
            or b"origin" in headers
            or b"sec-fetch-site" in headers
        ):
            refusal = self.guard.refusal(headers)
            if refusal is not None:
                return refusal
        operation = self.operations.get(headers.get(b"x-amz-target", b""))
        if operation is not None and method == b"POST":
            return self.dynamodb.answer(operation, headers, body)
        try:
            for page in self.pages:
                raw = page.answer(method, url, headers, body)
                if raw is not None:
                    return raw
        except Exception:
            LOG.exception("%s %s failed inside the endpoint", method, url)
            return self.dynamodb.refused(internal_error())
        return self._unknown(method, url, headers)

    def _unknown(self, method: bytes, url: bytes, headers: Headers) -> bytes:
        if method == b"GET" and url == b"/":
            return response(200, b"healthy: keyheat\n", content_type=b"text/plain")
        target = headers.get(b"x-amz-target", b"").decode("latin-1")
        if not target:
            message = "No X-Amz-Target header: not a request of DynamoDB or CloudWatch"
        else:
            message = f"The local endpoint has no operation {target}"
        return self.dynamodb.refused(unknown_operation(message))
