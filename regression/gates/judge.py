"""Every gate of a suite held against the runs before and after: what changed, and what cannot be told."""

from collections.abc import Mapping, Sequence

from analyzers.measures import MEASURES
from analyzers.summary import RunSummary
from regression.finding import Finding, Gate
from regression.gates.compared import LABELS, Compared
from regression.gates.exact import exact
from regression.gates.labels import labelled
from regression.gates.statistical import statistical

Runs = Mapping[str, Sequence[RunSummary]]


def judge(
    gates_by_case: Mapping[str, Sequence[Gate]], before: Runs, after: Runs, *, paired: bool = False
) -> tuple[Finding, ...]:
    """A finding for each gate of each case, in their order.

    `paired`: the runs of a case were made one pair after the other, before and after at the same place of
    both. Runs that are not valid are left out. Raises ValueError for a measure that there is not, and for
    paired runs that are not as many before as after.
    """
    _check(gates_by_case)
    gates = sum(_is_statistical(gate) for of_case in gates_by_case.values() for gate in of_case)
    return tuple(
        _finding(
            Compared.of(case, gate, before.get(case, ()), after.get(case, ()), paired=paired), gates, paired
        )
        for case, of_case in gates_by_case.items()
        for gate in of_case
    )


def _finding(compared: Compared, gates: int, paired: bool) -> Finding:
    if (lacking := compared.missing()) is not None:
        return lacking
    if compared.gate.measure == LABELS:
        return labelled(compared)
    if compared.measure.kind == "exact":
        return exact(compared)
    return statistical(compared, gates=gates, paired=paired)


def _is_statistical(gate: Gate) -> bool:
    return gate.measure != LABELS and MEASURES[gate.measure].kind == "statistical"


def _check(gates_by_case: Mapping[str, Sequence[Gate]]) -> None:
    there = (LABELS, *MEASURES)
    unknown = [
        f"no measure {gate.measure!r} @ {case}"
        for case, gates in gates_by_case.items()
        for gate in gates
        if gate.measure not in there
    ]
    if unknown:
        raise ValueError("\n".join([*unknown, f"there are {', '.join(there)}"]))
