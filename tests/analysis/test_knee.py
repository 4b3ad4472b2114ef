"""Where a sweep stops gaining, on curves whose knee is known."""

import pytest

from keyheat.analysis.knee import SweepPoint, knee_of


def points(*given: tuple[int, float, float]) -> list[SweepPoint]:
    return [SweepPoint(shards=n, accepted_per_s=units, throttled_share=share) for n, units, share in given]


CURVES = {
    "rises until 8, then is flat": (
        [(1, 1_000, 0.45), (2, 1_500, 0.2), (4, 1_700, 0.06), (8, 1_800, 0.0), (16, 1_805, 0.0)], 8),
    "noise beyond the knee is no rise": (
        [(1, 1_000, 0.4), (2, 1_800, 0.0), (4, 1_780, 0.0), (8, 1_830, 0.0)], 2),
    "already enough": ([(1, 500, 0.0), (2, 501, 0.0)], 1),
    "no throttles, yet more shards accept more": ([(1, 1_000, 0.0), (2, 2_000, 0.0)], 2),
    "a few throttles are not none": ([(1, 1_000, 0.3), (2, 1_790, 0.01), (4, 1_800, 0.0)], 2),
    "never enough": ([(1, 1_000, 0.5), (2, 1_200, 0.4)], None),
    "in any order": ([(8, 1_800, 0.0), (1, 1_000, 0.45)], 8),
    "one point": ([(4, 100, 0.0)], 4),
}  # fmt: skip


@pytest.mark.parametrize("curve", CURVES)
def test_the_knee_of_a_known_curve(curve: str) -> None:
    given, shards = CURVES[curve]
    knee = knee_of(points(*given))
    assert knee is not None
    assert (knee.point.shards if knee.point else None) == shards


def test_the_best_is_the_smallest_of_those_that_accepted_most() -> None:
    knee = knee_of(points((1, 900, 0.5), (4, 1_200, 0.4), (2, 1_200, 0.4)))
    assert knee is not None
    assert knee.point is None
    assert knee.best.shards == 2


def test_nothing_has_no_knee() -> None:
    assert knee_of([]) is None
