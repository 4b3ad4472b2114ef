"""Retries of the client that carry a run's throttles, as the policy model has them: a setting, not a change.

Only of a load whose throttling ended while it went on: what stays above a limit is carried by no retry.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from keyheat.analysis.advice.rerun import Rerun
from keyheat.analysis.run_result import STILL_S
from keyheat.model.retries import CLIENTS, Mode, RetryPolicy, modes_of, policy_named, policy_of
from keyheat.numbers import milliseconds, percent, some
from keyheat.runs.formats import Label, Recommendation
from keyheat.scenario.spec.client import ClientSpec
from keyheat.simulator.retrying import RetriedRun, TooManyRequests, demand_of, retried

MOST_REQUESTS: Final = 120_000
"""Each is asked by itself: some seconds of work."""
TRIED: Final = ("boto3-2026", "boto3-2026-adaptive")
"""The modes that the SDKs share, the usual one first."""
MODES: Final[tuple[Mode, ...]] = ("standard", "adaptive")
MORE_ATTEMPTS: Final = 2
"""Times the attempts that a client has: each pause is longer than the one before."""
SOON_S: Final = 10.0
"""That p99 of the answers may take, and what is left when the load is over: nobody waits longer for one."""


def client_setting(rerun: Rerun, labels: Sequence[Label], ended_s: float) -> Recommendation | None:
    """Retries that lose nothing and are soon through; None where the client has such, or none are."""
    scenario = rerun.scenario
    client = scenario.client
    unknown = client.sdk == "none" and rerun.retried_requests  # with the SDK that was installed
    if not rerun.by_schedule or unknown:
        return None
    if max(label.end.timestamp() for label in labels) > ended_s - STILL_S:
        return None
    try:
        demand = demand_of(scenario, traffic=rerun.traffic(), most=MOST_REQUESTS)
    except TooManyRequests:
        return None
    clients = CLIENTS if client.sdk == "none" else client.clients

    def tried(policy: RetryPolicy) -> "_Trial":
        return _Trial(retried(scenario, demand, policy, clients=clients), clients)

    return _first(tried) if client.sdk == "none" else _instead(client, tried)


@dataclass(frozen=True, slots=True)
class _Trial:
    """A demand under one policy, and what its callers would say of it."""

    run: RetriedRun
    clients: int

    @property
    def slowest_s(self) -> float | None:
        """The response time within which 99 % of the accepted requests lay."""
        return self.run.within_s(0.99)

    @property
    def carries(self) -> bool:
        """Whether nothing is lost, and all of it is soon through."""
        run, slowest_s = self.run, self.slowest_s
        through_s = len(run.attempts_per_s) - run.load_s
        return run.requests == run.accepted and slowest_s is not None and max(slowest_s, through_s) <= SOON_S

    @property
    def lacks(self) -> str:
        """What its callers miss, where it does not carry the demand."""
        run = self.run
        if run.given_up:
            return f"{percent(run.given_up_share)} of {some(run.requests, 'request')} are given up"
        return f"the p99 response time is {milliseconds((self.slowest_s or 0.0) * 1000)}"

    @property
    def gives(self) -> str:
        """What comes of it, where it does."""
        run = self.run
        again = some(run.attempts - run.requests, "further attempt")
        clients = some(self.clients, "client")
        return (
            f"With the policy {run.policy.name} ({run.policy.says}) none of {some(run.requests, 'request')} "
            f"is given up, for {again} and a p99 response time of "
            f"{milliseconds((self.slowest_s or 0.0) * 1000)}; simulated with {clients}. "
            "`keyheat whatif NAME retries` compares others."
        )


def _first(tried: Callable[[RetryPolicy], _Trial]) -> Recommendation | None:
    """Retries for a client that sends everything once."""
    trial = next((one for name in TRIED if (one := tried(policy_named(name))).carries), None)
    if trial is None:
        return None
    return Recommendation(
        action="client_retries",
        kind="mitigation",
        why="The throttling ends by itself, so what is refused has only to be sent again. That costs no "
        "capacity, and needs no other key.",
        expected=trial.gives,
    )


def _instead(client: ClientSpec, tried: Callable[[RetryPolicy], _Trial]) -> Recommendation | None:
    """Other retries of the same SDK, for a client whose own do not carry it."""
    own = tried(client.policy)
    if own.carries:
        return None
    trial = next((one for policy in _others(client, own.run) if (one := tried(policy)).carries), None)
    if trial is None:
        return None
    return Recommendation(
        action="change_retries",
        kind="mitigation",
        why=f"The throttling ends by itself, but the client's retries do not carry it: {own.lacks} "
        f"({client.policy.name}, simulated). Another setting of the same SDK costs no capacity, and needs no "
        "other key.",
        expected=trial.gives,
    )


def _others(client: ClientSpec, own: RetriedRun) -> Iterator[RetryPolicy]:
    """What may be set instead: more attempts, where it was not the quota that ran out; then another mode."""
    if own.given_up and not own.quota_ran_out:
        usual = policy_of(client.sdk, mode=client.mode).attempts
        for attempts in (usual, MORE_ATTEMPTS * own.policy.attempts):
            if attempts > own.policy.attempts:
                yield client.model_copy(update={"attempts": attempts}).policy
    for mode in MODES:
        if mode in modes_of(client.sdk):
            policy = client.model_copy(update={"mode": mode}).policy
            if policy != own.policy:
                yield policy
