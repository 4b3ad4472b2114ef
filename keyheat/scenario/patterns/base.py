"""What every key pattern can do, and how keys with a number are spelt."""

from random import Random
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[Any]
Times = npt.NDArray[np.float64]

PREFIX = "key"


class KeyPattern(Protocol):
    """Draws partition keys."""

    def draw(self, rng: Random, at_s: float) -> str:
        """The key of one request sent `at_s` seconds into the run."""

    def draw_many(self, rng: np.random.Generator, at_s: Times) -> Keys:
        """The keys of many requests, sent at the given seconds into the run."""

    @property
    def hottest_share(self) -> float | None:
        """The part of the requests that meet on the most used key at one time; None where nobody knows."""


def numbered(prefix: str, numbers: npt.NDArray[np.int64]) -> Keys:
    """`prefix-number` for each number."""
    return np.char.add(f"{prefix}-", numbers.astype(str))
