"""In what two scenarios differ, field by field, as a person reads it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from keyheat.scenario.scenario import Scenario

ABSENT: Final = "–"
ONLY_NAMES: Final = ("name", "question", "expects")  # what says nothing about what is sent, or to what


@dataclass(frozen=True, slots=True)
class Change:
    """One field with another value; `ABSENT` where the scenario does not say it."""

    path: str
    before: str
    after: str

    @property
    def words(self) -> str:
        return f"{self.path}: {self.before} → {self.after}"


def changes(before: Scenario, after: Scenario) -> tuple[Change, ...]:
    """Every field with another value, in the order of the file; names and words are not among them."""
    return changes_of(*(one.model_dump(mode="json", exclude=set(ONLY_NAMES)) for one in (before, after)))


def changes_of(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Change, ...]:
    """Every field of two scenarios, or parts of them, with another value; its path is as `--set` names it."""
    left, right = _flat(before), _flat(after)
    paths = dict.fromkeys([*left, *right])
    return tuple(
        Change(path, left.get(path, ABSENT), right.get(path, ABSENT))
        for path in paths
        if left.get(path, ABSENT) != right.get(path, ABSENT)
    )


def _flat(value: Any, path: str = "") -> dict[str, str]:
    """Fields by their paths: `table.indexes[0].provisioned.write`."""
    if isinstance(value, Mapping):
        parts = [(f"{path}.{name}" if path else name, inner) for name, inner in value.items()]
    elif isinstance(value, list):
        parts = [(f"{path}[{place}]", inner) for place, inner in enumerate(value)]
    else:
        return {} if value is None else {path: _said(value)}
    return {name: said for part, inner in parts for name, said in _flat(inner, part).items()}


def _said(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
