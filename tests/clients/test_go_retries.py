"""The policy `go-v2-2025` is what Debian's SDK for Go does: attempts, pauses, quota, rate, over scripts."""

from dataclasses import replace

import pytest

from keyheat.model.retries import policy_named
from tests.clients import scripted
from tests.clients.programs import ENVIRONMENTS, GO
from tests.clients.scripted import Call, Script
from tests.load.test_retries import GOOD, SILENT, THROTTLED

pytestmark = [pytest.mark.opens, pytest.mark.slow, pytest.mark.nightly]

PROGRAM = ENVIRONMENTS / "go-retries"
POLICY, ADAPTIVE = policy_named("go-v2-2025"), policy_named("go-v2-2025-adaptive")
SCRIPTS = scripted.scripts_of(POLICY, {"attempts": 8}, (0.0, 0.37, 0.999)) | {
    "an error that is no throttle": Script(POLICY, [scripted.BROKEN]),
    "no answer in time": Script(POLICY, [SILENT]),
    "no answer in time until the quota has run out": Script(POLICY, [SILENT], 60),
    "failures of every kind": Script(
        POLICY, [THROTTLED, scripted.BROKEN, SILENT, scripted.BROKEN, GOOD] * 150, 250
    ),
}
RUN_OUT, OF_ONE = [THROTTLED] * 150, [THROTTLED] * 20  # calls of three attempts; with no quota left, of one
HELD = {
    "throttled, and then no more": Script(ADAPTIVE, [THROTTLED] * 40 + [GOOD], 60),
    "throttled until the quota has run out, and after it came back": Script(
        ADAPTIVE, [*RUN_OUT, *OF_ONE, *[GOOD] * 40, THROTTLED], 130
    ),
}
HELD = {name: replace(one, options={"mode": "adaptive"}, every_s=0.02) for name, one in HELD.items()}


@pytest.fixture(scope="module")
def told() -> dict[str, list[Call]]:
    """How the SDK fares with each script. Skips where there is none, or a newer one."""
    if not PROGRAM.exists():
        pytest.skip(f"{GO.name} is not installed: {GO.installs}")
    scripts = SCRIPTS | HELD
    said = scripted.play(scripts, (PROGRAM,), {})
    found = scripted.calls_of(scripts, said)
    if found["ThrottlingException"][0].attempts == policy_named("go-v2").attempts:
        pytest.skip(f"aws-sdk-go-v2 {said['version']} retries as of 2026")
    return found


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name not in scripted.CODES])
def test_the_same_answers_are_retried_after_the_same_time(told: dict[str, list[Call]], name: str) -> None:
    theirs, ours = told[name], scripted.pauses_of(SCRIPTS[name])
    assert [one.attempts for one in theirs] == [len(pauses) + 1 for pauses in ours]
    for one, pauses in zip(theirs, ours, strict=True):
        assert one.pauses_ms == pytest.approx([pause_s * 1000 for pause_s in pauses], abs=1e-5)  # ns


def test_the_scripts_meet_the_quota_and_the_longest_pause() -> None:
    scripted.check_scripts(SCRIPTS)


@pytest.mark.parametrize("code", scripted.CODES)
def test_what_is_a_throttle_is_sent_again_and_nothing_else(told: dict[str, list[Call]], code: str) -> None:
    (theirs,), cause = told[code], scripted.CODES[code]
    again = cause is not None and POLICY.retries(cause)
    assert theirs.attempts == (POLICY.attempts if again else 1)
    assert code in str(theirs.error)


@pytest.mark.parametrize("name", HELD)
def test_an_adaptive_client_waits_as_long(told: dict[str, list[Call]], name: str) -> None:
    ours = scripted.pauses_of(HELD[name])
    waited_ms = [1000 * sum(pauses) for pauses in ours]
    assert [sum(one.pauses_ms) for one in told[name]] == pytest.approx(waited_ms, abs=1)
    assert any(len(pauses) >= 2 * ADAPTIVE.attempts - 1 for pauses in ours), "held before each attempt"
