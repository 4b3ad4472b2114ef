"""Records merge in any order and grouping, through the wire or not, and nothing is lost.

The log of their latencies is one that HdrHistogram's own reader reads.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from hypothesis import given, settings
from hypothesis import strategies as st

from keyheat.heavyhitters import SKETCH_KEYS, HeavyHitters
from keyheat.load.record.attempt import Attempt
from keyheat.load.record.record import Record
from keyheat.load.record.rows import ATTEMPTS, Latency, write_log
from keyheat.load.record.sketch import KeyHeat
from keyheat.load.run.finish import keys_of
from keyheat.runs.folder import keys_json
from keyheat.scenario.keys import digest_of

EVERYTHING_S = float("inf")
SECRET = Attempt("PutItem", "write", "a-secret", 5.0, 0, 1, outcome="throttled", units=1.0)

reasons = [None, "TableWriteKeyRangeThroughputExceeded", "IndexWriteProvisionedThroughputExceeded"]
units = st.integers(1, 40).map(lambda halves: halves / 2)
outcomes = st.one_of(
    st.fixed_dictionaries(
        {"units": units, "by_index": st.dictionaries(st.sampled_from(["by-land"]), st.just(0.5))}
    ),
    st.fixed_dictionaries(
        {
            "outcome": st.just("throttled"), "units": units, "reason": st.sampled_from(reasons),
            "refused_by": st.sampled_from([None, "by-land", "by-day"]),
        }
    ),
    st.fixed_dictionaries(
        {"outcome": st.just("error"), "reason": st.sampled_from(["timeout", "connection_reset"])}
    ),
)  # fmt: skip
attempts = st.builds(
    lambda outcome, **request: Attempt(**request, **outcome),
    outcomes,
    operation=st.sampled_from(["PutItem", "Query"]),
    direction=st.sampled_from(["read", "write"]),
    key=st.sampled_from(["hot", "cold", "дата", "2026-11-20"]),
    sent_s=st.floats(1_700_000_000, 1_700_000_030),
    late_us=st.integers(0, 10_000),
    service_us=st.integers(1, 5_000_000),
)
logs = st.lists(attempts, max_size=25)


def record_of(log: list[Attempt]) -> Record:
    record = Record()
    for attempt in log:
        record.add(attempt)
    record.health.missed = len(log)
    return record


def view(record: Record) -> dict[str, Any]:
    """All that a record says, in comparable form, every window closed."""
    for heat in record.heat.values():
        list(heat.close_windows(EVERYTHING_S))
    return {
        "seconds": record.seconds.rows,
        "throttles": sorted(record.throttles.table().to_pylist(), key=repr),
        "latencies": {tag: latency.encoded() for tag, latency in record.latencies.items()},
        "heat": {
            direction: (
                heat.sketch.units.total,
                heat.sketch.top(100),
                heat.sketch.top(100, by="throttles"),
                heat.windows,
            )
            for direction, heat in record.heat.items()
        },
        "errors": record.errors_by_kind,
        "missed": record.health.missed,
        "late": record.health.late.encoded(),
        "consumed": record.consumed,
    }


def merged(*records: Record) -> Record:
    total = Record()
    for record in records:
        total.merge(record)
    return total


def through_the_wire(record: Record) -> Record:
    return Record.from_wire(record.to_wire())


def cut_in_pieces(log: list[Attempt]) -> Record:
    """What a master makes of a worker that sent a piece after each happening, and the rest at the end."""
    record, master = Record(), Record()
    for attempt in log:
        record.add(attempt)
        master.merge(through_the_wire(record.cut()))
    record.health.missed += len(log)
    for heat in record.heat.values():
        list(heat.close_windows(EVERYTHING_S))
    master.merge(through_the_wire(record.cut()))
    return master


@pytest.mark.slow
@settings(max_examples=15)
@given(logs, logs, logs)
def test_records_merged_in_any_order_are_the_record_of_all(
    a: list[Attempt], b: list[Attempt], c: list[Attempt]
) -> None:
    left = merged(merged(record_of(a), record_of(b)), record_of(c))
    right = merged(record_of(a), merged(record_of(b), record_of(c)))
    assert view(left) == view(right) == view(record_of(a + b + c))


@pytest.mark.slow
@settings(max_examples=15)
@given(logs)
def test_a_record_sent_in_pieces_is_the_record(log: list[Attempt]) -> None:
    assert view(cut_in_pieces(log)) == view(record_of(log))


def test_what_a_table_beside_consumes_is_paid_for_too() -> None:
    record = Record()
    record.add(Attempt("PutItem", "write", "k", 0.0, 0, 1, "beside", units=2.0))
    record.add(Attempt("GetItem", "read", "k", 0.0, 0, 1, units=0.5))
    assert (record.consumed.write_units, record.consumed.read_units) == (2.0, 0.5)


def test_keys_are_shown_where_that_is_asked() -> None:
    for show_keys, shown in ((False, None), (True, "a-secret")):
        record = Record(heat={"read": KeyHeat(), "write": KeyHeat(show_keys=show_keys)})
        record.add(SECRET)
        list(record.heat["write"].close_windows(EVERYTHING_S))
        hottest = keys_json(keys_of(record))["overall"]["write"][0]
        assert (hottest["key"], hottest["shown"]) == (digest_of("a-secret"), shown)
        assert record.throttles.table()["key"].to_pylist() == [digest_of("a-secret")]
        assert show_keys or "a-secret" not in repr(view(record))


@pytest.mark.parametrize("parts", [1, 4])
def test_a_sketch_is_off_by_a_thousandth_of_all_at_most(parts: int) -> None:
    """However skewed, in whatever order, put together from however many workers."""
    rng = np.random.default_rng(parts)
    names = [f"k{rank}" for rank in rng.zipf(1.1, 60_000) % 30_000]
    weights = rng.integers(1, 20, len(names)) / 2
    sketches = [HeavyHitters() for _ in range(parts)]
    for number, (name, weight) in enumerate(zip(names, weights, strict=True)):
        sketches[number % parts].add(name, float(weight))
    total = sketches[0]
    for other in sketches[1:]:
        total.merge(other)
    true = Counter[str]()
    for name, weight in zip(names, weights, strict=True):
        true[name] += weight
    off = total.total / 1_000
    assert total.total == sum(weights)
    assert len(true) > SKETCH_KEYS >= len(total.weights)
    assert {name for name, weight in true.items() if weight > off} <= set(total.weights)
    assert all(true[name] <= total.weight(name) <= true[name] + off for name in total.weights)
    assert total.top(3) == [name for name, _ in true.most_common(3)]


def test_a_run_of_days_has_longer_windows() -> None:
    heat = KeyHeat()
    for second in range(0, 10_000, 5):
        heat.add("hot", second=second, units=1.0, throttled=False)
    list(heat.close_windows(EVERYTHING_S))
    assert (heat.window_s, len(heat.windows)) == (20, 500)
    assert sum(named[digest_of("hot")][0] for named in heat.windows.values()) == 2_000
    young = KeyHeat()
    young.add("hot", second=3, units=1.0, throttled=False)
    list(young.close_windows(EVERYTHING_S))
    young.merge(heat)
    assert (young.window_s, young.windows[0][digest_of("hot")][0]) == (20, 5.0)


def test_closing_a_window_that_was_left_halfway_loses_and_doubles_nothing() -> None:
    heat = KeyHeat(show_keys=True)
    for number in range(10):
        heat.add(f"k{number}", 0, 1 + number, throttled=False)
    left = heat.close_windows(EVERYTHING_S)
    for _ in range(4):
        next(left)
    heat.add("k9", 1, 5.0, throttled=True)
    list(heat.close_windows(EVERYTHING_S))
    expected = {f"k{number}": 1.0 + number for number in range(9)} | {"k9": 15.0}
    assert {name: units for name, (units, *_) in heat.sketch.top(10)} == expected
    assert {name: units for name, (units, *_) in heat.windows[0].items()} == expected
    assert not heat.open


def test_what_many_workers_keep_of_a_window_is_bounded_once_it_has_settled() -> None:
    master = KeyHeat()
    for window in range(0, 200, 5):
        for worker in range(4):
            heat = KeyHeat()
            for number in range(60):
                heat.add(f"key-{worker}-{number}", second=window, units=1.0, throttled=False)
            heat.add("hot", second=window, units=9.0, throttled=False)
            list(heat.close_windows(EVERYTHING_S))
            master.merge(heat)
    kept = {start: len(named) for start, named in master.windows.items()}
    assert kept[195] > 200, "nobody knows yet who is hot"
    assert {kept[start] for start in range(0, 135, 5)} == {60}
    assert all(named[digest_of("hot")][0] == 36.0 for named in master.windows.values())


@pytest.mark.slow
def test_a_million_throttles_are_affordable() -> None:
    one = record_of([SECRET]).throttles
    for _ in range(20):
        one.merge(one.from_wire(one.to_wire()))
    assert len(one) == 2**20
    assert sum(column.itemsize for column in one.columns.values()) <= 64
    assert one.table().num_rows == 2**20


def test_the_counts_of_a_second_are_found_without_the_others() -> None:
    record = Record()
    for second in (7, 5, 7):
        record.add(Attempt("PutItem", "write", "k", second + 0.5, 0, 1, units=2.0, by_index={"by-day": 1.0}))
    seconds = through_the_wire(record).seconds
    assert seconds.of_requests([7])[ATTEMPTS] == 2
    assert {index for index, *_ in seconds.totals([7])} == {None, "by-day"}
    assert (seconds.totals([6]), seconds.last()) == ({}, 7)


def test_the_log_is_read_by_the_histogram_library(tmp_path: Path) -> None:
    path, latencies = (
        tmp_path / "latency.hdr",
        {"PutItem.accepted": Latency(), "PutItem.throttled": Latency()},
    )
    for tag, us in (("PutItem.accepted", 500), ("PutItem.accepted", 700), ("PutItem.throttled", 90)):
        latencies[tag].add(us)
    with path.open("wb") as file:
        write_log(file, latencies, start_s=1_795_000_000.0, end_s=1_795_000_060.0)
    assert path.read_text().startswith("#[keyheat.latency/1]\n")
    reader = HistogramLogReader(str(path), HdrHistogram(1, 3_600_000_000, 3))
    found = [reader.get_next_interval_histogram() for _ in range(2)]
    reader.close()
    assert {histogram.get_tag(): histogram.get_total_count() for histogram in found} == {
        "PutItem.accepted": 2,
        "PutItem.throttled": 1,
    }
