"""Projection expressions: which parts of an item an answer has.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.ProjectionExpressions.html
"""

import re
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from keyheat.endpoint.errors import validation_error
from keyheat.endpoint.expressions.paths import conflict, overlap, shown, value_at
from keyheat.endpoint.expressions.tokens import (
    NamesUsed,
    is_reserved,
    measured,
    path_too_deep,
    syntax_error,
)
from keyheat.endpoint.expressions.trees import Path
from keyheat.endpoint.store.values import Item, Value
from keyheat.model.limits import NESTING_LEVELS

KIND = "ProjectionExpression"
_STEP = re.compile(r"\.?(#?[A-Za-z0-9_\-]+)|\[([0-9]+)\]", re.ASCII)
_WHOLE = re.compile(r"#?[A-Za-z0-9_\-]+(\.#?[A-Za-z0-9_\-]+|\[[0-9]+\])*", re.ASCII).fullmatch


@dataclass(frozen=True, slots=True)
class Projection:
    """The paths that an answer has."""

    paths: tuple[Path, ...]

    @property
    def names(self) -> frozenset[str]:
        """The attributes at the top of the item that it looks at."""
        return frozenset(str(path[0]) for path in self.paths)

    def of(self, item: Item) -> Item:
        """The part of the item; what the item does not have is left out."""
        tree: dict[str | int, Any] = {}
        for path in self.paths:
            value = value_at(item, path)
            if value is not None:
                _grow(tree, path, value)
        return {str(name): _rebuilt(branch) for name, branch in tree.items()}


@dataclass(frozen=True, slots=True)
class _Leaf:
    value: Value


def _grow(tree: dict[str | int, Any], path: Path, value: Value) -> None:
    for step in path[:-1]:
        tree = tree.setdefault(step, {})
    tree[path[-1]] = _Leaf(value)


def _rebuilt(branch: Any) -> Value:
    if isinstance(branch, _Leaf):
        return branch.value
    if isinstance(next(iter(branch)), int):
        return {"L": [_rebuilt(branch[at]) for at in sorted(branch)]}
    return {"M": {name: _rebuilt(below) for name, below in branch.items()}}


def parsed_projection(text: str, names: NamesUsed) -> Projection:
    """The projection that an expression stands for. Raises ValidationException."""
    paths = tuple(_path(part.strip(), names) for part in measured(text, KIND).split(","))
    for one, other in combinations(paths, 2):
        for collide, word in ((overlap, "overlap"), (conflict, "conflict")):
            if collide(one, other):
                raise validation_error(
                    f"Invalid {KIND}: Two document paths {word} with each other; must remove or rewrite one "
                    f"of these paths; path one: {shown(one)}, path two: {shown(other)}"
                )
    return Projection(paths)


def _path(text: str, names: NamesUsed) -> Path:
    if not _WHOLE(text):
        raise syntax_error(KIND, f'token: "{text or "<EOF>"}"')
    steps: list[str | int] = []
    for name, index in _STEP.findall(text):
        if index:
            steps.append(int(index))
        elif name.startswith("#"):
            steps.append(names[name])
        elif is_reserved(name):
            raise validation_error(
                f"Invalid {KIND}: Attribute name is a reserved keyword; reserved keyword: {name}"
            )
        else:
            steps.append(name)
    if len(steps) > NESTING_LEVELS:  # where a name has a hyphen, which elsewhere is a minus
        raise path_too_deep(KIND, len(steps))
    return tuple(steps)
