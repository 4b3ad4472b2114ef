"""Every action that can be recommended: what it counts, and how it changes a scenario.

The search for a cure, `keyheat fix` and the page have actions from this table and nowhere else.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any, Final, Literal

from keyheat.analysis.advice import capacity
from keyheat.numbers import some, span, units
from keyheat.plan.totals import ResourceSide, total_load
from keyheat.runs.formats import Diagnosis, Recommendation
from keyheat.scenario.scenario import Scenario, ScenarioError, scenario_from_dict
from keyheat.scenario.spec.part import MOST_UNITS, CacheSpec
from keyheat.scenario.variants import rates_times, with_index_shards
from keyheat.simulator.alterations import Change, in_copies, in_eventual_reads, in_shards, spreads_itself
from keyheat.words import READ, TABLE, WRITE, Direction, index_of, label_of, title_of, whose

CACHE: Final = CacheSpec(ttl_s=1.0, items=10_000)
"""A read-through cache in every process, where the load test can have one."""
SCALES_AFTER_S: Final = 600.0
"""A load that is shorter has ended before auto scaling has changed anything: two minutes above the target, an
alarm of up to three, and the update."""
MOST_COPIES: Final = 20  # global secondary indexes of a table
SHARDED_TWINS: Final = {
    "audit_log": "random_shards",
    "datekey": "random_shards",
    "hotkey": "sharded",
}
"""Load tests, and those that send the same to keys with a suffix and read it back."""
READS_ALREADY: Final = frozenset({"audit_log"})

Alteration = tuple[Callable[..., Change], tuple[Hashable, ...]]
"""A change of requests on their way, made anew for each simulation: a function and its arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Where an action is taken. By itself, as a search simulates it; or `whole`, as `keyheat fix` runs it.

    Whole is with all that goes with it: a load test that sends to shards, capacity for their readers.
    """

    target_utilisation: float
    simulated: bool = True  # hot keys may be divided, or copied, on the way of the requests
    whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """Actions that a scenario has taken, with what it says of them."""

    actions: tuple[str, ...]
    resource: str  # of the first
    direction: Direction
    scenario: Scenario
    says: str  # what was done, in words that follow "with"
    notes: tuple[str, ...] = ()  # what else had to change, or is not as the load test would do it
    queries_per_read: tuple[int, int] | None = None  # of one key, before and after; None: as before
    alters: tuple[Alteration, ...] = ()  # what only a simulation does, on the way of the requests
    not_tried: tuple["ByHand", ...] = ()  # recommended before these actions


@dataclass(frozen=True, slots=True, kw_only=True)
class ByHand:
    """An action that no rerun can show, and what can be done instead."""

    action: str
    why: str

    @property
    def words(self) -> str:
        """The action with its reason, as a line of a list."""
        return f"{title_of(self.action)} ({self.action}): {self.why}"


Outcome = Applied | ByHand
Take = Callable[[Recommendation, Scenario, Setting], Applied]
"""Change a scenario. Raises `NotShown` with what can be done instead, and `ScenarioError`."""


class NotShown(ValueError):
    """An action that no rerun of this scenario can show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One thing that can be changed. `take` changes a scenario; else `by_hand` says why no rerun shows it."""

    take: Take | None = None
    counts: Literal["shards", "units"] | None = None  # what its number is of
    by_hand: str = "this version does not know the action."


def apply(advice: Recommendation, scenario: Scenario, on: Setting) -> Outcome:
    """The scenario with a recommendation taken, checked whole; or why it cannot be.

    What was expected of the scenario as it was is not expected of the changed one.
    """
    action = ACTIONS.get(advice.action, Action())
    if action.take is None:
        return ByHand(action=advice.action, why=action.by_hand)
    try:
        return action.take(advice, scenario, on)
    except NotShown as reason:
        return ByHand(action=advice.action, why=str(reason))
    except ScenarioError as error:
        return ByHand(action=advice.action, why=f"the changed scenario is invalid: {'; '.join(error.errors)}")


def counts(action: str, what: Literal["shards", "units"]) -> bool:
    """Whether the number of an action is of shards or copies of keys, or of units per second."""
    return ACTIONS.get(action, Action()).counts == what


def rank(action: str) -> int:
    """The place of an action in the table, if dollars do not decide; the last if no rerun can show it."""
    takes = [name for name, entry in ACTIONS.items() if entry.take]
    return takes.index(action) if action in takes else len(takes)


def in_order(advised: Sequence[Recommendation], diagnosis: Diagnosis) -> list[Recommendation]:
    """Sort advice: the verdict's own limit first, then by preference.

    Where nothing throttled, the limit that is exceeded the furthest comes first, as in `advised`.
    """
    verdict = diagnosis.verdict
    of = verdict if verdict.resource or not advised else advised[0]
    limit = {"resource": of.resource or TABLE, "direction": of.direction or WRITE}
    sided = [advice if advice.resource else advice.model_copy(update=limit) for advice in advised]
    side, of_all = tuple(limit.values()), verdict.constraint in ("table", "max_on_demand", "account")

    def place_of(advice: Recommendation) -> tuple[bool, bool, int]:
        elsewhere = (advice.resource, advice.direction) != side
        return elsewhere, of_all and counts(advice.action, "shards"), rank(advice.action)

    return sorted(sided, key=place_of)


def _side(advice: Recommendation) -> tuple[str, Direction]:
    return advice.resource or TABLE, Direction(advice.direction or WRITE)


def _raw(scenario: Scenario) -> dict[str, Any]:
    return scenario.model_dump(mode="json")


def _applied(advice: Recommendation, raw: Mapping[str, Any], says: str, **more: Any) -> Applied:
    resource, direction = _side(advice)
    scenario = scenario_from_dict({**raw, "expects": None}, f"{raw['name']}, fixed")
    return Applied(
        actions=(advice.action,), resource=resource, direction=direction, scenario=scenario, says=says, **more
    )


def _set_units(
    change: capacity.Raise, says: str, advice: Recommendation, scenario: Scenario, on: Setting
) -> Applied:
    """More capacity, a minimum, auto scaling, a higher maximum, or pre-warming."""
    resource, direction = _side(advice)
    if advice.units is None:
        raise NotShown("the demand is not known: `keyheat whatif NAME capacity` finds the capacity it needs.")
    if advice.units > MOST_UNITS:
        raise NotShown(f"a scenario's table has {units(MOST_UNITS, direction)} at most.")
    raw, amount = _raw(scenario), ceil(advice.units)
    capacity.with_units(
        raw, change, amount, index=index_of(resource), direction=direction, target=on.target_utilisation
    )
    words = says.format(f"{units(amount, direction)} of {whose(resource)}")
    maximum = ", with the maximum of its auto scaling raised to as much" if advice.max_units else ""
    return _applied(advice, raw, f"{words}{maximum}")


def _scale(advice: Recommendation, scenario: Scenario, on: Setting) -> Applied:
    """Auto scaling, or a higher maximum of it, where a rerun is long enough to show it."""
    lasts_s = scenario.load.duration_s
    if on.whole and advice.units is not None and not on.simulated:
        raise NotShown("a run sets up no auto scaling; --target simulated plays it.")
    if on.whole and advice.units is not None and lasts_s < SCALES_AFTER_S:
        raise NotShown(
            f"auto scaling acts after minutes, and this load lasts {span(lasts_s)}: run it for "
            f"{span(SCALES_AFTER_S)} or longer (load.duration_s)."
        )
    return _set_units(capacity.auto_scaling, "auto scaling up to {}", advice, scenario, on)


def _pay_by_request(advice: Recommendation, scenario: Scenario, _on: Setting) -> Applied:
    raw = _raw(scenario)
    notes = ("The timeline of capacities is left out.",) if capacity.on_demand(raw) else ()
    return _applied(advice, raw, "the table on demand", notes=notes)


def _read_eventually(advice: Recommendation, scenario: Scenario, on: Setting) -> Applied:
    if on.whole:
        raise NotShown(
            "the load test sets how it reads, not the scenario: change it there, run it again, and compare "
            "both runs with `keyheat compare`."
        )
    return _applied(advice, _raw(scenario), "eventually consistent reads", alters=((in_eventual_reads, ()),))


def _cache(advice: Recommendation, scenario: Scenario, _on: Setting) -> Applied:
    """A read-through cache, where the load test can have one."""
    if scenario.loadtest != "read_cache" or scenario.cache is not None:
        raise NotShown(
            f"{scenario.loadtest_shown} cannot read through a cache, or does so already; "
            "`keyheat simulate read-cache` shows what one saves."
        )
    raw = _raw(scenario) | {"cache": CACHE.model_dump(mode="json")}
    note = "What the cache answers does not reach the table: there, fewer reads are tried."
    return _applied(advice, raw, f"a cache of {span(CACHE.ttl_s)} in every process", notes=(note,))


def _copy(advice: Recommendation, scenario: Scenario, on: Setting) -> Applied:
    """Global indexes with the table's own keys, each a copy that answers its part of the reads."""
    count, raw, table = advice.shards, _raw(scenario), scenario.table
    reads = scenario.loadtest == "read_cache" and scenario.cache is None and not table.indexes
    if count is not None and reads and on.whole:
        number = min(count - 1, MOST_COPIES)
        raw["loadtest"] = "read_spread"
        raw["table"]["indexes"] = [
            {"name": f"copy-{copy}", "partition_key": table.partition_key, "sort_key": table.sort_key,
             "provisioned": raw["table"]["provisioned"], "max_on_demand": raw["table"]["max_on_demand"]}
            for copy in range(1, number + 1)
        ]  # fmt: skip
        note = "Every write is paid once for the table and once for each copy."
        return _applied(advice, raw, f"the table and {some(number, 'copy', 'copies')} of it", notes=(note,))
    if count is not None and on.simulated:
        note, says = "Each write of a hot item is paid once for every copy.", some(count, "copy", "copies")
        alters = ((in_copies, (count,)),)
        return _applied(advice, raw, f"{says} of the hot items", notes=(note,), alters=alters)
    raise NotShown(
        f"{scenario.loadtest_shown} cannot read from copies; `keyheat simulate read-spread` shows what they "
        "save, and what their writes cost."
    )


def _shard(advice: Recommendation, scenario: Scenario, on: Setting) -> Applied:
    """Suffixes on the keys: by the load test itself, by its twin, or on their way in a simulation."""
    count = advice.shards
    if count is None:
        raise NotShown("how many shards are enough is not known: `keyheat whatif NAME shards` finds it.")
    if scenario.dynamic_sharding is not None:
        raise NotShown("its writers add shards by themselves: see [dynamic_sharding] of the scenario.")
    says, notes, twin = f"{some(count, 'shard')} for each key", [], SHARDED_TWINS.get(scenario.loadtest)
    raw = _raw(scenario)
    raw["keys"]["shards"] = count
    if spreads_itself(scenario):
        if any(task.operation == "query" and task.index is None for task in scenario.tasks):
            notes = [
                "Its queries ask for one shard each, as before: reading a whole value takes "
                f"{count:,} of them."
            ]
        return _sharded(advice, scenario, raw, says, notes, on)
    if twin is not None and scenario.table.sort_key is not None and on.whole:
        raw["loadtest"] = twin
        notes = [f"The load test {twin} sends the same to keys with a suffix."]
        if scenario.loadtest not in READS_ALREADY:
            raw["load"] = _with_one_more_user(scenario)
            notes.append("One user more reads the shards back: that is the price of the fix.")
        return _sharded(advice, scenario, raw, says, notes, on)
    if on.simulated:
        return _divided(advice, raw, says, (scenario.keys.shards, count))
    raise NotShown(
        f"{scenario.loadtest_shown} spreads no key, and no other load test sends the same to shards: "
        "write one (`keyheat loadtests copy sharded` is an example), or add --target simulated."
    )


def _shard_index(advice: Recommendation, scenario: Scenario, on: Setting) -> Applied:
    """A prefix on the index's partition key, by the scenario's attributes or the load test's twin."""
    count, resource = advice.shards, _side(advice)[0]
    if count is None:
        raise NotShown(
            f"one key of {whose(resource)} gets too many reads, and how many prefixes are enough is "
            "not known: `keyheat whatif NAME shards --index INDEX` finds it."
        )
    says = f"{count:,} prefixes of {whose(resource)}"
    index = index_of(resource)
    changed = with_index_shards(scenario, index, count) if index is not None else None
    if changed is not None:
        note = f"The load test {changed.loadtest} sends the same, its index keyed by a prefix."
        notes = [note] if changed.loadtest != scenario.loadtest else []
        return _sharded(advice, scenario, _raw(changed), says, notes, on)
    if on.simulated:
        return _divided(advice, _raw(scenario), says, (1, count))
    raise NotShown(
        f"no load test sends what {scenario.loadtest_shown} does to an index with a prefix: describe the "
        "index's key under [attributes], or write one (`keyheat loadtests copy country_index_sharded` is an "
        "example)."
    )


def _divided(advice: Recommendation, raw: dict[str, Any], says: str, queries: tuple[int, int]) -> Applied:
    """Hot keys that only the simulator divides."""
    resource, direction = _side(advice)
    note = "The simulator divides the hot keys; no request reads the shards back."
    return _applied(
        advice, raw, says, notes=(note,), queries_per_read=queries,
        alters=((in_shards, (advice.shards, direction, index_of(resource))),),
    )  # fmt: skip


def _with_one_more_user(scenario: Scenario) -> dict[str, Any]:
    """The load with one user more, at the pace of the others, whose own demand stays as it was."""
    load, users = scenario.load.model_dump(mode="json"), scenario.load.users
    if scenario.load.target_unit == "requests":  # steered by units, a reader would write none of them
        load = {**rates_times((users + 1) / users, load), "spawn_per_s": load["spawn_per_s"]}
    return {**load, "users": users + 1}


def _sharded(
    advice: Recommendation, scenario: Scenario, raw: dict[str, Any], says: str, notes: list[str], on: Setting
) -> Applied:
    """The sharded scenario; where it is run whole, with read capacity for those who read all shards back."""
    queries = scenario.keys.shards, advice.shards or 1
    if on.whole:
        sharded = scenario_from_dict({**raw, "expects": None}, f"{scenario.name}, fixed")
        for owner in (raw["table"], *raw["table"]["indexes"]):
            index = None if owner is raw["table"] else owner["name"]
            has = (owner["provisioned"] or {}).get("read")
            before, after = (_reads_per_s(side, index) for side in (scenario, sharded))
            needed = ceil(after / on.target_utilisation)
            if has and needed > has and after > before:  # else nothing about its reads changes
                owner["provisioned"]["read"] = needed
                notes.append(
                    f"Reading all shards back takes {needed:,} RCU/s of {whose(label_of(index))}, "
                    f"which had {has:,}."
                )
    return _applied(advice, raw, says, queries_per_read=queries, notes=tuple(notes))


def _reads_per_s(scenario: Scenario, index: str | None) -> float:
    """Read units that its load test asks for in the busiest second, of a table at scale 1."""
    sent = total_load(scenario, scale=scenario.local.scale)
    reads = sent.sides.get(ResourceSide(scenario.table.name, index, READ)) if sent else None
    return float(reads.per_s.max()) / scenario.local.scale if reads else 0.0


_LATER: Final = "it sends the same demand later, but both runs of a fix need the same demand at the same time"
ACTIONS: Final[Mapping[str, Action]] = {
    "shard_writes": Action(take=_shard, counts="shards"),
    "shard_date_key": Action(take=_shard, counts="shards"),
    "change_index_key": Action(take=_shard_index, counts="shards"),
    "raise_maximum": Action(take=_scale, counts="units"),
    "raise_minimum": Action(
        take=partial(_set_units, capacity.minimum, "at least {} provisioned"), counts="units"
    ),
    "raise_capacity": Action(
        take=partial(_set_units, capacity.provisioned, "{} provisioned"), counts="units"
    ),
    "raise_max_on_demand": Action(
        take=partial(_set_units, capacity.max_on_demand, "an on-demand maximum of {}"), counts="units"
    ),
    "pre_warm": Action(take=partial(_set_units, capacity.warm, "warm throughput of {}"), counts="units"),
    "cache_reads": Action(take=_cache),
    "replicate_reads": Action(take=_copy, counts="shards"),
    "on_demand": Action(take=_pay_by_request),
    "auto_scaling": Action(take=_scale, counts="units"),
    "read_eventually_consistent": Action(take=_read_eventually),
    "back_off": Action(
        by_hand=f"{_LATER}; `keyheat whatif NAME retries` compares retry policies under the same demand.",
    ),
    "queue_writes": Action(by_hand=f"{_LATER}."),
    "slow_scans": Action(
        by_hand="a scenario has no scans: set a Limit on each page, and pause between pages.",
    ),
    "collect_evidence": Action(
        by_hand="the cause is not known yet, so no fix can be tried: `keyheat collect` gets more evidence.",
    ),
    "raise_account_quota": Action(
        by_hand="the quota is the account's, and no scenario sets it: ask Service Quotas."
    ),
    "raise_cardinality": Action(
        by_hand="the application decides which values the key has: write them as [keys] of a "
        "scenario, and compare both with `keyheat run OLD NEW`."
    ),
    "ramp": Action(
        by_hand="it changes the demand, and both runs of a fix need the same demand: give the scenario a "
        "[load.shape] that at most doubles every 30 minutes.",
    ),
}
"""Every action that can be recommended, in the order of preference."""
