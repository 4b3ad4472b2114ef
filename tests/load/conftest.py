"""Things that the load tests' own tests share. Nothing here imports locust, which would replace sockets."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from keyheat.endpoint.process import EndpointProcess
from keyheat.testing.local import LocalDynamoDB
from tests.load.forked import Load
from tests.make import a_scenario_file
from tests.outside import PATIENCE_S

SHORT: dict[str, Any] = {
    "name": "short",
    "table": {"name": "short-table", "sort_key": "sk", "provisioned": {"read": 500, "write": 4_000}},
    "keys": {"kind": "hot_key", "share": 0.9, "keys": 100},
    "load": {"users": 10, "requests_per_s": 400, "duration_s": 3, "item_bytes": 27_000},
}
"""A scenario of a moment that throttles on one key, also where a busy machine sends only a part of it."""


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    return a_scenario_file(tmp_path, SHORT)


@pytest.fixture(scope="session")
def shared_endpoint() -> Iterator[EndpointProcess]:
    """A local endpoint for one test after the other."""
    with EndpointProcess.start() as process:
        yield process


@pytest.fixture
def endpoint(shared_endpoint: EndpointProcess) -> Iterator[EndpointProcess]:
    """A local endpoint without a table; it is not to be stopped."""
    yield shared_endpoint
    LocalDynamoDB(shared_endpoint.url).clear()


@pytest.fixture
def run_locust(start_locust: Callable[..., Load]) -> Callable[..., "tuple[int, str, str]"]:
    """Runs Locust headless to its end: exit code, stdout, stderr."""

    def run(locustfile: str, *options: str, **more: Any) -> tuple[int, str, str]:
        load = start_locust(locustfile, "--headless", "--only-summary", *options, **more)
        out, err = load.communicate(timeout=PATIENCE_S)
        return load.wait(), out, err

    return run


Loaded = Callable[..., str]


@pytest.fixture
def load_run(run_locust: Callable[..., "tuple[int, str, str]"], tmp_path: Path) -> Loaded:
    """Runs a scenario to its end without a report, into the folder `run`; gives what it said on stderr."""

    def load(locustfile: str, scenario: Path, *options: str, code: int = 0, **more: Any) -> str:
        where = ("--scenario", str(scenario), "--out", str(tmp_path / "run"), "--no-report")
        ended, _out, err = run_locust(locustfile, *where, *options, **more)
        assert ended == code, err
        return err

    return load
