"""Where requests fall: the same keys, places and shares as the patterns draw them one by one."""

from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyheat.model.splits import key_point, point, position
from keyheat.scenario.keys import (
    DateKey,
    HotKeys,
    KeyPattern,
    Sequential,
    Uniform,
    Weighted,
    Zipf,
    shard_key,
)
from keyheat.simulator.loadtest import KEY
from keyheat.simulator.masses import PartitionShares, masses_of, masses_of_shares
from keyheat.simulator.setting import composed
from keyheat.simulator.traffic import divided

DRAWS = 40_000
PATTERNS: list[KeyPattern] = [
    Uniform(20), HotKeys(0.7, 10), HotKeys(0.6, 10, 3), Zipf(1.2, 30), DateKey(day_s=10.0),
    Weighted(("ups", "dhl", "gls"), (45, 25, 5)),
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: type(pattern).__name__)
def test_shares_are_those_that_a_pattern_draws(pattern: KeyPattern) -> None:
    masses, rng, other = masses_of(pattern, at_s=25.0), Random(1), Random(1)
    keys = [pattern.draw(rng, 25.0) for _ in range(DRAWS)]
    assert keys[:500] == [pattern.draw(other, 25.0) for _ in range(500)], "one seed, the same keys"
    drawn = Counter(keys)
    named = {masses.name(n): share for n, share in enumerate(masses.shares)}
    assert named.keys() == drawn.keys()
    for key, share in named.items():
        assert drawn[key] / DRAWS == pytest.approx(share, rel=0.1, abs=0.005)


@given(key=st.text(min_size=1))
def test_a_key_lies_where_its_items_do(key: str) -> None:
    assert key_point(key.encode()) == point(position(key.encode(), b"sort"))


def test_a_key_in_several_texts_is_evenly_in_each() -> None:
    masses = composed(masses_of(Zipf(1.0, 40)), tuple((shard_key(KEY, shard), 1 / 3) for shard in range(3)))
    by_name = {masses.name(n): share for n, share in enumerate(masses.shares)}
    assert set(by_name) == {shard_key(f"key-{n}", shard) for n in range(40) for shard in range(3)}
    assert len({by_name[shard_key("key-0", shard)] for shard in range(3)}) == 1


def test_of_too_many_keys_the_most_used_ones_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keyheat.simulator.masses.MOST_NAMED", 100)
    zipf = masses_of(Zipf(1.0, 1_000))
    assert sorted(zipf.name(n) for n in range(100)) == sorted(f"key-{n}" for n in range(100))
    assert zipf.even == pytest.approx(1 - sum(Zipf(1.0, 1_000).share(rank) for rank in range(1, 101)))
    hot = masses_of(HotKeys(0.4, 1_000))
    assert (hot.name(0), hot.even) == ("hot", pytest.approx(0.6))
    assert masses_of(Uniform(1_000)).even == masses_of(Sequential()).even == 1.0


def test_what_has_no_law_is_refused() -> None:
    with pytest.raises(TypeError, match="does not say how often"):
        masses_of(object())  # type: ignore[arg-type]
    for wrong in ({"a": -1.0}, {"a": 0.0}, {}):
        with pytest.raises(ValueError, match="at least 0"):
            masses_of_shares(wrong)
    with pytest.raises(ValueError, match="from 0 to 1"):
        masses_of_shares({"a": 1.0}, even=1.5)
    assert masses_of_shares({}, even=1.0).even == 1.0


hashes = st.lists(st.integers(0, 2**64 - 1).map(lambda n: n.to_bytes(8, "big")), max_size=6)


@pytest.mark.slow
@given(boundaries=hashes, even=st.sampled_from([0.0, 0.3, 1.0]), within=st.sampled_from(["point", "random"]))
def test_partitions_get_their_positions(boundaries: list[bytes], even: float, within: str) -> None:
    shares_of = {"a": 3.0, "b": 1.0, "c": 1.0}
    masses = masses_of_shares(shares_of, even=even, within=within)  # type: ignore[arg-type]
    inside = position(b"a", bytes([64]))  # a boundary a quarter of the way into a collection
    edges = tuple(sorted({*boundaries, inside} - {b"\0" * 8}))
    shares = PartitionShares(edges)
    parts = shares.of(masses)
    drawn = shares.positions(masses, None, 4_000, 0.0, np.random.default_rng(1))
    found = np.bincount([sum(edge <= at for edge in edges) for at in drawn], minlength=len(parts)) / 4_000
    assert parts.sum() == pytest.approx(1.0)
    assert found == pytest.approx(parts, abs=0.035)
    for number in np.flatnonzero(parts > 0.01):
        inner = shares.positions(masses, int(number), 50, 0.0, np.random.default_rng(2))
        assert {sum(edge <= at for edge in edges) for at in inner} == {number}


def test_rising_sort_keys_are_written_behind_every_split() -> None:
    masses = masses_of_shares({"a": 1.0}, within="rising")
    shares = PartitionShares((position(b"a", b"\x7f"),))
    assert shares.of(masses).tolist() == [0.0, 1.0]
    drawn = shares.positions(masses, None, 100, 1_800_000_000.0, np.random.default_rng(1))
    assert drawn == sorted(set(drawn))
    later = shares.positions(masses, None, 1, 1_800_000_001.0, np.random.default_rng(1))
    assert later[0] > drawn[-1]


def test_hot_keys_are_divided_and_cold_ones_stay() -> None:
    keys = masses_of_shares({"hot": 0.9, **{f"key-{n}": 0.1 / 1_000 for n in range(1_000)}})
    parts = divided(keys, 3)
    assert parts.shares.sum() == pytest.approx(1.0)
    assert (np.diff(parts.points.astype(float)) >= 0).all()
    named = {parts.name(n): share for n, share in enumerate(parts.shares)}
    assert len(named) == 1_003
    assert [named[f"hot#{n}"] for n in range(3)] == pytest.approx([0.3] * 3)
    assert named["key-7"] == pytest.approx(0.0001)
    assert divided(keys, 1) is keys
