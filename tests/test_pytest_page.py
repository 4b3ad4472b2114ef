"""pytest.md, the example project and the plugin, as somebody has them: by a pytest of their own."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "pytest-project"
PAGE = (ROOT / "docs" / "pytest.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
PLAIN, WITH_REPORTS = (line for kind, block in BLOCKS if kind == "sh" for line in block.splitlines())
PYTHON = [block for kind, block in BLOCKS if kind == "python"]
FAILING = """
import boto3
import keyheat
import pytest


def test_hot():
    keyheat.assert_no_hot_partition("scenarios/orders.toml")


@pytest.fixture
def table(dynamodb_local_session):
    client = boto3.client("dynamodb")
    if not dynamodb_local_session.tables():
        client.create_table(
            TableName="kept",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
    return client.describe_table(TableName="kept")["Table"]["TableId"]


SEEN = []


@pytest.mark.parametrize("time", [1, 2])
def test_kept(table, time):
    SEEN.append(table)
    assert SEEN == [SEEN[0]] * time
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a pytest of somebody's came to: tests that failed, all of them, and what was printed."""

    failed: set[str]
    names: set[str]
    out: str


def ran(command: str, folder: Path) -> Ran:
    """Run a command of the page in a folder. The plugin is found because Keyheat is installed."""
    program, *arguments = shlex.split(command)
    assert program == "pytest"
    somebody = {
        "AWS_PROFILE": "somebody",
        "AWS_SESSION_TOKEN": "somebody's",
    }  # must not be asked for anything
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments, "--junit-xml", "junit.xml"],
        cwd=folder,
        env={**os.environ, **somebody, "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "120", "NO_COLOR": "1"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    cases = list(ET.parse(folder / "junit.xml").iter("testcase"))
    failed = {case.attrib["name"] for case in cases if case.find("failure") is not None}
    assert not [case for case in cases if case.find("error") is not None], done.stdout
    return Ran(failed=failed, names={case.attrib["name"] for case in cases}, out=done.stdout)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the example."""
    ignored = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(EXAMPLE, tmp_path / "shop", ignore=ignored))


@pytest.mark.opens
def test_the_example_passes_and_the_page_says_what_is_so(project: Path) -> None:
    """One pytest for all of it: the example's tests, the page's, and one that fails with its report."""
    own = {path.name for path in (project / "tests").glob("test_*.py")}
    for number, block in enumerate(PYTHON):
        (project / "tests" / f"test_page_{number}.py").write_text(block, encoding="utf-8")
    (project / "tests" / "test_failing.py").write_text(FAILING, encoding="utf-8")
    found = ran(WITH_REPORTS, project)
    assert own == {"test_orders.py", "test_capacity.py"}
    assert found.failed == {"test_hot"}, found.out
    assert found.names >= {"test_twenty_shards_a_day_take_the_peak", "test_placing_orders", "test_kept[2]"}
    check_what_is_said(found.out)
    assert [path.relative_to(project).as_posix() for path in project.glob("reports/*/*.html")] == [
        "reports/tests-test-failing.py-test-hot/report.html"
    ]
    assert "report: reports/tests-test-failing.py-test-hot/report.html" in found.out


def check_what_is_said(out: str) -> None:
    """The failure is the page's, line by line, and nothing of what is behind the check is shown."""
    (shown,) = (block for kind, block in BLOCKS if kind == "" and "CheckFailed" in block)
    lines = {line.rstrip() for line in out.splitlines()}
    for line in shown.splitlines():
        assert any(found.startswith(line.removesuffix(" ...")) for found in lines), line
    section = out[out.index(" test_hot ") :]
    assert "keyheat.assert_no_hot_partition" in section
    assert "keyheat/testing/checks.py" not in out


def test_the_page_names_what_there_is() -> None:
    import keyheat

    assert PLAIN == "pytest"
    checks = [name for name in keyheat.__all__ if name.startswith("assert_")]
    assert [name for name in checks if f"| `{name}` |" not in PAGE] == []
    for name in re.findall(r"^\| `(\w+)\(", PAGE, re.MULTILINE):
        assert callable(getattr(keyheat.LocalDynamoDB, name)), name


def test_a_type_checker_knows_what_a_test_may_use() -> None:
    """What is loaded when it is asked for is told to a type checker beforehand."""
    import keyheat

    module = (ROOT / "keyheat" / "__init__.py").read_text(encoding="utf-8")
    told = re.findall(r"^ *from keyheat\.[\w.]+ import (\w+) as \1$", module, re.MULTILINE)
    assert {*told, "__version__"} == set(dir(keyheat)) == set(keyheat.__all__)
    assert all(getattr(keyheat, name) is not None for name in keyheat.__all__)
    assert (ROOT / "keyheat" / "py.typed").exists()


@pytest.mark.opens
def test_whoever_uses_none_of_it_waits_for_none_of_it() -> None:
    """The plugin is loaded by every pytest of an environment that Keyheat is installed in."""
    heavy = "'keyheat.testing.checks', 'click', 'numpy', 'pydantic'"
    asked = f"import sys, keyheat.testing.plugin; print([name for name in ({heavy}) if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", asked], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
