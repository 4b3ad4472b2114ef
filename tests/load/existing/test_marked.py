"""No load test writes an item, or names a key, in a way that a table of somebody else's would not bear."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
WRITERS = sorted([*(ROOT / "keyheat/load/users").glob("*.py"), *(ROOT / "loadtests").glob("*.py")])
ONLY_OURS = {"aggregation.py", "sharding.py", "table_per_period.py"}
"""Those that write companions, or load no table but their own."""


def names_in(tree: ast.Module) -> set[str]:
    """Everything that is called, and every text."""
    calls = {
        node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and hasattr(node.func, "id")
    }
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    return {str(name) for name in calls | texts}


@pytest.mark.parametrize("path", WRITERS, ids=lambda path: path.stem)
def test_every_update_marks_its_item(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    names = names_in(ast.parse(source))
    if "UpdateExpression" in names and path.name not in {*ONLY_OURS, "items.py"}:
        assert "marked" in names
    if path.name not in ONLY_OURS:
        assert 'partition_key: {"S"' not in source, "keys have the table's types: load.items.values.key"
        assert 'sort_key: {"S"' not in source
