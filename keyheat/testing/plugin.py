"""The pytest plugin: a local DynamoDB for tests, and the report of each failing check.

dynamodb_local           an endpoint with no tables; boto3 in the test finds it
dynamodb_local_session   one for the whole session, whose tables stay
--keyheat-report DIR     write the report of every failing check there
"""

import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from keyheat.testing.local import LocalDynamoDB

REPORTS = "--keyheat-report"
OF_SOMEBODY = (
    "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
)  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("keyheat", "key designs of DynamoDB")
    group.addoption(
        REPORTS, type=Path, metavar="DIR", help="write the report of every failing check into DIR"
    )


def pytest_configure(config: pytest.Config) -> None:
    """A report needs libraries that the checks do without: said at once, and not at the first failure."""
    if config.getoption(REPORTS) is not None:
        from keyheat.shipped import require

        try:
            require("report")
        except ModuleNotFoundError as error:
            raise pytest.UsageError(f"{REPORTS}: {error}") from error


@pytest.fixture(scope="session")
def _keyheat_endpoint() -> "Iterator[LocalDynamoDB]":
    """The process that tests of one function share, one for each worker of pytest-xdist."""
    yield from _started()


@pytest.fixture
def dynamodb_local(
    _keyheat_endpoint: "LocalDynamoDB", monkeypatch: pytest.MonkeyPatch
) -> "Iterator[LocalDynamoDB]":
    """A local DynamoDB without tables, that throttles as the real one does; boto3 in the test goes to it."""
    _turn_here(_keyheat_endpoint, monkeypatch)
    _keyheat_endpoint.begin()
    yield _keyheat_endpoint
    _keyheat_endpoint.clear()


@pytest.fixture(scope="session")
def dynamodb_local_session() -> "Iterator[LocalDynamoDB]":
    """A local DynamoDB for the whole session, with a process and tables of its own."""
    for endpoint in _started():
        with pytest.MonkeyPatch.context() as patch:
            _turn_here(endpoint, patch)
            yield endpoint


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Write the report of a failing check where that is asked for, and say where it is."""
    report = yield
    folder: Path | None = item.config.getoption(REPORTS)
    if folder is not None and call.excinfo is not None:
        name = re.sub(r"[^A-Za-z0-9.]+", "-", item.nodeid).strip("-.")
        message = _written(call.excinfo.value, folder / name)
        if message is not None:
            report.sections.append(("keyheat", message))
    return report


def _started() -> "Iterator[LocalDynamoDB]":
    from keyheat.endpoint.process import EndpointProcess
    from keyheat.testing.local import LocalDynamoDB

    with EndpointProcess.start(more=("--record",)) as process:
        yield LocalDynamoDB(process.url)


def _turn_here(endpoint: "LocalDynamoDB", patch: pytest.MonkeyPatch) -> None:
    """Send SDK clients that are made from now on to the endpoint, with no real credentials."""
    for name in OF_SOMEBODY:
        patch.delenv(name, raising=False)
    for name, value in endpoint.environment().items():
        patch.setenv(name, value)


def _written(error: BaseException, folder: Path) -> str | None:
    """The path of a failing check's report, or why it was not written; None for any other failure."""
    from keyheat.runfiles import CannotWrite, FileProblem
    from keyheat.testing.failure import CheckFailed, write_report_of

    if not isinstance(error, CheckFailed) or error.sent is None or error.simulation is None:
        return None
    try:
        return f"report: {write_report_of(error.sent, error.simulation, folder)}"
    except (CannotWrite, FileProblem, OSError) as problem:
        return f"no report: {problem}"
