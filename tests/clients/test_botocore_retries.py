"""The policies `boto3-2025` are what botocore before 1.44 does: aioboto3 asks for one, so it is installed."""

from dataclasses import replace
from typing import Any

import pytest

from keyheat.model.retries import policy_named
from tests.clients import scripted
from tests.clients.programs import CLIENTS, HERE
from tests.clients.scripted import Call, Script
from tests.load.test_retries import GOOD, SILENT, THROTTLED, error

pytestmark = [pytest.mark.opens, pytest.mark.slow, pytest.mark.nightly]

OLDER = next(client for client in CLIENTS if client.name == "aioboto3")
STANDARD = policy_named("boto3-2025-standard")


def of_mode(scripts: dict[str, Script], **options: Any) -> dict[str, Script]:
    return {
        f"{options['mode']}: {name}": replace(one, options={**options, **one.options})
        for name, one in scripts.items()
    }


STANDARD_SCRIPTS = scripted.scripts_of(STANDARD, {"attempts": 8}, (0.0, 0.37, 1.0)) | scripted.failures_of(
    STANDARD
)
STANDARD_SCRIPTS["no answer in time until the quota has run out"] = Script(STANDARD, [SILENT], 60)
LEGACY, ADAPTIVE = policy_named("boto3-2025"), policy_named("boto3-2025-adaptive")
HELD = Script(ADAPTIVE, [THROTTLED] * 40 + [GOOD], 60, every_s=0.02)
SCRIPTS = (
    of_mode(STANDARD_SCRIPTS, mode="standard")
    | of_mode(
        {**scripted.failures_of(LEGACY), **{code: Script(LEGACY, [error(code)]) for code in scripted.CODES}},
        mode="legacy",
    )
    | of_mode({"throttled, and then no more": HELD}, mode="adaptive")
)


@pytest.fixture(scope="module")
def told() -> dict[str, list[Call]]:
    """How it fares with each script. Skips where it is not installed."""
    if OLDER.missing is not None:
        pytest.skip(OLDER.missing)
    said = scripted.play(SCRIPTS, (OLDER.needs, HERE / "botocore_retries.py"), {})
    if tuple(map(int, said["version"].split(".")[:2])) >= (1, 44):
        pytest.skip(f"{OLDER.name} asks for botocore {said['version']} now, which retries as of 2026")
    return scripted.calls_of(SCRIPTS, said)


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_same_answers_are_retried_after_the_same_time(told: dict[str, list[Call]], name: str) -> None:
    theirs, ours = told[name], scripted.pauses_of(SCRIPTS[name])
    waited_ms = [1000 * sum(pauses) for pauses in ours]
    assert [sum(one.pauses_ms) for one in theirs] == pytest.approx(waited_ms, abs=0.1)
    if not name.startswith("adaptive"):  # what is held back is no attempt
        assert [one.attempts for one in theirs] == [len(pauses) + 1 for pauses in ours]


def test_the_scripts_meet_the_quota_and_the_longest_pause() -> None:
    scripted.check_scripts(STANDARD_SCRIPTS)
