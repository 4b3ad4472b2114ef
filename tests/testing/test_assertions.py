"""Checks that hold are silent; those that do not say the verdict, the key, what to do, and how sure."""

import sys
from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest

import keyheat
from keyheat.scenario.scenario import ScenarioError, load_scenario
from keyheat.scenario.spec.tasks import LoadSpec
from keyheat.testing.subject import CheckedLoad, asked_of
from tests.make import SCENARIOS

pytestmark = pytest.mark.slow

HOT, SHARDED, SMALL = (SCENARIOS / f"{name}.toml" for name in ("hotkey", "sharded", "too-small"))
INDEXED = SCENARIOS / "country-index.toml"
SHORT = ["load.duration_s=5"]
TABLE = {"provisioned": {"read": 500, "write": 4_000}}
EVEN = {"kind": "uniform", "keys": 5_000}

Check = Callable[[], None]


def said(check: Check) -> str:
    """What a check says that does not hold, its lines joined."""
    with pytest.raises(keyheat.CheckFailed) as caught:
        check()
    return " ".join(str(caught.value).split())


def test_a_hot_partition_is_found_and_a_sharded_one_is_not() -> None:
    keyheat.assert_no_hot_partition(SHARDED, set=SHORT)
    text = said(lambda: keyheat.assert_no_hot_partition(HOT, set=SHORT))
    assert text.startswith("partition: Writes were throttled by a partition limit: one key, “hot”, asked")
    assert "hottest key hot, 90 %" in text
    assert "cure Shard the hot key" in text
    assert "what to do Shard the hot key." in text
    assert "confidence 99 %, by the reason of each refusal, on the simulator" in text
    assert "seed 1, nothing saved up" in text
    hidden = said(lambda: keyheat.assert_no_hot_partition(HOT, set=SHORT, show_keys=False))
    assert "hottest key sha256:" in hidden


def test_a_table_that_is_too_small_has_no_hot_partition_but_throttles() -> None:
    keyheat.assert_no_hot_partition(SMALL, set=SHORT)
    text = said(lambda: keyheat.assert_no_throttles(SMALL, set=SHORT))
    assert text.startswith("table: Writes were throttled because the table itself was too small")
    assert "hottest key" not in text, "no key is to blame"


def test_an_index_that_holds_back_the_table_is_a_hot_partition() -> None:
    text = said(lambda: keyheat.assert_no_hot_partition(INDEXED, set=SHORT))
    assert "of index by-country" in text
    assert "Shard index by-country's partition key." in text


def test_saved_up_capacity_counts_only_where_it_is_asked_for() -> None:
    table = {"provisioned": {"write": 100, "read": 10}}
    load = {"requests_per_s": 200, "duration_s": 20}

    def check(*, burst: bool) -> None:
        keyheat.assert_no_throttles(table=table, keys=EVEN, load=load, burst=burst)

    check(burst=True)
    assert "table: " in said(lambda: check(burst=False))


@pytest.mark.parametrize(
    ("name", "label"), [("hotkey", "partition"), ("too-small", "table"), ("sharded", "none")]
)
def test_the_label_is_the_one_that_the_scenario_expects(name: str, label: Any) -> None:
    path = SCENARIOS / f"{name}.toml"
    assert load_scenario(path).expects == label
    keyheat.assert_label(path, label=label, set=SHORT)
    text = said(lambda: keyheat.assert_label(path, label="account", set=SHORT))
    assert text.startswith(f"The label is {label}, and should be account.")


def test_shards_that_are_enough_by_luck_are_not_enough() -> None:
    keyheat.assert_shards_suffice(HOT, shards=4, set=SHORT)
    text = said(lambda: keyheat.assert_shards_suffice(HOT, shards=2, set=SHORT))
    assert text.startswith("2 shards are not enough: 4 are, for at most 0.1 % throttled. With 2 it is luck")


def test_units_of_an_operation_count_those_of_its_indexes() -> None:
    keyheat.assert_units_per_operation(INDEXED, at_most=16, set=SHORT)
    text = said(lambda: keyheat.assert_units_per_operation(INDEXED, at_most=15.9, set=SHORT))
    assert text.startswith(
        "A write consumes 16 WCU in the mean, and may consume 15.9: 8 on the table, 8 on index by-country."
    )
    text = said(lambda: keyheat.assert_units_per_operation(HOT, at_most=1, direction="read", set=SHORT))
    assert text.startswith("No read was accepted, so what one costs is not known.")


def test_headroom_is_what_does_not_throttle() -> None:
    keyheat.assert_headroom(SHARDED, times=1.3, set=SHORT)
    text = said(lambda: keyheat.assert_headroom(SHARDED, times=3, set=SHORT))
    assert text.startswith("At 3 times the demand requests are throttled.")


def test_a_scenario_can_be_written_in_python() -> None:
    keyheat.assert_no_throttles(table=TABLE, keys=EVEN, load={"requests_per_s": 1_000, "duration_s": 5})
    keyheat.assert_no_throttles(load_scenario(SHARDED), set=SHORT)
    hot, load = {"kind": "hot_key", "share": 0.9}, LoadSpec(requests_per_s=2_000, duration_s=5)
    text = said(lambda: keyheat.assert_no_throttles(table=TABLE, keys=hot, load=load))
    assert "partition: " in text


@pytest.mark.parametrize(
    ("check", "kind", "words"),
    [
        (lambda: keyheat.assert_no_throttles(), TypeError, "Give a scenario file, or table= and keys="),
        (lambda: keyheat.assert_no_throttles(HOT, sets=[]), TypeError, "no option is called sets"),  # type: ignore[call-arg]
        (lambda: keyheat.assert_no_throttles(HOT, at_most=5), ValueError, "a share from 0 to 1, not 5"),
        (lambda: keyheat.assert_label(HOT, label="hot"), ValueError, "label is one of partition,"),  # type: ignore[arg-type]
        (lambda: keyheat.assert_shards_suffice(HOT, shards=0), ValueError, "from 1 on, not 0"),
        (lambda: keyheat.assert_headroom(HOT, times=inf), ValueError, "above 0, not inf"),
        (lambda: keyheat.assert_units_per_operation(HOT, at_most=nan), ValueError, "of units, not nan"),
        (
            lambda: keyheat.assert_units_per_operation(HOT, at_most=1, direction="both"),  # type: ignore[arg-type]
            ValueError,
            "one of read, write, not 'both'",
        ),
        (lambda: keyheat.assert_no_throttles(HOT, set="keys.shards=3"), TypeError, "set is a list, such as"),
        (lambda: keyheat.assert_no_throttles("nowhere.toml"), ScenarioError, "nowhere.toml"),
        (
            lambda: keyheat.assert_no_throttles(table={"nam": 1}, keys={"kind": "odd"}),
            ScenarioError,
            r"(?s)\$.table.nam.*\$.keys.kind",
        ),
    ],
)
def test_what_is_asked_in_a_wrong_way_is_no_failed_check(
    check: Check, kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        check()


def test_no_check_replaces_sockets_or_asks_the_network() -> None:
    """Somebody else's tests run in this process."""
    assert isinstance(asked_of(HOT, {}), CheckedLoad)
    for module in (
        keyheat,
        *(sys.modules[name] for name in sys.modules if name.startswith("keyheat.testing")),
    ):
        assert not {"locust", "gevent", "boto3"} & vars(module).keys()


def test_a_scenario_has_the_name_that_the_command_line_knows() -> None:
    with pytest.raises(keyheat.CheckFailed):
        keyheat.assert_no_hot_partition("hotkey", set=SHORT)
    with pytest.raises(ValueError, match=r"'hotky' is neither a file nor one of ours: did you mean hotkey"):
        keyheat.assert_no_hot_partition("hotky")
