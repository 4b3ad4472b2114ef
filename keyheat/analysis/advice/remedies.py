"""What a diagnosis recommends, as a change of the scenario that was run, or in words."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

from keyheat.analysis.advice.table_changes import (
    CACHE,
    OF_UNITS,
    can_cache,
    on_demand,
    with_units,
)
from keyheat.numbers import some, span, units
from keyheat.plan.totals import ResourceSide, expected
from keyheat.runs.formats import Recommendation
from keyheat.scenario.scenario import Scenario, ScenarioError, scenario_from_dict
from keyheat.scenario.spec.part import MOST_UNITS
from keyheat.scenario.variants import with_index_shards
from keyheat.simulator.alterations import Change, in_copies, spreads_itself
from keyheat.simulator.alterations import in_shards as divided_among
from keyheat.words import Direction, index_of, label_of, title_of, whose


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
    then: tuple[str, ...] = ()  # the actions of further steps
    alters: tuple[Change, ...] = ()
    """What only a simulation does, on the way of the requests: hot keys divided, hot items copied."""

    @property
    def actions(self) -> tuple[str, ...]:
        """Every step's."""
        return (self.action, *self.then)


@dataclass(frozen=True, slots=True, kw_only=True)
class ByHand:
    """A recommended action that no rerun can show, and what can be done instead."""

    action: str
    why: str

    @property
    def words(self) -> str:
        return f"{title_of(self.action)} ({self.action}): {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemedyRequest:
    """One recommendation, for one scenario on one target."""

    advice: Recommendation
    scenario: Scenario
    resource: str
    direction: Direction
    simulated: bool
    target: float  # part of a capacity that should be used

    @property
    def index(self) -> str | None:
        return index_of(self.resource)


Outcome = Remedy | ByHand


def remedied(asked: RemedyRequest, raw: dict[str, Any], says: str, **more: Any) -> Remedy:
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


def by_hand(asked: RemedyRequest, why: str) -> ByHand:
    return ByHand(action=asked.advice.action, why=why)


SCALES_AFTER_S: Final = 600.0
"""A load that is shorter has ended before auto scaling has changed anything: two minutes above the target, an
alarm of up to three, and the update."""
_OF_UNITS: Final = {
    "raise_capacity": "{} provisioned",
    "raise_minimum": "at least {} provisioned",
    "auto_scaling": "auto scaling up to {}",
    "raise_max_on_demand": "an on-demand maximum of {}",
    "pre_warm": "warm throughput of {}",
}
assert _OF_UNITS.keys() == OF_UNITS.keys()


def of_units(asked: RemedyRequest) -> Outcome:
    """More capacity, a minimum, auto scaling, a higher maximum, or pre-warming."""
    amount, action = asked.advice.units, asked.advice.action
    if amount is None:
        return by_hand(asked, "the demand is not known: `keyheat whatif NAME capacity` searches it.")
    if amount > MOST_UNITS:
        return by_hand(asked, f"a scenario's table has {units(MOST_UNITS, asked.direction)} at most.")
    if action == "auto_scaling":
        if not asked.simulated:
            return by_hand(asked, "a run sets up no auto scaling; --target simulated plays it.")
        if (lasts_s := asked.scenario.load.duration_s) < SCALES_AFTER_S:
            return by_hand(
                asked,
                f"auto scaling acts after minutes, and this load lasts {span(lasts_s)}: run it for "
                f"{span(SCALES_AFTER_S)} or longer (load.duration_s).",
            )
    changed = with_units(
        asked.scenario, action, amount, index=asked.index, direction=asked.direction, target=asked.target
    )
    says = _OF_UNITS[action].format(_amount(asked, amount))
    says += ", with the maximum of its auto scaling raised to as much" if asked.advice.max_units else ""
    return remedied(asked, raw_of(changed), says)


def _amount(asked: RemedyRequest, amount: float) -> str:
    return f"{units(ceil(amount), asked.direction)} of {whose(asked.resource)}"


def paid_by_request(asked: RemedyRequest) -> Outcome:
    """On-demand mode."""
    changed = on_demand(asked.scenario)
    notes = (
        ("The timeline of capacities is left out.",) if changed.timeline != asked.scenario.timeline else ()
    )
    return remedied(asked, raw_of(changed), "the table on demand", notes=notes)


MOST_COPIES: Final = 20  # global secondary indexes of a table


def cached(asked: RemedyRequest) -> Outcome:
    """A read-through cache, where the load test can have one."""
    scenario = asked.scenario
    if not can_cache(scenario):
        return by_hand(
            asked,
            f"{scenario.loadtest_shown} reads through no cache, or has one already; "
            "configs/scenarios/read-cache.toml shows what one saves.",
        )
    raw = raw_of(scenario) | {"cache": CACHE.model_dump(mode="json")}
    return remedied(
        asked, raw, f"a cache of {span(CACHE.ttl_s)} in every process",
        notes=("What the cache answers does not reach the table: there, fewer reads are tried.",),
    )  # fmt: skip


def copied(asked: RemedyRequest) -> Outcome:
    """Global indexes with the table's own keys, each a copy that answers its part of the reads."""
    scenario, count = asked.scenario, asked.advice.shards
    table = scenario.table
    if scenario.loadtest != "read_cache" or scenario.cache is not None or table.indexes or count is None:
        if asked.simulated and count is not None:
            says = f"{some(count, 'copy', 'copies')} of the hot items"
            note = "Each write of a hot item is paid once for every copy."
            return remedied(asked, raw_of(scenario), says, notes=(note,), alters=(in_copies(count),))
        return by_hand(
            asked,
            f"{scenario.loadtest_shown} reads from no copies; configs/scenarios/read-spread.toml "
            "shows what they bring, and that every write is paid once for each.",
        )
    raw, number = raw_of(scenario), min(count - 1, MOST_COPIES)
    raw["loadtest"] = "read_spread"
    raw["table"]["indexes"] = [
        {"name": f"copy-{copy}", "partition_key": table.partition_key, "sort_key": table.sort_key,
         "provisioned": raw["table"]["provisioned"], "max_on_demand": raw["table"]["max_on_demand"]}
        for copy in range(1, number + 1)
    ]  # fmt: skip
    return remedied(
        asked, raw, f"the table and {some(number, 'copy', 'copies')} of it",
        notes=("Every write is paid once for the table and once for each copy.",),
    )  # fmt: skip


SHARDED_TWINS: Final = {
    "audit_log": "audit_log_random",
    "datekey": "date_suffix",
    "hotkey": "sharded",
}
"""Load tests, and those that send the same to keys with a suffix and read it back."""
READS_ALREADY: Final = frozenset({"audit_log"})


def in_shards(asked: RemedyRequest) -> Outcome:
    """Suffixes on the keys: by the load test itself, by its twin, or on their way in a simulation."""
    scenario, count = asked.scenario, asked.advice.shards
    if count is None:
        return by_hand(
            asked, "how many shards are enough is not known: `keyheat whatif NAME shards` searches."
        )
    if scenario.dynamic_sharding is not None:
        return by_hand(asked, "its writers add shards by themselves: see [dynamic_sharding] of the scenario.")
    raw, says = raw_of(scenario), f"{some(count, 'shard')} for each key"
    raw["keys"]["shards"] = count
    queries = (scenario.keys.shards, count)
    if spreads_itself(scenario):
        asks_one = any(task.operation == "query" and task.index is None for task in scenario.mix)
        note = (
            f"Its queries ask for one shard each, as before: reading a whole value takes {count:,} of them."
        )
        return _with_room(asked, raw, says, queries, [note] if asks_one else [])
    twin = SHARDED_TWINS.get(scenario.loadtest)
    if twin is not None and scenario.table.sort_key is not None:
        raw["loadtest"] = twin
        notes = [f"loadtests/{twin}.py sends the same to keys with a suffix."]
        if scenario.loadtest not in READS_ALREADY:
            _one_user_more(scenario, raw)
            notes.append("One user more reads the shards back: that is the price of the fix.")
        return _with_room(asked, raw, says, queries, notes)
    if asked.simulated:
        return remedied(asked, raw, says, queries_per_read=queries, **_on_their_way(asked, count))
    return by_hand(
        asked,
        f"{scenario.loadtest_shown} spreads no key, and no other load test sends the same to shards: "
        "write one as loadtests/sharded.py is, or see it with --target simulated.",
    )


def _on_their_way(asked: RemedyRequest, count: int) -> dict[str, Any]:
    """What a remedy says of keys that only the simulator divides."""
    return {
        "notes": (
            "Its load test spreads no key: hot keys are divided on their way, and nobody reads them back.",
        ),
        "alters": (divided_among(count, asked.direction, asked.index),),
    }


def _one_user_more(scenario: Scenario, raw: dict[str, Any]) -> None:
    """One user more, at the pace of the others: the demand of those who were there stays as it was."""
    load, users = raw["load"], scenario.load.users
    load["users"] = users + 1
    if scenario.load.target_unit != "requests":
        return  # steered by units, which a reader does not write
    more, shape = (users + 1) / users, load["shape"] or {}
    load["requests_per_s"] *= more
    for place in (shape, *(shape.get("steps") or ())):
        for field, value in place.items():
            if field.endswith("per_s") and value is not None:
                place[field] = value * more


def _with_room(
    asked: RemedyRequest, raw: dict[str, Any], says: str, queries: tuple[int, int], notes: Sequence[str] = ()
) -> Remedy:
    """The remedy, with read capacity for those who read all shards back."""
    made = remedied(asked, raw, says)
    said = list(notes)
    for owner in (raw["table"], *raw["table"]["indexes"]):
        index = None if owner is raw["table"] else owner["name"]
        has = (owner["provisioned"] or {}).get("read")
        before, after = (_reads_per_s(one, index) for one in (asked.scenario, made.scenario))
        needed = ceil(after / asked.target)
        if has and needed > has and after > before:  # else nothing about its reads changes
            owner["provisioned"]["read"] = needed
            said.append(
                f"Reading all shards back takes {needed:,} RCU/s of {whose(label_of(index))}, "
                f"which had {has:,}."
            )
    return remedied(asked, raw, says, queries_per_read=queries, notes=tuple(said))


def _reads_per_s(scenario: Scenario, index: str | None) -> float:
    """Read units that its load test asks for in the busiest second, of a table at scale 1."""
    sent = expected(scenario, scale=scenario.local.scale)
    asked = sent.sides.get(ResourceSide(scenario.table.name, index, Direction.READ)) if sent else None
    return float(asked.per_s.max()) / scenario.local.scale if asked else 0.0


def on_prefixes(asked: RemedyRequest) -> Outcome:
    """A prefix on the index's partition key, by the load test's twin."""
    scenario, count = asked.scenario, asked.advice.shards
    if count is None:
        return by_hand(
            asked,
            f"reads are too many for one key of {whose(asked.resource)}, and how many prefixes are enough is "
            "not known: `keyheat whatif NAME shards --index INDEX` searches them.",
        )
    says = f"{count:,} prefixes of {whose(asked.resource)}"
    changed = with_index_shards(scenario, asked.resource, count)
    if changed is not None:
        note = f"loadtests/{changed.loadtest}.py sends the same, its index keyed by a prefix."
        notes = [note] if changed.loadtest != scenario.loadtest else []
        return _with_room(asked, raw_of(changed), says, (scenario.keys.shards, count), notes)
    if asked.simulated:
        return remedied(
            asked, raw_of(scenario), says, queries_per_read=(1, count), **_on_their_way(asked, count)
        )
    return by_hand(
        asked,
        f"no load test sends what {scenario.loadtest_shown} does to an index with a prefix: describe the "
        "index's key under [attributes], or write one as loadtests/country_index_sharded.py is.",
    )


_MAKE: Final[dict[str, Callable[[RemedyRequest], Outcome]]] = {
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
    "`keyheat run NAME --set 'client.sdk=\"boto3-2026\"'` shows what retries bring.",
    **dict.fromkeys(
        ("client_retries", "change_retries"),
        "it is a setting of your client: `keyheat whatif NAME retries` shows what each policy makes of "
        "the same demand.",
    ),
    "collect_evidence": "there is nothing to rerun before the cause is known: `keyheat collect` "
    "asks for more.",
    "queue_writes": "it sends the same later, and a rerun beside the original has to send it at the same "
    "time.",
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


def remedy_of(asked: RemedyRequest) -> Outcome:
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
