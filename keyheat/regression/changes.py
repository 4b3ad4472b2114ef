"""What of a scenario changed, field by field, where its digest only says that something did."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from keyheat.analysis.measures.setup import sent_of
from keyheat.regression.finding import Difference
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.variants import changes_of

WHAT: Final = "scenario"
MOST: Final = 10


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
    changes = changes_of(*(sent_of(scenario.model_dump(mode="json")) for scenario in (before, after)))
    for change in changes[:MOST]:
        yield replace(one, what=f"{WHAT} {change.path}", before=change.before, after=change.after)
    if len(changes) > MOST:
        yield replace(one, what=f"{WHAT}: {len(changes) - MOST} fields more", before="…", after="…")
