"""What docs/fault-injection.md tells a reader to run does what the page says."""

import json
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from keyheat.endpoint.faults.rules import load_rules
from keyheat.testing.local import LocalDynamoDB

pytestmark = pytest.mark.opens

PAGE = (Path(__file__).parents[2] / "docs" / "fault-injection.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
START, *CURL = (line for kind, block in BLOCKS if kind == "sh" for line in block.splitlines())
(EXAMPLE,) = (block for kind, block in BLOCKS if kind == "python")
EXAMPLES: dict[str, Any] = {}
exec(compile(EXAMPLE, "docs/fault-injection.md", "exec"), EXAMPLES)
TESTS = [name for name in EXAMPLES if name.startswith("test_")]


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """The endpoint that the page's first command starts, with the page's file."""
    (rules,) = (block for kind, block in BLOCKS if kind == "toml")
    (tmp_path / "faults.toml").write_text(rules)
    program, *arguments = shlex.split(START.replace("8000", "0"))
    words = [str(Path(sys.executable).parent / program), *arguments]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        yield child.stdout.readline().removeprefix("ready ").strip()
        child.send_signal(signal.SIGTERM)
        assert child.wait() == 0


def test_rules_come_from_a_file_and_over_http(url: str) -> None:
    def said(command: str) -> list[str]:
        words = shlex.split(command.replace("http://127.0.0.1:8000", url))
        answer = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
        return [rule["name"] for rule in answer["rules"]]

    put, get, delete = CURL
    assert said(get) == ["hot-order", "lost", "slow-minute"]
    assert [said(command) for command in (put, get, delete, get)] == [["half"]] * 3 + [[]]


@pytest.mark.slow
@pytest.mark.parametrize("name", TESTS)
def test_the_tests_of_the_page_hold(name: str, dynamodb_local: LocalDynamoDB) -> None:
    test: Callable[[LocalDynamoDB], None] = EXAMPLES[name]
    test(dynamodb_local)


def test_a_file_of_the_page_is_accepted_as_it_stands(tmp_path: Path) -> None:
    for number, (kind, block) in enumerate(BLOCKS):
        if kind == "toml":
            file = tmp_path / f"{number}.toml"
            file.write_text(block)
            assert load_rules(file).seed == 1
