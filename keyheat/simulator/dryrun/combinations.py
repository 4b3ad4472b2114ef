"""Index keys of several attributes, as one attribute with their combinations as values.

    partition_key = ["tenant", "type"]      tenant: a 60 %, b 40 %         a+view 30 %, a+click 30 %,
                                            type: view 50 %, click 50 %    b+view 20 %, b+click 20 %

Where an entry lies follows from all attributes of the partition key together, each drawn by itself:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.DesignPattern.MultiAttributeKeys.html
"""

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Final

import numpy as np

from keyheat.scenario.spec.attributes import AttributeSpec, combined
from keyheat.simulator.masses import Masses, even_masses, masses_of_shares

if TYPE_CHECKING:
    from keyheat.scenario.scenario import Scenario
    from keyheat.scenario.spec.tables import IndexSpec

MOST_COMBINATIONS: Final = 50_000
CROSSED: Final = 2_000  # keys whose combinations are named; the others' are too many
OTHERS: Final = 1_000  # values that stand for all rarer combinations


class Combination(AttributeSpec):
    """The values that several attributes have together."""

    crosses_key: bool = False  # whether the table's own partition key is one of the attributes


def with_combinations(scenario: "Scenario") -> "Scenario":
    """Return the scenario with a single attribute as the key of each index."""
    if not any(index.more_partition_keys or index.more_sort_keys for index in scenario.table.indexes):
        return scenario
    attributes, indexes = dict(scenario.attributes), []
    for index in scenario.table.indexes:
        name = combined(index.partition_keys)
        if index.more_partition_keys:
            attributes[name] = _combination(scenario, index)
        plain = {"partition_key": name, "more_partition_keys": (), "more_sort_keys": ()}
        indexes.append(index.model_copy(update=plain))
    table = scenario.table.model_copy(update={"indexes": tuple(indexes)})
    return scenario.model_copy(update={"attributes": attributes, "table": table})


def _combination(scenario: "Scenario", index: "IndexSpec") -> Combination:
    table, values = scenario.table, scenario.attribute_values
    of_key = {table.partition_key: "partition_key", table.sort_key: "sort_key"}
    copies = {of_key.get(name) or values[name].copy_of for name in index.partition_keys}
    if "sort_key" in copies:
        return Combination(count=MOST_COMBINATIONS)  # every item has a value of its own
    described = [values[name] for name in index.partition_keys if name in values]
    shares = [attribute.shares for attribute in described if attribute.shares]
    crosses = "partition_key" in copies
    return Combination(values=_together(shares) or {"now": 1.0}, crosses_key=crosses)


def _together(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Weigh the combinations; of too many keep the heaviest, and a number that stands for the others."""
    if not parts:
        return {}
    most = max(1, int(MOST_COMBINATIONS ** (1 / len(parts))))
    whole = [sum(weights.values()) for weights in parts]
    heaviest = [sorted(weights.items(), key=lambda item: -item[1])[:most] for weights in parts]
    shares = {
        combined(name for name, _ in chosen): prod(
            weight / total for (_, weight), total in zip(chosen, whole, strict=True)
        )
        for chosen in product(*heaviest)
    }
    if (rest := 1.0 - sum(shares.values())) > 1e-9:
        shares |= {f"another {number}": rest / OTHERS for number in range(OTHERS)}
    return shares


def crossed(keys: Masses, values: Mapping[str, float]) -> Masses:
    """Combine each key with the values of another attribute: `key+value`."""
    places = np.argsort(-keys.shares, kind="stable")[:CROSSED].tolist()
    total = sum(values.values())
    shares = {
        f"{combined([keys.name(number)])}+{value}": float(keys.shares[number]) * weight / total
        for number in places
        for value, weight in values.items()
    }
    if not shares:
        return even_masses()
    return masses_of_shares(shares, even=max(0.0, 1.0 - sum(shares.values())))
