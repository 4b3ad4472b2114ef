"""Which recommendation is taken: each action is a function to a scenario, or words why no rerun shows it."""

from collections.abc import Callable, Sequence
from typing import Final

from keyheat.analysis.advising.advised import OF_UNITS
from keyheat.analysis.advising.remedies.capacity import of_units, paid_by_request
from keyheat.analysis.advising.remedies.keys import in_shards, on_prefixes
from keyheat.analysis.advising.remedies.reads import cached, copied
from keyheat.analysis.advising.remedies.remedy import Asked, ByHand, Outcome, Remedy
from keyheat.runs.formats import Diagnosis, Recommendation
from keyheat.scenario.scenario import Scenario, ScenarioError
from keyheat.words import WRITE

PREFERRED: Final = (
    "shard_writes", "shard_date_key", "change_index_key", "raise_minimum", "raise_capacity",
    "raise_max_on_demand", "pre_warm", "cache_reads", "replicate_reads", "on_demand", "auto_scaling",
)  # fmt: skip
"""Actions in the order in which one is chosen, if nobody says which."""

_MAKE: Final[dict[str, Callable[[Asked], Outcome]]] = {
    **dict.fromkeys(OF_UNITS, of_units),
    "on_demand": paid_by_request,
    "shard_writes": in_shards,
    "shard_date_key": in_shards,
    "change_index_key": on_prefixes,
    "cache_reads": cached,
    "replicate_reads": copied,
}
_WORDS: Final = {
    "back_off": "it sends the same later, and a rerun beside the original has to send it at the same time; "
    "`keyheat run --retries sdk` shows what retries bring.",
    "collect_evidence": "there is nothing to rerun before the cause is known: `keyheat collect` "
    "asks for more.",
    "raise_account_quota": "the quota is the account's, and no scenario sets it: ask Service Quotas.",
    "raise_cardinality": "which values the key should have is the application's to say: write them as [keys] "
    "of a scenario, and hold both against each other with `keyheat run OLD NEW`.",
    "ramp": "it is another demand, and a fix is shown with the same one: give the scenario a [load.shape] "
    "that at most doubles every 30 minutes.",
    "read_eventually_consistent": "how it reads is said in the load test and not in the scenario: change it "
    "there, and hold both runs against each other with `keyheat compare`.",
}
ACTIONS: Final = frozenset(_MAKE) | frozenset(_WORDS)
"""Every action that is known here: each one that can be recommended."""


def chosen(
    diagnosis: Diagnosis, scenario: Scenario, *, simulated: bool, target: float, action: str | None = None
) -> Remedy | tuple[ByHand, ...]:
    """The remedy of a diagnosis: of the asked action, else the first that a rerun can show.

    Where none can, what is to be done by hand. Raises `ValueError` for an action that is not recommended.
    """
    advised = diagnosis.recommendations
    if action is not None:
        advised = tuple(one for one in advised if one.action == action)
        if not advised:
            there = ", ".join(dict.fromkeys(one.action for one in diagnosis.recommendations)) or "nothing"
            raise ValueError(f"--recommendation {action}: this diagnosis does not recommend it, but {there}")
    found = [
        remedy_of(_asked(one, diagnosis, scenario, simulated=simulated, target=target))
        for one in _in_order(advised, diagnosis)
    ]
    return next((one for one in found if isinstance(one, Remedy)), tuple(_by_hand(found)))


def _by_hand(found: Sequence[Outcome]) -> list[ByHand]:
    return [one for one in found if isinstance(one, ByHand)]


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
    advice: Recommendation, diagnosis: Diagnosis, scenario: Scenario, *, simulated: bool, target: float
) -> Asked:
    """Advice of an older diagnosis does not say whose limit it is about: the verdict's comes first."""
    verdict = diagnosis.verdict
    return Asked(
        advice=advice,
        scenario=scenario,
        resource=advice.resource or verdict.resource or "table",
        direction=advice.direction or verdict.direction or WRITE,
        simulated=simulated,
        target=target,
    )


def remedy_of(asked: Asked) -> Outcome:
    """One recommendation as a scenario, or as words."""
    action = asked.advice.action
    if action in _WORDS:
        return ByHand(action=action, why=_WORDS[action])
    make = _MAKE.get(action)
    if make is None:
        return ByHand(action=action, why="it is not known how a scenario would say it.")
    try:
        return make(asked)
    except ScenarioError as error:
        return ByHand(action=action, why=f"the scenario cannot say it: {'; '.join(error.errors)}")
