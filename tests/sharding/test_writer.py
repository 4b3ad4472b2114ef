"""One writer, request by request: what it reads, writes, counts, raises and waits for."""

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from botocore.exceptions import ClientError

from keyheat.sharding import Metadata, Policy, ShardWriter
from keyheat.sharding.client import Throttle
from keyheat.sharding.metadata import Shards
from tests.sharding.memory import PARTITION, TABLE, MemoryClient, client_error, throttled

POLICY = Policy(cooldown_s=10, backoff_low_s=1, backoff_high_s=1, cache_s=2, settle_s=8, max_shards=3)


class Bench:
    """A writer whose time passes in its pauses, and an item table that refuses as told."""

    def __init__(self, refusals: list[ClientError] | None = None) -> None:
        self.now_s = 1_000.0
        self.refusals = refusals or []
        self.written: list[str] = []
        self.counted: Counter[str] = Counter()
        self.asked: list[Throttle] = []
        self.requests: list[str] = []
        self.client = MemoryClient(lambda: self.requests.append("metadata"))
        self.metadata = Metadata(self.client, "metadata", note=self.note)
        self.writer = ShardWriter(
            self.metadata, POLICY, note=self.note, rng=Random(1), clock=lambda: self.now_s,
            pause=self.pause, ask_for_capacity=self.asked.append,
        )  # fmt: skip

    def note(self, name: str, number: float) -> None:
        self.counted[name] += int(number)

    def pause(self, pause_s: float) -> None:
        assert 0 <= pause_s <= POLICY.retry_high_s
        self.now_s += 0.5

    def put(self, shard: str) -> None:
        if self.refusals:
            raise self.refusals.pop(0)
        self.written.append(shard)

    def shards(self) -> Shards:
        shards = self.metadata.read("k")
        assert shards is not None
        return shards

    def grow_to(self, number: int) -> None:
        for step in range(2, number + 1):
            assert self.metadata.replace("k", self.shards(), self.shards().changed(step, self.now_s, keep=9))


def test_a_key_begins_with_one_shard_and_is_looked_up_once_per_cache() -> None:
    bench = Bench()
    for _ in range(5):
        assert bench.writer.write("k", bench.put) == "k#0"
    assert bench.requests == ["metadata", "metadata"], "a read and an insert"
    assert bench.counted == {"metadata.read_units": 1, "metadata.write_units": 1}
    bench.now_s += POLICY.cache_s + 0.1
    bench.writer.write("k", bench.put)
    assert bench.requests == ["metadata"] * 3


def test_writes_are_spread_over_all_shards() -> None:
    bench = Bench()
    bench.writer.write("k", bench.put)
    bench.grow_to(3)
    bench.now_s += 5
    for _ in range(300):
        bench.writer.write("k", bench.put)
    assert set(bench.written) == {"k#0", "k#1", "k#2"}
    assert min(Counter(bench.written[1:]).values()) > 70


def test_a_partition_error_is_waited_for_and_then_written_to_the_new_shard() -> None:
    """It is tried every half second: the cooldown takes 10 s and the back-off one more."""
    bench = Bench([throttled(PARTITION) for _ in range(23)])
    assert bench.writer.write("k", bench.put, within_s=100) == "k#1"
    assert bench.shards().number == 2
    assert bench.shards().updated_s == 1_011
    assert bench.refusals == []
    happened = {name: number for name, number in bench.counted.items() if name.startswith("shards.")}
    assert happened == {"shards.cooling": 20, "shards.backing_off": 2, "shards.increments": 1}


def test_the_loser_of_a_race_writes_to_the_winners_shard() -> None:
    bench = Bench()
    bench.writer.write("k", bench.put)
    bench.now_s += 20
    bench.refusals = [throttled(PARTITION)]
    bench.writer.write("k", bench.put)  # draws its turn
    bench.now_s += 1.1
    bench.refusals = [throttled(PARTITION)]
    bench.grow_to(2)
    assert bench.writer.write("k", bench.put) == "k#1"
    assert bench.counted["shards.conflicts"] == 1
    assert bench.counted["shards.increments"] == 0
    assert bench.shards().number == 2


@pytest.mark.parametrize("reasons", [(TABLE,), (), ("IndexWriteKeyRangeThroughputExceeded",), ("New",)])
def test_no_other_error_raises_the_number(reasons: tuple[str, ...]) -> None:
    bench = Bench([throttled(*reasons) for _ in range(100)])
    bench.writer.write("k", bench.put, within_s=1_000)
    assert bench.shards().number == 1
    assert bench.now_s > 1_000 + POLICY.cooldown_s + POLICY.backoff_high_s
    assert len(bench.asked) == (100 if reasons == (TABLE,) else 0)
    assert bench.counted["shards.capacity_asked"] == len(bench.asked)


def test_a_write_is_given_up_with_the_error_that_it_had() -> None:
    bench = Bench([throttled(PARTITION) for _ in range(1_000)])
    with pytest.raises(ClientError, match="ThrottlingException"):
        bench.writer.write("k", bench.put, within_s=3)
    assert 1_003 <= bench.now_s < 1_005


@pytest.mark.parametrize("code", ["ValidationException", "ConditionalCheckFailedException"])
def test_other_errors_are_the_callers(code: str) -> None:
    bench = Bench([client_error(code)])
    with pytest.raises(ClientError, match=code):
        bench.writer.write("k", bench.put)
    assert bench.written == []


def refuse(times: int, error: ClientError) -> Callable[[], None]:
    left = iter([error] * times)

    def turn() -> None:
        if (refusal := next(left, None)) is not None:
            raise refusal

    return turn


def test_a_throttled_metadata_table_stops_nobody_who_knows_enough() -> None:
    bench = Bench()
    bench.writer.write("k", bench.put)
    bench.client.turn = refuse(10, throttled(PARTITION))
    bench.now_s += POLICY.settle_s / 2 - 0.5
    bench.writer.write("k", bench.put)
    assert bench.counted["metadata.throttled"] == 1
    bench.now_s += 1
    bench.writer.write("k", bench.put)
    assert bench.counted["metadata.throttled"] == 10, "too old: it had to be read"
    assert bench.shards().number == 1, "and no shard is raised for the metadata's sake"


def test_a_broken_metadata_table_is_the_callers_error() -> None:
    bench = Bench()
    bench.client.turn = refuse(1, client_error("ResourceNotFoundException"))
    with pytest.raises(ClientError, match="ResourceNotFound"):
        bench.writer.write("k", bench.put)
