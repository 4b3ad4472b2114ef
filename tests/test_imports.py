"""Imports point one way: from what is shown, back to what is measured, back to the model."""

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GROUND = {path.stem for path in (ROOT / "keyheat").glob("[!_]*.py")}
"""Modules of `keyheat` itself: what every room stands on. The page names each (test_architecture.py)."""
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
ROOM = r"^\| `(\w+)` \| [^|]+ \|([^|]*)\|$"
MAY_IMPORT = {
    room: set(re.findall(r"\w+", may)) for room, may in re.findall(ROOM, ARCHITECTURE, re.MULTILINE)
}
"""The page's table of rooms is what the imports are held to."""
PATCHES_SOCKETS = {"locust", "gevent", "geventhttpclient"}
DEEPEST = 21
"""Modules that stand on each other, from a verb down to a number of AWS."""


def imported(path: Path, *, types: bool = True) -> set[str]:
    """The dotted name of every module that is imported, wherever in the file it stands.

    Without `types`, what is imported for its types alone is left out: nothing of it is loaded.
    """
    return {name for name, for_types in imports_of(path) if types or not for_types}


@cache
def imports_of(path: Path) -> frozenset[tuple[str, bool]]:
    """Every name that is imported, and whether that is for its types alone."""
    names: set[tuple[str, bool]] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        id(node)
        for test in ast.walk(tree)
        if isinstance(test, ast.If) and isinstance(test.test, ast.Name) and test.test.id == "TYPE_CHECKING"
        for node in test.body
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {(alias.name, id(node) in for_types) for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {(f"{node.module}.{alias.name}", id(node) in for_types) for alias in node.names}
    return frozenset(names)


def roots(path: Path) -> set[str]:
    """The top-level names of what is imported."""
    return {name.split(".")[0] for name in imported(path)}


def rooms(path: Path) -> set[str]:
    """The rooms of `keyheat` that are imported from."""
    return {name.split(".")[1] for name in imported(path) if name.startswith("keyheat.")}


def modules_of(room: str) -> list[Path]:
    return sorted((ROOT / "keyheat" / room).rglob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("room", MAY_IMPORT)
def test_imports_point_upstream(room: str) -> None:
    modules = modules_of(room)
    assert modules, f"no module of {room} found"
    for path in modules:
        assert rooms(path) <= MAY_IMPORT[room] | GROUND | {room}, path
        if room != "load":
            assert not roots(path) & PATCHES_SOCKETS, f"{path}: these replace the whole process's sockets"


def test_the_ground_stands_on_nothing_and_there_is_no_other_room() -> None:
    for name in GROUND:
        assert rooms(ROOT / "keyheat" / f"{name}.py") <= GROUND | {"model"}
    folders = {path.parent.name for path in (ROOT / "keyheat").glob("*/__init__.py")}
    assert folders == MAY_IMPORT.keys()


def needs_of_all(*, types: bool) -> dict[str, set[str]]:
    """Each of our modules, with those that it imports."""
    paths = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in (ROOT / "keyheat").rglob("*.py")
    }
    needs = {}
    for name, path in paths.items():
        found = imported(path, types=types)
        modules = {full if full in paths else full.rpartition(".")[0] for full in found}
        needs[name] = (modules & paths.keys()) - {name}
    return needs


@pytest.mark.slow
def test_no_module_imports_itself_by_way_of_others() -> None:
    """Not even inside a function, or for its types alone."""
    needs = needs_of_all(types=True)
    assert len(list(TopologicalSorter(needs).static_order())) == len(needs)  # CycleError names a circle


def test_no_chain_of_imports_is_deeper_than_that() -> None:
    """Inside functions as well: a change at the bottom is felt through all of them."""
    needs = needs_of_all(types=False)
    chains: dict[str, list[str]] = {}
    for name in TopologicalSorter(needs).static_order():
        below = max((chains[one] for one in sorted(needs[name])), key=len, default=[])
        chains[name] = [name, *below]
    deepest = max(chains.values(), key=len)
    assert len(deepest) <= DEEPEST, " > ".join(deepest)


def test_a_load_test_imports_what_sends_and_what_it_sends() -> None:
    for path in sorted((ROOT / "loadtests").glob("*.py")):
        assert rooms(path) <= {"load", "sharding", "scenario", "model"}, path


@pytest.mark.slow
def test_an_analyzer_imports_what_it_asks_and_nothing_that_shows_or_sends() -> None:
    """They are loaded by their path: nothing imports them by name."""
    found = sorted((ROOT / "analyzers").rglob("*.py"))
    assert found
    for path in found:
        assert rooms(path) <= {"model", "runs", "evidence", "analysis"} | GROUND, path
        assert not roots(path) & PATCHES_SOCKETS, path
    for path in (ROOT / "keyheat").rglob("*.py"):
        assert "analyzers" not in roots(path), path


@pytest.mark.slow
def test_only_evidence_talks_to_cloudwatch() -> None:
    with_boto3 = {
        path.relative_to(ROOT).as_posix()
        for room in MAY_IMPORT.keys() - {"load", "testing"}
        for path in modules_of(room)
        if "boto3" in roots(path)
    }
    assert with_boto3 <= {"keyheat/evidence/clients.py"}


NOT_TO_START = [
    "annotated_types", "boto3", "botocore", "numpy", "prometheus_client", "pydantic", "rich", "urllib3",
    "yaml", "flask", "gevent", "geventhttpclient", "hdrh", "jinja2", "locust", "msgpack",
    "pandas", "plotly", "pyarrow", "scipy", "uvloop", "zmq",
]  # fmt: skip
SENDERS = sorted(path.stem for path in (ROOT / "loadtests").glob("[!_]*.py"))
PROGRAMS = {
    # Half of the endpoint's memory and a second of its start; pydantic comes with the first rule.
    "the endpoint starts without them": f"""
from keyheat.cli.main import cli
import keyheat.endpoint.__main__
cli.get_command(None, "local")
assert not set({NOT_TO_START}) & sys.modules.keys(), set({NOT_TO_START}) & sys.modules.keys()
""",
    # Half a second and 60 MB in every worker; a record is columns of numbers already.
    "a load is sent without pandas": """
import keyheat.load.run.session
assert "pandas" not in sys.modules
""",
    # What Locust's events need comes when they fire.
    "all load tests load what sends, and not the program": f"""
import importlib
for name in {SENDERS}:
    importlib.import_module(f"loadtests.{{name}}")
assert sum(name.partition(".")[0] == "keyheat" for name in sys.modules) <= 80
""",
    # pyarrow imports pandas with the first list that it is given, unless it is told not to.
    "files are written without pandas, and frames are made with it": """
import pyarrow as pa
from keyheat.runs.parquet import do_without_pandas
do_without_pandas()
table = pa.table({"at": pa.array([1, None], pa.int64()), "key": ["a", None]})
assert "pandas" not in sys.modules
assert table.to_pandas()["at"].isna().tolist() == [False, True]
import pandas as pd
assert pa.array(pd.Series([1.0, float("nan")])).null_count == 1, "pyarrow knows a column of pandas again"
""",
    # pyarrow alone is larger than all that an install without extras brings; its verbs are in test_menu.py.
    "checks, the endpoint and sharding do without extras, and labels of written evidence without the SDK": """
import contextlib, keyheat, keyheat.endpoint.server, keyheat.sharding
from keyheat.cli.main import main
assert main(["analyze", "--evidence", "tests/fuzz/corpus/minutes.json"]) == 0
assert "boto3" not in sys.modules
keyheat.assert_label("too-small", label="table")
with contextlib.suppress(keyheat.CheckFailed):
    keyheat.assert_no_hot_partition("hotkey")
assert not {"pyarrow", "pandas", "hdrh", "plotly", "locust", "scipy"} & sys.modules.keys()
""",
}


@pytest.mark.opens
@pytest.mark.parametrize("what", PROGRAMS)
def test_a_process_loads_what_it_needs(what: str) -> None:
    words = [sys.executable, "-c", f"import sys\n{PROGRAMS[what]}"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_checker_sees_nested_imports(tmp_path: Path) -> None:
    path = tmp_path / "nested.py"
    path.write_text("def f():\n    import locust.user\n    from keyheat.show import html\n")
    assert (roots(path), rooms(path)) == ({"locust", "keyheat"}, {"show"})
