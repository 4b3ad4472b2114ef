"""What an SDK makes of a throttled request: how often it sends it again, after which pause, when it gives up.

    throttled --attempts left? quota left?--> pause --> sent again ... --> accepted, or given up

Since November 2026 the SDKs of AWS share one policy for DynamoDB; what botocore did before is still met.
https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html
https://aws.amazon.com/blogs/developer/updated-default-retry-behavior-for-aws-sdks-and-tools/
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import floor
from typing import Any, Final, Literal

from keyheat.model.resources import Cause

QUOTA_TOKENS: Final = 500.0
"""Of one client: https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html"""
RETRY_AFTER_MOST_S: Final = 5.0
"""That a server's own wait (`x-amz-retry-after`) may add to a pause of the shared policy."""
Chance = Callable[[], float]
"""Draws from 0 to 1."""
Failure = Literal["throttle", "transient", "timeout"]
Mode = Literal["standard", "adaptive", "legacy"]
Sdk = Literal[
    "none", "boto3-2025", "boto3-2026", "js-v3-2025", "js-v3", "go-v2-2025", "go-v2",
    "java-v2-2025", "java-v2", "dotnet-v4-2025", "dotnet-v4"
]  # fmt: skip
Beyond = Literal["drawn", "cut", "whole"]
"""What becomes of a pause that could be longer than the longest: it is drawn from 0 to the longest, or drawn
first and cut to it, or is just the longest."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """What follows one kind of failure: a pause before it is sent again, and what that takes of the quota.

    The pause before attempt n + 1 is `base_s` 2^(n - 1) at most; the part of it that is `drawn` may be less.
    """

    base_s: float
    cost_tokens: float
    drawn: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """One published policy: how often a request is sent, what follows which failure, what a client may spend.

    `attempts` counts the first one, too. No pause is longer than `most_s`: what could be is drawn `beyond`
    it or not. Errors that are no throttles (5xx, a lost connection) are `transient`, and so is a
    `timeout` where a policy has nothing of its own for it. A client has
    `quota_tokens` for retries, 0: there is no quota. An accepted request gives back what its last retry took,
    and `more_tokens`; one that had no retry gives back `unretried_tokens`. `limits_rate`: the adaptive mode,
    in which a client holds back what it sends. `account_too`: the account's limit is retried as well.
    `heeds_server`: a longer wait that the server asks for is kept.
    """

    name: str
    says: str
    attempts: int
    throttle: Backoff = Backoff(1.0, 5.0)
    transient: Backoff = Backoff(0.025, 14.0)
    timeout: Backoff | None = None
    most_s: float = 20.0
    beyond: Beyond = "drawn"
    quota_tokens: float = QUOTA_TOKENS
    unretried_tokens: float = 1.0
    more_tokens: float = 0.0
    limits_rate: bool = False
    account_too: bool = True
    heeds_server: bool = True

    def after(self, kind: Failure) -> Backoff:
        if kind == "timeout" and self.timeout is not None:
            return self.timeout
        return self.throttle if kind == "throttle" else self.transient

    def pause_s(
        self, attempt: int, chance: Chance, *, kind: Failure = "throttle", asked_s: float | None = None
    ) -> float:
        """Seconds from the answer to the `attempt`-th attempt to the next one; the server `asked_s`."""
        backoff = self.after(kind)
        pause_s = backoff.base_s * 2.0 ** (attempt - 1)
        drawn = 0.0 if self.beyond == "whole" and pause_s > self.most_s else backoff.drawn
        if self.beyond == "drawn":
            pause_s = min(pause_s, self.most_s)
        pause_s = min(pause_s * (1.0 - drawn + drawn * chance() if drawn else 1.0), self.most_s)
        if asked_s is None or not self.heeds_server:
            return pause_s
        return max(pause_s, min(asked_s, pause_s + RETRY_AFTER_MOST_S))

    def given_back(self, paid_tokens: float) -> float:
        """Tokens that an accepted request gives back, by what its last retry took; 0: no retry."""
        return paid_tokens + self.more_tokens if paid_tokens else self.unretried_tokens

    def retries(self, cause: Cause) -> bool:
        return self.attempts > 1 and (self.account_too or cause is not Cause.ACCOUNT)


NONE: Final = RetryPolicy(name="none", says="no retries", attempts=1, quota_tokens=0.0)
HOLDS_BACK: Final = "in adaptive mode the client also holds back what it sends"


def _shared(name: str, says: str, *, adaptive: str = "", **older: Any) -> dict[Mode, RetryPolicy]:
    """The standard mode that the SDKs share since November 2026, and its adaptive one."""
    policy = RetryPolicy(name=name, says=says, **{"attempts": 4, **older})
    return {"standard": policy, "adaptive": _adaptive(policy, name=adaptive or f"{name}-adaptive")}


def _adaptive(policy: RetryPolicy, **other: Any) -> RetryPolicy:
    return replace(policy, says=f"{policy.says}; {HOLDS_BACK}", limits_rate=True, **other)


SHARED: Final = "four attempts, pauses of up to 1, 2 and 4 s, a quota of 500 tokens"
_LEGACY: Final = RetryPolicy(
    name="boto3-2025",
    says="botocore before 1.44, legacy mode: ten attempts, pauses of 50 ms and twice as long each time",
    attempts=10, throttle=Backoff(0.05, 0.0, drawn=0.0), transient=Backoff(0.05, 0.0, drawn=0.0), most_s=25.6,
    quota_tokens=0.0, account_too=False, heeds_server=False,
)  # fmt: skip
_GO: Final = RetryPolicy(
    name="go-v2-2025",
    says="Go v2 before November 2026: three attempts, pauses of up to 2 and 4 s",
    attempts=3, throttle=Backoff(2.0, 5.0), transient=Backoff(2.0, 5.0), timeout=Backoff(2.0, 10.0),
    beyond="whole", more_tokens=1.0, heeds_server=False,
)  # fmt: skip
"""https://github.com/aws/aws-sdk-go-v2/tree/v1.17.1/aws/retry: a success after a retry gives back a token
more (standard.go), a pause that would be longer than the longest is not drawn (jitter_backoff.go), and in
adaptive mode a success at once gives back nothing (adaptive.go)."""
_JAVA: Final = RetryPolicy(
    name="java-v2-2025",
    says="Java v2 before November 2026, legacy mode: nine attempts, pauses of 0.25 to 0.5 s and twice as "
    "long each time, no quota for throttles",
    attempts=9, throttle=Backoff(0.5, 0.0, drawn=0.5), transient=Backoff(0.025, 5.0), heeds_server=False,
)  # fmt: skip
"""https://github.com/aws/aws-sdk-java-v2: `DynamoDbRetryPolicy` in services/dynamodb has 8 retries, 25 ms;
`DefaultRetryStrategy` in core/retries what follows a throttle: in legacy mode, which was the default, 500 ms,
a half of it drawn (`exponentialDelayHalfJitter`), and no token; else 1 s, all of it drawn, and five tokens.
What changed in 2026: https://github.com/aws/aws-sdk-java-v2/issues/6987"""
_JAVA_STANDARD: Final = replace(
    _JAVA,
    name="java-v2-2025-standard",
    says="Java v2 before November 2026, standard mode: nine attempts, pauses of up to 1, 2, 4, 8, 16, 20 s",
    throttle=Backoff(1.0, 5.0),
)
_DOTNET: Final = RetryPolicy(
    name="dotnet-v4-2025",
    says=".NET v4 before November 2026: eleven attempts, pauses of up to 1, 2, 4, 8, 16 and 20 s",
    attempts=11, throttle=Backoff(1.0, 5.0), transient=Backoff(1.0, 5.0), beyond="cut", heeds_server=False,
)  # fmt: skip
"""https://github.com/aws/aws-sdk-net/pull/4391 has what came before beside what comes. `StandardRetryPolicy`:
ten retries of DynamoDB, then three; a pause was drawn before it was cut to 20 s. `CapacityManager` (d177b4d):
a success gives back what its last retry took, else 1; all clients of a process share the quota of a Region.
Ten tokens are for what a service calls RequestTimeout; a client's own timeout took five.

Its adaptive mode of then is left out: who finds no token looks for one 15 times, in a bucket that only others
refill, and fails unsent (`TokenBucket`, 643e85d; https://github.com/aws/aws-sdk-net/pull/4476)."""
_SDKS: Final[Mapping[str, Mapping[Mode, RetryPolicy]]] = {
    "boto3-2025": {
        "legacy": _LEGACY,
        **_shared(
            "boto3-2025-standard",
            "botocore before 1.44, standard mode: three attempts, pauses of up to 1 and 2 s, a quota",
            adaptive="boto3-2025-adaptive",
            attempts=3, transient=Backoff(1.0, 5.0), timeout=Backoff(1.0, 10.0), heeds_server=False,
        ),
    },
    "boto3-2026": {
        **_shared("boto3-2026", f"botocore since 1.44, standard mode: {SHARED}"),
        "legacy": replace(_LEGACY, name="boto3-2026-legacy", says="botocore 1.44, legacy mode: as before"),
    },
    "js-v3-2025": _shared(
        "js-v3-2025", "JavaScript v3, @smithy/core before 3.40: three attempts, pauses of up to 0.5 and 1 s",
        attempts=3, throttle=Backoff(0.5, 5.0), transient=Backoff(0.1, 10.0),
    ),
    "go-v2-2025": {
        "standard": _GO,
        "adaptive": _adaptive(_GO, name="go-v2-2025-adaptive", more_tokens=0.0, unretried_tokens=0.0),
    },
    "java-v2-2025": {
        "legacy": _JAVA,
        "standard": _JAVA_STANDARD,
        "adaptive": _adaptive(_JAVA_STANDARD, name="java-v2-2025-adaptive"),
    },
    "dotnet-v4-2025": {"standard": _DOTNET},
    **{
        name: _shared(name, f"{sdk}, as of November 2026: {SHARED}")
        for name, sdk in (
            ("js-v3", "JavaScript v3"),
            ("go-v2", "Go v2"),
            ("java-v2", "Java v2"),
            ("dotnet-v4", ".NET v4"),
        )
    },
}  # fmt: skip
"""By SDK and mode, the default first. botocore's legacy mode has no longest pause; its last is 12.8 s.

That of JavaScript before 2026 is as @smithy/core 3.39 does it."""
POLICIES: Final = (NONE, *(policy for modes in _SDKS.values() for policy in modes.values()))
CLIENTS: Final = 10
"""Clients that share a load by default."""
USUAL: Final = ("boto3-2026", "boto3-2025", "boto3-2026-adaptive")


def policy_named(name: str) -> RetryPolicy:
    """The policy of that name. Raises `ValueError` with those that there are."""
    for policy in POLICIES:
        if policy.name == name:
            return policy
    raise ValueError(f"no SDK {name!r}; there are {', '.join(entry.name for entry in POLICIES)}")


def modes_of(sdk: Sdk) -> tuple[Mode, ...]:
    """The modes that an SDK has, its default first; none where there is no SDK."""
    return tuple(_SDKS.get(sdk, ()))


def policy_of(
    sdk: Sdk, *, mode: Mode | None = None, attempts: int | None = None, quota_tokens: float | None = None
) -> RetryPolicy:
    """The policy of an SDK, with what an application sets itself. Raises `KeyError` for a mode it lacks."""
    if sdk == "none":
        return NONE
    policy = _SDKS[sdk][mode or modes_of(sdk)[0]]
    if attempts is not None and attempts != policy.attempts:
        policy = _set(policy, f"attempts {attempts}", attempts=attempts)
    if quota_tokens is not None and quota_tokens != policy.quota_tokens:
        policy = _set(policy, f"quota {quota_tokens:g}", quota_tokens=quota_tokens)
    return policy


def _set(policy: RetryPolicy, change: str, **fields: Any) -> RetryPolicy:
    return replace(policy, name=f"{policy.name}, {change}", says=f"{policy.says}; here {change}", **fields)


@dataclass(slots=True)
class RetryQuota:
    """The tokens of one client, which each retry takes from and accepted requests give back to."""

    most_tokens: float = QUOTA_TOKENS
    tokens: float = field(init=False)

    def __post_init__(self) -> None:
        self.tokens = self.most_tokens

    def take(self, cost_tokens: float) -> bool:
        if cost_tokens > self.tokens:
            return False
        self.tokens -= cost_tokens
        return True

    def give_back(self, tokens: float) -> None:
        """A request has been accepted; it is never more than it was."""
        self.tokens = min(self.most_tokens, self.tokens + tokens)


# AWS describes the adaptive mode in words only ("may delay the first attempt"); the numbers are those of its
# SDKs' code, the same in botocore (retries/bucket.py, throttling.py, adaptive.py) and in JavaScript.
LEAST_PER_S: Final = 0.5
KEPT_PART: Final = 0.7  # of the rate at which a throttle came
STEEPNESS: Final = 0.4
NEWEST_PART: Final = 0.8
HALF_S: Final = 0.5  # the rate is measured in steps of this
MOST_TIMES: Final = 2.0  # the measured rate


@dataclass(slots=True)
class AdaptiveRate:
    """What the adaptive mode lets one client send: less after a throttle, then more along a cubic curve.

        rate = 0.4 (t - k)^3 + w        t: seconds since the last throttle, w: the rate at which it came
        k = (w (1 - 0.7) / 0.4)^(1/3)   so that it begins at 0.7 w and is w again after k seconds

    It begins with the first throttle. Who waits goes by the rate as it changes.
    """

    now_s: float
    _limits: bool = False
    _w_per_s: float = 0.0
    _measured_per_s: float = 0.0
    _fill_per_s: float = LEAST_PER_S
    _tokens: float = 0.0
    _filled_s: float = 0.0
    _throttled_s: float = 0.0
    _count: int = 0
    _step_s: float = 0.0

    def __post_init__(self) -> None:
        self._filled_s = self._throttled_s = self.now_s
        self._step_s = floor(self.now_s)

    def wait_s(self, at_s: float, before: int = 0) -> float:
        """Seconds until a request may send that waits behind `before` others, at the current rate.

        0: at once.
        """
        if not self._limits:
            return 0.0
        self._refill(at_s)
        return max(0.0, (1.0 + before - self._tokens) / self._fill_per_s)

    def sent(self) -> None:
        if self._limits:
            self._tokens -= 1.0

    def answered(self, at_s: float, *, throttled: bool) -> None:
        measured = self._measure(at_s)
        if throttled:
            self._w_per_s = min(measured, self._fill_per_s) if self._limits else measured
            self._throttled_s, self._limits = at_s, True
            rate = KEPT_PART * self._w_per_s
        else:
            k = (self._w_per_s * (1 - KEPT_PART) / STEEPNESS) ** (1 / 3)
            rate = STEEPNESS * (at_s - self._throttled_s - k) ** 3 + self._w_per_s
        self._refill(at_s)
        self._fill_per_s = max(LEAST_PER_S, min(rate, MOST_TIMES * measured))
        self._tokens = min(self._tokens, max(1.0, self._fill_per_s))

    def _measure(self, at_s: float) -> float:
        step_s = floor(at_s / HALF_S) * HALF_S
        self._count += 1
        if step_s > self._step_s:
            newest = self._count / (step_s - self._step_s)
            self._measured_per_s = NEWEST_PART * newest + (1 - NEWEST_PART) * self._measured_per_s
            self._count, self._step_s = 0, step_s
        return self._measured_per_s

    def _refill(self, at_s: float) -> None:
        earned = (at_s - self._filled_s) * self._fill_per_s
        self._tokens = min(max(1.0, self._fill_per_s), self._tokens + earned)
        self._filled_s = at_s
