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
from tests.conftest import Said
from tests.outside import a_readers_environment
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
NO_PYARROW = "this needs pyarrow, which is not installed: pip install 'keyheat[report]'"

NEEDS_NO_MORE = ("plan hotkey", "whatif hotkey shards", "queries --table t", "loadtests", "schema")
NEEDS_AN_EXTRA = {
    "run hotkey": "load", "demo": "load", "simulate hotkey": "report", "regress suite.toml": "regress",
}  # fmt: skip
MINUTES = ROOT / "tests" / "fuzz" / "corpus" / "minutes.json"
LABELLED = f"analyze --evidence {MINUTES}"
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
    asked = [*NEEDS_NO_MORE, *NEEDS_AN_EXTRA, *helps, LABELLED]
    said = says(runs(base_programs, folder), *asked)
    assert list(folder.iterdir()) == [], "nothing was started"
    return dict(zip(asked, said, strict=True))


def says(program: Program, *commands: str) -> list[Said]:
    """What `keyheat` answers to each of these commands, one after the other."""
    done = program("python", "-c", SAYS, json.dumps([command.split() for command in commands]))
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return [Said(*one) for one in json.loads(done.stdout)]


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
    helps = says(program, *(f"{name} --help" for section in MENU.values() for name in section))
    assert [said.err for said in helps if said.code or not said.out] == []


def test_a_project_tests_its_keys_and_keeps_its_own_modules(program: Program) -> None:
    done = program("pytest", "-q", "-p", "no:cacheprovider", "test_keys.py")
    assert done.returncode == 0, done.stdout + done.stderr
    whose = "; ".join(f"import {name}; print({name}.WHOSE)" for name in ONCE_OURS)
    done = program("python", "-c", f"import keyheat; {whose}")
    assert done.stdout.splitlines() == [f"a stranger's {name}" for name in ONCE_OURS], done.stderr


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


@pytest.mark.parametrize("words", [*NEEDS_NO_MORE, LABELLED])
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
