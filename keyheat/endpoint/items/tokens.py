"""Tokens of transactions that were done, so that a repeated request is not done twice.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html#DDB-TransactWriteItems-request-ClientRequestToken
"""

from typing import Any

import orjson
from xxhash import xxh3_128_digest

from keyheat.endpoint.errors import ServiceError, nested_too_deep

VALID_S = 600.0


class Tokens:
    """Tokens in the order in which they came, each with what its request was, kept for ten minutes."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[str, tuple[bytes, float]] = {}

    def seen(self, token: str, digest: bytes, now_s: float) -> bool:
        """Whether this was done already. Raises IdempotentParameterMismatchException for another request."""
        self._forget(now_s)
        known = self._known.get(token)
        if known is not None and known[0] != digest:
            raise ServiceError(
                "IdempotentParameterMismatchException",
                "The request uses the same client token as a previous, but non-identical request. "
                "Do not reuse a client token with different requests, unless the requests are identical.",
            )
        return known is not None

    def add(self, token: str, digest: bytes, now_s: float) -> None:
        """Remember a request that was done."""
        self._known[token] = digest, now_s

    def _forget(self, now_s: float) -> None:
        while self._known:
            oldest = next(iter(self._known))
            if self._known[oldest][1] + VALID_S > now_s:
                return
            del self._known[oldest]


def digest_of(request: dict[str, Any]) -> bytes:
    """What a transaction asks for, in 16 bytes; how much it wants to be told is not part of that.

    Raises ValidationException for values nested deeper than orjson writes, which is deeper than they may be.
    """
    try:
        written = orjson.dumps(request.get("TransactItems"), option=orjson.OPT_SORT_KEYS)
    except TypeError:
        raise nested_too_deep() from None
    return xxh3_128_digest(written)
