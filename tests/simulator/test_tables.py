"""A second in closed form against the same second request by request; and what holds whatever is sent."""

from collections import Counter
from dataclasses import replace
from math import sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyheat.model import limits
from keyheat.model.behaviour import DEFAULT
from keyheat.model.resources import Cause, IndexCapacity, TableCapacity
from keyheat.model.table import TableModel
from keyheat.scenario.keys import HotKeys, Uniform, Zipf
from keyheat.simulator.flow import Flow, IndexFlow
from keyheat.simulator.masses import Masses, even_masses, masses_of
from keyheat.simulator.second import SimulatedTables
from keyheat.words import Capacity
from tests.simulator.sent import READ, T0, WRITE, Counts, always, apart, by_minute, in_waves, one_by_one

pytestmark = pytest.mark.slow

SCALE = 0.1  # a partition writes 100 units per second: few requests tell
EVEN = even_masses()
HOT, HALF_HOT = masses_of(HotKeys(0.9, 1_000)), masses_of(HotKeys(0.5, 1_000))
ZIPF = masses_of(Zipf(1.0, 10_000))
COUNTRIES = masses_of(HotKeys(0.8, 60))
SIZES = ((1.0, 0.5), (2.0, 0.3), (4.0, 0.15), (12.0, 0.05))


def provisioned(read: float, write: float, **more: object) -> TableCapacity:
    return TableCapacity(provisioned=Capacity(read, write), **more)  # type: ignore[arg-type]


def on_demand(**more: object) -> TableCapacity:
    return TableCapacity(billing_mode="PAY_PER_REQUEST", **more)  # type: ignore[arg-type]


def index(name: str, write: float) -> IndexCapacity:
    return IndexCapacity(name=name, provisioned=Capacity(1_000, write))


def puts(requests: float, keys: Masses, **more: object) -> Flow:
    return Flow(operation="PutItem", direction=WRITE, requests=requests, keys=keys, **more)  # type: ignore[arg-type]


def gets(requests: float, keys: Masses, **more: object) -> Flow:
    return Flow(operation="GetItem", direction=READ, requests=requests, keys=keys, **more)  # type: ignore[arg-type]


def entry(name: str, keys: Masses, units: float = 1.0) -> tuple[IndexFlow, ...]:
    return (IndexFlow(index=name, units=units, keys=keys),)


def pair(one: Flow, other: Flow) -> tuple[Flow, Flow]:
    """Two unlike items of a transaction."""
    return replace(one, together=True), replace(other, together=True, within=True)


CASES = {
    "a hot key": (on_demand(), (puts(400, HOT),), 60),
    "a table that is too small, and splits": (provisioned(1_000, 2_000), (puts(320, EVEN),), 420),
    "a table after its burst": (
        provisioned(1_000, 500, warm=Capacity(None, 4_000)), (puts(250, EVEN),), 180,
    ),
    "a quota that the table's reads share with an index's": (
        on_demand(account=Capacity(2_000, 2_000), indexes=(IndexCapacity(name="i"),)),
        (gets(200, EVEN), gets(400, EVEN, index="i", units=0.5, eventual=True)),
        60,
    ),
    "a quota that writes share with their entries": (
        on_demand(account=Capacity(3_000, 3_000), indexes=(IndexCapacity(name="i"),)),
        (puts(400, EVEN, index_writes=entry("i", EVEN)),),
        60,
    ),
    "a hot key on an index": (
        provisioned(1_000, 4_000, indexes=(index("i", 4_000),)),
        (puts(300, EVEN, index_writes=entry("i", COUNTRIES)),),
        60,
    ),
    "an index that holds back other writes": (
        provisioned(1_000, 4_000, indexes=(index("i", 500),)),
        (puts(300, EVEN, index_writes=entry("i", EVEN)), puts(80, EVEN)),
        60,
    ),
    "eventual and strong reads of a hot key": (
        on_demand(), (gets(1_200, HOT, units=0.5, eventual=True), gets(200, HOT)), 60,
    ),
    "large and small writes": (
        provisioned(1_000, 4_000), (puts(200, HALF_HOT), puts(60, HALF_HOT, units=4.0)), 60,
    ),
    "items of many sizes, over the maximum": (
        on_demand(max_on_demand=Capacity(None, 2_000)), (puts(150, EVEN, units=2.3, sizes=SIZES),), 60,
    ),
    "items of many sizes on a hot key": (on_demand(), (puts(150, HOT, units=2.3, sizes=SIZES),), 60),
    "batches": (on_demand(), (puts(24, ZIPF, items=25),), 60),
    "transactions of an even item and a hot one": (
        provisioned(4_000, 6_000), pair(puts(100, EVEN, units=2.0), puts(100, COUNTRIES, units=2.0)), 60,
    ),
    "transactions of unlike sizes": (
        provisioned(4_000, 6_000), pair(puts(80, EVEN, units=6.0), puts(80, HALF_HOT, units=2.0)), 60,
    ),
}  # fmt: skip


ONE_SIZE, MIXED_SIZES = 0.03, 0.05
"""By which the two may differ; of a transaction one item or two of them ask a partition."""


@pytest.mark.parametrize("case", CASES)
def test_in_waves_as_one_by_one(case: str) -> None:
    """Of a quota that writes share with their index, the sum of what both refuse."""
    capacity, flows, seconds = CASES[case]
    alone = one_by_one(capacity, always(*flows), seconds=seconds, scale=SCALE)
    waves, _answers = in_waves(capacity, always(*flows), seconds=seconds, scale=SCALE)
    counts = [by_minute(model, seconds) for model in (alone, waves)]
    if case == "a quota that writes share with their entries":
        counts = [_causes_of_quota_together(each) for each in counts]
    sizes = {units for flow in flows for units, _part in flow.sizes or [(flow.units, 1.0)]}
    mixed = len(sizes) > 1 or flows[0].together
    wrong = apart(*counts, share=MIXED_SIZES if mixed else ONE_SIZE, units=160)
    assert not wrong, "\n".join(wrong)
    assert [n for n, _at_s in waves.partitions.splits] == [n for n, _at_s in alone.partitions.splits]
    pairs = zip(waves.partitions.splits, alone.partitions.splits, strict=True)
    assert all(abs(wave_s - alone_s) <= 5 for (_, wave_s), (_, alone_s) in pairs)


key_masses = st.sampled_from(
    [EVEN, HOT, HALF_HOT, ZIPF, masses_of(Uniform(50)), masses_of(Zipf(0.6, 500)), masses_of(Uniform(3))]
)


@st.composite
def set_ups(draw: st.DrawFn) -> tuple[TableCapacity, tuple[Flow, ...]]:
    """A table of 1 to 20 partitions at a tenth of its size, asked for 0.3 to 3 times of what it has."""
    partitions = draw(st.integers(1, 20))
    units = partitions * 1_000.0
    indexes: tuple[IndexCapacity, ...] = ()
    writes = draw(st.floats(0.3, 3.0)) * units * SCALE
    if draw(st.booleans()):
        indexes = (IndexCapacity(name="i", provisioned=Capacity(1_000, draw(st.floats(0.2, 1.2)) * units)),)
    kind = draw(st.sampled_from(["provisioned", "on demand", "maximum", "account"]))
    if kind == "provisioned":
        capacity = provisioned(units, units, indexes=indexes)
    else:
        quota = Capacity(None, units * draw(st.floats(0.3, 1.2)))
        capacity = on_demand(
            warm=Capacity(12_000, max(4_000.0, units)),
            max_on_demand=quota if kind == "maximum" else None,
            account=quota if kind == "account" else Capacity(),
            indexes=tuple(replace(one, provisioned=None) for one in indexes),
        )
    size = draw(st.sampled_from([1.0, 2.0, 3.0]))
    requests = min(350.0, writes / size)
    entries = entry("i", draw(key_masses), draw(st.sampled_from([1.0, 2.0]))) if indexes else ()
    flows = (
        puts(requests, draw(key_masses), units=size, index_writes=entries, poisson=draw(st.booleans())),
        gets(draw(st.floats(10, 200)), draw(key_masses), units=draw(st.sampled_from([1.0, 4.0]))),
    )
    return capacity, flows


def chance(flow: Flow, seconds: int, what: str = "accepted") -> float:
    """Five standard deviations of what two draws of a flow differ by, in whatever is counted of it.

    Of n requests n·p·(1-p), at most n/4, is the variance of how many ask for keys whose share is p, and n
    that of a Poisson process's count; between two draws there is twice that.
    """
    requests = flow.requests * seconds
    each = max(flow.units, *(entry.units for entry in flow.index_writes), 0.0) if what == "units" else 1.0
    return each * 5 * sqrt(2 * requests if flow.poisson else requests / 2)


def _causes_of_quota_together(counts: Counts) -> Counts:
    """What a request is told that several limits refuse depends on what a moment left of each; whether the
    table or its index is told of the quota that they share does, too."""
    merged: Counter[tuple[str | None, str, str]] = Counter()
    for (name, direction, what), (number,) in counts.items():
        merged[None if what == Cause.ACCOUNT else name, direction, what] += number
    return {key: [number] for key, number in merged.items()}


@settings(max_examples=12)
@given(set_up=set_ups(), seed=st.integers(0, 1_000))
def test_depth_and_rate_are_never_exceeded(set_up: tuple[TableCapacity, tuple[Flow, ...]], seed: int) -> None:
    capacity, flows = set_up
    seconds = 15
    waves, answers = in_waves(capacity, always(*flows), seconds=seconds, scale=SCALE, seed=seed)
    for answer in (one for second in answers for one in second):
        assert answer.attempts == answer.accepted + sum(answer.refused.values())
        assert answer.accepted * answer.flow.units == pytest.approx(answer.units)
    largest = max(flow.units for flow in flows) * len(flows)
    for direction in (WRITE, READ):
        units = sum(one.units for second in answers for one in second if one.flow.direction is direction)
        resource = waves.resource()
        lane = resource.read if direction is READ else resource.write
        by_rounding = largest * len(resource.partitions)  # each may serve a part of a request as a whole one
        for gate in lane.gates:
            assert units <= gate.bucket.depth + gate.bucket.rate * seconds + by_rounding
        buckets = [part.read if direction is READ else part.write for part in resource.partitions]
        most = sum(bucket.depth + bucket.rate * seconds + largest for bucket in buckets)
        assert units <= most


@settings(max_examples=12)
@given(set_up=set_ups(), more=st.floats(1.1, 4.0))
def test_more_capacity_never_serves_less(set_up: tuple[TableCapacity, tuple[Flow, ...]], more: float) -> None:
    capacity, flows = set_up
    served = []
    for scale in (SCALE, SCALE * more):
        _model, answers = in_waves(capacity, always(*flows), seconds=20, scale=scale)
        served.append(sum(one.accepted for second in answers for one in second))
    assert served[1] >= served[0] - sum(chance(flow, 20) for flow in flows), "arrivals are drawn again"


@pytest.mark.parametrize("few", [1, 3, 20])
def test_a_quiet_second_is_asked_one_by_one(few: int) -> None:
    """Five units a second and items of 400: each is served as soon as the last one's debt is paid."""
    capacity = provisioned(5, 5)
    flows = always(puts(few / 10, EVEN, units=400.0))
    behaviour = replace(DEFAULT, nodes_below_units_per_s=0.0, burst_floor_units=400.0)
    model = TableModel(capacity, now_s=T0, behaviour=behaviour)
    table = SimulatedTables({"t": model}, own_table="t", seed=1, started_s=T0)
    accepted = sum(table.second(flows(n), T0 + n)[0].accepted for n in range(800))
    depth = 5 * limits.BURST_S
    assert accepted == pytest.approx(min(few * 80, (depth + 5 * 800) / 400), abs=2)


def test_an_on_demand_table_grows_past_its_peak() -> None:
    waves, answers = in_waves(on_demand(), always(puts(6_000, EVEN)), seconds=1_200)
    assert sum(one.accepted for one in answers[60]) == pytest.approx(4_000, rel=0.02)
    assert sum(one.accepted for one in answers[-1]) == 6_000
    assert waves.partition_count() >= 8


@pytest.mark.parametrize(("within", "splits"), [("point", False), ("rising", False), ("random", True)])
def test_one_hot_key_splits_only_where_its_items_are_spread(within: str, splits: bool) -> None:
    keys = replace(masses_of(HotKeys(1.0, 1)), within=within)  # type: ignore[arg-type]
    waves, answers = in_waves(on_demand(), always(puts(1_500, keys)), seconds=1_000)
    assert (waves.partition_count() > 4) == splits
    served = sum(one.accepted for one in answers[-1])
    assert served == (1_500 if splits else pytest.approx(1_000, rel=0.02))


def test_an_index_keeps_up_for_as_long_as_its_buffer_lasts() -> None:
    capacity = provisioned(1_000, 4_000, indexes=(index("i", 4_000),))
    flow = puts(3_000, EVEN, index_writes=entry("i", COUNTRIES))
    _waves, answers = in_waves(capacity, always(flow), seconds=60)
    refusing = [second for second, (one,) in enumerate(answers) if one.refused]
    buffer = DEFAULT.index_buffer_units + 1_000 * DEFAULT.partition_depth_s
    on_the_hot_partition = COUNTRIES.shares.max() * 3_000
    assert refusing[0] == pytest.approx(buffer / (on_the_hot_partition - 1_000), rel=0.1)
    (last,) = answers[-1]
    assert set(last.refused) == {("i", Cause.KEY_RANGE)}
    assert last.accepted == pytest.approx(1_000 / COUNTRIES.shares.max(), rel=0.1)
    assert last.index_units == {"i": last.accepted}


def test_an_indexs_maximum_is_not_taken_for_the_quota_that_it_shares() -> None:
    capped = IndexCapacity(name="i", max_on_demand=Capacity(100, 100))
    reads = (gets(500, EVEN), gets(400, EVEN, index="i"))
    _waves, answers = in_waves(on_demand(indexes=(capped,)), always(*reads), seconds=10)
    table, index_reads = answers[-1]
    assert not table.refused
    assert set(index_reads.refused) == {("i", Cause.MAX_ON_DEMAND)}


def test_eventual_reads_reach_half_as_much_again() -> None:
    keys = masses_of(HotKeys(1.0, 1))
    flow = gets(12_000, keys, units=0.5, eventual=True)
    _waves, answers = in_waves(on_demand(), always(flow), seconds=120)
    assert answers[-1][0].units == pytest.approx(limits.EVENTUAL_READ_PARTITION_UNITS_PER_S, rel=0.01)
    strong = gets(6_000, keys)
    _waves, answers = in_waves(on_demand(), always(strong), seconds=120)
    assert answers[-1][0].units == pytest.approx(limits.PARTITION_READ_UNITS_PER_S, rel=0.01)


def test_of_two_unlike_items_of_a_transaction_both_are_written_or_none() -> None:
    flows = pair(puts(100, EVEN, units=2.0, poisson=True), puts(100, COUNTRIES, units=2.0, poisson=True))
    waves, answers = in_waves(provisioned(4_000, 6_000), always(*flows), seconds=60, scale=SCALE)
    assert all(one.accepted == other.accepted for one, other in answers)
    cancelled = _throttled_requests(waves, 60)
    refused = sum(sum(one.refused.values()) for each in answers for one in each)
    assert 0 < cancelled <= refused <= 2 * cancelled


def test_transactions_are_done_whole() -> None:
    flow = puts(40, ZIPF, units=2.0, items=4, together=True)
    waves, answers = in_waves(on_demand(), always(flow), seconds=120, scale=SCALE / 2)
    assert all(one.accepted % 4 == 0 for (one,) in answers)
    refused = sum(sum(one.refused.values()) for (one,) in answers)
    cancelled = 40 * 120 - sum(one.accepted for (one,) in answers) / 4
    assert cancelled <= refused <= 4 * cancelled
    assert _throttled_requests(waves, 120) == cancelled


def _throttled_requests(model: TableModel, seconds: int) -> float:
    series = model.minutes.series("t", T0, T0 + seconds)
    return sum(
        point.sum for one in series if one.metric == "ThrottledRequests" for point in one.points.values()
    )
