"""Which fix is tried: what is asked for, else the cure of a diagnosis, else what a rerun can show."""

from collections.abc import Sequence
from dataclasses import replace

from keyheat.analysis.advice.actions import Applied, ByHand, Setting, apply
from keyheat.analysis.advice.order import in_order
from keyheat.runs.formats import Diagnosis, Recommendation
from keyheat.scenario.scenario import Scenario


def chosen(
    diagnosis: Diagnosis, scenario: Scenario, on: Setting, *, action: str | None = None
) -> Applied | tuple[ByHand, ...]:
    """A diagnosis' cure, else the first recommendation that a rerun can show, applied to the scenario.

    With an `action`, that one. Where no rerun shows it, or not every step of the cure, what is to be done by
    hand. Raises `ValueError` for an action that is not recommended.
    """
    if action is None and diagnosis.cure is not None:
        return _all_applied(_steps(diagnosis), scenario, on)
    advised = [one for one in diagnosis.recommendations if action in (one.action, None)]
    if action is not None and not advised:
        there = ", ".join(dict.fromkeys(one.action for one in diagnosis.recommendations)) or "nothing"
        raise ValueError(f"--recommendation {action}: this diagnosis does not recommend it, but {there}")
    if action is None:
        advised = [one for one in advised if one.kind != "insufficient"]
    outcomes = [apply(one, scenario, on) for one in in_order(advised, diagnosis)]
    by_hand = tuple(one for one in outcomes if isinstance(one, ByHand))
    return next((one for one in outcomes if isinstance(one, Applied)), by_hand)


def _steps(diagnosis: Diagnosis) -> list[Recommendation]:
    """What its cure is made of."""
    steps = diagnosis.cure.steps if diagnosis.cure else ()
    return [Recommendation(kind="cure", why="", expected="", **one.model_dump()) for one in steps]


def _all_applied(
    steps: Sequence[Recommendation], scenario: Scenario, on: Setting
) -> Applied | tuple[ByHand, ...]:
    """All steps of a cure, each on the scenario that the one before it has made."""
    made: list[Applied] = []
    for step in steps:
        outcome = apply(step, made[-1].scenario if made else scenario, on)
        if isinstance(outcome, ByHand):
            return (outcome,)
        made.append(outcome)
    queries = [one.queries_per_read for one in made if one.queries_per_read]
    return replace(
        made[0],
        actions=tuple(action for one in made for action in one.actions),
        scenario=made[-1].scenario,
        says=" and ".join(one.says for one in made),
        notes=tuple(note for one in made for note in one.notes),
        queries_per_read=queries[0] if queries else None,
        alters=tuple(alter for one in made for alter in one.alters),
    )
