"""Which fix is tried: what is asked for, else the cure of a diagnosis, else what a rerun can show."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from keyheat.analysis.advice.effect import PREFERRED
from keyheat.analysis.advice.remedies import ByHand, Remedy, RemedyRequest, remedy_of
from keyheat.runs.formats import Diagnosis, Recommendation
from keyheat.scenario.scenario import Scenario
from keyheat.words import WRITE


def chosen(
    diagnosis: Diagnosis, scenario: Scenario, *, simulated: bool, target: float, action: str | None = None
) -> Remedy | tuple[ByHand, ...]:
    """The remedy of a diagnosis: of the asked action, else its cure, else the first that a rerun can show.

    Where none can, or not every step of the cure, what is to be done by hand. Raises `ValueError` for an
    action that is not recommended.
    """
    asked = partial(_asked, diagnosis=diagnosis, simulated=simulated, target=target)
    if action is None and diagnosis.cure is not None:
        return _together([asked(one, scenario=scenario) for one in _steps(diagnosis)])
    advised = tuple(one for one in diagnosis.recommendations if one.kind != "insufficient")
    if action is not None:
        advised = tuple(one for one in diagnosis.recommendations if one.action == action)
        if not advised:
            there = ", ".join(dict.fromkeys(one.action for one in diagnosis.recommendations)) or "nothing"
            raise ValueError(f"--recommendation {action}: this diagnosis does not recommend it, but {there}")
    found = [remedy_of(asked(one, scenario=scenario)) for one in _in_order(advised, diagnosis)]
    by_hand = tuple(one for one in found if isinstance(one, ByHand))
    return next((one for one in found if isinstance(one, Remedy)), by_hand)


def _steps(diagnosis: Diagnosis) -> list[Recommendation]:
    """What its cure is made of."""
    steps = diagnosis.cure.steps if diagnosis.cure else ()
    return [Recommendation(kind="cure", why="", expected="", **one.model_dump()) for one in steps]


def _together(steps: Sequence[RemedyRequest]) -> Remedy | tuple[ByHand, ...]:
    """All steps of a cure, each on the scenario that the one before it has made."""
    made: list[Remedy] = []
    for asked in steps:
        found = remedy_of(replace(asked, scenario=made[-1].scenario) if made else asked)
        if isinstance(found, ByHand):
            return (found,)
        made.append(found)
    first, queries = made[0], [one.queries_per_read for one in made if one.queries_per_read]
    return replace(
        first,
        then=tuple(one.action for one in made[1:]),
        scenario=made[-1].scenario,
        says=" and ".join(one.says for one in made),
        notes=tuple(note for one in made for note in one.notes),
        queries_per_read=queries[0] if queries else None,
        alters=tuple(one for each in made for one in each.alters),
    )


def _in_order(advised: Sequence[Recommendation], diagnosis: Diagnosis) -> list[Recommendation]:
    """What is about the verdict's own limit first, and of that what lasts."""
    verdict = diagnosis.verdict
    own = verdict.resource, verdict.direction

    def place(one: Recommendation) -> tuple[bool, int]:
        about = one.resource or verdict.resource, one.direction or verdict.direction
        known = PREFERRED.index(one.action) if one.action in PREFERRED else len(PREFERRED)
        return about != own, known

    return sorted(advised, key=place)


def _asked(
    advice: Recommendation, *, diagnosis: Diagnosis, scenario: Scenario, simulated: bool, target: float
) -> RemedyRequest:
    """Advice of an older diagnosis does not say whose limit it is about: the verdict's comes first."""
    verdict = diagnosis.verdict
    return RemedyRequest(
        advice=advice,
        scenario=scenario,
        resource=advice.resource or verdict.resource or "table",
        direction=advice.direction or verdict.direction or WRITE,
        simulated=simulated,
        target=target,
    )
