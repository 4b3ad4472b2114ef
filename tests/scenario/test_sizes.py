"""Item sizes are drawn as their distribution says, and what they cost in the mean is known beforehand."""

from random import Random

import pytest

from keyheat.model.limits import READ_UNIT_BYTES, WRITE_UNIT_BYTES
from keyheat.model.units import read_units, write_units
from keyheat.scenario.sizes import ChoiceSize, ItemSize, LognormalSize, UniformSize, mean_units

SIZES: list[ItemSize] = [
    UniformSize(1_000, 1_000),
    UniformSize(1_025, 1_025),
    UniformSize(900, 1_100),
    LognormalSize(800, 1.0, 100, 20_000),
    LognormalSize(150, 2.0, 120, 400 * 1024),
    ChoiceSize((200, 2_000, 9_000), (8, 1, 1)),
]
DRAWS = 60_000


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES, ids=repr)
def test_the_means_and_the_part_above_a_size_are_those_of_what_is_drawn(size: ItemSize) -> None:
    rng = Random(1)
    drawn = [size.draw(rng) for _ in range(DRAWS)]
    assert size.least <= min(drawn)
    assert max(drawn) <= size.most
    assert sum(drawn) / DRAWS == pytest.approx(size.mean_bytes, rel=0.02)
    units = sum(write_units(0, one) for one in drawn) / DRAWS
    assert mean_units(size, WRITE_UNIT_BYTES) == pytest.approx(units, rel=0.02)
    reads = sum(read_units(one, consistent=True) for one in drawn) / DRAWS
    assert mean_units(size, READ_UNIT_BYTES) == pytest.approx(reads, rel=0.02)
    for mark in (99, 100, 1_000, 1_024, 8_999, 9_000):
        above = sum(one > mark for one in drawn) / DRAWS
        assert size.above(mark) == pytest.approx(above, abs=0.015)
