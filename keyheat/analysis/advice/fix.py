"""The fix that is tried, a requested one, the cure of a diagnosis, or what a rerun can show; and its runs."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import ceil
from pathlib import Path
from typing import Final

from keyheat.analysis.advice.actions import Applied, ByHand, Setting, apply, in_order
from keyheat.analysis.advice.start import Start
from keyheat.analysis.advice.trial import MORE, throttled_by
from keyheat.analysis.rules import load_thresholds
from keyheat.runfiles import SIMULATED
from keyheat.runs.formats import HARDLY, Diagnosis, Recommendation
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.variants import with_own_tables
from keyheat.simulator.jobs import Job

BEFORE: Final = "before"
AFTER: Final = "after"


def remedy_of(start: Start, action: str | None) -> Applied:
    """The recommendation as a scenario. Raises `ValueError` with what can be done by hand."""
    on = Setting(
        target_utilisation=load_thresholds().recommend.target_utilisation,
        simulated=start.target == SIMULATED, whole=True,
    )  # fmt: skip
    choose = partial(chosen, start.diagnosis, start.scenario, action=action)
    remedy = choose(on)
    if isinstance(remedy, Applied):
        remedy = _with_enough_shards(start, remedy, on)
        return replace(remedy, notes=(*remedy.notes, *start.assumed))
    by_hand = "\n".join(f"  {step.words}" for step in remedy)
    message = f"no rerun can show what is recommended; by hand:\n{by_hand}"
    if start.assumed:
        message += "\n`keyheat init --from-diagnosis DIR` writes a scenario of it, with a hot key if need be"
    if isinstance(choose(replace(on, simulated=True)), Applied):
        message += f"\nOn the simulator it can be shown: add --target {SIMULATED}"
    raise ValueError(message)


def _with_enough_shards(start: Start, remedy: Applied, on: Setting) -> Applied:
    """A number of shards by formula, or more where chance lets some of them meet in one partition.

    It stays where it was simulated, where a scenario describes the demand, or if no larger one is enough.
    """
    about = remedy.resource, remedy.direction
    by_formula = next(
        (
            item
            for item in start.diagnosis.recommendations
            if item.action == remedy.actions[0] and (item.resource, item.direction) == about and item.shards
        ),
        None,
    )
    if start.diagnosis.cure is not None or start.rerun is None or by_formula is None:
        return remedy
    for factor in (1.0, *MORE):
        more = by_formula.model_copy(update={"shards": ceil(factor * (by_formula.shards or 1))})
        candidate = apply(more, start.scenario, on)
        if not isinstance(candidate, Applied):
            continue
        outcome = start.rerun.taking(candidate).simulated()
        if throttled_by(outcome, start.limit_of(candidate)) <= HARDLY:
            shared = (
                f"By the formula it takes {by_formula.shards:,}; some of those would share a partition here."
            )
            notes = (*candidate.notes, *([shared] if factor > 1 else []))
            return replace(candidate, notes=notes, not_tried=remedy.not_tried)
    return remedy


def turns(before: Scenario, after: Scenario, repetitions: int, folder: Path) -> list[Job]:
    """Every run, in its order: before after, after before, before after ... with a seed for each pair."""
    jobs = []
    for number in range(repetitions):
        pair = [(BEFORE, before), (AFTER, after)]
        for side, scenario in pair if number % 2 == 0 else reversed(pair):
            name = f"{side}-{number + 1}"
            repeated = with_own_tables(scenario, f"-{name}")
            repeated = repeated.model_copy(update={"seed": scenario.seed + number})
            jobs.append(Job(repeated, folder / f"{name}.json", folder / name))
    return jobs


def chosen(
    diagnosis: Diagnosis, scenario: Scenario, on: Setting, *, action: str | None = None
) -> Applied | tuple[ByHand, ...]:
    """A diagnosis' cure, else the first recommendation that a rerun can show, applied to the scenario.

    With an `action`, that one. It says why those before it are not tried. Where no rerun shows
    it, or not every step of the cure, what is to be done by hand. Raises `ValueError` for an action that is
    not recommended.
    """
    if action is None and diagnosis.cure is not None:
        return _all_applied(diagnosis, scenario, on)
    advised = [item for item in diagnosis.recommendations if action in (item.action, None)]
    if action is not None and not advised:
        there = ", ".join(dict.fromkeys(item.action for item in diagnosis.recommendations)) or "nothing"
        raise ValueError(f"--recommendation {action}: this diagnosis does not recommend it, but {there}")
    by_hand: list[ByHand] = []
    for item in in_order([item for item in advised if action or item.kind != "insufficient"], diagnosis):
        outcome = apply(item, scenario, on)
        if isinstance(outcome, Applied):
            return replace(outcome, not_tried=tuple(by_hand))
        by_hand.append(outcome)
    return tuple(by_hand)


def _all_applied(diagnosis: Diagnosis, scenario: Scenario, on: Setting) -> Applied | tuple[ByHand, ...]:
    """All steps of a cure, each on the scenario that the one before it has made."""
    steps: list[Applied] = []
    for step in diagnosis.cure.steps if diagnosis.cure else ():
        advice = Recommendation(kind="cure", why="", expected="", **step.model_dump())
        outcome = apply(advice, steps[-1].scenario if steps else scenario, on)
        if isinstance(outcome, ByHand):
            return (outcome,)
        steps.append(outcome)
    return joined(steps)


def joined(steps: Sequence[Applied]) -> Applied:
    """Several applied actions as one."""
    return replace(
        steps[0],
        actions=tuple(action for item in steps for action in item.actions),
        scenario=steps[-1].scenario,
        says=" and ".join(item.says for item in steps),
        notes=tuple(note for item in steps for note in item.notes),
        queries_per_read=next((item.queries_per_read for item in steps if item.queries_per_read), None),
        alters=tuple(alter for item in steps for alter in item.alters),
    )
