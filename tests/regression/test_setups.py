"""Whether the runs before and after measured the same thing, and what changed."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from keyheat.analysis.setup import Setup, kept_form
from keyheat.analysis.summary import RunSummary
from keyheat.regression.outcome import Difference, Gate
from keyheat.regression.setups import differences, expected_summary
from keyheat.regression.suite import SCENARIOS, SuiteCase
from keyheat.scenario.scenario import load_scenario
from keyheat.scenario.variants import overridden
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


@pytest.mark.parametrize(
    "setting",
    [
        'name="other"', 'question="other?"', "seed=9", "thresholds.p99_ms_max=5", "budget.minutes=5",
        'table.name="other-table"', "local.scale=0.5", 'table.on_end="keep"', "load.spawn_per_s=50",
    ],
)  # fmt: skip
def test_words_and_what_is_only_judged_are_no_change(setting: str) -> None:
    assert between(BASE, changed(BASE, setting)) == ((), ())


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (changed(BASE, "load.requests_per_s=999"), "load.requests_per_s 100 → 999"),
        (changed(BASE, "keys.keys=7"), "keys.keys 1,000 → 7"),
        (changed(BASE, 'table.sort_key="sk"'), "table.sort_key"),
        (changed(target="aws"), "target local → aws"),
        (changed(scale=0.1), "scale 1 → 0.1"),
        (changed(machine=None), "machine 2 cores, 24 GiB → unknown"),
        (changed(existing={"name": "events"}), "table.name none → events"),
        (changed(scenario=None), "scenario known → unknown"),
    ],
)
def test_each_difference_that_forbids_is_named_by_its_path(other: Setup, said: str) -> None:
    forbidding, _ = between(BASE, other)
    assert any(said.split(" ")[0] == one.what for one in forbidding), forbidding
    if "→" in said and not said.startswith(("scenario", "load", "keys")):
        assert said in [one.change for one in forbidding]


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("table.provisioned.write=1_000", "table.provisioned.write 4,000 → 1,000"),
        ("table.indexes[0].provisioned.write=7", "table.indexes.by-views.provisioned.write"),
        ('table.stream="KEYS_ONLY"', "table.stream none → KEYS_ONLY"),
        ('table.regions=["eu-west-1", "us-east-1"]', "table.regions none → eu-west-1, us-east-1"),
        ("table.indexes=[]", "table.indexes.by-views partition_key"),
    ],
)
def test_what_the_table_is_like_forbids_nothing_and_is_a_suspect(setting: str, said: str) -> None:
    forbidding, suspects = between(BASE, changed(BASE, setting))
    assert forbidding == ()
    assert any(one.change.startswith(said) or one.what == said for one in suspects), suspects


def with_policy(target: float, *, existing: bool) -> Setup:
    """A table with auto scaling of its writes, of its scenario or as it was found."""
    policy = {"min": 100, "max": 4_000, "target": target}
    if existing:
        return changed(existing={"name": "x", "auto_scaling.table.write": policy})
    toml = ", ".join(f"{name} = {value}" for name, value in policy.items())
    return changed(BASE, f"table.auto_scaling.write={{{toml}}}")


@pytest.mark.parametrize("existing", [False, True])
def test_another_target_of_auto_scaling_is_named(existing: bool) -> None:
    forbidding, suspects = between(*(with_policy(share, existing=existing) for share in (0.7, 0.5)))
    (change,) = (one.change for one in suspects)
    assert (forbidding, change.endswith("write.target 0.7 → 0.5")) == ((), True), change


@pytest.mark.parametrize(("now", "named"), [(80_000.0, []), (4_000.0, ["table.warm.write"]), (None, [])])
def test_a_warm_throughput_is_named_only_if_it_fell(now: float | None, named: list[str]) -> None:
    there, other = (changed(existing={"name": "x", "warm": {"write": units}}) for units in (40_000.0, now))
    assert [one.what for one in between(there, other)[1]] == named


def test_another_design_forbids_nothing_if_it_is_always_compared() -> None:
    settings = {"load.requests_per_s": 1_210, "load.item_bytes": 199, "table.provisioned.write": 9}
    other = changed(BASE, *(f"{name}={value}" for name, value in settings.items()))
    forbidding, suspects = between(BASE, other, a_case(always=True))
    assert forbidding == ()
    assert {one.what for one in suspects} >= settings.keys()


def test_exact_measures_and_simulated_runs_do_not_care_for_the_machine() -> None:
    other = changed(machine="other", scale=2.0)
    assert [one.what for one in between(BASE, other, a_case(EXACT, Gate(measure="labels")))[0]] == ["scale"]
    assert {one.what for one in between(BASE, other)[0]} == {"scale", "machine"}
    simulated = SIMULATED.model_copy(update={"scenario": with_settings()})
    elsewhere = simulated.model_copy(update={"machine": "other"})
    assert between(simulated, elsewhere, a_case(target="simulated"))[0] == ()
    assert between(BASE, other, replace(a_case(), gates=()))[0] == (), "nothing is decided of it"


def test_a_trace_is_the_same_wherever_it_lies() -> None:
    here, there, other = (
        {"keys": {"trace": path}} for path in ("/here/a.csv", "/there/a.csv", "/here/b.csv")
    )
    assert between(changed(scenario=here), changed(scenario=there)) == ((), ())
    assert [one.what for one in between(changed(scenario=here), changed(scenario=other))[0]] == ["keys.trace"]


@pytest.mark.parametrize(
    ("settings", "target", "machine", "what"),
    [
        ([], "local", {**HERE, "cores": 4}, {"machine"}),
        (["table.provisioned.write=77", "seed=99", 'question="Is it?"'], "local", HERE, set()),
        (["load.requests_per_s=11"], "local", HERE, {"load.requests_per_s"}),
        (["local.scale=0.5"], "local", HERE, {"scale"}),
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
