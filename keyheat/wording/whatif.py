"""A what-if search: the answer in a sentence, every number that was tried, and both for programs."""

from typing import Any, Final

from keyheat.model.resources import Cause
from keyheat.numbers import NOTHING, UNITS, a_month, exact_percent, percent, rate, some, whole
from keyheat.plan.charges import monthly
from keyheat.plan.prices import Prices
from keyheat.scenario.scenario import SCENARIOS, Scenario
from keyheat.simulator.outcome import Left
from keyheat.simulator.search import Trial, WhatIfSearch
from keyheat.terms import THROTTLED_BY
from keyheat.words import Direction, label_of, whose

FORMAT: Final = "keyheat.whatif/1"
LIMITS: Final = {
    Cause.KEY_RANGE: "the limit of one partition",
    Cause.PROVISIONED: "the provisioned capacity",
    Cause.MAX_ON_DEMAND: "the on-demand maximum",
    Cause.ACCOUNT: "the account's quota",
}
STEADY: Final = (
    "Nothing that was saved up counts, for burst is given on a best effort only: the answer holds however "
    "long the load lasts. --with-burst counts it."
)
BURST: Final = "Saved-up burst counts here: what is enough for this load's time may not be for longer."


def sentence_of(search: WhatIfSearch) -> str:
    """The verdict, with the numbers that carry it."""
    most = exact_percent(search.share_most)
    if search.answer is None:
        last = search.candidates[-1]
        return (
            f"Not even {amount(search, last.value)} {'is' if last.value == 1 else 'are'} enough: "
            f"{percent(last.share)} is still throttled, by {_limit(search, last)}."
        )
    found = search.answer
    share = "none" if not found.share else percent(found.share)
    verb = "is" if found.value == 1 else "are"
    said = (
        f"{amount(search, found.value)} {verb} enough: {share} of the {attempts_in(search)} throttled, where "
        f"{most} is allowed"
    )
    smaller = [one for one in search.candidates if one.value < found.value and not one.enough]
    if not smaller:
        return f"{said}."
    before = smaller[-1]
    return f"{said}; with {whole(before.value)} it was {percent(before.share)}, by {_limit(search, before)}."


def notes_of(search: WhatIfSearch, prices: Prices, formula: int | None) -> list[str]:
    """What has to be known beside the answer."""
    said = []
    shards, name = search.question == "shards", _typed(search.scenario)
    last = _left(search, search.candidates[-1])
    if shards:
        if formula is not None:
            said.append(
                f"By the formula {some(formula, 'shard')} would do if each had a partition to itself; "
                "shards are placed by a hash, and some of them share one. Other key names than "
                "the scenario's fall otherwise: a few shards more make that sure."
            )
        if search.answer is None and last is not None and not _is_partition(last):
            said.append(
                "What is left is no matter of shards. Where several limits are short at once, "
                f"keyheat simulate {name} tries their cures together."
            )
        lucky = [one.value for one in search.candidates if one.enough and one.value < _least(search)]
        if lucky:
            numbers = ", ".join(map(str, lucky))
            said.append(f"{numbers} held as well, but only by luck: one shard more did not.")
    elif search.answer is None and _is_partition(last):
        said.append(
            "More capacity does not help a partition's limit: ask how many shards are enough "
            f"(keyheat whatif {name} shards{_of_index(last)}). Where both are short, "
            f"keyheat simulate {name} tries their cures together."
        )
    of_this_kind = Cause.KEY_RANGE if shards else Cause.PROVISIONED
    if search.answer is None and last and last.cause is of_this_kind and last.index != search.index:
        said.append(
            f"That is a limit of {whose(label_of(last.index))}, and was not asked about: "
            f"keyheat whatif {name} {search.question}{_of_index(last)}."
        )
    said.append(BURST if search.burst else STEADY)
    changing = search.scenario.changes_capacity
    if search.question != "shards" and changing:
        said.append("Timeline and auto scaling are left out: the capacity is the same all the time.")
    said.append(f"Dollars are a month of this load, around the clock; {prices.shown}.")
    return said


def _typed(scenario: Scenario) -> str:
    """The scenario as it is typed: one of ours by its name, of a file of one's own it is not known here."""
    return scenario.name if (SCENARIOS / f"{scenario.name}.toml").exists() else "SCENARIO"


def _of_index(left: Left | None) -> str:
    return f" --index {left.index}" if left is not None and left.index is not None else ""


def _is_partition(left: Left | None) -> bool:
    return left is not None and left.cause is Cause.KEY_RANGE


def _least(search: WhatIfSearch) -> int:
    return search.answer.value if search.answer is not None else search.most + 1


def columns_of(search: WhatIfSearch) -> tuple[str, ...]:
    """What is said of every number that was tried; first the number, in its unit."""
    first = "shards" if search.question == "shards" else _unit(search)
    price = f"one {_whole(search)}" if search.question == "shards" else "provisioned"
    return (first, "throttled", THROTTLED_BY, "accepted", price, "on demand")


def row_of(search: WhatIfSearch, one: Trial, prices: Prices) -> list[str]:
    """The same of one of them."""
    costs = monthly(one, prices)
    cells = [
        whole(one.value),
        percent(one.share) if one.share else "none",
        _limited_by(search, one),
        rate(_accepted(search, one), _unit(search)),
    ]
    if search.question == "shards":
        each = "query" if _whole(search) == "read" else "put"
        cells.append(f"{one.value:,} × {each}")
    elif costs.provisioned_dollars is not None:
        cells.append(a_month(costs.provisioned_dollars))
    paid = costs.on_demand_dollars if one.enough else None  # else it is not all of this load
    return [*cells, a_month(paid)]


def _accepted(search: WhatIfSearch, one: Trial) -> float:
    """Units per second of the resource and direction in question."""
    return one.outcomes[0].accepted_per_s.get((search.index, search.direction), 0.0)


def _unit(search: WhatIfSearch) -> str:
    return UNITS[search.direction.value]


def _whole(search: WhatIfSearch) -> str:
    """What takes one request for each shard: a read of the whole collection; of copies to read, a write."""
    return "write" if search.direction is Direction.READ else "read"


def amount(search: WhatIfSearch, number: int) -> str:
    """A number with what is counted."""
    if search.question == "shards":
        return some(number, "shard")
    whose = "" if search.index is None else f" for index {search.index}"
    return f"{whole(number)} {_unit(search)}{whose}"


def attempts_in(search: WhatIfSearch) -> str:
    """What throttles, as a noun."""
    return {"shards": "attempts", "write-capacity": "writes", "read-capacity": "reads"}[search.question]


def _limit(search: WhatIfSearch, one: Trial) -> str:
    left = _left(search, one)
    if left is None:
        return "nothing that was recorded"
    whose = "the table" if left.index is None else f"index {left.index}"
    return f"{LIMITS[left.cause]} of {whose} ({left.direction}s)"


def _left(search: WhatIfSearch, one: Trial) -> Left | None:
    """What throttled most in this candidate, in the direction of the capacity that is asked for."""
    found = one.outcomes[-1].left
    if search.question != "shards":
        found = tuple(left for left in found if left.direction is search.direction)
    return found[0] if found else None


def _limited_by(search: WhatIfSearch, one: Trial) -> str:
    """The constraint, and whose it is where it is not the table's; in few letters."""
    left = _left(search, one)
    if left is None:
        return NOTHING
    constraint = left.cause.constraint
    return constraint if left.index is None else f"{constraint} ({left.index})"


def whatif_json(search: WhatIfSearch, prices: Prices, formula: int | None) -> dict[str, Any]:
    """The same for programs."""
    return {
        "format": FORMAT,
        "scenario": search.scenario.name,
        "question": search.question,
        "index": search.index,
        "throttle_share_most": search.share_most,
        "most": search.most,
        "burst": search.burst,
        "answer": None if search.answer is None else search.answer.value,
        "formula": formula,
        "sentence": sentence_of(search),
        "prices": prices.shown,
        "candidates": [_candidate_json(search, one, prices) for one in search.candidates],
    }


def _candidate_json(search: WhatIfSearch, one: Trial, prices: Prices) -> dict[str, Any]:
    costs = monthly(one, prices)
    return {
        "value": one.value,
        "enough": one.enough,
        "throttle_share": one.share,
        "throttle_share_by_seed": {str(outcome.seed): outcome.share() for outcome in one.outcomes},
        "limited_by": [
            {
                "index": left.index,
                "direction": left.direction.value,
                "constraint": left.cause.constraint,
                "throttle_events": left.events,
            }
            for left in one.outcomes[-1].left
        ],
        "accepted_units_per_s": _accepted(search, one),
        "provisioned_dollars_per_month": costs.provisioned_dollars,
        "on_demand_dollars_per_month": costs.on_demand_dollars,
        "queries_per_read": costs.queries_per_read,
        "read_units_per_read": costs.units_per_read,
    }
