"""The hottest keys of a run: whether the heat moves between keys, and how throttles are spread.

The keys are from the client's own counts, else from Contributor Insights.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from statistics import fmean, median_high
from typing import Final, Literal

from keyheat.analysis.timeline import timeline
from keyheat.analysis.track import EvidenceTrack
from keyheat.model.limits import INSIGHT_WRITE_WEIGHT, MINUTE_S
from keyheat.runs import metrics
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import Contributors, Evidence, HotKey
from keyheat.runs.manifest import Keys, KeyUse, KeyWindow
from keyheat.words import READ, WRITE, WRITES_FIRST, Direction, key_name

LEADS: Final = 0.5  # least share of a window's top keys at which the first key leads alone
LEAD_WINDOWS: Final = 2  # windows in a row that a key must lead to count as hot
FEWEST: Final = 20  # throttles; with fewer, their keys are random
ONE_SHARE: Final = 0.5  # least share of all throttles at which one key explains them
EVEN_SHARE: Final = 0.1  # greatest share of a key in an even spread
EVEN_LISTED: Final = 0.5  # the report's keys, 25 at most, have less than this in an even spread
CLEAR_SHARE: Final = 0.9  # least share of traffic in one direction, or of throttles, that counts as all
MOST_NAMED: Final = 3  # keys with a notable share of the throttles
FULL: Final = 0.9  # least part of a partition's ceiling at which a key takes all that a partition gives

INDEX_NOT_COUNTED: Final = (
    "The index's keys were not counted, so it is unknown whether one of them is hot, or the index has not "
    "grown yet."
)

Times = Mapping[datetime, float]
"""Values by the start of their period."""
TimesByKey = Mapping[str, Times]
Counted = Literal["accessed", "throttled"]
Spread = Literal["one_key", "few_keys", "even"]
WEIGHTS: Final[dict[Direction, float]] = {READ: 1.0, WRITE: float(INSIGHT_WRITE_WEIGHT)}


@dataclass(frozen=True, slots=True)
class RunHeat:
    """The keys that the demand of one direction went to."""

    direction: Direction
    hottest: tuple[HotKey, ...]
    moved_over: tuple[str, ...]  # keys that led one after the other, if several did
    index: str | None = None  # None: the table's keys
    pinned: str | None = None  # the key with at least half of the throttles, by Contributor Insights

    @property
    def moves(self) -> bool:
        """Whether several keys were hot, one after the other."""
        return len(self.moved_over) > 1

    def unscaled(self, scale: float) -> "RunHeat":
        """Convert to a table at scale 1."""
        keys = (key.model_copy(update={"units_per_s": key.units_per_s / scale}) for key in self.hottest)
        return replace(self, hottest=tuple(keys))

    def per_s(self) -> float | None:
        """Demand on the hottest key while it was hot, units/s; None without keys."""
        return max((key.units_per_s for key in self.hottest), default=None)


def hot_keys_of(heats: Iterable[RunHeat], least: float) -> tuple[HotKey, ...]:
    """Return the keys with at least a share of the demand, each with the index that it is of."""
    return tuple(
        key.model_copy(update={"index": heat.index})
        for heat in heats
        for key in heat.hottest
        if key.share >= least
    )


def heats_of(evidence: Evidence, client: ClientFiles | None) -> tuple[RunHeat, ...]:
    """Return the hot keys by the client's counts, else by Contributor Insights."""
    if client is None or client.keys is None:
        return insight_heats(evidence)
    duration_s = _duration_s(evidence, client)
    return tuple(heat(client.keys, direction, duration_s) for direction in WRITES_FIRST)


def index_heats_of(evidence: Evidence, client: ClientFiles | None) -> tuple[RunHeat, ...]:
    """Return each index's hot keys by the client's counts, else by Contributor Insights.

    An index without keys has too many to name.
    """
    if client is None or client.keys is None:
        return tuple(
            insight_heat
            for index in evidence.table.indexes
            for insight_heat in insight_heats(evidence, index.name)
        )
    duration_s = _duration_s(evidence, client)
    return tuple(
        replace(heat(keys, direction, duration_s), index=index)
        for index, keys in client.keys.indexes.items()
        for direction in keys.overall
    )


def _duration_s(evidence: Evidence, client: ClientFiles) -> float:
    if client.manifest and client.manifest.duration_s is not None:
        return client.manifest.duration_s
    return (evidence.window.end - evidence.window.start).total_seconds()


def heat(keys: Keys, direction: Direction, duration_s: float) -> RunHeat:
    """Return the hottest keys of one direction; `duration_s` is for keys that no window lists."""
    windows = [window for window in keys.windows if window.direction == direction]
    by_key: defaultdict[str, list[float]] = defaultdict(list)
    for window in windows:
        for top in window.top:
            by_key[top.key].append(top.units / window.seconds)
    rates = {  # while it was hot: in the windows with at least half of its maximum
        key: median_high([rate for rate in values if rate >= max(values) / 2])
        for key, values in by_key.items()
    }
    leaders: list[str | None] = []
    for window in sorted(windows, key=lambda window: window.start):
        first = max(window.top, key=lambda top: top.units, default=None)
        total = sum(top.units for top in window.top)
        leaders.append(first.key if first and total and first.units >= LEADS * total else None)
    lasting = [key for key, run in groupby(leaders) if key is not None and len(list(run)) >= LEAD_WINDOWS]
    hottest = tuple(
        HotKey(
            key=use.key,
            shown=use.shown,
            share=use.share,
            throttles=use.throttles,
            direction=direction,
            units_per_s=rates.get(use.key, use.units / max(duration_s, 1.0)),
        )
        for use in keys.overall.get(direction, ())
    )
    return RunHeat(direction, hottest, tuple(dict.fromkeys(lasting)))


@dataclass(frozen=True, slots=True)
class KeySpread:
    """Distribution of one resource's throttled requests over its partition keys.

    `one_key`: one key has at least half of them, a sign of a hot key.
    `even`: no key has a tenth, and the first 25 together have less than half, a sign against one.
    `few_keys`: neither.
    """

    spread: Spread
    top: str  # digest of the first key
    top_share: float
    notable: tuple[tuple[str, float], ...]  # names and shares of the keys with a tenth or more, up to three
    listed: int
    total: float


def key_spread(evidence: Evidence, index: str | None = None) -> KeySpread | None:
    """Return the spread of throttles of the table (None) or of an index.

    None if Contributor Insights counted none, or too few. It never counts writes that an index's capacity
    throttled.
    """
    counted = _rule(evidence, index, "throttled")
    if counted is None or counted.total < FEWEST or not counted.keys:
        return None
    first = counted.keys[0]
    share = min(1.0, first.value / counted.total)
    listed = sum(key.value for key in counted.keys) / counted.total
    spread: Spread = "few_keys"
    if share >= ONE_SHARE:
        spread = "one_key"
    elif share < EVEN_SHARE and listed < EVEN_LISTED:
        spread = "even"
    notable = tuple(
        (key_name(key.key, key.shown), min(1.0, key.value / counted.total))
        for key in counted.keys[:MOST_NAMED]
        if key.value >= EVEN_SHARE * counted.total
    )
    return KeySpread(spread, first.key, share, notable, len(counted.keys), counted.total)


def insight_heats(evidence: Evidence, index: str | None = None) -> tuple[RunHeat, ...]:
    """Return the heat of a resource's keys by Contributor Insights; empty if unknown.

    Keys have no direction in Contributor Insights, so there is a heat only if the throttles or the traffic of
    the resource have one.
    """
    keys = insight_keys(evidence, index)
    if keys is None:
        return ()
    spread = key_spread(evidence, index)
    pinned = spread.top if spread is not None and spread.spread == "one_key" else None
    duration_s = (evidence.window.end - evidence.window.start).total_seconds()
    return tuple(replace(heat(keys, side, duration_s), pinned=pinned, index=index) for side in keys.overall)


def insight_keys(evidence: Evidence, index: str | None = None) -> Keys | None:
    """Return the hottest keys of a resource in the form of a run's record; None if unknown.

    A key's demand is its consumption and the units of its throttled requests, in the periods in which the
    resource throttled, if any. Writes throttled by an index's capacity count for no key.
    """
    accessed, throttled = _rule(evidence, index, "accessed"), _rule(evidence, index, "throttled")
    named = throttled is not None and bool(throttled.keys)
    by_throttles = _direction(evidence, metrics.throttle_events, index) if named else None
    by_traffic = _direction(evidence, metrics.consumed, index)
    direction = by_throttles or by_traffic
    rules = [
        rule for rule in (accessed if by_traffic == direction else None, throttled) if rule and rule.keys
    ]
    track = timeline(evidence).track(index, direction) if direction else None
    if direction is None or track is None or not rules:
        return None
    demand = KeyDemand(
        track=track,
        period_s=max(rule.period_s for rule in rules),
        refused=_by_time(throttled, 1.0),
        used=_by_time(accessed, WEIGHTS[direction]) if accessed in rules else None,
    )
    demand = replace(
        demand,
        refused=_since_before(evidence, throttled, demand.refused, demand),
        used=None if demand.used is None else _since_before(evidence, accessed, demand.used, demand),
    )
    values = {key.key: key.shown for rule in rules for key in rule.keys}
    total = sum(map(demand.of_all, demand.hot))
    uses = [demand.use(key, name, total) for key, name in values.items()]
    uses.sort(key=lambda use: (-use.units, use.key))
    windows = tuple(
        KeyWindow(
            start=at,
            seconds=demand.period_s,
            direction=direction,
            top=tuple(
                KeyUse(key=key, units=units, throttles=round(demand.refused.get(key, {}).get(at, 0.0)))
                for key in values
                if (units := demand.of(key, at))
            ),
        )
        for at in demand.hot
    )
    return Keys(overall={direction: tuple(uses)}, windows=windows)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyDemand:
    """Demand on single keys of a table or index, period by period, by Contributor Insights.

    With counts of throttles only, a key's share of the consumption equals its share of the throttles, up to
    one partition's ceiling; with counts of accesses only, the other way round.
    """

    track: EvidenceTrack
    period_s: int
    refused: TimesByKey  # throttled requests by key
    used: TimesByKey | None  # units by key; None: accesses were not counted

    @property
    def moments(self) -> Sequence[datetime]:
        """Starts of all periods in which a key was counted."""
        counted = (*self.refused.values(), *(self.used or {}).values())
        return sorted({at for times in counted for at in times})

    @property
    def hot(self) -> Sequence[datetime]:
        """Periods in which the resource throttled; all periods if it never did."""
        return [at for at in self.moments if self.throttled(at)] or self.moments

    def of_all(self, at: datetime) -> float:
        """Demand on all keys in the period that starts at `at`, units."""
        return self.consumed(at) + self._each(at) * self.throttled(at)

    def of(self, key: str, at: datetime) -> float:
        """Demand on one key in the period that starts at `at`, units."""
        refused = self.refused.get(key, {}).get(at, 0.0)
        if self.used is not None:
            used, consumed = self.used.get(key, {}).get(at, 0.0), self.consumed(at)
            if self.refused or not consumed:
                return used + self._each(at) * refused
            return used + self._each(at) * self.throttled(at) * self._part_of_refused(used, at)
        if not refused:
            return 0.0
        part = refused / self.throttled(at) * self.consumed(at)
        return min(part, self.track.ceiling * self.period_s) + self._each(at) * refused

    def _part_of_refused(self, used: float, at: datetime) -> float:
        """The part that a key with `used` units in a period has of what was throttled in it.

        What partitions of a table throttled (nearly all, by CloudWatch's causes, else while the table had
        room) belongs to keys that took all that a partition gives, if any did; else each key has its part of
        what was consumed. An index holds back writes of every key.
        """
        full = FULL * self.track.ceiling * self.period_s
        of_full = sum(units for times in (self.used or {}).values() if (units := times.get(at, 0.0)) >= full)
        of_partitions = sum(map(self._by_partitions, self._cells(at)))
        throttles = sum(map(self.track.refused, self._cells(at)))
        if self.track.index is not None or not of_full or not of_partitions >= CLEAR_SHARE * throttles > 0:
            return used / self.consumed(at)
        return used / of_full if used >= full else 0.0

    def use(self, key: str, value: str | None, total: float) -> KeyUse:
        """Return one key in the form of a run's record; `total`: units of all keys in the hot periods."""
        units = sum(self.of(key, at) for at in self.hot)
        consumed = None if self.used is None else sum(self.used.get(key, {}).values())
        return KeyUse(
            key=key,
            shown=value,
            units=units,
            consumed_units=consumed,
            throttles=round(sum(self.refused.get(key, {}).values())),
            share=min(1.0, units / total) if total else 0.0,
        )

    def _by_partitions(self, cell: int) -> float:
        """Throttles of a cell by a partition's limit; without causes all, if the table had room."""
        if self.track.causes:
            return self.track.causes.get("partition", {}).get(cell, 0.0)
        return self.track.refused(cell) if 0 < self.track.share_used(cell) < FULL else 0.0

    def _each(self, at: datetime) -> float:
        """Units of a throttled request in a period; of a part of a transaction, where there are any."""
        cells = self._cells(at)
        throttles = sum(map(self.track.refused, cells))
        units = sum(map(self.track.refused_units, cells))
        return units / throttles if throttles else self.track.units_of_refused

    def _cells(self, at: datetime) -> Sequence[int]:
        first_s = int(at.timestamp())
        seconds = range(first_s, first_s + self.period_s, MINUTE_S)
        return tuple(dict.fromkeys(map(self.track.cell_of, seconds)))

    def consumed(self, at: datetime) -> float:
        rates = [rate for cell in self._cells(at) if (rate := self.track.consumed_per_s(cell)) is not None]
        return self.period_s * fmean(rates) if rates else 0.0

    def throttled(self, at: datetime) -> float:
        """Throttled requests by CloudWatch, at least the sum of the listed keys."""
        rates = [self.track.refused(cell) / self.track.step_s for cell in self._cells(at)]
        listed = sum(times.get(at, 0.0) for times in self.refused.values())
        return max(self.period_s * fmean(rates), listed)


def _since_before(
    evidence: Evidence, rule: Contributors | None, times: TimesByKey, demand: KeyDemand
) -> TimesByKey:
    """Add the throttled periods before a rule began to count, at each key's share of what it counted.

    That includes the period in which it began, whose counts are of a part of it only.
    """
    from keyheat.evidence.contributors import created_of  # boto3's room, of which a simulation needs nothing

    begun = created_of(rule.rule) if rule else None
    if rule is None or begun is None or begun <= evidence.window.start or not rule.total:
        return times
    of_all = demand.throttled if rule.counts == "throttled" else demand.consumed
    throttled = filter(demand.track.throttled, demand.track.events or ())
    starts_s = {cell // demand.period_s * demand.period_s for cell in throttled}
    before = [at for start_s in starts_s if (at := datetime.fromtimestamp(start_s, UTC)) < begun]
    return {
        key.key: {**times[key.key], **{at: key.value / rule.total * of_all(at) for at in before}}
        for key in rule.keys
    }


def _rule(evidence: Evidence, index: str | None, counts: Counted) -> Contributors | None:
    rules = evidence.contributors or ()
    return next((rule for rule in rules if rule.index == index and rule.counts == counts), None)


def _direction(evidence: Evidence, metric: Callable[[Direction], str], index: str | None) -> Direction | None:
    """Return the direction of nearly all traffic; None if it has both, or is unknown."""
    sums = {direction: evidence.total(metric(direction), index) for direction in Direction}
    total = sum(units or 0.0 for units in sums.values())
    clear = (direction for direction, units in sums.items() if units and units >= CLEAR_SHARE * total)
    return next(clear, None)


def _by_time(rule: Contributors | None, weight: float) -> dict[str, Times]:
    """Each key's values divided by the weight, by the start of their period."""
    return {key.key: {at: value / weight for at, value in key.points} for key in (rule.keys if rule else ())}
