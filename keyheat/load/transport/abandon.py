"""Bound the calls beside the load once a run is interrupted.

The first Ctrl-C abandons the calls under way. Each later call has a few seconds. A host that leaves one
unanswered is not called again, so that a run whose endpoint hangs ends soon and names what it leaves behind.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError
from gevent import Greenlet, Timeout, getcurrent, kill

ANSWER_S: Final = 3.0


class Abandoned(BotoCoreError, OSError):  # type: ignore[misc]  # botocore has no types
    """A call that was given up. It is no error that the SDK retries."""

    fmt = "{host} did not answer, and the run is being ended"

    def __init__(self, host: str) -> None:
        BotoCoreError.__init__(self, host=host)  # not of `OSError`


class _Cut(BaseException):
    """Ends a call under way: no `except Exception` of an SDK takes it for its own."""


@dataclass(slots=True)
class Calls:
    """The calls of one process beside its load; each greenlet has one at most."""

    hurried: bool = False
    _silent: set[str] = field(default_factory=set)  # hosts
    _waiting: dict[Greenlet, str] = field(default_factory=dict)

    def hurry(self, *, but: Any = None) -> None:
        """Abandon the calls under way, except that of greenlet `but`, and bound later ones."""
        self.hurried = True
        for greenlet in self._waiting:
            if greenlet is not but:
                kill(greenlet, _Cut())

    def is_silent(self, url: str) -> bool:
        """Return whether the host of `url` left a call unanswered since the interruption."""
        return urlsplit(url).netloc in self._silent

    @contextmanager
    def waiting(self, url: str) -> Iterator[None]:
        """Enclose one call to `url`, from its request to its whole response. Raises `Abandoned`."""
        host, mine = urlsplit(url).netloc, getcurrent()
        if host in self._silent:
            raise Abandoned(host)
        self._waiting[mine] = host
        limit = Timeout(ANSWER_S) if self.hurried else None
        try:
            if limit is not None:
                limit.start()
            yield
        except (Timeout, _Cut) as end:
            if isinstance(end, Timeout):
                if end is not limit:
                    raise
                self._silent.add(host)
            raise Abandoned(host) from end
        finally:
            del self._waiting[mine]
            if limit is not None:
                limit.close()


CALLS: Final = Calls()
