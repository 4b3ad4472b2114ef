"""What is sent again, and when: as the published policy of a scenario's client says.

    answer --a throttle, a transient error?--> attempts left? --> quota left? --> pause --> sent again

The policy's numbers are the model's; here it is said of real answers which of them are retried, as the SDKs
have it (botocore/retries/standard.py, botocore/data/_retry.json for the legacy mode).
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

from keyheat.load.transport.answer import CREDENTIALS, NO_UNITS, NOT_AN_ANSWER, TIMEOUT, Answer
from keyheat.model.retries import AdaptiveRate, Chance, Failure, RetryPolicy, RetryQuota
from keyheat.words import THROTTLE_CODES

if TYPE_CHECKING:
    from keyheat.load.record.record import Record

REQUESTS, ATTEMPTS, GIVEN_UP = "retries.requests", "retries.attempts", "retries.given_up"
BACKOFF_S, HELD_S = "retries.backoff_s", "retries.held_s"
WAITING = "retries.waiting"  # neither accepted nor given up when the load ended
TAKEN: Final = (NOT_AN_ANSWER, NO_UNITS)
"""What an SDK takes for an accepted answer."""
ACCOUNT: Final = "RequestLimitExceeded"
THROTTLES: Final = THROTTLE_CODES | {"TransactionInProgressException", "LimitExceededException", "HTTP429"}
TRANSIENT: Final = frozenset(
    {"ReplicatedWriteConflictException", "RequestTimeout", "RequestTimeoutException"}
)
TRANSIENT_STATUS: Final = frozenset({500, 502, 503, 504})
SOON_S: Final = 1e-6  # no clock goes on by less
LOOK_AGAIN_S: Final = 0.25
"""After which who stands in line looks again: a rate that rises meanwhile brings its turn sooner."""


@dataclass(slots=True)
class RetriedCall:
    """One call of an application, which may take several attempts."""

    operation: str
    client: int = 0  # which of the application's clients makes it
    attempts: int = 0
    paid_tokens: float = 0.0  # for its last retry
    turn: int | None = None  # its number in the queue of its client; None: it does not wait


@dataclass(slots=True)
class _Client:
    quota: RetryQuota
    rate: AdaptiveRate | None
    joined: int = 0  # calls that ever stood in its queue
    departed: int = 0


class PolicyRetries:
    """The retries of the clients of one process under a published policy."""

    def __init__(
        self,
        policy: RetryPolicy,
        *,
        clients: int = 1,
        clock: Callable[[], float],
        chance: Chance | None = None,
    ) -> None:
        self.policy = policy
        self._clock = clock
        self._chance = chance or Random().random
        self._clients = [
            _Client(RetryQuota(policy.quota_tokens), AdaptiveRate(clock()) if policy.limits_rate else None)
            for _ in range(clients)
        ]

    def send(
        self,
        call: RetriedCall,
        record: "Record",
        *,
        sleep: Callable[[float], float],
        attempt: Callable[[bool], Answer],
    ) -> Answer:
        """Send as an application's client does, and again where it would; returns the last answer.

        `sleep` returns the seconds that it took; `attempt` is told whether it is the first one.
        """
        from locust.exception import StopUser  # which replaces the sockets of a process that only watches

        pause_s: float | None = 0.0
        try:
            while pause_s is not None:
                slept_s, held_s = sleep(pause_s), self._hold_back(call, record, sleep)
                if slept_s or held_s:
                    record.timed(f"{call.operation}.backoff", int((slept_s + held_s) * 1e6))
                    record.count(BACKOFF_S, slept_s)
                    record.count(HELD_S, held_s)
                record.count(ATTEMPTS if call.attempts else REQUESTS)
                answer = attempt(not call.attempts)
                pause_s = self.delay_s(call, answer)
        except StopUser:
            record.count(WAITING)
            raise
        finally:
            self.leave(call)
        if given_up(answer):
            record.count(GIVEN_UP)
        return answer

    def _hold_back(self, call: RetriedCall, record: "Record", sleep: Callable[[float], float]) -> float:
        """Wait for the client's rate; the generator notes it of those, too, that wait until the load ends."""
        held_s = 0.0
        while hold_s := self.hold_s(call):
            began_s = self._clock()
            try:
                sleep(hold_s)
            finally:
                waited_s = self._clock() - began_s
                held_s += waited_s
                record.health.held_s += waited_s
        return held_s

    def hold_s(self, call: RetriedCall) -> float:
        """Seconds that the client holds the next attempt back before it asks again; 0: it is sent now.

        In the order in which they came: were all woken for each turn, many users would cost a core.
        """
        client = self._of(call)
        if client.rate is None:
            return 0.0
        if call.turn is None:
            call.turn, client.joined = client.joined, client.joined + 1
        wait_s = client.rate.wait_s(self._clock(), before=max(0, call.turn - client.departed))
        if wait_s > SOON_S:
            return min(wait_s, LOOK_AGAIN_S)
        client.rate.sent()
        self.leave(call)
        return 0.0

    def leave(self, call: RetriedCall) -> None:
        """The call waits no more, sent or not: those behind it move up."""
        if call.turn is not None:
            call.turn = None
            self._of(call).departed += 1

    def delay_s(self, call: RetriedCall, answer: Answer) -> float | None:
        """Seconds to wait before this call is attempted again; None if it is over."""
        call.attempts += 1
        client, kind = self._of(call), kind_of(answer)
        if client.rate is not None:
            client.rate.answered(self._clock(), throttled=kind == "throttle")
        if answer.accepted or answer.failure in TAKEN:
            client.quota.give_back(self.policy.given_back(call.paid_tokens))
            return None
        if kind is None or call.attempts >= self.policy.attempts:
            return None
        if answer.error_code == ACCOUNT and not self.policy.account_too:
            return None
        cost_tokens = self.policy.after(kind).cost_tokens
        if self.policy.quota_tokens and not client.quota.take(cost_tokens):
            return None
        call.paid_tokens = cost_tokens
        asked_ms = answer.retry_after or ""
        asked_s = int(asked_ms) / 1000 if asked_ms.isdecimal() else None
        return self.policy.pause_s(call.attempts, self._chance, kind=kind, asked_s=asked_s)

    def _of(self, call: RetriedCall) -> _Client:
        return self._clients[call.client % len(self._clients)]


def kind_of(answer: Answer) -> Failure | None:
    """As what an SDK sends an answer again; None: it does not."""
    if answer.accepted or answer.failure in (CREDENTIALS, *TAKEN):
        return None
    if answer.failure is not None:
        return "timeout" if answer.failure == TIMEOUT else "transient"
    if answer.error_code in THROTTLES:
        return "throttle"
    transient = answer.error_code in TRANSIENT or answer.status in TRANSIENT_STATUS
    return "transient" if transient else None


def given_up(answer: Answer) -> bool:
    """Whether a call ended throttled, or with what an SDK would send again were attempts or quota left."""
    return answer.throttled or kind_of(answer) is not None
