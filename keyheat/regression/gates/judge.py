"""Every gate of a suite held against the runs before and after: what changed, and what cannot be told."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from keyheat.analysis.measures import MEASURES
from keyheat.analysis.summary import RunSummary
from keyheat.regression.gates.comparison import CaseComparison, drawn
from keyheat.regression.gates.exact import exact, labelled
from keyheat.regression.gates.statistical import is_tested, statistical
from keyheat.regression.outcome import Gate, GateFinding
from keyheat.regression.suite_spec import LABELS

Runs = Mapping[str, Sequence[RunSummary]]
MEANS: Final = ("units_per_operation.write", "units_per_operation.read", "write_amplification")
"""Exact measures that are means over what was drawn."""
LEAST_DRAWN: Final = 0.02
"""Of what has no noise but that of its seeds: the smallest change that counts, as of a mean of operations."""
LEAST_CHANGED: Final = 0.05
"""The same where the table or the design is another: which items are accepted moves with it."""


def judge(
    gates_by_case: Mapping[str, Sequence[Gate]],
    before: Runs,
    after: Runs,
    *,
    paired: bool = False,
    changed: Collection[str] = (),
) -> tuple[GateFinding, ...]:
    """A finding for each gate of each case, in their order.

    `paired`: the runs of a case were made one pair after the other, before and after at the same place of
    both. Runs that are not valid are left out. Raises ValueError for a measure that there is not, and for
    paired runs that are not as many before as after. `changed`
    are cases whose table or design is another now: the same seed draws other sizes and operations then.
    """
    _check(gates_by_case)
    held = [
        _as_drawn(
            CaseComparison.of(case, gate, before.get(case, ()), after.get(case, ()), paired=paired),
            changed=case in changed,
        )
        for case, of_case in gates_by_case.items()
        for gate in of_case
    ]
    tests = sum(is_tested(compared, paired=paired) for compared in held)
    return tuple(_finding(compared, tests, paired) for compared in held)


def _as_drawn(compared: CaseComparison, *, changed: bool) -> CaseComparison:
    """The comparison, with an effect that counts where an exact number differs by what seeds draw."""
    if changed and compared.gate.measure in MEANS:
        return replace(compared, gate=replace(compared.gate, least_effect=LEAST_CHANGED))
    if not drawn(compared):
        return compared
    return replace(compared, gate=replace(compared.gate, least_effect=LEAST_DRAWN))


def _finding(compared: CaseComparison, tests: int, paired: bool) -> GateFinding:
    if (lacking := compared.missing()) is not None:
        return lacking
    if compared.gate.measure == LABELS:
        return labelled(compared)
    if compared.repeats or (compared.measure.kind == "exact" and not drawn(compared)):
        return exact(compared)
    return statistical(compared, tests=tests, paired=paired)


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
