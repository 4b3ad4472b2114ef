"""applications.md and the image of the local table: it runs, as far as it goes without an engine.

There is no container engine here. The image's steps are read, and its commands run on this machine.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.clients.programs import ENVIRONMENTS, GO, NODE_MODULES
from tests.outside import PATIENCE_S, a_readers_environment, end_all, eventually, free_port, get, started
from tests.test_deploy import DEPLOY, PROGRAMS, ROOT, name_of, pinned

PAGE = (ROOT / "docs" / "applications.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
NODE_TEST = next(block for kind, block in BLOCKS if kind == "js")
(GO_TEST,) = (block for kind, block in BLOCKS if kind == "go")
SERVICE, WORKFLOW = (block for kind, block in BLOCKS if kind == "yaml")
DOCKERFILE = (DEPLOY / "Dockerfile.local").read_text(encoding="utf-8").replace("\\\n", "")
INSTALLED = "`make clients` installs it"


def steps(word: str) -> list[str]:
    """What the Dockerfile says behind an instruction, of both stages."""
    return re.findall(rf"^{word} (.*)$", DOCKERFILE, re.MULTILINE)


def entrypoint(port: int) -> list[str]:
    """The command of the image, without tini, on another port."""
    tini, end, program, *words = json.loads(steps("ENTRYPOINT")[0])
    assert (tini, end, program) == ("tini", "--", "keyheat")
    return [str(PROGRAMS / program), *(word.replace("8000", str(port)) for word in words)]


def ran(command: list[object], folder: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    """A command as a reader of the page runs it, with the programs of this environment on the path."""
    path = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [str(word) for word in command],
        env={**a_readers_environment(), "PATH": path, **variables},
        cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.mark.opens
@pytest.mark.nightly
@pytest.mark.skipif(not NODE_MODULES.exists(), reason=f"the JavaScript SDK is not installed: {INSTALLED}")
def test_the_test_of_javascript(tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(NODE_MODULES)
    (tmp_path / "orders.test.mjs").write_text(NODE_TEST)
    done = ran(["node", "--no-warnings", "orders.test.mjs"], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# pass 1" in done.stdout


@pytest.mark.opens
@pytest.mark.nightly
@pytest.mark.skipif(GO.missing is not None, reason=str(GO.missing))
def test_the_test_of_go_compiles(tmp_path: Path) -> None:
    """Debian's SDK is of before `AWS_ENDPOINT_URL_DYNAMODB`, so it is not run."""
    (tmp_path / "orders_test.go").write_text(GO_TEST)
    cache = str(ENVIRONMENTS / "go-cache")
    done = ran(
        ["go", "test", "-c", "-vet=off", "-o", "orders.test", "orders_test.go"], tmp_path,
        GO111MODULE="off", GOPATH="/usr/share/gocode", GOFLAGS="", GOCACHE=cache,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert ran(["gofmt", "-l", "."], tmp_path).stdout == ""


@pytest.fixture
def image(tmp_path: Path) -> Iterator[int]:
    """The port of what the image starts, in a process of this machine."""
    port = free_port()
    child = started(entrypoint(port), tmp_path, a_readers_environment())
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == f"ready http://0.0.0.0:{port}\n"
        yield port
        child.terminate()
        assert child.wait(PATIENCE_S) == 0, "docker stop ends it at once"
    finally:
        end_all([child])


@pytest.mark.opens
def test_the_image_starts_and_is_healthy_and_is_called_by_its_names(image: int, tmp_path: Path) -> None:
    health = json.loads(steps("HEALTHCHECK")[0].partition("CMD ")[2])
    asks = [word.replace("8000", str(image)) for word in health[1:]]
    assert ran([sys.executable, *asks], tmp_path).returncode == 0
    assert ran(
        [sys.executable, *[word.replace("health", "no-such-page") for word in asks]], tmp_path
    ).returncode
    for name in ("dynamodb", "keyheat", "host.docker.internal"):
        asked = urllib.request.Request(
            f"http://127.0.0.1:{image}/_keyheat/health", headers={"Host": f"{name}:8000"}
        )
        with urllib.request.urlopen(asked, timeout=PATIENCE_S) as answer:
            assert answer.status == 200
        assert f"`{name}`" in PAGE


def test_the_image_has_what_the_base_needs_and_nothing_else() -> None:
    lock = pinned("deploy/local.lock")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    base = {name_of(line) for line in project["dependencies"]}
    extras = {name_of(line) for lines in project["optional-dependencies"].values() for line in lines}
    assert base <= set(lock)
    assert not (extras - base) & set(lock)
    assert lock.items() <= pinned("requirements.lock").items()
    build = pinned("deploy/build.lock")
    assert lock.items() <= build.items() <= pinned("requirements-dev.lock").items()
    compiling = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    assert {name_of(line) for line in (*compiling["build"], *compiling["compiled"])} <= set(build) - set(lock)


@pytest.mark.opens
def test_the_step_of_the_workflow_leaves_a_table_and_says_where(tmp_path: Path) -> None:
    port, said = free_port(), tmp_path / "github.env"
    (step,) = (one["run"] for one in yaml.safe_load(WORKFLOW)["jobs"]["tests"]["steps"] if "name" in one)
    script = step.replace("8000", str(port)).replace("keyheat local", f"{PROGRAMS / 'keyheat'} local")
    child = started(
        ["bash", "-e", "-c", f"{script}\nwait"], tmp_path,
        {**a_readers_environment(), "GITHUB_ENV": str(said)},
    )  # fmt: skip
    try:
        eventually(said.exists)
        lines = dict(line.split("=", 1) for line in eventually(said.read_text).splitlines())
        url = lines["AWS_ENDPOINT_URL_DYNAMODB"]
        assert json.loads(get(f"{url}/_keyheat/health"))["status"] == "ok"
        assert set(lines) == set(yaml.safe_load(SERVICE)["services"]["application"]["environment"])
    finally:
        end_all([child])
