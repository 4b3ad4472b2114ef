"""Options of the whole test suite, a browser, and made-up runs for the tests of the command line."""

import gc
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import botocore.session
import click
import pytest
from hypothesis import HealthCheck, settings

from keyheat.cli.main import cli, main
from keyheat.load.run import launch
from keyheat.show.console import set_mode
from keyheat.words import DONE
from tests.browsing import browser, new_page, opener, visit  # noqa: F401  # fixtures of every folder below
from tests.load.forked import Load, LocustServer, clean_environment
from tools.samples import make_run

pytest_plugins = ["tests.dry_runs", "tests.opened"]

settings.register_profile(  # a busy machine is no failure
    "unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("unhurried")

ROOT = Path(__file__).parents[1]
Sample = Callable[..., Path]
Golden = Callable[[str | Path, str], None]


def pytest_configure() -> None:
    """Signals are as a terminal gives them, however pytest was started: `nohup` and `&` have some ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    gc.set_threshold(50_000, 20, 50)  # with 700, as usual, it takes 7 % of all time


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write golden files instead of comparing")


TOGETHER = {
    "test_accuracy_tool", "test_diagnose_page", "test_false_alarms", "test_fix", "test_imports",
    "test_judgement", "test_notebook", "test_one_truth", "test_own_designs", "test_retrying",
    "test_sdk_retries", "test_simulate", "test_simulated_agreement", "test_summary", "test_tasks_agree",
}  # fmt: skip
"""Files whose tests ask for the same simulations, runs or answers of a client: a process keeps them."""


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks for groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those that last long begin first, so that no process waits for one of them at the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
    for item in items:
        if item.path.stem in TOGETHER and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.fixture(scope="session", autouse=True)
def shared_botocore_models() -> Iterator[None]:
    """Read botocore's models once: each of its sessions would read them anew, for a tenth of a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(botocore.session, "create_loader", cache(botocore.session.create_loader))
        yield


@pytest.fixture
def no_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader stands in an empty folder, with nobody's history and suite, and no GitHub around."""
    monkeypatch.chdir(tmp_path)
    for name in ("KEYHEAT_HISTORY", "KEYHEAT_SUITE", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the reader stands in, at a terminal of 80 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.fixture
def no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are diagnosed, and their page is not drawn, which takes longer than a short simulation."""
    monkeypatch.setattr("keyheat.show.report.write_report", lambda *_of: None)


@pytest.fixture
def some_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that nobody checks."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")


@pytest.fixture
def no_account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No AWS configuration, on a machine that is no instance."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compares a text with a file of the test's `golden/`; `pytest --update-golden` writes it instead."""

    def check(name: str | Path, text: str) -> None:
        file = request.path.parent / "golden" / name
        if request.config.getoption("--update-golden"):
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(text.encode())
        assert text == file.read_bytes().decode(), "run pytest --update-golden if the change is meant"

    return check


@dataclass(frozen=True, slots=True)
class Said:
    """What a verb answered: its exit code, and what it printed."""

    code: int
    out: str
    err: str

    def says(self, words: str) -> bool:
        """Whether it printed the words, however they were broken into lines."""
        return "".join(words.split()) in "".join(self.out.split())

    @property
    def line(self) -> str:
        """The one line that it said on stderr; help on usage aside."""
        lines = [text for text in self.err.splitlines() if text and not text.startswith(("Usage:", "Try "))]
        assert len(lines) == 1, self.err
        return lines[0]


Verb = Tool = Callable[..., Said]


def done(verb: Verb, command: str) -> Said:
    """What a command as it is typed answered; it is done."""
    program, *words = shlex.split(command)
    assert program == "keyheat"
    said = verb(*words)
    assert said.code == DONE, said.err
    return said


@pytest.fixture
def tool(capsys: pytest.CaptureFixture[str]) -> Tool:
    """Runs a command in this process: `tool(accuracy, "--seed", 1)`."""

    def run(command: click.Command, *arguments: object) -> Said:
        capsys.readouterr()
        set_mode(quiet=False, as_json=False)  # as in a process of its own
        code = main([str(argument) for argument in arguments], command)
        said = capsys.readouterr()
        assert "Traceback" not in said.err, said.err
        return Said(code, said.out, said.err)

    return run


@pytest.fixture
def verb(tool: Tool) -> Verb:
    """Runs a verb of the command line in this process: `verb("analyze", folder)`."""
    return partial(tool, cli)


@pytest.fixture(scope="session")
def made_samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where made-up runs are kept to be copied."""
    return tmp_path_factory.mktemp("samples")


@pytest.fixture
def sample(made_samples: Path, tmp_path: Path) -> Sample:
    """A small made-up run to spoil, with its files but some: `sample("hotkey", without=("keys.json",))`."""

    def make(name: str = "hotkey", *, without: tuple[str, ...] = ()) -> Path:
        made = made_samples / name
        if not made.exists():
            make_run(name, made, seconds=40)
        run = shutil.copytree(made, tmp_path / name)
        for file in without:
            (run / file).unlink()
        return run

    return make


LOCUST_SERVER = LocustServer()


@pytest.fixture(scope="session")
def locust_server() -> LocustServer:
    """Locust, imported once for all loads."""
    return LOCUST_SERVER


@pytest.fixture(scope="session", autouse=True)
def launched_from_the_server() -> Iterator[None]:
    """Loads that `keyheat run` starts in the tests' own process are forked from it, too."""
    started = SimpleNamespace(PIPE=subprocess.PIPE, Popen=LOCUST_SERVER.launch)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch, "subprocess", started)
        yield
    LOCUST_SERVER.stop()


@pytest.fixture
def start_locust(locust_server: LocustServer, tmp_path: Path) -> Iterator[Callable[..., Load]]:
    """Starts Locust in a process of its own; what still runs at the end of the test is killed."""
    started: list[Load] = []

    def start(
        locustfile: str, *options: str, env: Mapping[str, str] = MappingProxyType({}), **more: Any
    ) -> Load:
        arguments = ("-f", str(ROOT / "loadtests" / locustfile), *options)
        environment = clean_environment(tmp_path) | dict(env)
        started.append(locust_server.start(arguments, tmp_path, environment, **more))
        return started[-1]

    yield start
    for load in started:
        load.close()
