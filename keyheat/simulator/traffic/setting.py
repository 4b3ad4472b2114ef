"""What the parts of one simulated load test share: scenario, keys, what is written, what is counted."""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from keyheat.scenario.keys import DateKey, KeyPattern, TraceKeys, shard_keys
from keyheat.scenario.scenario import Scenario, ScenarioError
from keyheat.scenario.shape import Shape
from keyheat.scenario.spec.load import LoadSpec
from keyheat.scenario.spec.table import TableSpec
from keyheat.scenario.trace import read_trace
from keyheat.simulator.masses import Masses, Within, even_masses, masses_of, masses_of_shares
from keyheat.simulator.traffic.rates import asked_of_users
from keyheat.simulator.traffic.written import Written

HALF_S = 0.5  # a second is represented by its middle


@dataclass(slots=True)
class Setting:
    """One simulated run of a load test. Distributions are made once, for they are compared by identity."""

    scenario: Scenario
    rng: Random
    folder: Path
    counts: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    """What the load test counts, `group.what`, as `counted` of a run's manifest has it."""
    at_s: float = field(default=0.0, init=False)  # this second, from the start of the run
    coming: float = field(default=0.0, init=False)  # requests in it, as far as the scenario can say
    _pattern: KeyPattern = field(init=False)
    _shape: Shape = field(init=False)
    _made: dict[str, Masses] = field(default_factory=dict, init=False)
    _placed: dict[tuple[int, Within], Masses] = field(default_factory=dict, init=False)
    _written: dict[int, Written] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._pattern = self.scenario.keys.pattern(folder=self.folder)
        self._shape = self.load.rate_shape()

    def begin(self, at_s: float) -> None:
        """A second begins."""
        self.at_s = at_s
        asked = asked_of_users(self._shape, self.load, at_s)
        self.coming = asked if self.load.target_unit == "requests" else asked / self.load.mean_write_units

    @property
    def table(self) -> TableSpec:
        return self.scenario.table

    @property
    def load(self) -> LoadSpec:
        return self.scenario.load

    @property
    def shards(self) -> int:
        return self.scenario.keys.shards

    def companion(self, what: str) -> TableSpec:
        """The only table beside the judged one; `what` it is needed for. Raises `ScenarioError`."""
        if len(self.scenario.companions) != 1:
            raise self.lack(f"{self.scenario.loadtest} needs one companion, {what} @ $.companions")
        return self.scenario.companions[0]

    def lack(self, message: str) -> ScenarioError:
        """What the scenario lacks for its load test."""
        return ScenarioError(self.scenario.name, [message])

    @property
    def at_the_end(self) -> Within:
        """Where new items go within their collection: sort keys are times, so there is always a later one."""
        return "rising" if self.table.sort_key else "point"

    @property
    def anywhere(self) -> Within:
        """Where items are that were written at some time."""
        return "random" if self.table.sort_key else "point"

    @property
    def keys(self) -> Masses:
        """What the scenario's pattern draws in this second."""
        return self.now("keys", self._drawn)

    @property
    def sharded(self) -> Masses:
        """The same keys with a suffix: on as many shards as the scenario says, all of them used evenly."""
        return self.now("shards", lambda: on_shards(self.keys, self.shards))

    def now(self, name: str, make: Callable[[], Masses]) -> Masses:
        """A distribution that is made of what the pattern draws, and so is another one tomorrow."""
        return self.once(f"{name} {self._period}", make)

    def once(self, name: str, make: Callable[[], Masses]) -> Masses:
        """A distribution that is made when it is first asked for."""
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

    def placed(self, keys: Masses, within: Within) -> Masses:
        """The same keys, with the requests in another place within each of them."""
        if keys.within == within:
            return keys
        name = id(keys.points), within
        if name not in self._placed:
            self._placed[name] = replace(keys, within=within)
        return self._placed[name]

    def written(self, keys: Masses) -> Written:
        """What is written to keys, in whatever places within them."""
        name = id(keys.points)  # shared by all that differ only in the place within a collection
        if name not in self._written:
            self._written[name] = Written(keys)
        return self._written[name]

    @property
    def _period(self) -> int:
        """Which of the pattern's days it is; of a pattern without days it is always the same."""
        day_s = self._pattern.day_s if isinstance(self._pattern, DateKey) else float("inf")
        return int((self.at_s + HALF_S) // day_s)

    def _drawn(self) -> Masses:
        if isinstance(self._pattern, TraceKeys):
            return masses_of_shares(_used(self._pattern))
        return masses_of(self._pattern, at_s=self.at_s + HALF_S)


def on_shards(keys: Masses, shards: int) -> Masses:
    """The keys with a suffix, each evenly on all of its shards."""
    named = ((keys.name(number), share / shards) for number, share in enumerate(keys.shares.tolist()))
    shares = {shard: part for key, part in named for shard in shard_keys(key, shards)}
    distinct = keys.distinct * shards
    if not shares:
        return even_masses(within=keys.within, distinct=distinct)
    return masses_of_shares(shares, even=keys.even, within=keys.within, distinct=distinct)


def _used(pattern: TraceKeys) -> Counter[str]:
    """How often each key of a trace is used, for loads that take the keys and have times of their own."""
    rows = read_trace(pattern.path, has_sort_key=True, least=lambda _key, _sort_key: 0)
    return Counter(row.key for row in rows)
