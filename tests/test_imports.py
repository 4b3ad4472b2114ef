"""Imports point one way: from what is shown, back to what is measured, back to the model."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAY_IMPORT = {
    "tablemodel": set(),
    "sharding": {"tablemodel"},
    "generator": {"tablemodel", "sharding"},
    "loadtests": {"generator", "sharding", "tablemodel"},
    "analyzers": {"tablemodel"},
    "accuracy": {"analyzers", "tablemodel"},
    "regression": {"analyzers", "tablemodel"},
    "reports": {"analyzers", "accuracy", "regression", "tablemodel"},
    "assertions": {"analyzers", "reports", "tablemodel"},
    "pytest_keyheat": {"assertions", "tablemodel"},
    "commands": {"tablemodel", "generator", "analyzers", "accuracy", "regression", "reports"},
    "keyheat": {"assertions", "commands", "reports", "tablemodel"},
}
PATCHES_SOCKETS = {"locust", "gevent", "geventhttpclient"}


def imported_roots(source: str) -> Iterator[str]:
    """The top-level name of every import, wherever in the file it stands."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def modules_of(package: str) -> list[Path]:
    single = ROOT / f"{package}.py"
    return [single] if single.exists() else sorted((ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_point_upstream(package: str) -> None:
    modules = modules_of(package)
    assert modules, f"no module of {package} found"
    for path in modules:
        roots = set(imported_roots(path.read_text()))
        assert roots & MAY_IMPORT.keys() <= MAY_IMPORT[package] | {package}, path
        if package not in ("generator", "loadtests"):
            assert not roots & PATCHES_SOCKETS, f"{path}: these replace the whole process's sockets"


def test_only_evidence_talks_to_cloudwatch() -> None:
    with_boto3 = {
        path.relative_to(ROOT).as_posix()
        for package in ("analyzers", "reports", "tablemodel")
        for path in modules_of(package)
        if "boto3" in set(imported_roots(path.read_text()))
    }
    assert with_boto3 <= {"analyzers/collecting/clients.py"}


def test_the_checker_sees_nested_imports() -> None:
    source = "def f():\n    import locust.user\n    from reports import page\n"
    assert set(imported_roots(source)) == {"locust", "reports"}
