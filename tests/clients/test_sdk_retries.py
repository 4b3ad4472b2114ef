"""The policies of 2025 and `js-v3` are what the SDKs do that are installed: each plays scripts of answers.

Which of them an SDK follows is asked of it first: a newer one is skipped.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from keyheat.model.retries import policy_named
from tests.clients import scripted
from tests.clients.programs import CLIENTS, ENVIRONMENTS, GO, HERE
from tests.clients.scripted import Call, Script
from tests.load.test_retries import GOOD, SILENT, THROTTLED, error

pytestmark = [pytest.mark.opens, pytest.mark.slow, pytest.mark.nightly]

RUNS_OUT = "no answer in time until the quota has run out"
HELD_BACK = [THROTTLED] * 40 + [GOOD]
"""Throttled, and then no more: in adaptive mode the client waits before each attempt."""
OLDER = next(client for client in CLIENTS if client.name == "aioboto3")


@dataclass(frozen=True, slots=True)
class Sdk:
    """An SDK: the program that plays its scripts, and how to see whether it retries as they expect."""

    scripts: Mapping[str, Script]
    command: tuple[object, ...]
    needs: Path
    is_expected: Callable[[Any], bool]
    env: Mapping[str, str]


def of_botocore() -> Sdk:
    standard, legacy = policy_named("boto3-2025-standard"), policy_named("boto3-2025")
    scripts = scripted.scripts_of(standard, {"attempts": 8}, (0.0, 0.37, 1.0))
    scripts |= scripted.failures_of(standard) | {RUNS_OUT: Script(standard, [SILENT], 60)}
    scripts = {
        name: replace(one, options={"mode": "standard", **one.options}) for name, one in scripts.items()
    }
    codes = {code: Script(legacy, [error(code)]) for code in scripted.CODES}
    for name, one in (scripted.failures_of(legacy) | codes).items():
        scripts[f"legacy: {name}"] = replace(one, options={"mode": "legacy"})
    adaptive = policy_named("boto3-2025-adaptive")
    scripts["adaptive"] = Script(adaptive, HELD_BACK, 60, options={"mode": "adaptive"}, every_s=0.02)
    return Sdk(
        scripts,
        (OLDER.needs, HERE / "botocore_retries.py"),
        OLDER.needs,
        lambda said: tuple(map(int, said["version"].split(".")[:2])) < (1, 44),
        {},
    )


def of_go() -> Sdk:
    policy, adaptive = policy_named("go-v2-2025"), policy_named("go-v2-2025-adaptive")
    mixed = [THROTTLED, scripted.BROKEN, SILENT, scripted.BROKEN, GOOD] * 150
    scripts = scripted.scripts_of(policy, {"attempts": 8}, (0.0, 0.37, 0.999)) | {
        "an error that is no throttle": Script(policy, [scripted.BROKEN]),
        "failures of every kind": Script(policy, mixed, 250),
        RUNS_OUT: Script(policy, [SILENT], 60),
        "adaptive": Script(adaptive, HELD_BACK, 60, options={"mode": "adaptive"}, every_s=0.02),
    }
    program, newer = ENVIRONMENTS / "go-retries", policy_named("go-v2").attempts
    place = list(scripts).index("ThrottlingException")
    return Sdk(
        scripts, (program,), program, lambda said: said["told"][place][0]["attempts"] != newer, {}
    )  # fmt: skip


def of_javascript(name: str, folder: Path) -> Sdk:
    policy, adaptive = policy_named(name), policy_named(f"{name}-adaptive")
    scripts = scripted.scripts_of(policy, {"options": {"maxAttempts": 8}}, (0.0, 0.999, 1.0))
    scripts |= scripted.failures_of(policy)
    for ms in (3_000, 60_000):
        wait = error("ThrottlingException", retry_after_ms=ms)
        scripts[f"a wait of {ms} ms that the server asks for"] = Script(policy, [wait, GOOD])
    mode = {"options": {"retryMode": "adaptive"}}
    scripts["adaptive"] = Script(adaptive, HELD_BACK, 60, options=mode, every_s=0.02)
    new = name == "js-v3"
    # What makes a version that has both policies take the new one; @smithy/core has no other from 3.40 on.
    env = {"AWS_NEW_RETRIES_2026": "true", "SMITHY_NEW_RETRIES_2026": "true"} if new else {}
    return Sdk(
        scripts,
        ("node", "--no-warnings", HERE / "retries.mjs", folder),
        folder / "node_modules",
        lambda said: bool(said["of_2026"]) is new,
        env,
    )


SDKS = {
    "boto3-2025": of_botocore(),
    "go-v2-2025": of_go(),
    "js-v3": of_javascript("js-v3", HERE),
    "js-v3-2025": of_javascript("js-v3-2025", HERE / "js-2025"),
}
INSTALLS = "`make install-clients` installs it"


@pytest.fixture(scope="module")
def told() -> Callable[[str], dict[str, list[Call]]]:
    """How an SDK fares with each script. Skips where it is not installed, or follows another policy."""
    played: dict[str, Any] = {}

    def play(name: str) -> dict[str, list[Call]]:
        sdk = SDKS[name]
        if not sdk.needs.exists():
            pytest.skip(GO.installs if name.startswith("go") else f"the SDK of {name}: {INSTALLS}")
        if name not in played:
            played[name] = scripted.play(sdk.scripts, sdk.command, sdk.env)
        if not sdk.is_expected(played[name]):
            pytest.skip(f"the SDK that is installed does not retry as {name}")
        return scripted.calls_of(sdk.scripts, played[name])

    return play


@pytest.mark.parametrize(("sdk", "script"), [(sdk, name) for sdk in SDKS for name in SDKS[sdk].scripts])
def test_the_same_answers_are_retried_after_the_same_time(
    sdk: str, script: str, told: Callable[[str], dict[str, list[Call]]]
) -> None:
    theirs, ours = told(sdk)[script], scripted.pauses_of(SDKS[sdk].scripts[script])
    for call, pauses in zip(theirs, ours, strict=True):
        rounded_ms = len(pauses) if sdk.startswith("js") else 0.1  # that SDK waits whole milliseconds
        assert sum(call.pauses_ms) == pytest.approx(1000 * sum(pauses), abs=rounded_ms + 1e-3)
        if script != "adaptive":  # what is held back is no attempt
            assert call.attempts == len(pauses) + 1


@pytest.mark.parametrize("sdk", SDKS)
def test_the_scripts_meet_the_quota_and_the_longest_pause(sdk: str) -> None:
    scripted.check_scripts(SDKS[sdk].scripts)
