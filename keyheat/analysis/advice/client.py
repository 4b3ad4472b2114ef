"""A client's setting as advice: a peak that is soon over may be carried by the SDK's retries alone."""

from collections.abc import Sequence
from typing import Final

from keyheat.analysis.advice.rerun import Rerun
from keyheat.analysis.run_result import STILL_S
from keyheat.model.retries import CLIENTS, policy_named
from keyheat.numbers import milliseconds, some
from keyheat.runs.formats import Label, Recommendation
from keyheat.simulator.retrying import RetriedRun, TooManyRequests, demand_of, retried

MOST_REQUESTS: Final = 120_000
"""Each is asked by itself: some seconds of work."""
TRIED: Final = ("boto3-2026", "boto3-2026-adaptive")
"""The modes that the SDKs share, the usual one first."""
SOON_S: Final = 10.0
"""That p99 of the answers may take, and what is left when the load is over: nobody waits longer for one."""


def client_setting(rerun: Rerun, labels: Sequence[Label], ended_s: float) -> Recommendation | None:
    """Retries that lose nothing and are soon through, tried on the simulator; None where there are none.

    Only of a load whose throttling ended while it went on: what stays above a limit is carried by no retry.
    """
    scenario = rerun.scenario
    if not rerun.by_schedule or scenario.client.sdk != "none":
        return None
    if max(label.end.timestamp() for label in labels) > ended_s - STILL_S:
        return None
    try:
        demand = demand_of(scenario, traffic=rerun.traffic(None), most=MOST_REQUESTS)
    except TooManyRequests:
        return None
    for name in TRIED:
        run = retried(scenario, demand, policy_named(name), clients=CLIENTS)
        slowest_s = run.within_s(0.99)
        through_s = len(run.attempts_per_s) - run.load_s
        if run.requests == run.accepted and slowest_s is not None and max(slowest_s, through_s) <= SOON_S:
            return _advised(run, slowest_s)
    return None


def _advised(run: RetriedRun, slowest_s: float) -> Recommendation:
    again = some(run.attempts - run.requests, "further attempt")
    return Recommendation(
        action="client_retries",
        kind="mitigation",
        why="The throttling ends by itself, so what is refused has only to be sent again. That costs no "
        "capacity, and needs no other key.",
        expected=f"With the policy {run.policy.name} ({run.policy.says}) none of "
        f"{some(run.requests, 'request')} is given up, for {again} "
        f"and a p99 response time of {milliseconds(slowest_s * 1000)}; simulated with {CLIENTS} clients. "
        "`keyheat retries` compares others.",
    )
