"""Faults on a local endpoint for as long as a test wants them: throttles, errors, late and lost answers."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self, TypedDict
from urllib.error import HTTPError
from urllib.request import Request


class FaultFields(TypedDict, total=False):
    """One rule, in the words of a file of rules: docs/local-table.md explains each."""

    name: str
    operations: Sequence[str]
    table: str
    region: str
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
    done: bool
    cut: Literal["before", "after", "middle"]
    delay_ms: float


Opened = Callable[[Request], Any]
"""Sends a request to the endpoint, and gives the JSON that it answers. Raises `HTTPError`."""


@dataclass(slots=True)
class LocalFaults:
    """Rules that are set on an endpoint until the `with` block ends, or `clear` is called."""

    _url: str
    _opened: Opened = field(repr=False)
    _ended: list[dict[str, Any]] | None = None

    def set(self, rules: Sequence[Mapping[str, Any]], seed: int) -> Self:
        """Set them, in the place of all others. Raises `ValueError` with everything that is wrong."""
        try:
            self._ask("PUT", {"seed": seed, "rules": list(rules)})
        except HTTPError as refused:
            with refused:
                raise ValueError(json.load(refused)["error"]) from None
        return self

    def clear(self) -> None:
        """Take them back, and keep what they did."""
        if self._ended is None:
            self._ended = self._ask("DELETE")["rules"]

    def counts(self) -> list[dict[str, Any]]:
        """Each rule, how often it was `asked` about what it is for, and how often it `struck`."""
        rules: list[dict[str, Any]] = self._ask("GET")["rules"] if self._ended is None else self._ended
        return rules

    def struck(self, name: str | None = None) -> int:
        """How often the rules struck, or the one of that name."""
        return sum(rule["struck"] for rule in self.counts() if name in (None, rule["name"]))

    def _ask(self, method: str, content: object = None) -> Any:
        body = None if content is None else json.dumps(content).encode()
        request = Request(self._url, body, {"Content-Type": "application/json"}, method=method)
        return self._opened(request)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()
