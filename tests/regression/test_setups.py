"""Whether the runs before and after measured the same thing, and what changed."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from keyheat.analysis.summary import RunSummary, Setup, kept_form
from keyheat.regression.outcome import Difference, Gate
from keyheat.regression.setups import differences, expected_summary
from keyheat.regression.suite import SCENARIOS, SuiteCase
from keyheat.scenario.scenario import load_scenario
from keyheat.scenario.variants import overridden
from tests.conftest import Golden
from tests.make import SETUP, SIMULATED, a_summary
from tests.regression.outcomes import a_suite_case, a_suite_of

PATH = SCENARIOS / "leaderboard.toml"
EXACT, NOISY = Gate(measure="write_amplification"), Gate(measure="p99_ms")
HERE = {"cores": 2, "memory_bytes": 8 << 30, "cpu": "a CPU"}


def with_settings(*settings: str) -> Mapping[str, Any]:
    return kept_form(overridden(load_scenario(PATH), settings, "leaderboard"))


def a_case(*gates: Gate, settings: Any = (), **more: Any) -> SuiteCase:
    scenario = overridden(load_scenario(PATH), settings, "leaderboard")
    return a_suite_case(scenario=scenario, gates=gates or (NOISY,), **more)


def between(
    setup: Setup, other: Setup, case: SuiteCase | None = None
) -> tuple[tuple[Difference, ...], tuple[Difference, ...]]:
    suite = a_suite_of(case or a_case())
    before, after = ({"hotkey": [a_summary(setup=one)]} for one in (setup, other))
    return differences(suite, before, after)


BASE = SETUP.model_copy(update={"scenario": with_settings()})


def changed(setup: Setup = BASE, *settings: str, **more: Any) -> Setup:
    return setup.model_copy(update={"scenario": with_settings(*settings), **more})


def with_policy(target: float, *, existing: bool) -> Setup:
    """A table with auto scaling of its writes, of its scenario or as it was found."""
    policy = {"min": 100, "max": 4_000, "target": target}
    if existing:
        return changed(existing={"name": "x", "auto_scaling.table.write": policy})
    toml = ", ".join(f"{name} = {value}" for name, value in policy.items())
    return changed(BASE, f"table.auto_scaling.write={{{toml}}}")


def warm(units: float | None) -> Setup:
    return changed(existing={"name": "x", "warm": {"write": units}})


def with_trace(path: str) -> Setup:
    return changed(scenario={"keys": {"trace": path}})


SETTINGS = (
    'name="other"', 'question="other?"', "seed=9", "thresholds.p99_ms_max=5", "budget.minutes=5",
    'table.name="other-table"', "local.scale=0.5", 'table.on_end="keep"', "load.spawn_per_s=50",
    "load.requests_per_s=999", "keys.keys=7", 'table.sort_key="sk"', "table.provisioned.write=1_000",
    "table.indexes[0].provisioned.write=7", 'table.stream="KEYS_ONLY"',
    'table.regions=["eu-west-1", "us-east-1"]', "table.indexes=[]",
)  # fmt: skip
ELSEWHERE = changed(machine="other", scale=2.0)
CALM = SIMULATED.model_copy(update={"scenario": with_settings()})
OTHER_DESIGN = ("load.requests_per_s=1_210", "load.item_bytes=199", "table.provisioned.write=9")
SETUPS: dict[str, tuple[Setup, Setup] | tuple[Setup, Setup, SuiteCase]] = {
    **{setting: (BASE, changed(BASE, setting)) for setting in SETTINGS},
    "another target": (BASE, changed(target="aws")),
    "another scale": (BASE, changed(scale=0.1)),
    "an unknown machine": (BASE, changed(machine=None)),
    "a table that was there": (BASE, changed(existing={"name": "events"})),
    "an unknown scenario": (BASE, changed(scenario=None)),
    "another auto scaling": (with_policy(0.7, existing=False), with_policy(0.5, existing=False)),
    "another auto scaling of a table that was there": (
        with_policy(0.7, existing=True), with_policy(0.5, existing=True),
    ),
    "warm throughput that rose": (warm(40_000.0), warm(80_000.0)),
    "warm throughput that fell": (warm(40_000.0), warm(4_000.0)),
    "warm throughput that is unknown now": (warm(40_000.0), warm(None)),
    "a trace that lies elsewhere": (with_trace("/here/a.csv"), with_trace("/there/a.csv")),
    "another trace": (with_trace("/here/a.csv"), with_trace("/here/b.csv")),
    "another design, always compared": (BASE, changed(BASE, *OTHER_DESIGN), a_case(always=True)),
    "another machine": (BASE, ELSEWHERE),
    "another machine, of exact measures": (BASE, ELSEWHERE, a_case(EXACT, Gate(measure="labels"))),
    "another machine, and nothing is decided": (BASE, ELSEWHERE, replace(a_case(), gates=())),
    "another machine that simulates": (
        CALM, CALM.model_copy(update={"machine": "other"}), a_case(target="simulated"),
    ),
}  # fmt: skip


def test_what_differs_forbids_a_comparison_or_is_a_suspect_or_is_no_change(golden: Golden) -> None:
    said = []
    for name, of_case in SETUPS.items():
        forbidding, suspects = between(*of_case)
        said.append(f"== {name}")
        said += [f"forbids: {one.change}" for one in forbidding] + [
            f"suspect: {one.change}" for one in suspects
        ]
    golden("setups.txt", "".join(f"{line}\n" for line in said))


@pytest.mark.parametrize(
    ("settings", "target", "machine", "what"),
    [
        ([], "local", {**HERE, "cores": 4}, {"machine"}),
        (["table.provisioned.write=77", "seed=99", 'question="Is it?"'], "local", HERE, set()),
        (["load.requests_per_s=11", "local.scale=0.5"], "local", HERE, {"load.requests_per_s", "scale"}),
        ([], "aws", HERE, {"target"}),
        ([], "http://127.0.0.1:9000", HERE, set()),  # an address is found out by the run
    ],
)
def test_what_differs_is_known_before_anything_is_sent(
    settings: list[str], target: str, machine: Any, what: set[str]
) -> None:
    before: RunSummary = a_summary(setup=changed(machine="2 cores, 8 GiB, a CPU"))
    case = a_case(target=target, settings=settings)
    forbidding, _ = between(before.setup, expected_summary(before, case, machine).setup, case)
    assert {one.what for one in forbidding} == what
