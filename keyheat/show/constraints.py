"""The words of limits, targets and moments."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, get_args

from keyheat.numbers import clock, moment
from keyheat.runfiles import SIMULATED
from keyheat.runs.endpoints import NO_CAPACITY_MODEL
from keyheat.runs.formats import Verdict
from keyheat.show.answer import Tone
from keyheat.words import LIMITS, Constraint, whose

if TYPE_CHECKING:
    from keyheat.analysis.summary import RunSummary

SHOWN: tuple[Constraint, ...] = ("partition", "table", "max_on_demand", "account", "undetermined")

NAMES: dict[Constraint, str] = {
    "partition": "Partition limit",
    "table": "Table capacity",
    "max_on_demand": "On-demand maximum",
    "account": "Account limit",
    "undetermined": "Undetermined",
    "none": "No throttles",
}
SHORT: dict[str | None, str] = {NO_CAPACITY_MODEL: "No capacity model"}
"""The verdict that rests on the endpoint alone, by rule."""


BURST: Final[Tone] = "burst"
"""The tone of a run that did not throttle only because saved burst carried it."""


def in_two_words(verdict: "Verdict | RunSummary", *, on_burst: bool, throttles: int) -> str:
    """A verdict as a chip says it; `throttles` are all of the run, too few for a verdict among them."""
    if verdict.rule in SHORT:
        return SHORT[verdict.rule]
    if tone_of(verdict, on_burst=on_burst) == BURST:
        return "On saved burst"
    if throttles and verdict.valid and verdict.constraint == "none":
        return "Hardly any throttles"
    return NAMES[verdict.constraint] if verdict.valid or verdict.constraint == "undetermined" else "Not valid"


def tone_of(verdict: "Verdict | RunSummary", *, on_burst: bool) -> Tone:
    """What the colour of a verdict says: a constraint, `burst` or `invalid`."""
    if not verdict.valid:
        return "invalid"
    return BURST if on_burst and verdict.constraint == "none" else verdict.constraint


assert set(get_args(Constraint)) == set(NAMES) == set(LIMITS)


def target_words(target: str) -> str:
    """Where a run was sent to; a named endpoint is its own name."""
    return {"local": "local table", SIMULATED: "simulated"}.get(target, target)


def limit_of(constraint: Constraint, resource: str | None) -> str:
    """A limit with whose it is: `a partition limit of index by-country`."""
    limit = LIMITS[constraint]
    return limit if constraint in ("account", "undetermined") else f"{limit} of {whose(resource)}"


DAY = len("2026-11-20")


def saying(start_s: float, end_s: float) -> Callable[[float], str]:
    """How a moment between the two is said; of several days, the time of day alone says nothing."""
    return moment if crosses_midnight(start_s, end_s) else clock


def crosses_midnight(start_s: float, end_s: float) -> bool:
    """Whether two moments are on different days (UTC)."""
    return moment(start_s)[:DAY] != moment(end_s)[:DAY]
