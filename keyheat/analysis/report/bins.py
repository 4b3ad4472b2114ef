"""Bins of whole seconds that a person can name, and the mean rate in each.

one value a second   | 4 6 | 0 2 | 9 |      width 2 s
mean of each bin     |  5  |  1  | 9 |      the last bin may be shorter: it is divided by its own length
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

MOST_POINTS = 1_800
WIDTHS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400)


def width_for(length_s: int, most: int = MOST_POINTS) -> int:
    """The narrowest bin, in seconds, that shows `length_s` seconds in at most `most` points."""
    for width in WIDTHS_S:
        if length_s <= width * most:
            return width
    return -(-length_s // most)


def mean_rates(
    second: npt.NDArray[np.int64], amount: npt.ArrayLike, *, start_s: int, end_s: int, width_s: int
) -> Floats:
    """Mean per second in each bin of `width_s` from `start_s` up to `end_s`; seconds outside are left out.

    `amount` happened in `second` (epoch seconds); a second may appear more than once.
    """
    inside = (second >= start_s) & (second < end_s)
    bins = (second[inside] - start_s) // width_s
    count = -(-(end_s - start_s) // width_s)
    sums = np.bincount(bins, weights=np.asarray(amount, dtype=np.float64)[inside], minlength=count)
    lengths = np.full(count, width_s, dtype=np.float64)
    lengths[-1] = (end_s - start_s) - (count - 1) * width_s
    return np.asarray(sums / lengths, dtype=np.float64)


def joined_up(values: Floats, each: int) -> Floats:
    """The mean of every `each` values, at last of those that are left; NaN where none is known."""
    count = -(-len(values) // each)
    padded = np.full(count * each, np.nan)
    padded[: len(values)] = values
    known = np.isfinite(padded).reshape(count, each).sum(axis=1)
    sums = np.nan_to_num(padded, nan=0.0).reshape(count, each).sum(axis=1)
    return np.asarray(np.where(known > 0, sums / np.maximum(known, 1), np.nan), np.float64)
