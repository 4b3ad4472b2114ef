"""The fault proxy as a child process, and orders to it."""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.outside import PATIENCE_S

ROOT = Path(__file__).parents[2]


@dataclass(slots=True)
class FaultProxy:
    """A running proxy in front of an endpoint; it ends with the `with` block."""

    url: str
    _child: "subprocess.Popen[str]"

    @classmethod
    def start(cls, to: str) -> Self:
        """Start a proxy to the endpoint at a URL."""
        child = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.proxy", to],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert child.stdout is not None
        return cls(child.stdout.readline().removeprefix("ready ").strip(), child)

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._child.pid

    def counts(self) -> dict[str, Any]:
        """What became of the requests so far."""
        return self._order({})

    def turn_on(self, fault: str) -> None:
        """Do now what concerns connections."""
        self._order({"on": fault})

    def plan(self, faults: Mapping[int, str]) -> None:
        """The requests of these numbers, from 1, meet these faults."""
        self._order({"planned": dict(faults)})

    def come_back(self, to: str) -> None:
        """Listen again after `refuse` or `restart`, in front of another endpoint."""
        self._order({"to": to, "up": True})

    def stop(self) -> None:
        """End the proxy."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.close()
        self._child.wait(PATIENCE_S)
        self._child.stdout.close()

    def _order(self, order: dict[str, Any]) -> dict[str, Any]:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(json.dumps(order) + "\n")
        self._child.stdin.flush()
        counts: dict[str, Any] = json.loads(self._child.stdout.readline())
        return counts

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
