"""A run that the simulator can repeat, from its scenario, else from the demand in the evidence."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from keyheat.analysis.advice.actions import Alteration, Applied
from keyheat.analysis.advice.as_it_was import as_it_was, assumptions, scenario_of_table
from keyheat.analysis.checks import throttle_share
from keyheat.analysis.heat import RunHeat
from keyheat.analysis.timeline import EvidenceTimeline, EvidenceTrack
from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.plan.prices import Billing
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import Evidence, Label
from keyheat.scenario.scenario import Scenario, ScenarioError
from keyheat.scenario.spec.part import MOST_UNITS
from keyheat.scenario.variants import lasting
from keyheat.simulator.alterations import Altered
from keyheat.simulator.flow import Flow, IndexFlow, Recorded, Traffic
from keyheat.simulator.masses import Masses, even_masses, masses_of_shares
from keyheat.simulator.outcome import SimulationOutcome, outcome_of
from keyheat.simulator.simulate import simulate
from keyheat.simulator.traffic import traffic_of
from keyheat.simulator.whatif import files_fingerprint, scenario_fingerprint
from keyheat.words import READ, WRITE, Direction, index_of

OPERATIONS: dict[Direction, str] = {READ: "Query", WRITE: "PutItem"}


def demanded(arranged: EvidenceTimeline, heats: Sequence[RunHeat], first_s: int, seconds: int) -> Recorded:
    """Return the demand on the table and its indexes in `seconds` from `first_s` on."""
    kinds = [
        (arranged, track, _keys(heats, track.direction, track.index), _entries(arranged, track, heats))
        for track in arranged.tracks
        if track.index is None or track.direction == "read"
    ]
    return Recorded(
        [
            [flow for kind in kinds if (flow := _flow(*kind, second)) is not None]
            for second in range(first_s, first_s + seconds)
        ]
    )


def _flow(
    arranged: EvidenceTimeline,
    track: EvidenceTrack,
    keys: Masses,
    entries: tuple[IndexFlow, ...],
    second: int,
) -> Flow | None:
    requests, units = _asked(arranged, track, second)
    if not requests:
        return None
    return Flow(
        operation=OPERATIONS[track.direction],
        direction=track.direction,
        requests=requests,
        units=units,
        keys=keys,
        index=track.index,
        index_writes=tuple(replace(entry, units=entry.units * units) for entry in entries),
    )


def _asked(arranged: EvidenceTimeline, track: EvidenceTrack, second: int) -> tuple[float, float]:
    """Return the requests within a second, throttled ones included, and the units of each."""
    row = (track.seconds or {}).get(second)
    if track.seconds:
        if row is None:
            return 0.0, 1.0
        accepted = max(0, row.attempts - row.throttled)
        return float(row.attempts), row.consumed / accepted if accepted and row.consumed else 1.0
    cell = track.cell_of(second)
    units_per_request = track.units_per_request or 1.0
    units = (track.consumed or {}).get(cell, 0.0) + units_per_request * _throttled(arranged, track, cell)
    return units / track.step_s / units_per_request, units_per_request


def _throttled(arranged: EvidenceTimeline, track: EvidenceTrack, cell: int) -> float:
    """Return throttled requests in a cell; writes that an index throttled are the table's, too.

    Each index that throttles a write counts it, so only the index with the most counts.
    """
    of_indexes = arranged.indexes(WRITE) if track.index is None and track.direction == WRITE else ()
    return track.refused(cell) + max((index.refused(cell) for index in of_indexes), default=0.0)


def _keys(heats: Sequence[RunHeat], direction: Direction, index: str | None) -> Masses:
    """Return the hottest keys with their shares of the requests; of an index if its keys were counted."""
    heat = next(
        (candidate for candidate in heats if (candidate.direction, candidate.index) == (direction, index)),
        None,
    )
    shares = {key.key: key.share for key in heat.hottest if key.share > 0} if heat else {}
    if not shares:
        return even_masses()
    return masses_of_shares(shares, even=max(0.0, 1.0 - sum(shares.values())), within="random")


def _entries(
    arranged: EvidenceTimeline, track: EvidenceTrack, heats: Sequence[RunHeat]
) -> tuple[IndexFlow, ...]:
    """Return what the table's writes put into each index: index units per table unit, over all."""
    table_units = sum((track.consumed or {}).values())
    if track.index is not None or track.direction != "write" or not table_units:
        return ()
    flows = []
    for index in arranged.indexes(WRITE):
        units = sum((index.consumed or {}).values()) / table_units
        if index.index is not None and units > 0:
            keys = _keys(heats, WRITE, index.index)
            flows.append(IndexFlow(index=index.index, units=units, keys=keys))
    return tuple(flows)


MOST_S: Final = 3_600
"""Most seconds of a run that are simulated, which takes a few seconds."""
MOST_RETRIED: Final = 200_000
"""Most requests of a retrying client, which are simulated one by one: some seconds of work."""
BRIEF_S: Final = 180.0
"""Seconds in which a constant load shows its limits."""
BEFORE_S: Final = 300
"""Seconds before the throttles at which a repetition starts: the time for which burst is saved."""


MOST_KEPT: Final = 256
"""Most stored outcomes, of some kilobytes each; a diagnosis has about twenty."""


@dataclass(slots=True)
class KnownOutcomes:
    """A bounded cache of simulated outcomes by all their inputs: the same seed gives the same outcome."""

    _known: OrderedDict[Hashable, SimulationOutcome] = field(default_factory=OrderedDict)

    def of(self, key: Hashable, simulate_now: Callable[[], SimulationOutcome]) -> SimulationOutcome:
        """Return the stored outcome, else simulate it now."""
        outcome = self._known.pop(key, None)
        outcome = self._known[key] = simulate_now() if outcome is None else outcome
        while len(self._known) > MOST_KEPT:
            self._known.popitem(last=False)
        return outcome


def altered(traffic: Traffic, alters: Sequence[Alteration]) -> Traffic:
    """Apply alterations to each request."""
    for make, arguments in alters:
        traffic = Altered(traffic, make(*arguments))
    return traffic


_by_schedule = KnownOutcomes()
"""Outcomes of runs by scenario: shared by both sides of a fix, and by repetitions of a scenario."""


@dataclass(frozen=True, slots=True)
class ScenarioTraffic:
    """The requests of a scenario's load test; equal to another value with the same requests."""

    scenario: Scenario = field(compare=False)
    sent: Hashable

    @classmethod
    def of(cls, scenario: Scenario) -> "ScenarioTraffic":
        """Identify the traffic by the scenario and the present content of its files."""
        return cls(scenario, (scenario_fingerprint(scenario), files_fingerprint(scenario)))

    def __call__(self) -> Traffic:
        return traffic_of(self.scenario, seed=self.scenario.seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """A run that can be repeated on the simulator, and its measured share of throttled attempts."""

    scenario: Scenario  # whose table it meets
    traffic: Callable[[], Traffic]  # made anew for each simulation, since it remembers what was answered
    by_schedule: bool = False  # whether it is what a scenario's load asks for, rather than what was measured
    alters: tuple[Alteration, ...] = ()
    measured: float | None
    retried_requests: int = 0  # that the scenario's client sent, throttled ones more than once; 0: each once
    billing: Billing
    behaviour: Behaviour = DEFAULT  # of the table: with what burst it begins
    known: KnownOutcomes = field(default_factory=KnownOutcomes, repr=False, compare=False)
    assumed: tuple[str, ...] = ()  # of a demand that evidence shows, in sentences

    def as_it_was_sent(self, before: SimulationOutcome) -> SimulationOutcome | None:
        """What the run itself is held against: `before`, and where its client retried the same with retries.

        None where those are too many requests to be asked one by one.
        """
        if not self.retried_requests:
            return before
        if self.retried_requests > MOST_RETRIED:
            return None

        def again() -> SimulationOutcome:
            policy = self.scenario.client.retries
            return outcome_of(
                simulate(self.scenario, traffic=self.traffic(), counts_only=True, policy=policy)
            )

        return self.known.of((scenario_fingerprint(self.scenario), self.traffic, "with retries"), again)

    def simulated(self, behaviour: Behaviour | None = None) -> SimulationOutcome:
        """The run once more, its first minutes if it is long; not anew what this process has simulated."""
        behaviour = behaviour or self.behaviour
        scenario = lasting(self.scenario, min(self.scenario.load.duration_s, MOST_S))

        def anew() -> SimulationOutcome:
            traffic = altered(self.traffic(), self.alters)
            return outcome_of(simulate(scenario, traffic=traffic, behaviour=behaviour, counts_only=True))

        key = scenario_fingerprint(scenario), self.traffic, self.alters, behaviour
        return self.known.of(key, anew)

    def brief(self) -> "Rerun":
        """Shorten a constant load to the time in which bursts are spent and hot partitions split."""
        scenario = self.scenario
        changes = scenario.is_changing or scenario.table.scaled
        if not self.by_schedule or changes or scenario.load.duration_s <= BRIEF_S:
            return self
        return replace(self, scenario=lasting(scenario, BRIEF_S))

    def taking(self, applied: Applied) -> "Rerun":
        """Return the run with actions that were applied to its scenario."""
        return replace(
            self, scenario=applied.scenario, alters=(*self.alters, *applied.alters),
            traffic=ScenarioTraffic.of(applied.scenario) if self.by_schedule else self.traffic,
        )  # fmt: skip


def rerun_of(
    evidence: Evidence,
    arranged: EvidenceTimeline,
    heaviest: Label,
    *,
    client: ClientFiles | None,
    scenario: Scenario | None,
    heats: Sequence[RunHeat],
    billing: Billing,
    most_s: int = MOST_S,
) -> Rerun | None:
    """The run by its scenario; without one whose load test the simulator knows, the time around the heaviest
    label by what was asked for then, of that `most_s` at most.

    None where neither can be repeated: a trace that is elsewhere, a table whose capacity is not known, more
    than any scenario asks for.
    """
    if scenario is not None and scenario.load.arrivals == "trace":
        return None
    if scenario is not None and _is_known(scenario):
        return Rerun(
            scenario=scenario,
            traffic=ScenarioTraffic.of(scenario),
            by_schedule=True,
            measured=throttle_share(evidence, client),
            retried_requests=_retried(client),
            billing=billing,
            known=_by_schedule,
        )
    first_s = max(int(evidence.window.start.timestamp()), int(heaviest.start.timestamp()) - BEFORE_S)
    seconds = min(int(evidence.window.end.timestamp()) - first_s, most_s)
    table = as_it_was(evidence.table, arranged, heaviest.start.timestamp())
    made = scenario_of_table(table, seconds, scale=evidence.scale)
    if made is None:
        return None
    load = demanded(arranged, heats, first_s, seconds)
    if load.peak_per_s() > MOST_UNITS:
        return None
    measured = _measured(arranged, range(first_s, first_s + seconds))
    return Rerun(
        scenario=made, traffic=lambda: load, measured=measured, billing=billing,
        behaviour=_with_burst(arranged, heaviest, first_s),
        assumed=tuple(assumptions(arranged, heats, heaviest, first_s, seconds)),
    )  # fmt: skip


def _with_burst(arranged: EvidenceTimeline, heaviest: Label, first_s: int) -> Behaviour:
    """Return the table's behaviour, starting with the burst that was spent until it throttled."""
    track = arranged.track(index_of(heaviest.resource), heaviest.direction)
    has_per_s = track.provisioned.at(first_s) if track else None
    if track is None or not has_per_s or heaviest.constraint != "table":
        return DEFAULT
    full = max(DEFAULT.burst_s * has_per_s, DEFAULT.burst_floor_units)
    saved = 0.0
    for per_s, lasts_s in reversed(_consumed_until(track, first_s, int(heaviest.start.timestamp()))):
        saved = min(full, max(0.0, saved + (per_s - has_per_s) * lasts_s))
    return replace(DEFAULT, burst_at_start_share=saved / full)


def _consumed_until(track: EvidenceTrack, first_s: int, last_s: int) -> list[tuple[float, int]]:
    """Return (units/s, seconds) up to `last_s`: by the client's seconds, else by cells."""
    if track.seconds:
        rows = (track.seconds.get(second) for second in range(first_s, last_s + 1))
        return [(row.consumed if row else 0.0, 1) for row in rows]
    rates = (track.consumed_per_s(cell) for cell in range(track.cell_of(first_s), last_s + 1, track.step_s))
    return [(rate, track.step_s) for rate in rates if rate is not None]


def _retried(client: ClientFiles | None) -> int:
    cost = client.manifest.retry_cost if client and client.manifest else None
    return cost.requests if cost is not None else 0


def _is_known(scenario: Scenario) -> bool:
    """Whether the simulator can play the scenario's load test."""
    try:
        traffic_of(scenario, seed=scenario.seed)
    except ScenarioError:
        return False
    return True


def _measured(arranged: EvidenceTimeline, seconds: range) -> float | None:
    """Return throttles per attempt in a stretch of time, by the client, else by CloudWatch."""
    attempts = throttled = 0.0
    for track in arranged.tracks:
        if track.seconds:
            rows = [row for second, row in track.seconds.items() if second in seconds and track.index is None]
            attempts += sum(row.attempts for row in rows)
            throttled += sum(row.throttled for row in rows)
        elif track.index is None or track.direction == READ:
            each = track.units_per_request or 1.0
            for cell in {track.cell_of(second) for second in seconds}:
                requests = _throttled(arranged, track, cell)
                attempts += requests + (track.consumed or {}).get(cell, 0.0) / each
                throttled += requests
    return throttled / attempts if attempts else None
