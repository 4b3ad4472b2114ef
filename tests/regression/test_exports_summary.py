"""The JSON of a regress is what its schema says, and the schema in configs/ is that of the code."""

import json
import math
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from keyheat.regression.exports import FORMAT, content, json_schema, write_summary
from keyheat.regression.outcome import EXIT_CODES, SessionOutcome
from tests.regression.outcomes import OUTCOMES, REGRESSED, a_finding, an_outcome

SCHEMA = Path(__file__).parents[2] / "configs" / "regression.schema.json"


def test_the_schema_in_configs_is_that_of_the_code() -> None:
    assert json.loads(SCHEMA.read_text()) == json_schema(), "keyheat schema --of regression > it"


@pytest.mark.parametrize("name", OUTCOMES)
def test_what_is_written_is_what_the_schema_says(tmp_path: Path, name: str) -> None:
    write_summary(tmp_path / "made.json", OUTCOMES[name])
    made = json.loads((tmp_path / "made.json").read_text())
    assert next(iter(made)) == "format"
    assert list(Draft202012Validator(json_schema()).iter_errors(made)) == []
    assert made == json.loads(json.dumps(content(OUTCOMES[name])))
    assert made["exit_code"] == EXIT_CODES[OUTCOMES[name].verdict]


def test_the_schema_knows_what_is_none_of_it() -> None:
    made = content(REGRESSED)
    validator = Draft202012Validator(json_schema())
    for change in ({"format": "keyheat.regression/2"}, {"verdict": "fine"}, {"more": 1}, {"findings": [{}]}):
        assert not validator.is_valid(made | change), change


def test_it_can_be_read_again() -> None:
    made = {name: part for name, part in content(REGRESSED).items() if name not in ("format", "exit_code")}
    assert SessionOutcome.model_validate(made) == REGRESSED
    assert content(REGRESSED)["format"] == FORMAT


def test_a_change_without_end_is_no_number(tmp_path: Path) -> None:
    write_summary(tmp_path / "made.json", an_outcome(findings=(a_finding(change=math.inf),)))
    assert json.loads((tmp_path / "made.json").read_text())["findings"][0]["change"] is None
