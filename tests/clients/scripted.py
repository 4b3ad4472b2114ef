"""Scripts of answers, for an SDK and for the model: what each makes of them, call by call.

script --a server that answers from it--> the SDK's program, whose pauses are not waited for
       '----------------------------------> `PolicyRetries`, on a clock that only pauses move
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import pytest

from keyheat.load.transport.retries import PolicyRetries, RetriedCall
from keyheat.model.resources import Cause
from keyheat.model.retries import RetryPolicy
from tests.clients.programs import BOUND_S
from tests.load.test_retries import GONE, GOOD, SILENT, THROTTLED, Reply, answer_of, error, server
from tests.outside import a_readers_environment

CODES = {
    "ThrottlingException": Cause.KEY_RANGE,
    "RequestLimitExceeded": Cause.ACCOUNT,
    "ConditionalCheckFailedException": None,
    "TransactionCanceledException": None,
}
"""Errors of a request, and as what an SDK retries each; None: not at all."""
BROKEN = error("InternalServerError", 500)
RUNS_OUT, NOW_AND_THEN = "throttled until the quota has run out", "throttled now and then"
EIGHT = "eight attempts, each pause at"


@dataclass(frozen=True, slots=True)
class Script:
    """Answers, the last of them for ever, and how many calls of one client meet them.

    `options` are what the SDK's program sets; `every_s` passes from the end of a call to the next one.
    """

    policy: RetryPolicy
    answers: list[Reply]
    calls: int = 1
    chance: float = 0.37  # that each pause is drawn by
    options: Mapping[str, Any] = field(default_factory=dict)
    every_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Call:
    """What became of one call: milliseconds between its attempts, and the last one's error."""

    pauses_ms: list[float]
    attempts: int
    error: str | None


def scripts_of(policy: RetryPolicy, eight: Mapping[str, Any], chances: Sequence[float]) -> dict[str, Script]:
    """What every SDK is asked; `eight` has its program make eight attempts, up to the longest pause."""
    drawn = Random(5)
    now_and_then = [drawn.choice([THROTTLED, THROTTLED, GOOD]) for _ in range(600)]
    longer = replace(policy, attempts=8)
    return {
        "accepted": Script(policy, [GOOD]),
        "throttled once": Script(policy, [THROTTLED, GOOD]),
        RUNS_OUT: Script(policy, [THROTTLED], 60),
        "throttled for long, and then no more": Script(policy, [THROTTLED] * 140 + [GOOD], 160),
        NOW_AND_THEN: Script(policy, now_and_then, 250),
        **{
            f"{EIGHT} {chance:g} of the longest": Script(longer, [THROTTLED], 1, chance, eight)
            for chance in chances
        },
        **{code: Script(policy, [error(code)]) for code in CODES},
    }


def failures_of(policy: RetryPolicy) -> dict[str, Script]:
    """What is no throttle: alone, and in between."""
    return {
        "an error that is no throttle": Script(policy, [BROKEN]),
        "a connection that is lost": Script(policy, [GONE]),
        "no answer in time": Script(policy, [SILENT]),
        "failures of every kind": Script(policy, [THROTTLED, BROKEN, SILENT, BROKEN, GOOD] * 100, 100),
    }


def check_scripts(scripts: Mapping[str, Script]) -> None:
    """They meet the quota and the longest pause; else the tests would say less than they seem to."""
    policy = scripts[NOW_AND_THEN].policy
    assert {len(pauses) for pauses in pauses_of(scripts[NOW_AND_THEN])} == set(range(policy.attempts))
    ends = [len(pauses) for pauses in pauses_of(scripts[RUNS_OUT])]
    assert (ends[0], ends[-1]) == (policy.attempts - 1, 0)
    longer = [pauses_of(script)[0] for name, script in scripts.items() if name.startswith(EIGHT)]
    assert max(map(max, longer)) == pytest.approx(policy.most_s, rel=0.01)


def play(scripts: Mapping[str, Script], command: Sequence[object], more_env: Mapping[str, str]) -> Any:
    """What an SDK's program prints of these scripts; each request of it was seen."""
    with ExitStack() as servers:
        ends = [servers.enter_context(server(one.answers)) for one in scripts.values()]
        asked = [
            {
                "endpoint": end.url,
                "calls": one.calls,
                "chance": one.chance,
                "every_s": one.every_s,
                **one.options,
            }
            for end, one in zip(ends, scripts.values(), strict=True)
        ]
        done = subprocess.run(
            [str(word) for word in (*command, json.dumps(asked))],
            env=a_readers_environment() | more_env,
            capture_output=True, text=True, timeout=BOUND_S, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert [sum(one["attempts"] for one in of) for of in said["told"]] == [len(end.requests) for end in ends]
    return said


def calls_of(scripts: Mapping[str, Script], said: Any) -> dict[str, list[Call]]:
    """The calls of each script, of what a program printed."""
    return {name: [Call(**one) for one in of] for name, of in zip(scripts, said["told"], strict=True)}


def pauses_of(script: Script) -> list[list[float]]:
    """The seconds between attempts of each call, as the model has it; in adaptive mode before each, too."""
    now_s, found = [1_000.25], list[list[float]]()
    retries = PolicyRetries(script.policy, clock=lambda: now_s[0], chance=lambda: script.chance)
    left = [answer_of(reply) for reply in script.answers]
    for _ in range(script.calls):
        call, pauses = RetriedCall("DeleteItem"), list[float]()
        pause_s: float | None = 0.0
        while pause_s is not None:
            while (held_s := retries.hold_s(call)) > 0:
                pauses.append(held_s)
                now_s[0] += held_s + 1e-6  # no sleep ends early
            pause_s = retries.delay_s(call, left.pop(0) if len(left) > 1 else left[0])
            if pause_s is not None:
                pauses.append(pause_s)
                now_s[0] += pause_s + 1e-6
        found.append(pauses)
        now_s[0] += script.every_s
    return found
