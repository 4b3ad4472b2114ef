"""Words that pages and terminals share: of limits, targets and moments, and what an endpoint can prove."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, get_args

from keyheat.numbers import clock, moment
from keyheat.runfiles import SIMULATED
from keyheat.runs.capabilities import QUESTIONS, Capabilities
from keyheat.runs.formats import Verdict
from keyheat.runs.provability import NO_CAPACITY_MODEL, NOT_KNOWN, can_prove, cannot_prove
from keyheat.words import Constraint, whose

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
SHORT: dict[str | None, str] = {
    NO_CAPACITY_MODEL: "No capacity model",
    NOT_KNOWN: "Capacity model not known",
}
"""Verdicts that rest on the endpoint alone, by rule."""


BURST: Final = "burst"
"""The tone of a run that did not throttle only because saved burst carried it."""


def in_two_words(verdict: "Verdict | RunSummary", *, on_burst: bool) -> str:
    """A verdict as a chip says it."""
    if verdict.rule in SHORT:
        return SHORT[verdict.rule]
    if tone_of(verdict, on_burst=on_burst) == BURST:
        return "On saved burst"
    return NAMES[verdict.constraint] if verdict.valid else "Not valid"


def tone_of(verdict: "Verdict | RunSummary", *, on_burst: bool) -> str:
    """What the colour of a verdict says: a constraint, `burst` or `invalid`."""
    if not verdict.valid:
        return "invalid"
    return BURST if on_burst and verdict.constraint == "none" else verdict.constraint


MEANINGS: dict[Constraint, str] = {
    "partition": "the demand for one key range was more than a partition admits, whatever the table has left",
    "table": "the demand on the table or index as a whole was more than is provisioned for it",
    "max_on_demand": "the table's own on-demand maximum was reached",
    "account": "the account's limit for one table was reached",
    "undetermined": "there were throttles, and the evidence does not say which limit they met",
    "none": "nothing was throttled",
}

LIMITS: dict[Constraint, str] = {
    "partition": "one partition",
    "table": "the provisioned capacity",
    "max_on_demand": "the on-demand maximum",
    "account": "the account's quota for one table",
    "undetermined": "a limit that the evidence does not tell",
    "none": "no limit",
}
"""What throttled, as the subject of a sentence."""

assert set(get_args(Constraint)) == set(NAMES) == set(LIMITS)


def target_words(target: str) -> str:
    """Where a run was sent to; a named endpoint is its own name."""
    return {"local": "local table", SIMULATED: "simulated"}.get(target, target)


def limit_of(constraint: Constraint, resource: str | None) -> str:
    """A limit with whose it is: `one partition of index by-country`."""
    limit = LIMITS[constraint]
    return limit if constraint in ("account", "undetermined") else f"{limit} of {whose(resource)}"


DAY = len("2026-11-20")


def saying(start_s: float, end_s: float) -> Callable[[float], str]:
    """How a moment between the two is said; of several days, the time of day alone says nothing."""
    return moment if crosses_midnight(start_s, end_s) else clock


def crosses_midnight(start_s: float, end_s: float) -> bool:
    """Whether two moments are on different days (UTC)."""
    return moment(start_s)[:DAY] != moment(end_s)[:DAY]


CLOCK_OFF_S = 2.0  # from which a clock is worth a word


def endpoint_facts(found: Capabilities) -> dict[str, str]:
    """Everything that is known of an endpoint, under names."""
    return {
        "it": f"{found.product} ({found.source})",
        **{f"can prove {place}": words for place, words in enumerate(can_prove(found), start=1)},
        **{f"cannot prove {place}": words for place, words in enumerate(cannot_prove(found), start=1)},
        **dict(measured(found)),
        **{said: f"{found.of(name).answer}: {found.of(name).seen}" for name, said in QUESTIONS.items()},
    }


def endpoint_json(url: str, found: Capabilities) -> dict[str, Any]:
    """The same for another program."""
    return {
        "url": url,
        "can_prove": can_prove(found),
        "cannot_prove": cannot_prove(found),
        **found.to_json(),
    }


def measured(found: Capabilities) -> Iterator[tuple[str, str]]:
    """What was measured of it, as names and values."""
    if found.latency_ms is not None:
        yield "a read that finds nothing", f"{found.latency_ms:g} ms"
    if found.clock_ahead_s is not None:
        off = abs(found.clock_ahead_s) >= CLOCK_OFF_S
        word = "ahead of" if found.clock_ahead_s > 0 else "behind"
        yield "its clock", f"{abs(found.clock_ahead_s):g} s {word} ours" if off else "agrees with ours"
