"""The wheel: one name in site-packages, and every part of it works beside a project with names of its own.

It is installed, without a checkout, into an environment that sees all of this one's libraries, and into one
that has those of the base alone. What a registry gives is tried by `make wheel`.
"""

import json
import os
import re
import shutil
import subprocess
import sysconfig
import venv
import zipfile
from collections.abc import Callable, Iterator
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from keyheat.cli.main import MENU
from keyheat.runs.formats import read_diagnosis
from tests.conftest import Said
from tests.outside import OR_TOO_SLOW, a_readers_environment
from tests.test_wheel_contents import sdist, wheel

__all__ = ["sdist", "wheel"]
pytestmark = [pytest.mark.xdist_group("wheel"), pytest.mark.opens, pytest.mark.nightly]

ROOT = Path(__file__).parents[1]
ONCE_OURS = (
    "accuracy", "analyzers", "assertions", "commands", "configs", "generator", "loadtests", "pytest_keyheat",
    "regression", "reports", "sharding", "tablemodel", "endpoint", "model",
)  # fmt: skip
"""Names that a stranger's project has modules of; most were top-level packages of Keyheat's before 1.0."""
A_TEST = """
import keyheat, reports.daily

def test_keys(dynamodb_local):
    keyheat.assert_no_hot_partition(
        table={"partition_key": "pk", "provisioned": {"read": 100, "write": 2000}},
        keys={"kind": "uniform", "keys": 1000},
        load={"requests_per_s": 500, "item_bytes": 1000, "duration_s": 20},
    )
    assert reports.daily.MINE
"""

HELPS = """
import sys
from contextlib import suppress
from keyheat.cli.main import main
for verb in sys.argv[1:]:
    with suppress(SystemExit):
        main([verb, "--help"])
"""
"""One process for all of them: each would load the same libraries."""
SAYS = """
import json, sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from keyheat.cli.main import main
said = []
for words in json.loads(sys.argv[1]):
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        try:
            code = main(words)
        except SystemExit as ended:
            code = ended.code
    said.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(said))
"""
"""What each of several commands answers that one process is given: exit code, stdout, stderr."""

HOST_OF_THEIR_OWN = """
def pytest_addoption(parser):
    parser.addoption("--host", default="theirs")
"""
TESTS_OF_THE_BASE = """
import importlib.util
import boto3, keyheat, pytest

def test_host(request):
    assert request.config.getoption("--host") == "mine"

def test_no_locust():
    assert importlib.util.find_spec("locust") is None

def test_hot():
    with pytest.raises(keyheat.CheckFailed, match="partition"):
        keyheat.assert_no_hot_partition("hotkey.toml")

def test_local(dynamodb_local):
    client = boto3.client("dynamodb")
    client.create_table(
        TableName="orders", BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
    )
    client.get_waiter("table_exists").wait(TableName="orders", WaiterConfig={"Delay": 1})
    client.put_item(TableName="orders", Item={"pk": {"S": "a"}})
    assert dynamodb_local.requests()["PutItem"] == 1
"""

NO_PYARROW = "this needs pyarrow, which is not installed: pip install 'keyheat[report]'"

NEEDS_NO_MORE = ("plan hotkey", "whatif hotkey shards", "queries --table t", "loadtests", "schema")
NEEDS_AN_EXTRA = {
    "run hotkey": "load",
    "demo": "load",
    "simulate hotkey": "report",
    "regress suite.toml": "regress",
}
MINUTES = ROOT / "tests" / "fuzz" / "corpus" / "minutes.json"
FEW = {r"requests_per_s = \S+": "requests_per_s = 100", r"duration_s = \S+": "duration_s = 3"}
"""A load that shows that an installed load test sends; how much it sends is the subject of other tests."""

Program = Callable[..., "subprocess.CompletedProcess[str]"]


def site_of(home: Path) -> Path:
    """Where an environment's libraries are."""
    return Path(sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)}))


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is in the wheel, once for all environments: what it is compiled to is beside it."""
    folder = tmp_path_factory.mktemp("unpacked")
    zipfile.ZipFile(wheel).extractall(folder)
    return folder


def environment(home: Path, unpacked: Path, *programs: str) -> Path:
    """An environment with the wheel in it; gives the folder of its programs."""
    venv.create(home, symlinks=True)
    for top in unpacked.iterdir():
        (site_of(home) / top.name).symlink_to(top)
    for name in programs:
        script = home / "bin" / name
        script.write_text(f'#!/bin/sh\nexec "{home}/bin/python" -m {name} "$@"\n')
        script.chmod(0o755)
    return home / "bin"


@pytest.fixture(scope="module")
def programs(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the scripts are of an environment with the wheel and all libraries of this one."""
    home = tmp_path_factory.mktemp("installed")
    bin = environment(home, unpacked, "keyheat", "locust", "pytest")
    # A path that a .pth file adds is not searched for .pth files: an editable Keyheat in it stays unseen.
    (site_of(home) / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return bin


@pytest.fixture(scope="module")
def base_programs(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the scripts are of an environment with the wheel, what it requires by itself, and pytest."""
    home = tmp_path_factory.mktemp("base")
    bin = environment(home, unpacked, "keyheat", "pytest")
    (metadata,) = site_of(home).glob("keyheat-*.dist-info")
    for name in sorted(required([PathDistribution(metadata), distribution("pytest")])):
        for there in tops_of(distribution(name)):
            (site_of(home) / there.name).symlink_to(there)
    return bin


def required(roots: list[Distribution]) -> set[str]:
    """The names of what distributions need here, and of what that needs."""
    found = {found.name for found in roots[1:]}
    waiting = list(roots)
    while waiting:
        for line in map(Requirement, waiting.pop().requires or ()):
            if line.name not in found and (line.marker is None or line.marker.evaluate({"extra": ""})):
                found.add(line.name)
                waiting.append(distribution(line.name))
    return found


def tops_of(library: Distribution) -> Iterator[Path]:
    """The files and folders of a library in site-packages."""
    names = {file.parts[0] for file in library.files or () if file.parts[0] not in ("..", "__pycache__")}
    yield from (Path(str(library.locate_file(name))) for name in names)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A stranger's project: a package of each name that was ours, and a test of its own."""
    for name in ONCE_OURS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f'WHOSE = "a stranger\'s {name}"\n')
    (tmp_path / "reports" / "daily.py").write_text("MINE = True\n")
    (tmp_path / "test_keys.py").write_text(A_TEST)
    return tmp_path


@pytest.fixture
def program(programs: Path, project: Path) -> Program:
    """Runs a program of the environment with everything, in the stranger's project."""
    return runs(programs, project)


@pytest.fixture
def base(base_programs: Path, tmp_path: Path) -> Program:
    """Runs a program of the environment with the base alone, in an empty folder."""
    return runs(base_programs, tmp_path)


@pytest.fixture(scope="module")
def said_by_base(base_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Said]:
    """What the verbs answer in the environment with the base alone; none of them leaves anything behind."""
    folder = tmp_path_factory.mktemp("nothing")
    helps = (f"{words.split()[0]} --help" for words in NEEDS_AN_EXTRA)
    asked = [*NEEDS_NO_MORE, *NEEDS_AN_EXTRA, *helps, f"analyze --evidence {MINUTES}"]
    said = says(runs(base_programs, folder), *asked)
    assert list(folder.iterdir()) == [], "nothing was started"
    return dict(zip(asked, said, strict=True))


def says(program: Program, *commands: str) -> list[Said]:
    """What `keyheat` answers to each of these commands, one after the other."""
    done = program("python", "-c", SAYS, json.dumps([command.split() for command in commands]))
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return [Said(*one) for one in json.loads(done.stdout)]


def few(scenario: Path, folder: Path) -> Path:
    """The scenario, for a moment and with few requests; it may be changed where it is."""
    text = scenario.read_text()
    for old, new in FEW.items():
        text, changed = re.subn(old, new, text)
        assert changed == 1, old
    (folder / scenario.name).write_text(text)
    return folder / scenario.name


def runs(programs: Path, folder: Path) -> Program:
    def run(*words: object, **more: str) -> "subprocess.CompletedProcess[str]":
        path = os.pathsep.join([str(programs), os.environ["PATH"]])
        return subprocess.run(
            [programs / str(words[0]), *map(str, words[1:])],
            cwd=folder, env=a_readers_environment() | {"PATH": path, "PYTHONPATH": str(folder)} | more,
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
        )  # fmt: skip

    return run


def test_every_verb_has_its_help(program: Program) -> None:
    assert program("keyheat", "--help").returncode == 0
    verbs = [name for section in MENU.values() for name in section]
    done = program("python", "-c", HELPS, *verbs)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.casefold().count("usage: keyheat") == len(verbs)


def test_a_run_is_simulated_analysed_and_shown(program: Program, project: Path) -> None:
    """The first in a process of its own, as somebody starts it; the others in one."""
    done = program("keyheat", "simulate", "hotkey", "--set", "load.duration_s=20", "--out", "out/mine")
    assert done.returncode == 0, done.stderr
    assert read_diagnosis(project / "out" / "mine" / "diagnosis.json").verdict.constraint == "partition"
    for said in says(program, "analyze out/mine", "report out/mine", "plan too-small"):
        assert said.code == 0, said.err


def test_a_shipped_load_test_and_one_of_the_users_load_a_local_table(program: Program, project: Path) -> None:
    (project / "mine.py").write_text("from keyheat.loadtests.hotkey import HotKeyUser  # noqa: F401\n")
    where = "from keyheat.shipped import shipped; print(shipped('loadtests').parent)"
    package = Path(program("python", "-c", where).stdout.strip())
    scenario = few(package / "configs" / "scenarios" / "hotkey.toml", project)
    words = ("--headless", "-u", 5, "-t", "2s", "--no-report", "--scenario", scenario)
    for number, file in enumerate((package / "loadtests" / "hotkey.py", "mine.py")):
        done = program("locust", "-f", file, *words, "--out", f"out/{number}")
        assert done.returncode in OR_TOO_SLOW, done.stderr
        assert (project / "out" / str(number) / "seconds.parquet").exists()


def test_a_project_tests_its_keys_and_keeps_its_own_modules(program: Program) -> None:
    done = program("pytest", "-q", "-p", "no:cacheprovider", "test_keys.py")
    assert done.returncode == 0, done.stdout + done.stderr
    whose = "; ".join(f"import {name}; print({name}.WHOSE)" for name in ONCE_OURS)
    done = program("python", "-c", f"import keyheat; {whose}")
    assert done.stdout.splitlines() == [f"a stranger's {name}" for name in ONCE_OURS], done.stderr


def test_a_shipped_load_test_is_copied_and_run(program: Program, project: Path) -> None:
    """The copy may stand anywhere; nothing is replaced. `.ci/wheel.py` gives it to Locust by itself."""
    done = program("keyheat", "loadtests", "copy", "hotkey", "mine")
    assert (done.returncode, done.stderr) == (0, "")
    assert (project / "mine" / "hotkey.py").exists()
    again = program("keyheat", "loadtests", "copy", "hotkey", "mine")
    assert again.returncode == 2
    assert "files exist: " in again.stderr
    few(project / "mine" / "hotkey.toml", project / "mine")
    done = program("keyheat", "run", "mine/hotkey.toml", "--out", "out/run")
    assert done.returncode in OR_TOO_SLOW, done.stderr
    assert (project / "out" / "run" / "report.html").exists()


def test_a_suite_of_ones_own_is_written_and_run_by_what_its_workflow_runs(
    program: Program, project: Path
) -> None:
    """In a repository that knows nothing of a checkout of Keyheat's."""
    shutil.copy(ROOT / "configs" / "scenarios" / "user-id.toml", project)
    words = ("--suite", "capacity", "--schedule", "github", "--schedule", "eventbridge")
    done = program("keyheat", "init", *words)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (project / "schedules").iterdir()} == {
        "Dockerfile", "eventbridge-ecs.yaml", "kept.py",
    }  # fmt: skip
    workflow = (project / ".github" / "workflows" / "keyheat-regress.yml").read_text()
    (suite,) = re.findall(r'KEYHEAT_SUITE: "(.*)"', workflow)
    (asked,) = re.findall(r"run: >-\n\s+(keyheat regress .*?) --label", workflow)
    done = program(*asked.split(), KEYHEAT_SUITE=suite)
    assert done.returncode == 0, done.stderr
    assert (project / "history.sqlite").exists()


def test_the_base_checks_a_design_and_brings_no_locust(base: Program, tmp_path: Path) -> None:
    """A suite with an option --host of its own is not disturbed; the endpoint runs without uvloop."""
    (tmp_path / "conftest.py").write_text(HOST_OF_THEIR_OWN)
    (tmp_path / "test_base.py").write_text(TESTS_OF_THE_BASE)
    shutil.copy(ROOT / "configs" / "scenarios" / "hotkey.toml", tmp_path)
    done = base("pytest", "-q", "-p", "no:cacheprovider", "--host", "mine")
    assert (done.returncode, "4 passed" in done.stdout) == (0, True), done.stdout + done.stderr


@pytest.mark.parametrize("words", NEEDS_NO_MORE)
def test_the_base_has_verbs_that_need_no_more(said_by_base: dict[str, Said], words: str) -> None:
    said = said_by_base[words]
    assert said.code == 0, said.err
    assert said.out


@pytest.mark.parametrize(("words", "extra"), NEEDS_AN_EXTRA.items())
def test_a_verb_says_which_extra_it_needs(said_by_base: dict[str, Said], words: str, extra: str) -> None:
    said = said_by_base[words]
    assert said.code == 2
    assert re.fullmatch(
        rf"keyheat: this needs \w+, which is not installed: pip install 'keyheat\[{extra}\]'",
        " ".join(said.err.split()),
    )
    assert said_by_base[f"{words.split()[0]} --help"].code == 0


@pytest.mark.parametrize("words", ["analyze", "collect --run"])
def test_the_files_of_a_run_need_an_extra(base: Program, tmp_path: Path, words: str) -> None:
    """Evidence alone needs none; a run has Parquet files, whose library is larger than all of the base."""
    done = base("keyheat", *words.split(), tmp_path)
    assert (done.returncode, done.stderr) == (2, f"keyheat: {NO_PYARROW}\n")
    done = base("python", "-c", f"import keyheat; keyheat.load_run({str(tmp_path)!r})")
    assert done.stderr.splitlines()[-1] == f"ModuleNotFoundError: {NO_PYARROW}"
    assert list(tmp_path.iterdir()) == []


def test_evidence_is_labelled_by_the_base(said_by_base: dict[str, Said]) -> None:
    said = said_by_base[f"analyze --evidence {MINUTES}"]
    assert said.code == 0, said.err
    assert said.out


def test_a_report_of_a_failing_check_needs_an_extra(base: Program, tmp_path: Path) -> None:
    done = base("pytest", "-p", "no:cacheprovider", "--keyheat-report", tmp_path / "reports")
    assert done.returncode == 4, done.stdout + done.stderr
    assert "--keyheat-report: this needs plotly, which is not installed" in done.stderr


@pytest.mark.parametrize(
    ("module", "extra"), [("keyheat.load.users.user", "load"), ("keyheat.show.charts.heat", "report")]
)
def test_an_import_says_which_extra_it_needs(base: Program, module: str, extra: str) -> None:
    done = base("python", "-c", f"import {module}")
    assert done.stderr.splitlines()[-1].endswith(f"pip install 'keyheat[{extra}]'")


def test_what_is_public_is_listed_and_there(base: Program) -> None:
    listing = "import keyheat; [getattr(keyheat, name) for name in dir(keyheat)]; print(*dir(keyheat))"
    done = base("python", "-c", listing)
    assert done.returncode == 0, done.stderr
    assert {"__version__", "assert_no_hot_partition", "LocalDynamoDB"} <= set(done.stdout.split())
