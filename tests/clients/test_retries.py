"""The policy `js-v3` is what the installed SDK for JavaScript does: attempts, pauses, quota, over scripts."""

import json
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import pytest

from keyheat.model.resources import Cause
from keyheat.model.retries import RetryPolicy, RetryQuota, policy_named
from tests.clients.programs import BOUND_S, CLIENTS, HERE
from tests.load.test_retries import GOOD, THROTTLED, Reply, error, server
from tests.outside import a_readers_environment

pytestmark = [pytest.mark.opens, pytest.mark.slow]

SDK = next(client for client in CLIENTS if client.name == "JavaScript SDK v3")
POLICY = policy_named("js-v3")
LONGER = replace(POLICY, attempts=8)  # by itself it ends before the longest pause
NEW = {"AWS_NEW_RETRIES_2026": "true", "SMITHY_NEW_RETRIES_2026": "true"}
"""What makes a version that has both policies take the new one; @smithy/core has no other from 3.40 on."""
LOTS = Random(5)


@dataclass(frozen=True, slots=True)
class Script:
    """Answers, the last of them for ever, and how many calls of one client meet them."""

    answers: list[Reply]
    calls: int = 1
    chance: float = 0.37  # that each pause is drawn by
    policy: RetryPolicy = POLICY
    options: Mapping[str, Any] = field(default_factory=dict)


SCRIPTS = {
    "accepted": Script([GOOD]),
    "throttled once": Script([THROTTLED, GOOD]),
    "throttled until the quota has run out": Script([THROTTLED], 60),
    "throttled for long, and then no more": Script([THROTTLED] * 140 + [GOOD], 160),
    "throttled now and then": Script([LOTS.choice([THROTTLED, THROTTLED, GOOD]) for _ in range(600)], 250),
    **{
        f"eight attempts, each pause at {chance:g} of the longest": Script(
            [THROTTLED], 1, chance, LONGER, {"maxAttempts": LONGER.attempts}
        )
        for chance in (0.0, 0.999, 1.0)
    },
}
CODES = {
    "ThrottlingException": Cause.KEY_RANGE,
    "RequestLimitExceeded": Cause.ACCOUNT,
    "ConditionalCheckFailedException": None,
    "TransactionCanceledException": None,
}


@dataclass(frozen=True, slots=True)
class Call:
    """What became of one call: whole milliseconds between its attempts, and the last one's error."""

    pauses_ms: list[int]
    attempts: int
    error: str | None


@pytest.fixture(scope="module")
def told() -> dict[str, list[Call]]:
    """How the installed SDK fares with each script. Skips where none is, or one with the policy of before."""
    if SDK.missing is not None:
        pytest.skip(SDK.missing)
    scripts = SCRIPTS | {code: Script([error(code)]) for code in CODES}
    with ExitStack() as servers:
        ends = [servers.enter_context(server(one.answers)) for one in scripts.values()]
        asked = [
            {"endpoint": url, "calls": one.calls, "chance": one.chance, "options": one.options}
            for (url, _seen), one in zip(ends, scripts.values(), strict=True)
        ]
        done = subprocess.run(
            ["node", "--no-warnings", HERE / "retries.mjs", json.dumps(asked)],
            env=a_readers_environment() | NEW, capture_output=True, text=True, timeout=BOUND_S, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    found = {name: [Call(**one) for one in of] for name, of in zip(scripts, said["told"], strict=True)}
    if not said["of_2026"]:
        (most,) = found["ThrottlingException"]
        pytest.skip(
            f"{' and '.join(said['versions'])} retry as before 2026: {most.attempts} attempts, pauses of "
            f"{most.pauses_ms} ms at {scripts['ThrottlingException'].chance:g} of the longest"
        )
    assert [sum(one.attempts for one in of) for of in found.values()] == [seen[0] for _url, seen in ends]
    return found


def pauses_of(script: Script) -> list[list[float]]:
    """The seconds between attempts of each call, as the model has it."""
    quota, answers, found = RetryQuota(), [*script.answers], list[list[float]]()
    for _ in range(script.calls):
        pauses, paid = list[float](), 0.0
        while (answers.pop(0) if len(answers) > 1 else answers[0]) is THROTTLED:
            attempt, policy = len(pauses) + 1, script.policy
            if attempt >= policy.attempts or not quota.take(policy.cost_tokens):
                break
            paid = policy.cost_tokens
            pauses.append(policy.pause_s(attempt, lambda: script.chance))
        else:
            quota.accepted(paid)
        found.append(pauses)
    return found


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_same_answers_are_retried_after_the_same_time(told: dict[str, list[Call]], name: str) -> None:
    theirs, ours = told[name], pauses_of(SCRIPTS[name])
    assert [one.attempts for one in theirs] == [len(pauses) + 1 for pauses in ours]
    whole_ms = [[int(pause_s * 1000 + 1e-6) for pause_s in pauses] for pauses in ours]  # as it waits
    assert [one.pauses_ms for one in theirs] == whole_ms


def test_the_scripts_meet_the_quota_and_the_longest_pause() -> None:
    """Else the test above would say less than it seems to."""
    now_and_then = {len(pauses) for pauses in pauses_of(SCRIPTS["throttled now and then"])}
    assert now_and_then == set(range(POLICY.attempts))
    (longest,) = pauses_of(SCRIPTS["eight attempts, each pause at 1 of the longest"])
    assert longest[-2:] == [POLICY.most_s] * 2
    ends = [len(pauses) for pauses in pauses_of(SCRIPTS["throttled until the quota has run out"])]
    assert (ends[0], ends[-1]) == (POLICY.attempts - 1, 0)


@pytest.mark.parametrize("code", CODES)
def test_what_is_a_throttle_is_sent_again_and_nothing_else(told: dict[str, list[Call]], code: str) -> None:
    (theirs,), cause = told[code], CODES[code]
    again = cause is not None and POLICY.retries(cause)
    assert theirs.attempts == (POLICY.attempts if again else 1)
    assert theirs.error == code
