"""Every action that can be recommended: what it counts, and how it changes a scenario.

The search for a cure, `keyheat fix` and the page have actions from this table and nowhere else.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import Any, Final, Literal

from keyheat.numbers import some, span, units
from keyheat.plan.totals import ResourceSide, total_load
from keyheat.runs.formats import CureStep, Diagnosis, Recommendation
from keyheat.scenario.scenario import Scenario, ScenarioError, scenario_from_dict
from keyheat.scenario.spec.part import MOST_UNITS, CacheSpec
from keyheat.scenario.variants import rates_times, with_index_shards
from keyheat.simulator.traffic import Change, in_copies, in_eventual_reads, in_shards, spreads_itself
from keyheat.words import READ, TABLE, WRITE, Direction, index_of, label_of, title_of, whose

SCALES_AFTER_S: Final = 600.0
"""A shorter load ends before auto scaling acts: two minutes beyond its target, an alarm, the update."""
SHARDED_TWINS: Final = {"datekey": "random_shards", "hotkey": "sharded"}
"""Load tests, and those that send the same to keys with a suffix and read it back."""

Alteration = tuple[Callable[..., Change], tuple[Hashable, ...]]
"""A change of requests on their way, made anew for each simulation: a function and its arguments."""
Advised = Recommendation | CureStep
Raw = dict[str, Any]  # a scenario as JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Where an action is taken. By itself, as a search simulates it; or `whole`, as `keyheat fix` runs it."""

    target_utilisation: float
    simulated: bool = True  # hot keys may be divided, or copied, on the way of the requests
    whole: bool = False  # with a load test that sends to shards, and capacity for their readers


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
    not_tried: tuple[str, ...] = ()  # recommended before these actions, each with its reason


class NotShown(ValueError):
    """An action that no rerun of this scenario can show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One thing that can be changed. `take` changes a scenario; else `by_hand` says why no rerun shows it."""

    take: Callable[[Advised, Scenario, Setting], Applied] | None = None
    counts: Literal["shards", "units"] | None = None  # what its number is of
    by_hand: str = "this version does not know the action."


def apply(steps: Sequence[Advised], scenario: Scenario, on: Setting) -> Applied | str:
    """The scenario with all steps taken, one after the other, checked whole; or why no rerun can show one.

    What was expected of the scenario as it was is not expected of the changed one.
    """
    taken: list[Applied] = []
    for step in steps:
        action, of_what = ACTIONS.get(step.action, Action()), f"{title_of(step.action)} ({step.action})"
        if action.take is None:
            return f"{of_what}: {action.by_hand}"
        try:
            taken.append(action.take(step, taken[-1].scenario if taken else scenario, on))
        except NotShown as reason:
            return f"{of_what}: {reason}"
        except ScenarioError as error:
            return f"{of_what}: the changed scenario is invalid: {'; '.join(error.errors)}"
    return replace(
        taken[0],
        actions=tuple(action for step in taken for action in step.actions),
        scenario=taken[-1].scenario,
        says=" and ".join(step.says for step in taken),
        notes=tuple(note for step in taken for note in step.notes),
        queries_per_read=next((step.queries_per_read for step in taken if step.queries_per_read), None),
        alters=tuple(alter for step in taken for alter in step.alters),
    )


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


def _side(advice: Advised) -> tuple[str, Direction]:
    return advice.resource or TABLE, Direction(advice.direction or WRITE)


def _applied(advice: Advised, raw: Raw, says: str, **more: Any) -> Applied:
    resource, direction = _side(advice)
    scenario = scenario_from_dict({**raw, "expects": None}, f"{raw['name']}, fixed")
    return Applied(
        actions=(advice.action,), resource=resource, direction=direction, scenario=scenario, says=says, **more
    )


def _set_units(
    field: str, says: str, advice: Advised, scenario: Scenario, on: Setting, *, minimum: bool = False
) -> Applied:
    """More capacity, a minimum, auto scaling, a higher maximum, or pre-warming."""
    resource, direction = _side(advice)
    if advice.units is None:
        raise NotShown("the demand is not known: `keyheat whatif NAME capacity` finds the capacity it needs.")
    if advice.units > MOST_UNITS:
        raise NotShown(f"a scenario's table has {units(MOST_UNITS, direction)} at most.")
    raw, amount, index = scenario.model_dump(mode="json"), ceil(advice.units), index_of(resource)
    for owner in (raw["table"], *raw["table"]["indexes"]):
        if index == (None if owner is raw["table"] else owner["name"]):
            _set_on(owner, field, direction, amount, on, minimum=minimum)
    if field in ("provisioned", "max_on_demand"):  # drop the steps that would take the units back
        for step in raw["timeline"]:
            pair = step[field] or {}
            if step["index"] == index and pair.get(direction) is not None and pair[direction] <= amount:
                pair[direction] = amount if step["billing_mode"] else None  # a switch states both sides
                step[field] = pair if any(pair.values()) else None
        changes = ("billing_mode", "provisioned", "max_on_demand", "warm")
        raw["timeline"] = [step for step in raw["timeline"] if any(step[name] for name in changes)]
    words = says.format(f"{units(amount, direction)} of {whose(resource)}")
    maximum = ", with the maximum of its auto scaling raised to as much" if advice.max_units else ""
    return _applied(advice, raw, f"{words}{maximum}")


def _set_on(owner: Raw, field: str, direction: Direction, amount: int, on: Setting, *, minimum: bool) -> None:
    """Set a table's or index's units, no less than at the beginning, from which a timeline may lower them."""
    has = (owner["provisioned"] or {}).get(direction) or 0
    policy = (owner["auto_scaling"] or {}).get(direction)
    value: Any = max(amount, has) if field == "provisioned" else amount
    if policy and field in ("provisioned", "auto_scaling"):
        policy["max"] = max(policy["max"], value)
        policy["min"] = max(policy["min"], amount) if minimum else policy["min"]
    if field == "auto_scaling":
        value = policy or {"min": min(has or 1, amount), "max": amount, "target": on.target_utilisation}
    owner[field] = (owner[field] or {}) | {direction.value: value}


def _scale(advice: Advised, scenario: Scenario, on: Setting) -> Applied:
    """Auto scaling, or a higher maximum of it, where a rerun is long enough to show it."""
    if on.whole and advice.units is not None and not on.simulated:
        raise NotShown("a run sets up no auto scaling; --target simulated plays it.")
    if on.whole and advice.units is not None and scenario.load.duration_s < SCALES_AFTER_S:
        raise NotShown(
            f"auto scaling acts after minutes, and this load lasts {span(scenario.load.duration_s)}: run "
            f"it for {span(SCALES_AFTER_S)} or longer (load.duration_s)."
        )
    return _set_units("auto_scaling", "auto scaling up to {}", advice, scenario, on)


def _pay_by_request(advice: Advised, scenario: Scenario, _on: Setting) -> Applied:
    raw = scenario.model_dump(mode="json")
    for owner in (raw["table"], *raw["table"]["indexes"]):
        owner |= {"provisioned": None, "auto_scaling": None}
    raw["table"]["billing_mode"] = "PAY_PER_REQUEST"
    steps = [step for step in raw["timeline"] if step["provisioned"] is None and step["billing_mode"] is None]
    notes = ("The timeline of capacities is left out.",) if len(steps) < len(raw["timeline"]) else ()
    return _applied(advice, raw | {"timeline": steps}, "the table on demand", notes=notes)


def _read_eventually(advice: Advised, scenario: Scenario, on: Setting) -> Applied:
    if on.whole:
        raise NotShown(
            "the load test sets how it reads, not the scenario: change it there, run it again, and compare "
            "both runs with `keyheat compare`."
        )
    return _applied(
        advice,
        scenario.model_dump(mode="json"),
        "eventually consistent reads",
        alters=((in_eventual_reads, ()),),
    )


def _cache(advice: Advised, scenario: Scenario, _on: Setting) -> Applied:
    """A read-through cache, where the load test can have one."""
    if scenario.loadtest != "read_cache" or scenario.cache is not None:
        raise NotShown(
            f"{scenario.loadtest_shown} cannot read through a cache, or does so already; "
            "`keyheat simulate read-cache` shows what one saves."
        )
    cache = CacheSpec(ttl_s=1.0, items=10_000)
    raw = scenario.model_dump(mode="json") | {"cache": cache.model_dump(mode="json")}
    note = "What the cache answers does not reach the table: there, fewer reads are tried."
    return _applied(advice, raw, f"a cache of {span(cache.ttl_s)} in every process", notes=(note,))


def _copy(advice: Advised, scenario: Scenario, on: Setting) -> Applied:
    """Global indexes with the table's own keys, each a copy that answers its part of the reads."""
    count, raw, table = advice.shards, scenario.model_dump(mode="json"), scenario.table
    reads = scenario.loadtest == "read_cache" and scenario.cache is None and not table.indexes
    if count is not None and reads and on.whole:
        number = min(count - 1, 20)  # global secondary indexes of a table
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


def _shard(advice: Advised, scenario: Scenario, on: Setting) -> Applied:
    """Suffixes on the keys: by the load test itself, by its twin, or on their way in a simulation."""
    count = advice.shards
    if count is None:
        raise NotShown("how many shards are enough is not known: `keyheat whatif NAME shards` finds it.")
    if scenario.dynamic_sharding is not None:
        raise NotShown("its writers add shards by themselves: see [dynamic_sharding] of the scenario.")
    says, twin = f"{some(count, 'shard')} for each key", SHARDED_TWINS.get(scenario.loadtest)
    raw, notes = scenario.model_dump(mode="json"), list[str]()
    raw["keys"]["shards"] = count
    if spreads_itself(scenario):
        if any(task.operation == "query" and task.index is None for task in scenario.tasks):
            per_value = f"reading a whole value takes {count:,} of them."
            notes.append(f"Its queries ask for one shard each, as before: {per_value}")
    elif twin is not None and scenario.table.sort_key is not None and on.whole:
        raw["loadtest"] = twin
        # The reader has the pace of the others, whose own demand stays as it was.
        load, users = raw["load"], scenario.load.users
        if scenario.load.target_unit == "requests":  # steered by units, a reader would write none of them
            load = {**rates_times((users + 1) / users, load), "spawn_per_s": load["spawn_per_s"]}
        raw["load"] = {**load, "users": users + 1}
        notes = [
            f"The load test {twin} sends the same to keys with a suffix.",
            "One user more reads the shards back: that is the price of the fix.",
        ]
    elif on.simulated:
        return _divided(advice, raw, says, (scenario.keys.shards, count))
    else:
        raise NotShown(
            f"{scenario.loadtest_shown} spreads no key, and no other load test sends the same to shards: "
            "write one (`keyheat loadtests copy sharded` is an example), or add --target simulated."
        )
    return _sharded(advice, scenario, raw, says, notes, on)


def _shard_index(advice: Advised, scenario: Scenario, on: Setting) -> Applied:
    """A prefix on the index's partition key, by the scenario's attributes or the load test."""
    count, resource = advice.shards, _side(advice)[0]
    if count is None:
        raise NotShown(
            f"one key of {whose(resource)} gets too many reads, and how many prefixes are enough is "
            "not known: `keyheat whatif NAME shards --index INDEX` finds it."
        )
    says, index = f"{count:,} prefixes of {whose(resource)}", index_of(resource)
    changed = with_index_shards(scenario, index, count) if index is not None else None
    if changed is not None:
        note = f"The load test {changed.loadtest} sends the same, its index keyed by a prefix."
        notes = [note] if changed.table != scenario.table else []
        return _sharded(advice, scenario, changed.model_dump(mode="json"), says, notes, on)
    if on.simulated:
        return _divided(advice, scenario.model_dump(mode="json"), says, (1, count))
    raise NotShown(
        f"no load test sends what {scenario.loadtest_shown} does to an index with a prefix: describe the "
        "index's key under [attributes], or write one (`keyheat loadtests copy country_index` is an example)."
    )


def _divided(advice: Advised, raw: Raw, says: str, queries: tuple[int, int]) -> Applied:
    """Hot keys that only the simulator divides."""
    resource, direction = _side(advice)
    note = "The simulator divides the hot keys; no request reads the shards back."
    return _applied(
        advice, raw, says, notes=(note,), queries_per_read=queries,
        alters=((in_shards, (advice.shards, direction, index_of(resource))),),
    )  # fmt: skip


def _sharded(
    advice: Advised, scenario: Scenario, raw: Raw, says: str, notes: list[str], on: Setting
) -> Applied:
    """The sharded scenario; where it is run whole, with read capacity for those who read all shards back."""
    if on.whole:
        sharded, scale = _applied(advice, raw, says).scenario, scenario.local.scale
        loads = [total_load(side, scale=scale) for side in (scenario, sharded)]
        for owner in (raw["table"], *raw["table"]["indexes"]):
            index = None if owner is raw["table"] else owner["name"]
            has, side = (
                (owner["provisioned"] or {}).get("read"),
                ResourceSide(scenario.table.name, index, READ),
            )
            reads = [load.sides.get(side) if load else None for load in loads]
            before, after = (float(read.per_s.max()) / scale if read else 0.0 for read in reads)
            needed = ceil(after / on.target_utilisation)
            if has and needed > has and after > before:  # else nothing about its reads changes
                owner["provisioned"]["read"] = needed
                notes.append(
                    f"Reading all shards back takes {needed:,} RCU/s of {whose(label_of(index))}, "
                    f"which had {has:,}."
                )
    queries = scenario.keys.shards, advice.shards or 1
    return _applied(advice, raw, says, queries_per_read=queries, notes=tuple(notes))


_LATER: Final = "it sends the same demand later, but both runs of a fix need the same demand at the same time"
ACTIONS: Final[Mapping[str, Action]] = {
    "shard_writes": Action(take=_shard, counts="shards"),
    "shard_date_key": Action(take=_shard, counts="shards"),
    "change_index_key": Action(take=_shard_index, counts="shards"),
    "raise_maximum": Action(take=_scale, counts="units"),
    "raise_minimum": Action(
        take=partial(_set_units, "provisioned", "at least {} provisioned", minimum=True), counts="units"
    ),
    "raise_capacity": Action(take=partial(_set_units, "provisioned", "{} provisioned"), counts="units"),
    "raise_max_on_demand": Action(
        take=partial(_set_units, "max_on_demand", "an on-demand maximum of {}"), counts="units"
    ),
    "pre_warm": Action(take=partial(_set_units, "warm", "warm throughput of {}"), counts="units"),
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
        by_hand="a scenario has no scans: set a Limit on each page, and pause between pages."
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
