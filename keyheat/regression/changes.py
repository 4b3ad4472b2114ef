"""What of a scenario changed, field by field, where its digest only says that something did."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from keyheat.analysis.measures.setup import sent_of
from keyheat.regression.finding import Difference
from keyheat.scenario.scenario import Scenario

WHAT: Final = "scenario"
MOST: Final = 10
ABSENT: Final = "none"


def in_fields(
    differences: Sequence[Difference], before: Mapping[str, Scenario], after: Mapping[str, Scenario]
) -> tuple[Difference, ...]:
    """The differences, those between scenarios told by their fields where both are known, by case."""
    return tuple(
        told
        for one in differences
        for told in (
            list(_fields(one, before[one.case], after[one.case]))
            if one.what == WHAT and one.case in before and one.case in after
            else []
        )
        or [one]
    )


def _fields(one: Difference, before: Scenario, after: Scenario) -> Iterator[Difference]:
    first, last = (dict(_flat("", sent_of(scenario.model_dump(mode="json")))) for scenario in (before, after))
    names = [name for name in {**first, **last} if first.get(name) != last.get(name)]
    for name in names[:MOST]:
        said = {"before": _said(first.get(name)), "after": _said(last.get(name))}
        yield replace(one, what=f"{WHAT} {name}", **said)
    if len(names) > MOST:
        yield replace(one, what=f"{WHAT}: {len(names) - MOST} fields more", before="…", after="…")


def _flat(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Every field by its path, as `--set` names it."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(f"{path}.{name}" if path else name, inner)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _flat(f"{path}[{number}]", inner)
    else:
        yield path, value


def _said(value: Any) -> str:
    return ABSENT if value is None else str(value)
