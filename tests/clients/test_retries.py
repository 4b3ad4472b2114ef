"""The policy `js-v3` is what the installed SDK for JavaScript does: attempts, pauses, quota, over scripts."""

import pytest

from keyheat.model.retries import policy_named
from tests.clients.programs import CLIENTS, HERE
from tests.clients.scripted import CODES, Call, calls_of, check_scripts, pauses_of, play, scripts_of

pytestmark = [pytest.mark.opens, pytest.mark.slow]

SDK = next(client for client in CLIENTS if client.name == "JavaScript SDK v3")
POLICY = policy_named("js-v3")
NEW = {"AWS_NEW_RETRIES_2026": "true", "SMITHY_NEW_RETRIES_2026": "true"}
"""What makes a version that has both policies take the new one; @smithy/core has no other from 3.40 on."""
SCRIPTS = scripts_of(POLICY, {"options": {"maxAttempts": 8}}, (0.0, 0.999, 1.0))


@pytest.fixture(scope="module")
def told() -> dict[str, list[Call]]:
    """How the installed SDK fares with each script. Skips where none is, or one with the policy of before."""
    if SDK.missing is not None:
        pytest.skip(SDK.missing)
    said = play(SCRIPTS, ("node", "--no-warnings", HERE / "retries.mjs"), NEW)
    found = calls_of(SCRIPTS, said)
    if not said["of_2026"]:
        (most,) = found["ThrottlingException"]
        pytest.skip(
            f"{' and '.join(said['versions'])} retry as before 2026: {most.attempts} attempts, pauses of "
            f"{most.pauses_ms} ms at {SCRIPTS['ThrottlingException'].chance:g} of the longest"
        )
    return found


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name not in CODES])
def test_the_same_answers_are_retried_after_the_same_time(told: dict[str, list[Call]], name: str) -> None:
    theirs, ours = told[name], pauses_of(SCRIPTS[name])
    assert [one.attempts for one in theirs] == [len(pauses) + 1 for pauses in ours]
    whole_ms = [[int(pause_s * 1000 + 1e-6) for pause_s in pauses] for pauses in ours]  # as it waits
    assert [one.pauses_ms for one in theirs] == whole_ms


def test_the_scripts_meet_the_quota_and_the_longest_pause() -> None:
    check_scripts(SCRIPTS)


@pytest.mark.parametrize("code", CODES)
def test_what_is_a_throttle_is_sent_again_and_nothing_else(told: dict[str, list[Call]], code: str) -> None:
    (theirs,), cause = told[code], CODES[code]
    again = cause is not None and POLICY.retries(cause)
    assert theirs.attempts == (POLICY.attempts if again else 1)
    assert theirs.error == code
