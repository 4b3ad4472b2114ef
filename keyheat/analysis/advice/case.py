"""A constraint with all its measurements: demand, capacity and keys."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf
from typing import Any, Final

from keyheat.analysis.advice.demand import (
    Limit,
    MeasuredDemand,
    Schedule,
    demand,
    demand_of_all,
    is_buffered,
    one_key_per_s,
    owners_of,
    policy_of,
    with_scale,
)
from keyheat.analysis.heat import INDEX_NOT_COUNTED, RunHeat
from keyheat.analysis.rules import NOT_GROWN, Recommend, Thresholds
from keyheat.analysis.timeline import EvidenceTimeline
from keyheat.analysis.track import EvidenceTrack
from keyheat.model.behaviour import DEFAULT
from keyheat.model.resources import CAUSE_OF_CONSTRAINT, partition_ceiling
from keyheat.numbers import percent, span, units
from keyheat.runs.formats import BEYOND, HotKey, Label, Recommendation
from keyheat.runs.manifest import RetryCost
from keyheat.runs.table_facts import NOT_SCALED, AutoScaling
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.tables import IndexSpec
from keyheat.words import Constraint, Direction, Resource, index_of, whose

EASES: Final = frozenset(
    ("back_off", "collect_evidence", "queue_writes", "raise_capacity", "raise_max_on_demand", "ramp",
     "read_eventually_consistent")
)  # fmt: skip
"""Actions that help now; the others last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceCase:
    """One constraint of one resource and direction, in units per second of an unscaled table."""

    constraint: Constraint
    resource: str
    direction: Direction
    rule: str | None
    demand: MeasuredDemand | None
    limit: float | None  # provisioned capacity, a maximum or a quota
    has_now: float | None = None  # capacity or maximum by the latest evidence; None: unknown, or a scenario
    is_over: bool = False  # whether minutes without a throttle follow
    warm: float | None
    heat: RunHeat | None
    ceiling: float  # of one partition
    quota: float  # the account's for one table with its indexes; the default if unknown
    numbers: Recommend
    partitions_then: int | None = None  # as in a plan; None: the load is unknown
    on_demand: bool = False
    scaled_most: float | None = None  # the maximum of its auto scaling; None: off or unknown
    scaled_by_hand: bool = False  # AWS says that its auto scaling is off
    one_key_per_s: float | None = None  # asked for where one key, which is not named, fills a partition
    index_key: str | None = None  # the index's key attribute, by the scenario
    carried_s: float | None = None  # how long burst serves the demand beyond the limit; None: unknown
    counted: bool = True  # whether an index's keys were counted
    shards_now: int = 1  # of each key, while this was measured
    enough_shards: int | None = None  # of each key, in total, by simulation
    enough_units: float | None = None  # by simulation
    retries: bool = False  # whether its client retries throttled requests
    only_for: str = ""  # share and time of the throttles, where other limits explain most of them
    given_up: float | None = None  # share of requests that such a client gave up, if counted

    @property
    def at(self) -> Limit:
        """The limit that it is about."""
        return self.constraint, self.resource, self.direction

    def advise(self, action: str, *, why: str, expected: str, **number: Any) -> Recommendation:
        """Recommend an action for this limit."""
        return Recommendation(
            action=action,
            kind="mitigation" if action in EASES else "cure",
            why=why,
            expected=expected,
            resource=self.resource,
            direction=self.direction,
            constraint=self.constraint,
            **number,
        )

    def wait(self, *, why: str, expected: str) -> Iterator[Recommendation]:
        """Advise retries, or for a retrying client a queue for the writes that it gives up.

        Reads cannot queue: their caller waits for the response.
        """
        if not self.retries:
            yield self.advise("back_off", why=why, expected=expected)
        elif self.given_up and self.direction == "write":
            yield self.advise(
                "queue_writes",
                why=f"{why} Its client retries already and still gives up {percent(self.given_up)} of its "
                "requests.",
                expected="A queue in front of the table holds writes until there is room, so a peak loses "
                "none; demand that stays above the limit fills the queue.",
            )

    @property
    def whose(self) -> str:
        return whose(self.resource)

    @property
    def has_key_beyond(self) -> bool:
        """Whether the key that Contributor Insights finds most throttled asks for more than a partition."""
        key = self.hottest
        pinned = key is not None and self.heat is not None and key.key == self.heat.pinned
        return pinned and key is not None and key.units_per_s > (1 + BEYOND) * self.ceiling

    @property
    def hottest(self) -> HotKey | None:
        """The resource's hottest key with a notable demand."""
        keys = self.heat.hottest if self.heat else ()
        if pinned := [key for key in keys if self.heat and key.key == self.heat.pinned]:
            return pinned[0]
        named = [key for key in keys if key.share >= self.numbers.hot_share or key.units_per_s > self.ceiling]
        return max(named, key=lambda key: key.units_per_s, default=None)

    @property
    def alone(self) -> bool:
        """Whether one key at a time fills a partition, not several together."""
        if self.heat is None or self.hottest is None:
            return False
        fills = self.hottest.units_per_s >= self.numbers.target_utilisation * self.ceiling
        return fills or self.heat.moves or self.hottest.key == self.heat.pinned

    @property
    def demand_words(self) -> str:
        """The demand as the beginning of a sentence."""
        return self.demand.in_words(self.direction) if self.demand else "The demand is not known"

    @property
    def carried(self) -> str:
        """How long burst and write buffer serve the demand, as a sentence; empty if unknown."""
        if self.carried_s is None or self.carried_s == inf:
            return ""
        buffered = is_buffered(self.resource, self.direction)
        saved = "burst and write buffer carry" if buffered else "burst carries"
        return f" Its {saved} that for {span(self.carried_s)} at most."

    @property
    def is_raised_enough(self) -> bool:
        """Whether it has enough by now, and nothing was throttled after that."""
        enough = self.with_headroom
        return self.is_over and None not in (self.has_now, enough) and (self.has_now or 0) >= (enough or 0)

    @property
    def raised_since(self) -> str:
        """That it has enough by now, as a sentence; empty if it has not, or if that is unknown."""
        enough = self.with_headroom
        if self.has_now is None or enough is None or self.demand is None:
            return ""
        what = "allowed" if self.constraint == "max_on_demand" else "provisioned"
        now = f" It was raised since: {units(self.has_now, self.direction)} are {what} now"
        if self.has_now >= enough:
            return f"{now}, which is enough."
        holds = self.is_over and self.has_now >= max(self.demand.units_per_s, self.limit or 0.0)
        return f"{now}, and nothing was throttled after that." if holds else ""

    @property
    def sustained(self) -> str:
        """One partition's ceiling, in words."""
        return with_scale(self.ceiling, self.direction, self.demand.scale if self.demand else 1.0)

    @property
    def with_headroom(self) -> float | None:
        """Capacity at which the demand is the target utilisation.

        The limit was reached, so the demand is at least the limit, even if only a lower bound was measured.
        """
        if self.enough_units is not None:
            return self.enough_units
        if self.demand is None:
            return None
        needed = max(self.demand.units_per_s, self.limit or 0.0)
        return float(ceil(round(needed / self.numbers.target_utilisation, 6)))  # 1,400 / 0.7 is 2,000

    @property
    def is_pinned(self) -> bool:
        """Whether the demand exceeds the maximum of its auto scaling."""
        most = self.scaled_most
        return most is not None and self.demand is not None and self.demand.units_per_s > most

    @property
    def max_units(self) -> float | None:
        """The auto scaling maximum that the demand needs; None if the present one is enough."""
        target, most = self.with_headroom, self.scaled_most
        return target if target is not None and most is not None and target > most else None

    @property
    def partitions(self) -> int | None:
        """Estimated partitions: as planned, else by warm throughput, the best public lower bound."""
        if self.partitions_then is not None:
            return self.partitions_then
        return max(1, round(self.warm / self.ceiling)) if self.warm else None


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """All measurements of a run, from which the case of any limit is built."""

    arranged: EvidenceTimeline
    heats: Sequence[RunHeat]
    numbers: Thresholds
    scenario: Scenario | None
    on_demand: bool
    scheduled: Schedule  # of the load; empty if unknown
    cost: RetryCost | None = None  # of the client's retries; None: no retries, or not counted
    scaling: AutoScaling = NOT_SCALED  # of an existing table

    def case(self, limit: Limit, labels: Sequence[Label]) -> AdviceCase:
        """Build the case of a limit, in units of a table at scale 1.

        `labels` are the limit's own, or others of the run while this limit was hidden.
        """
        label = max(labels, key=lambda label: label.throttles, default=None)
        constraint, resource, direction = limit
        of, scale, scenario = Resource(index_of(resource), direction), self.arranged.scale, self.scenario
        track = self.arranged.track(of.index, direction)
        allowed = _allowed(limit, label, self.arranged, track) if track else None
        has = None if allowed is None else allowed / scale
        is_own = label is not None and (label.constraint, label.resource) == (constraint, resource)
        heat = next(
            (heat for heat in self.heats if (heat.index, heat.direction) == (of.index, direction)), None
        )
        planned = self.scheduled.get((resource, direction))
        one_key = None
        if constraint == "partition" and label and track and not (heat and heat.hottest):
            one_key = one_key_per_s(track, label)
        carried_s = None
        if planned and has and constraint == "table":
            saved = DEFAULT.saved_units(has, index_writes=is_buffered(resource, direction))
            carried_s = planned.carried_s(has, saved)
        owner = owners_of(scenario).get(resource) if scenario else None
        in_aws, policy = self.scaling.of(of), policy_of(owner, direction)
        keys = owner.partition_keys if isinstance(owner, IndexSpec) else ()
        return AdviceCase(
            constraint=constraint,
            resource=resource,
            direction=direction,
            rule=label.rule if label is not None and is_own else None,
            demand=self._demand(limit, labels, track),
            limit=has,
            has_now=_has_now(track, constraint) if track and scenario is None else None,
            is_over=_is_over(track, labels) if track else False,
            carried_s=carried_s,
            warm=track.warm / scale if track and track.warm else None,
            heat=heat.unscaled(scale) if heat else None,
            ceiling=planned.partition_per_s if planned else partition_ceiling(direction),
            quota=self.arranged.quota_of(direction) / scale,
            one_key_per_s=one_key[0] / scale if one_key else None,
            partitions_then=planned.partitions if planned else None,
            numbers=self.numbers.recommend,
            on_demand=self.on_demand,
            scaled_most=in_aws.max if in_aws else policy.max if policy else None,
            scaled_by_hand=self.scaling is not NOT_SCALED
            and self.scaling.why is None
            and scenario is None
            and in_aws is None,
            index_key=" + ".join(keys) or None,
            counted=label is None or INDEX_NOT_COUNTED not in label.because,
            shards_now=scenario.keys.shards if scenario else 1,
            retries=self._retries(constraint),
            given_up=self.cost.given_up_share if self.cost else None,
        )

    def _retries(self, constraint: Constraint) -> bool:
        """Whether the client retries throttles of this constraint: the scenario's client, else the run's."""
        if self.scenario is None or self.scenario.client.sdk == "none":
            return self.cost is not None and self.cost.again > 0
        cause = CAUSE_OF_CONSTRAINT.get(constraint)
        return cause is not None and self.scenario.client.policy.retries(cause)

    def _demand(
        self, limit: Limit, labels: Sequence[Label], track: EvidenceTrack | None
    ) -> MeasuredDemand | None:
        """Return the demand by the schedule, else as measured; for the account, of all resources."""
        constraint, resource, direction = limit
        scale, planned = self.arranged.scale, self.scheduled.get((resource, direction))
        if constraint != "account" and planned is not None:
            return MeasuredDemand(planned.per_s, "schedule", scale)
        if constraint == "account":
            tracks = [candidate for candidate in self.arranged.tracks if candidate.direction == direction]
            measured = demand_of_all(tracks, labels)
        else:
            measured = demand(track, labels) if track else None
        return measured and replace(measured, units_per_s=measured.units_per_s / scale, scale=scale)


def _is_over(track: EvidenceTrack, labels: Sequence[Label]) -> bool:
    """Whether at least two minutes, or longer periods, are known after the last throttle."""
    last_s = max((label.end.timestamp() for label in labels), default=inf)
    return max(track.consumed or (0,)) >= last_s + track.step_s


def _has_now(track: EvidenceTrack, constraint: Constraint) -> float | None:
    """What DescribeTable said last, else what was published last, units/s of an unscaled table."""
    setting = track.maximum if constraint == "max_on_demand" else track.provisioned
    latest = setting.always or (setting.values[-1] if setting.values else None)
    return latest / track.scale if latest else None


def _allowed(
    limit: Limit, label: Label | None, arranged: EvidenceTimeline, track: EvidenceTrack
) -> float | None:
    """Return the constraint's limit, units/s as measured; None if unknown."""
    constraint, _, direction = limit
    at_s = label.start.timestamp() if label is not None else float(min(track.consumed or (0,)))
    match constraint:
        case "table" | "undetermined":
            return track.provisioned.at(at_s)
        case "max_on_demand":
            return track.maximum.at(at_s)
        case "account":
            return arranged.quota_of(direction)
        case "partition" if label is not None and label.rule == NOT_GROWN:
            return track.warm
    return None
