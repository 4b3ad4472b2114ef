"""The policies `js-v3` and `js-v3-2025` are what the SDKs for JavaScript do: both are asked."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from keyheat.model.retries import policy_named
from tests.clients import scripted
from tests.clients.programs import HERE
from tests.clients.scripted import Call, Script
from tests.load.test_retries import GOOD, THROTTLED, error

pytestmark = [pytest.mark.opens, pytest.mark.slow, pytest.mark.nightly]

FOLDERS = {"js-v3": HERE, "js-v3-2025": HERE / "js-2025"}
NEW = {"AWS_NEW_RETRIES_2026": "true", "SMITHY_NEW_RETRIES_2026": "true"}
"""What makes a version that has both policies take the new one; @smithy/core has no other from 3.40 on."""
HELD = "in adaptive mode"


def asked_of(sdk: str) -> dict[str, Script]:
    """The scripts of an SDK in its standard mode, and those that its adaptive one meets."""
    policy, adaptive = policy_named(sdk), policy_named(f"{sdk}-adaptive")
    asks = {str(ms): error("ThrottlingException", retry_after_ms=ms) for ms in (3_000, 60_000)}
    throttled = [THROTTLED] * 40 + [GOOD]
    return {
        **scripted.scripts_of(policy, {"options": {"maxAttempts": 8}}, (0.0, 0.999, 1.0)),
        **scripted.failures_of(policy),
        **{
            f"a wait of {ms} ms that the server asks for": Script(policy, [of, GOOD])
            for ms, of in asks.items()
        },
        **{
            f"{name}, {HELD}": Script(
                adaptive, answers, 60, options={"options": {"retryMode": "adaptive"}}, every_s=0.02
            )
            for name, answers in {
                "throttled, and then no more": throttled,
                "throttled now and then": [GOOD] * 20 + throttled + [THROTTLED] * 5 + [GOOD],
            }.items()
        },
    }


ASKED = {sdk: asked_of(sdk) for sdk in FOLDERS}


@dataclass(frozen=True, slots=True)
class Told:
    """How an SDK fared with each script."""

    sdk: str
    calls: dict[str, list[Call]]


@pytest.fixture(scope="module", params=FOLDERS)
def told(request: pytest.FixtureRequest) -> Told:
    """What an installed SDK tells. Skips where none is, or one with the other policy."""
    sdk: str = request.param
    folder: Path = FOLDERS[sdk]
    if not (folder / "node_modules").exists():
        pytest.skip(f"the SDK of {sdk} is not installed: `make install-clients` installs it")
    said = scripted.play(
        ASKED[sdk], ("node", "--no-warnings", HERE / "retries.mjs", folder), NEW if sdk == "js-v3" else {}
    )
    if said["of_2026"] != (sdk == "js-v3"):
        pytest.skip(f"{' and '.join(said['versions'])} do not retry as {sdk} does")
    return Told(sdk, scripted.calls_of(ASKED[sdk], said))


@pytest.mark.parametrize("name", [name for name in ASKED["js-v3"] if name not in scripted.CODES])
def test_the_same_answers_are_retried_after_the_same_time(told: Told, name: str) -> None:
    theirs, script = told.calls[name], ASKED[told.sdk][name]
    ours = scripted.pauses_of(script)
    if HELD in name:  # what is held back is no attempt, and waits in steps
        waited_ms = [1000 * sum(pauses) for pauses in ours]
        assert [sum(one.pauses_ms) for one in theirs] == pytest.approx(waited_ms, abs=1)
        return
    assert [one.attempts for one in theirs] == [len(pauses) + 1 for pauses in ours]
    whole_ms = [[int(pause_s * 1000 + 1e-6) for pause_s in pauses] for pauses in ours]  # as it waits
    assert [one.pauses_ms for one in theirs] == whole_ms


@pytest.mark.parametrize("sdk", FOLDERS)
def test_the_scripts_meet_the_quota_and_the_longest_pause(sdk: str) -> None:
    scripted.check_scripts(ASKED[sdk])


@pytest.mark.parametrize("code", scripted.CODES)
def test_what_is_a_throttle_is_sent_again_and_nothing_else(told: Told, code: str) -> None:
    (theirs,), cause, policy = told.calls[code], scripted.CODES[code], policy_named(told.sdk)
    again = cause is not None and policy.retries(cause)
    assert theirs.attempts == (policy.attempts if again else 1)
    assert theirs.error == code
