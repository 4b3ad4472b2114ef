"""Signature Version 4 for DynamoDB's one kind of request: a JSON POST to `/`.

What stays the same for a second (the date, the scope) or for a day (the signing key) is hashed once, and each
request goes on from there with three hashes:

    canonical request = fixed head of this second and operation + sha256(body)
    string to sign    = fixed head of this second + sha256(canonical request)
    signature         = hmac(signing key of this day, string to sign)

Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/create-signed-request.html
"""

import hmac
from dataclasses import dataclass, field
from hashlib import sha256
from time import gmtime, strftime
from typing import Any

SERVICE = "dynamodb"
CONTENT_TYPE = "application/x-amz-json-1.0"
TARGET_PREFIX = "DynamoDB_20120810."
REQUEST_LINE = "POST / HTTP/1.1"


@dataclass(frozen=True, slots=True)
class AccessKeys:
    """An access key pair, with the token that temporary credentials come with."""

    access_key: str
    secret_key: str = field(repr=False)
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class _Head:
    """The parts of one operation's request that are the same for a whole second."""

    canonical: Any  # a SHA-256 up to the hash of the body
    sent: bytes  # the HTTP head, up to the signature


class Signer:
    """Makes signed HTTP heads for one host, region and set of credentials."""

    def __init__(self, keys: AccessKeys, *, region: str, host: str) -> None:
        self.keys = keys
        self._region = region
        self._host = host
        self._day = ""
        self._second = -1
        self._signing_key = b""
        self._date = ""
        self._to_sign = hmac.new(b"", digestmod=sha256)  # of what is signed, up to the canonical request
        self._heads: dict[str, _Head] = {}

    def head(self, operation: str, body: bytes, now_s: float) -> bytes:
        """The HTTP head of one request, signed at `now_s` epoch seconds, up to the blank line."""
        if int(now_s) != self._second:
            self._turn_to(int(now_s))
        head = self._heads.get(operation) or self._make_head(operation)
        canonical, signature = head.canonical.copy(), self._to_sign.copy()
        canonical.update(sha256(body).hexdigest().encode())
        signature.update(canonical.hexdigest().encode())
        return b"%b%b\r\nContent-Length: %d\r\n\r\n" % (
            head.sent, signature.hexdigest().encode(), len(body),
        )  # fmt: skip

    def _turn_to(self, second: int) -> None:
        at = gmtime(second)
        self._second = second
        self._date = strftime("%Y%m%dT%H%M%SZ", at)
        if self._date[:8] != self._day:
            self._day = self._date[:8]
            self._signing_key = f"AWS4{self.keys.secret_key}".encode()
            for scope in (self._day, self._region, SERVICE, "aws4_request"):
                self._signing_key = hmac.digest(self._signing_key, scope.encode(), "sha256")
        to_sign = f"AWS4-HMAC-SHA256\n{self._date}\n{self._scope()}\n".encode()
        self._to_sign = hmac.new(self._signing_key, to_sign, sha256)
        self._heads = {}

    def _scope(self) -> str:
        return f"{self._day}/{self._region}/{SERVICE}/aws4_request"

    def _make_head(self, operation: str) -> _Head:
        token = {"X-Amz-Security-Token": self.keys.token} if self.keys.token else {}
        headers = {  # in the order that the algorithm wants: sorted by lower-case name
            "Content-Type": CONTENT_TYPE,
            "Host": self._host,
            "X-Amz-Date": self._date,
            **token,
            "X-Amz-Target": TARGET_PREFIX + operation,
        }
        names = ";".join(name.lower() for name in headers)
        canonical = "".join(f"{name.lower()}:{' '.join(value.split())}\n" for name, value in headers.items())
        sent = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        authorization = (
            f"AWS4-HMAC-SHA256 Credential={self.keys.access_key}/{self._scope()}, "
            f"SignedHeaders={names}, Signature="
        )
        head = _Head(
            canonical=sha256(f"POST\n/\n\n{canonical}\n{names}\n".encode()),
            sent=(f"{REQUEST_LINE}\r\nUser-Agent: keyheat\r\n{sent}Authorization: {authorization}").encode(),
        )
        self._heads[operation] = head
        return head
