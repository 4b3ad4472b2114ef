"""How long a run that is being ended from outside waits for answers beside the load: not long.

The first Ctrl-C abandons the calls under way. A later call gets a few seconds; a host that leaves one
unanswered is not asked again, so that a run whose endpoint hangs ends soon, with what it leaves behind named.
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
    """A call that is not waited for any longer. The SDK does not send it again."""

    fmt = "{host} did not answer, and the run is being ended"

    def __init__(self, host: str) -> None:
        BotoCoreError.__init__(self, host=host)  # not of `OSError`


class _Cut(BaseException):
    """Ends a call under way: no `except Exception` of an SDK takes it for its own."""


@dataclass(slots=True)
class Calls:
    """The calls beside the load of one process, each of one greenlet."""

    hurried: bool = False
    _silent: set[str] = field(default_factory=set)  # hosts
    _waiting: dict[Greenlet, str] = field(default_factory=dict)

    def hurry(self, *, but: Any = None) -> None:
        """Abandon the calls under way, but for those of greenlet `but`, and wait for later ones briefly."""
        self.hurried = True
        for greenlet in self._waiting:
            if greenlet is not but:
                kill(greenlet, _Cut())

    def is_silent(self, url: str) -> bool:
        """Whether the host of `url` left a call unanswered since the run is being ended."""
        return urlsplit(url).netloc in self._silent

    @contextmanager
    def waiting(self, url: str) -> Iterator[None]:
        """A call to `url` is sent, and its answer read. Raises `Abandoned`."""
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
