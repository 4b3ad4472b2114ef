"""Things that the load tests' own tests share. Nothing here imports locust, which would replace sockets."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from keyheat.endpoint.process import EndpointProcess
from tests.outside import PATIENCE_S

ROOT = Path(__file__).parents[2]
SCENARIO = """
format = "keyheat.scenario/1"
name = "short"
question = "Does a short run leave whole files?"
loadtest = "hotkey"
[table]
name = "short-table"
sort_key = "sk"
provisioned = { read = 500, write = 4_000 }
[keys]
kind = "hot_key"
share = 0.9
keys = 100
[load]
users = 10
requests_per_s = 400
duration_s = 3
item_bytes = 27_000
"""


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    """A scenario of a moment that throttles on one key, also where a busy machine sends only a part of it."""
    path = tmp_path / "short.toml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture
def endpoint() -> Iterator[EndpointProcess]:
    """A local endpoint of the test's own."""
    with EndpointProcess.start() as process:
        yield process


def clean_environment(tmp_path: Path) -> dict[str, str]:
    """An environment without AWS configuration."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "LOCUST_"))}
    return kept | {
        "AWS_CONFIG_FILE": str(tmp_path / "no-config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "no-credentials"),
        "AWS_EC2_METADATA_DISABLED": "true",
    }


@pytest.fixture
def start_locust(tmp_path: Path) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Starts Locust in a process of its own; what still runs at the end of the test is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(locustfile: str, *options: str, **more: Any) -> "subprocess.Popen[str]":
        environment = clean_environment(tmp_path) | more.pop("env", {})
        child = subprocess.Popen(
            [sys.executable, "-m", "locust", "-f", str(ROOT / "loadtests" / locustfile), *options],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **more,
        )
        started.append(child)
        return child

    yield start
    for child in started:
        if child.poll() is None:
            child.kill()
        child.communicate()


@pytest.fixture
def run_locust(start_locust: Callable[..., Any]) -> Callable[..., "tuple[int, str, str]"]:
    """Runs Locust headless to its end: exit code, stdout, stderr."""

    def run(locustfile: str, *options: str, **more: Any) -> tuple[int, str, str]:
        child = start_locust(locustfile, "--headless", "--only-summary", *options, **more)
        out, err = child.communicate(timeout=PATIENCE_S)
        return child.returncode, out, err

    return run
