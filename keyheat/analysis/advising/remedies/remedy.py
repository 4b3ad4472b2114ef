"""A recommended action as a scenario that can be run, or as words for what is to be done by hand."""

from dataclasses import dataclass
from typing import Any

from keyheat.analysis.words import title_of
from keyheat.runs.formats import Recommendation
from keyheat.scenario.scenario import Scenario, scenario_from_dict
from keyheat.words import Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """A recommended action, as a scenario that can be run."""

    action: str
    resource: str
    direction: Direction
    scenario: Scenario
    says: str  # what was done, in words that follow "with"
    notes: tuple[str, ...] = ()  # what else had to change, or is not as the load test would do it
    queries_per_read: tuple[int, int] | None = None  # of one key, before and after; None: as before


@dataclass(frozen=True, slots=True, kw_only=True)
class ByHand:
    """A recommended action that no rerun can show, and what can be done instead."""

    action: str
    why: str

    @property
    def words(self) -> str:
        return f"{title_of(self.action)} ({self.action}): {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One recommendation, for one scenario on one target."""

    advice: Recommendation
    scenario: Scenario
    resource: str
    direction: Direction
    simulated: bool
    target: float  # part of a capacity that should be used

    @property
    def index(self) -> str | None:
        return None if self.resource == "table" else self.resource

    @property
    def shards(self) -> int | None:
        """How many: those that the simulator found to be enough, else those of the formula."""
        seen = self.advice.foreseen
        return (seen.enough_shards if seen else None) or self.advice.shards


Outcome = Remedy | ByHand


def remedied(asked: Asked, raw: dict[str, Any], says: str, **more: Any) -> Remedy:
    """A changed scenario, checked whole. What was expected of the one as it was is not expected of it."""
    raw["expects"] = None
    return Remedy(
        action=asked.advice.action,
        resource=asked.resource,
        direction=asked.direction,
        scenario=scenario_from_dict(raw, f"{asked.scenario.name}, fixed"),
        says=says,
        **more,
    )


def raw_of(scenario: Scenario) -> dict[str, Any]:
    return scenario.model_dump(mode="json")


def by_hand(asked: Asked, why: str) -> ByHand:
    return ByHand(action=asked.advice.action, why=why)
