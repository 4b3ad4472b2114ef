"""Faults on a local endpoint for as long as a test wants them: throttles, errors, late and lost answers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Literal, Self, TypedDict
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

TIMEOUT_S: Final = 60.0
JSON: Final = {"Content-Type": "application/json"}


class FaultFields(TypedDict, total=False):
    """One rule, in the words of a file of rules: docs/local-table.md explains each."""

    name: str
    operations: Sequence[str]
    table: str
    key: str | int
    key_prefix: str | int
    index: str
    share: float
    from_s: float
    to_s: float
    times: int
    throttle: str
    conflict: Literal[True]
    error: Literal[500, 503]
    cut: Literal["before", "after", "middle"]
    delay_ms: float


def call_endpoint(
    url: str, method: str = "GET", content: bytes | object = None, headers: Mapping[str, str] = JSON
) -> bytes:
    """What an endpoint answers, with no proxy between. Raises `ValueError` with the reason of a refusal."""
    body = content if content is None or isinstance(content, bytes) else json.dumps(content).encode()
    straight = build_opener(ProxyHandler({}))
    try:
        with straight.open(Request(url, body, dict(headers), method=method), timeout=TIMEOUT_S) as answer:
            response: bytes = answer.read()
            return response
    except HTTPError as refused:
        with refused:
            reason = json.load(refused)
        raise ValueError(reason.get("error") or reason["message"]) from None


@dataclass(slots=True)
class LocalFaults:
    """Rules that are set on an endpoint until the `with` block ends, or `clear` is called."""

    _url: str
    _ended: list[dict[str, Any]] | None = None

    def set(self, rules: Sequence[Mapping[str, Any]], seed: int) -> Self:
        """Set them, in the place of all others. Raises `ValueError` with everything that is wrong."""
        call_endpoint(self._url, "PUT", {"seed": seed, "rules": list(rules)})
        return self

    def clear(self) -> None:
        """Take them back, and keep what they did."""
        if self._ended is None:
            self._ended = json.loads(call_endpoint(self._url, "DELETE"))["rules"]

    def counts(self) -> list[dict[str, Any]]:
        """Each rule, how often it was `asked` about what it is for, and how often it `struck`."""
        if self._ended is not None:
            return self._ended
        return list(json.loads(call_endpoint(self._url))["rules"])

    def struck(self, name: str | None = None) -> int:
        return sum(rule["struck"] for rule in self.counts() if name in (None, rule["name"]))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()
