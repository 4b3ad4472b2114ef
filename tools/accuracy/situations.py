"""Situations: what the load presses against, so that every constraint comes up on tables and indexes.

A situation only sets the stage: what throttles in the end, and whether anything does, the model decides.
"""

from collections.abc import Callable
from random import Random
from typing import Final

import numpy as np

from keyheat.model import limits
from keyheat.model.behaviour import DEFAULT
from keyheat.model.resources import ON_DEMAND_START
from keyheat.simulator.flow import IndexFlow
from keyheat.simulator.masses import Masses, Within
from tools.accuracy.streams import (
    LONGEST_S,
    above_burst,
    above_limit,
    below_limit,
    between,
    even,
    hot_key,
    hot_set,
    some_keys,
    some_spikes,
)
from tools.accuracy.worlds import Draft, WorldsName

Situation = Callable[[Draft], None]
PATIENCE_S: Final = 750  # the most that a load is made longer, so that a burst is spent within it
WITHIN: Final[tuple[Within, ...]] = ("point", "random", "rising")


def calm(draft: Draft) -> None:
    """Demand below the capacity, keys that no partition feels."""
    capacity = draft.worlds.capacity(draft.rng)
    draft.serve(capacity)
    served = max(capacity, _start(draft)) if draft.on_demand else capacity
    peak = served * below_limit(draft.rng)
    keys, word = some_keys(draft.rng, "key", min(1.0, 0.8 * draft.kind.ceiling / peak))
    draft.said.append(word)
    draft.send(peak, (keys,))


def _start(draft: Draft) -> float:
    """Units/s that a new on-demand table serves at once."""
    return ON_DEMAND_START.of(draft.kind.direction) or 0.0


def hot_partition(draft: Draft) -> None:
    """One key, a few keys or today's date ask more of a partition than it gives; the table has room."""
    rng, ceiling = draft.rng, draft.kind.ceiling
    hot = ceiling * above_limit(rng)
    share = rng.uniform(0.1, 1.0)
    peak = hot / share
    draft.serve(peak * rng.uniform(1.05, 3))
    keys, keys_s = _hot_keys(draft, share)
    draft.send(peak, keys, keys_s=keys_s)


def _hot_keys(draft: Draft, share: float) -> tuple[tuple[Masses, ...], int]:
    rng = draft.rng
    within = rng.choice(WITHIN)
    kind = rng.choice(("hot key", "hot key", "hot set", "date"))
    draft.said.append(f"{kind} with {share:.0%}, items {within}")
    if kind == "hot set":
        return (hot_set("hot", rng.randint(2, 5), share, within),), LONGEST_S
    if kind == "date":
        days = rng.randint(2, 6)
        dates = tuple(hot_key(f"day-{day}", share, "rising") for day in range(days))
        return dates, max(60, draft.duration_s // days)
    return (hot_key("hot", share, within),), LONGEST_S


def too_small(draft: Draft) -> None:
    """A provisioned table with too little for the demand; keys that no partition feels first."""
    rng = draft.rng
    capacity, factor = draft.worlds.capacity(rng), above_burst(rng)
    spent_s = DEFAULT.saved_units(capacity, index_writes=False) / (capacity * max(0.05, factor - 1))
    _last(draft, spent_s)
    draft.spiky_base = (0.3 / factor, 0.99 / factor)
    peak = capacity * factor
    draft.provision(capacity, was_larger=_before(rng, peak))
    keys, word = some_keys(rng, "key", min(1.0, 0.7 * draft.kind.ceiling / peak))
    draft.said.append(word)
    draft.send(peak, (keys,))


def _before(rng: Random, peak: float) -> float | None:
    """What a table was once warmed for, three times in five: its partitions are more than it needs now."""
    return peak * rng.uniform(1, 2) if rng.random() < 0.6 else None


def at_maximum(draft: Draft) -> None:
    """An on-demand table with a maximum below the demand."""
    rng = draft.rng
    maximum = between(rng, 10, 20_000)
    peak = maximum * above_limit(rng)
    draft.pay_per_request(peak * rng.uniform(1, 2), maximum)
    keys, word = some_keys(rng, "key", min(1.0, 0.7 * draft.kind.ceiling / peak))
    draft.said.append(word)
    draft.send(peak, (keys,))


def at_quota(draft: Draft) -> None:
    """An on-demand table that is asked for more than an account gives one table, perhaps with an index."""
    quota = limits.TABLE_WRITE_UNITS_PER_S if draft.side == "write" else limits.TABLE_READ_UNITS_PER_S
    peak = quota * draft.rng.uniform(0.97, 2)
    draft.pay_per_request(peak * 1.2)
    entries: tuple[IndexFlow, ...] = ()
    if draft.side == "write" and draft.rng.random() < 0.4:
        peak *= 0.6
        draft.index("by_tag", peak * 1.2)
        entries = (IndexFlow(index="by_tag", units=draft.kind.units, keys=even()),)
    draft.send(peak, entries=entries)


def not_grown(draft: Draft) -> None:
    """A new on-demand table that is asked for more than it can serve at once, until it has grown."""
    draft.pay_per_request(None)
    draft.send(_start(draft) * draft.rng.uniform(1.02, 2.5))


def small_index(draft: Draft) -> None:
    """An index with less capacity than the table has, read directly or held up by the table's writes."""
    rng = draft.rng
    peak = between(rng, 100, 8_000)
    entry = _entry(draft)
    draft.serve(peak * rng.uniform(1.1, 2.5))
    factor = above_limit(rng)
    if draft.on_demand:
        draft.index("by_tag", peak * entry * 2, maximum=peak * entry / factor)
    else:
        factor = above_burst(rng)
        draft.index("by_tag", peak * entry / factor, was_larger=_before(rng, peak * entry))
        _last(draft, _index_spent_s(peak * entry, factor))
    _use_index(draft, peak, entry, even())


def hot_index(draft: Draft) -> None:
    """An index whose keys are few, such as a status or a country."""
    rng, ceiling = draft.rng, draft.kind.ceiling
    peak = ceiling * between(rng, 1.2, 8)
    entry = _entry(draft)
    draft.serve(peak * rng.uniform(1.1, 2.5))
    factor = above_limit(rng)
    draft.index("by_tag", peak * entry * rng.uniform(1.2, 2))
    share = min(1.0, factor * ceiling / (peak * entry))
    draft.said.append(f"index keys with {share:.0%} on few")
    few = rng.random() < 0.5
    _use_index(draft, peak, entry, hot_set("tag", rng.randint(1, 3), share) if few else hot_key("tag", share))


def _entry(draft: Draft) -> float:
    """Index units for each unit of the table: an entry may hold only a part of its item."""
    chosen = draft.rng.choice((1.0, 1.0, 0.5))
    return chosen if draft.side == "write" else 1.0


def _use_index(draft: Draft, peak: float, entry: float, keys: Masses) -> None:
    """Read the index, perhaps beside its table, or write to the table; other indexes have all they need."""
    rng = draft.rng
    for number in range(rng.choice((0, 0, 0, 1, 2))):
        draft.index(f"other_{number}", peak)
    if draft.side == "write":
        units = draft.kind.units * entry
        draft.send(peak, entries=(IndexFlow(index="by_tag", units=units, keys=keys),))
        return
    draft.send(peak, (keys,), index="by_tag")
    if rng.random() < 0.4:
        draft.send(peak * rng.uniform(0.1, 0.9))


def _last(draft: Draft, spent_s: float) -> None:
    """Let the load last until a burst is spent that takes so many seconds, within reason."""
    enough_s = round(spent_s * draft.rng.uniform(1.1, 2))
    draft.duration_s = max(draft.duration_s, min(PATIENCE_S, enough_s))


def _index_spent_s(at_index: float, factor: float) -> float:
    """Seconds until an index without enough capacity has spent its burst and its buffer."""
    capacity = at_index / factor
    return (DEFAULT.index_buffer_units + DEFAULT.burst_s * capacity) / max(1.0, at_index - capacity)


def two_at_once(draft: Draft) -> None:
    """A hot key on a table that is too small for all of them together."""
    rng, ceiling = draft.rng, draft.kind.ceiling
    hot = ceiling * between(rng, 1.1, 3)
    peak = hot / rng.uniform(0.3, 0.8)
    draft.duration_s = max(draft.duration_s, 600)
    if rng.random() < 0.7:
        draft.provision(peak / rng.uniform(1.3, 3))
    else:
        draft.pay_per_request(peak * 2, peak / rng.uniform(1.3, 3))
    draft.send(peak, (hot_key("hot", hot / peak, rng.choice(("point", "random"))),))


def spikes(draft: Draft) -> None:
    """Seconds of high load within quiet minutes, on evenly used keys."""
    rng = draft.rng
    capacity = draft.worlds.capacity(rng)
    factor = between(rng, 1.5, 8)
    draft.provision(capacity, was_larger=_before(rng, capacity * factor))
    rates, word = some_spikes(rng, draft.duration_s, low=rng.uniform(0.2, 1.0) / factor)
    draft.said.append(word)
    draft.send(capacity * factor, shape=rates)


def hot_spikes(draft: Draft) -> None:
    """Seconds in which one key of a small table is asked for more than a partition gives."""
    rng, ceiling = draft.rng, draft.kind.ceiling
    hot = ceiling * above_limit(rng)
    share = rng.uniform(0.3, 1.0)
    draft.provision(hot / share * rng.uniform(0.1, 1.2))
    rates, word = some_spikes(rng, draft.duration_s, low=rng.uniform(0.01, 0.1))
    keys, keys_s = _hot_keys(draft, share)
    draft.said.append(word)
    draft.send(hot / share, keys, keys_s=keys_s, shape=rates)


def sprinkle(draft: Draft) -> None:
    """One second in which one key is asked for a little more than its partition has saved and earns."""
    rng, ceiling = draft.rng, draft.kind.ceiling
    draft.serve(ceiling * 3)
    served = ceiling * (1 + DEFAULT.partition_depth_s)
    shape = np.full(draft.duration_s, rng.uniform(0.2, 0.45) * ceiling / served)
    shape[rng.randrange(draft.duration_s // 2, draft.duration_s)] = 1.0
    draft.send(served + rng.uniform(3, 45) * draft.kind.units, (hot_key("hot", 1.0),), shape=shape)


SITUATIONS: Final[tuple[tuple[Situation, int, int], ...]] = (
    (calm, 12, 12),
    (hot_partition, 15, 14),
    (too_small, 22, 21),
    (at_maximum, 9, 9),
    (at_quota, 6, 3),
    (not_grown, 5, 5),
    (small_index, 12, 12),
    (hot_index, 6, 6),
    (two_at_once, 4, 4),
    (spikes, 5, 5),
    (hot_spikes, 0, 5),
    (sprinkle, 4, 4),
)
"""Each situation and how often, in a hundred scenarios: of the nominal world, and of the wide ones."""

BESIDE: Final[dict[bool, tuple[Situation, ...]]] = {
    False: (calm, calm, hot_partition, too_small),
    True: (calm, calm, hot_partition, at_maximum, not_grown),
}
"""What the other direction of a table may be asked, by whether the table is on-demand."""


def a_situation(rng: Random, worlds: WorldsName) -> Situation:
    situations, nominal, wide = zip(*SITUATIONS, strict=True)
    found: Situation = rng.choices(situations, weights=wide if worlds == "wide" else nominal)[0]
    return found
