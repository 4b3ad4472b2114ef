"""Rules of faults are checked whole: every mistake at once, where it is, and what would be accepted."""

from pathlib import Path
from typing import Any

import pytest

from keyheat.endpoint.faultrules import FaultRulesError, checked_rules, load_rules

ROOT = Path(__file__).parents[2]
HOT = "TableWriteKeyRangeThroughputExceeded"


def errors_of(*rules: Any, **more: Any) -> list[str]:
    with pytest.raises(FaultRulesError) as caught:
        checked_rules("faults", {"rules": list(rules), **more})
    return caught.value.errors


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        ({}, "does nothing: it needs one of throttle, conflict, error, cut, or delay_ms @ $.rules[0]"),
        ({"error": 500, "cut": "after"}, "has error and cut: one of them in a rule @ $.rules[0]"),
        ({"error": 500, "shar": 0.1}, "unknown field, did you mean share? @ $.rules[0].shar"),
        ({"error": 500, "table": "T"},
         "should be 3 to 255 letters, digits, underscores, dots and hyphens, got 'T' @ $.rules[0].table"),
        ({"error": 500, "share": 0}, "Input should be greater than 0, got 0 @ $.rules[0].share"),
        ({"error": 500, "from_s": 5, "to_s": 5}, "to_s should be later than from_s, 5, got 5 @ $.rules[0]"),
        ({"error": 500, "key": "a", "key_prefix": "b"},
         "has a key and a key_prefix: one of them in a rule @ $.rules[0]"),
        ({"delay_ms": 600_001},
         "Input should be less than or equal to 600000, got 600001 @ $.rules[0].delay_ms"),
        ({"throttle": HOT[:-2]},
         f"no reason for a throttle, did you mean {HOT}?, got {HOT[:-2]!r} @ $.rules[0].throttle"),
        ({"throttle": HOT, "index": "by_city"},
         f"{HOT} is a reason of the table; for an index use its Index... reason @ $.rules[0]"),
        ({"throttle": "IndexReadKeyRangeThroughputExceeded"},
         "index is missing: IndexReadKeyRangeThroughputExceeded is the reason of an index @ $.rules[0]"),
        ({"error": 500, "operations": ["GetItm"]},
         "no operation, did you mean GetItem?, got 'GetItm' @ $.rules[0].operations[0]"),
        ({"throttle": HOT, "operations": ["PutItem", "GetItem"]},
         f"GetItem does not write, so that it never meets {HOT} @ $.rules[0]"),
        ({"conflict": True, "operations": ["ListTables"]},
         "ListTables is for no item: it can meet error, cut and delay_ms @ $.rules[0]"),
        ({"error": 500, "index": "by_city", "operations": ["GetItem"]},
         "GetItem reads no index: Query and Scan do @ $.rules[0]"),
        ({"error": 500, "key": "a", "operations": ["Scan"]}, "Scan is for no key @ $.rules[0]"),
    ],
)  # fmt: skip
def test_a_mistake_is_said_with_its_place_and_what_would_be_accepted(
    rule: dict[str, Any], error: str
) -> None:
    assert errors_of(rule) == [error]


def test_every_mistake_is_said_at_once() -> None:
    errors = errors_of({"name": "a", "error": 1}, {"name": "a", "cut": 1}, 7, sed=2)
    assert [error.rpartition(" @ ")[2] for error in errors] == [
        "$.rules[0].error", "$.rules[1].cut", "$.rules[2]", "$.sed",
    ]  # fmt: skip
    assert errors_of(*[{"name": "a", "error": 500}] * 2) == ["several rules are called a @ $"]
    assert errors_of() == ["needs 1 or more, and has 0 @ $.rules"]
    assert errors_of(*[{"error": 500}] * 1_001) == ["has 1,001, and may have 1,000 @ $.rules"]


def test_what_is_no_toml_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "faults.toml"
    file.write_text("[[rules]\n")
    with pytest.raises(FaultRulesError, match="not TOML"):
        load_rules(file)
    with pytest.raises(FaultRulesError, match="cannot be read: No such file"):
        load_rules(tmp_path / "none.toml")
