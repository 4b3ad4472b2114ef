"""The heaviest of any number of names, in bounded memory.

Misra and Gries, "Finding repeated elements", 1982: https://doi.org/10.1016/0167-6423(82)90012-0
"""

from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Generic, TypeVar

SKETCH_KEYS = 3_072

Name = TypeVar("Name", str, bytes)


@dataclass(slots=True)
class HeavyHitters(Generic[Name]):
    """Weights by name, exact up to `most` names.

    Beyond that, the median weight is subtracted from all names, and names without a rest are dropped. `taken`
    is the sum of these subtractions: the most that any name can have lost. More than half of the names lose
    as much as `taken` grows, so it is at most 2 / `most` of the total.
    """

    weights: dict[Name, float] = field(default_factory=dict)
    taken: float = 0.0
    total: float = 0.0
    most: int = SKETCH_KEYS

    def add(self, name: Name, weight: float) -> None:
        self.weights[name] = self.weights.get(name, 0.0) + weight
        self.total += weight
        if len(self.weights) > self.most:
            self._drop()

    def merge(self, other: "HeavyHitters[Name]") -> None:
        for name, weight in other.weights.items():
            self.weights[name] = self.weights.get(name, 0.0) + weight
        self.taken += other.taken
        self.total += other.total
        if len(self.weights) > self.most:
            self._drop()

    def _drop(self) -> None:
        least = sorted(self.weights.values(), reverse=True)[self.most // 2]
        self.weights = {name: weight - least for name, weight in self.weights.items() if weight > least}
        self.taken += least

    def weight(self, name: Name) -> float:
        """Upper bound of the weight of a name; 0 without one."""
        weight = self.weights.get(name)
        return 0.0 if weight is None else weight + self.taken

    def top(self, k: int) -> list[Name]:
        return nsmallest(k, self.weights, key=lambda name: (-self.weights[name], name))
