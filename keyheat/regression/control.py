"""The control of a night with other traffic: the baseline's own scenario, simulated under tonight's load.

Where a gate of a simulated case fails, and the load is slightly another than the baseline's, it may be the
load alone that makes the difference: 5 % more of it is some 8 % more throttles at a hot key. The control has
tonight's load and seeds, and all else as it was; what it shows as well, nobody has changed.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from keyheat.analysis.summary import RunSummary
from keyheat.regression.baseline import Baseline, scenarios_of
from keyheat.regression.comparability import WHAT, slight
from keyheat.regression.gates.judge import judge
from keyheat.regression.outcome import Difference, Gate, GateFinding
from keyheat.regression.suite import Suite
from keyheat.runfiles import SIMULATED
from keyheat.scenario.scenario import Scenario

Runs = Mapping[str, Sequence[RunSummary]]


def controlled(
    suite: Suite, findings: Sequence[GateFinding], changed: Sequence[Difference]
) -> frozenset[str]:
    """The cases that need a control: simulated, with a gate that failed, their load slightly another."""
    failed = {one.case for one in findings if one.failed}
    loads = {
        case: [slight(one) for one in changed if one.case == case and one.what.startswith(f"{WHAT} load.")]
        for case in failed
    }
    return frozenset(
        case.name
        for case in suite.cases
        if case.target == SIMULATED and loads.get(case.name) and all(loads[case.name])
    )


def control_scenarios(baseline: Baseline, suite: Suite, cases: Collection[str]) -> dict[str, Scenario]:
    """The baseline's scenarios of these cases, with the load that they have in the suite now."""
    found: dict[str, Scenario] = {}
    for case in suite.cases:
        if case.name in cases:
            with suppress(ValueError):  # its run directory is gone: the gate decides without a control
                before = scenarios_of(baseline, replace(suite, cases=(case,)))[case.name]
                found[case.name] = before.model_copy(update={"load": case.scenario.load})
    return found


def discounted(
    findings: Sequence[GateFinding], controls: Runs, after: Runs, gates: Mapping[str, Sequence[Gate]]
) -> tuple[GateFinding, ...]:
    """The findings; one that fails, and does not beside its control, is held, and says why."""
    beside = judge({case: gates[case] for case in controls if case in gates}, controls, after)
    verdicts = {(one.case, one.gate.measure): one for one in beside}
    return tuple(_discounted(one, verdicts.get((one.case, one.gate.measure))) for one in findings)


def _discounted(finding: GateFinding, beside: GateFinding | None) -> GateFinding:
    if beside is None or not finding.failed or beside.failed:
        return finding
    why = f"{finding.because.rstrip('.')}; under this session's load the baseline's own table does so, too."
    return replace(finding, decision="same", because=why)
