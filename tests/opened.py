"""What a test opens beyond itself: `make quick` runs those that open no process, no socket and no browser."""

import gc
import sys
from collections import Counter
from collections.abc import Iterator

import pytest
import urllib3  # noqa: F401  # binds a socket when it is imported, to see whether there is IPv6

OPENERS = frozenset({"browser", "endpoint", "locust_server", "visit"})
"""Fixtures that open something, wherever they are used."""
EVENTS = frozenset(
    {
        "subprocess.Popen",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.exec",
        "socket.bind",
        "socket.connect",
    }
)
_opened: Counter[str] = Counter()


DRY_RUN = "keyheat.load.dryrun"
"""The process that samples load tests, one for all tests of a worker: a part of every simulation."""


def _note(
    event: str,
    arguments: object,
    events: frozenset[str] = EVENTS,
    opened: Counter[str] = _opened,
    dry_run: str = DRY_RUN,
) -> None:
    """Its own names are its defaults: it is called when the process ends, too, after its module is gone."""
    if event in events and dry_run not in str(arguments):
        opened[event] += 1


sys.addaudithook(_note)  # for as long as the process lives: Python has no way to take one away


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks at groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Who uses such a fixture need not say so. One worker has all that look at pages, and so one browser.

    What they look at is drawn once, and Chromium keeps what it has compiled: with a browser in each of six
    workers they take twice the CPU.
    """
    for item in items:
        fixtures = OPENERS & set(getattr(item, "fixturenames", ()))
        if fixtures:
            item.add_marker(pytest.mark.opens)
        if "browser" in fixtures:
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """What its fixtures open counts, too."""
    _opened.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """A test that opens something without saying so fails: `make quick` would not be what it is called."""
    yield
    if _opened and item.get_closest_marker("opens") is None:
        pytest.fail(f"opens {', '.join(sorted(_opened))}: mark it with pytest.mark.opens")


def pytest_collection_finish() -> None:
    """What is there for the whole session is looked through once, not at every collection of garbage."""
    gc.collect()
    gc.freeze()
