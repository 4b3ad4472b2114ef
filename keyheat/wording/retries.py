"""What retries make of a demand: a sentence, a row for each policy, and both for programs."""

from collections.abc import Sequence
from typing import Any, Final

from keyheat.model.retries import QUOTA_TOKENS
from keyheat.numbers import measured, milliseconds, percent, rate, some, span, whole
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.clients import SERVICE_S
from keyheat.simulator.retrying import LONGEST_TAIL_S, RetriedRun
from keyheat.terms import CONFLICT, P50, P99

FORMAT: Final = "keyheat.retries/1"
COLUMNS: Final = ("SDK", "goodput", "attempts", "given up", "p50", "p99", "calm from")
TAIL: Final = span(LONGEST_TAIL_S)
NOTABLE: Final = 0.01  # retries for each request, from which throttling is said to feed on them


def sentence_of(runs: Sequence[RetriedRun]) -> str:
    """The verdict: what the usual policy loses, and what the one that loses least makes of it."""
    return f"{_of_throttles(runs)}{_of_conflicts(runs[0])}"


def _of_throttles(runs: Sequence[RetriedRun]) -> str:
    none, *others = runs
    if not none.calm_from_s:
        accepted = f"{whole(none.accepted)} of" if none.conflicts else "all"
        requests = f"{accepted} {whole(none.requests)} requests"
        return f"Nothing is throttled, so nobody retries: {requests} are accepted."
    if not others:
        return f"Without retries {percent(none.given_up_share)} of the requests are given up."
    usual, best = usual_of(runs), best_of(runs)
    lost = _lost(usual)
    name = usual.policy.name + ("," if "," in usual.policy.name else "")  # "quota 50 3 %" is one number
    said = f"With {name} {lost} of {some(usual.requests, 'request')} {_are(usual)} given up"
    if usual.quota_ran_out:
        said += f", {percent(usual.quota_ran_out / usual.given_up)} of them for want of retry quota"
    if best is usual:
        return f"{said}; of the policies that were tried none loses fewer."
    either = "" if usual.lost else " either"
    return f"{said}; {best.policy.name} loses {_lost(best)}{either}, and takes {_longer(usual, best)}."


def _of_conflicts(run: RetriedRun) -> str:
    """What no policy changes; nothing where no transaction meets another one."""
    if not run.conflicts:
        return ""
    return (
        f" {percent(run.conflicts / run.requests)} of the requests are cancelled for a {CONFLICT} with "
        "another transaction on the same item; no SDK sends those again."
    )


def usual_of(runs: Sequence[RetriedRun]) -> RetriedRun:
    """The policy that the answer is about: the first that was tried."""
    none, *others = runs
    return [*others, none][0]


def best_of(runs: Sequence[RetriedRun]) -> RetriedRun:
    """The policy that loses least, and of several such the quickest."""
    _none, *others = runs
    return min(others or runs, key=lambda one: (one.lost, one.within_s(0.99) or 0.0))


def _are(run: RetriedRun) -> str:
    return "is" if run.given_up == 1 else "are"


def _lost(run: RetriedRun) -> str:
    if not run.waiting:
        return percent(run.given_up_share) if run.given_up else "none"
    left = percent(run.lost / run.requests)
    return f"{left}, given up or still waiting {TAIL} after the load"


def _longer(usual: RetriedRun, best: RetriedRun) -> str:
    """How much longer the slowest hundredth waits."""
    before, after = usual.within_s(0.99), best.within_s(0.99)
    if not before or after is None:
        return f"{duration(after)} at p99"
    return f"{duration(after)} at p99 instead of {duration(before)}"


def notes_of(scenario: Scenario, runs: Sequence[RetriedRun], clients: int) -> list[str]:
    """What has to be known beside the answer."""
    return [*found_in(runs), *worked_out(scenario, clients)]


def found_in(runs: Sequence[RetriedRun]) -> list[str]:
    """Where throttling feeds on itself, and what the adaptive mode holds back."""
    none, *others = runs
    said = [_feeding(one, none) for one in others if feeds_on_itself(one, none)]
    said += [
        f"{one.policy.name} holds requests back: those that it brings through take "
        f"{duration(one.within_s(0.5))} at {P50} and {duration(one.within_s(0.99))} at {P99}; its last "
        f"throttle comes {one.calm_from_s} s after the beginning."
        for one in others
        if one.policy.limits_rate and none.calm_from_s
    ]
    return said


def worked_out(scenario: Scenario, clients: int) -> list[str]:
    """How the answer was found, and what it leaves out."""
    said = [
        f"The demand of {scenario.name}, request by request on the simulator; {some(clients, 'client')}, "
        f"each with a retry quota of {QUOTA_TOKENS:.0f} tokens{_own_quota(scenario)} (--clients N). "
        "An attempt takes "
        f"{duration(SERVICE_S)}; response times are from when a request was due to its answer, "
        "goodput is while the load lasts."
    ]
    if any(task.operation.startswith(("batch", "transact")) for task in scenario.tasks):
        said.append("What a batch hands back, and transactions that are cancelled, are sent again by no SDK.")
    return said


def recovery_s(run: RetriedRun, none: RetriedRun) -> int:
    """How much longer than under the demand alone something was throttled."""
    return max(0, run.calm_from_s - none.calm_from_s)


def feeds_on_itself(run: RetriedRun, none: RetriedRun) -> bool:
    """Whether retries are throttled when the demand alone would not be.

    What the adaptive mode held back comes late of itself, few retries as there are.
    """
    many = run.attempts > (1 + NOTABLE) * run.requests
    return many and recovery_s(run, none) > 0 and not run.policy.limits_rate


def _own_quota(scenario: Scenario) -> str:
    """What the scenario itself says of its client's quota."""
    tokens = scenario.client.quota_tokens
    if tokens is None:
        return ""
    return f", the scenario's own with {f'{tokens:g}' if tokens else 'none'}"


def _feeding(run: RetriedRun, none: RetriedRun) -> str:
    longer = span(recovery_s(run, none))
    return (
        f"{run.policy.name}: throttling goes on for {longer} after the demand alone would be throttled no "
        f"more; it feeds on {some(run.attempts - run.requests, 'retry', 'retries')}."
    )


def row_of(run: RetriedRun) -> list[str]:
    """A policy's row of the table."""
    return [
        run.policy.name,
        rate(run.goodput_per_s, "").replace(" /s", "/s"),
        f"x {measured(run.amplification)}",
        percent(run.given_up_share) if run.given_up else "none",
        duration(run.within_s(0.5)),
        duration(run.within_s(0.99)),
        f"{run.calm_from_s} s" if run.calm_from_s else "always",
    ]


def duration(seconds: float | None) -> str:
    """A response time, as it is said everywhere here."""
    return milliseconds(None if seconds is None else round(seconds, 4) * 1000)


def retries_json(scenario: Scenario, runs: Sequence[RetriedRun], clients: int) -> dict[str, Any]:
    """The same for programs; times in seconds."""
    return {
        "format": FORMAT,
        "scenario": scenario.name,
        "clients": clients,
        "sentence": sentence_of(runs),
        "policies": [
            {
                "sdk": run.policy.name,
                "says": run.policy.says,
                "requests": run.requests,
                "accepted": run.accepted,
                "given_up": run.given_up,
                "given_up_share": run.given_up_share,
                "given_up_for_quota": run.quota_ran_out,
                "waiting": run.waiting,
                "conflicts": run.conflicts,
                "attempts": run.attempts,
                "amplification": run.amplification,
                "goodput_per_s": run.goodput_per_s,
                "consumed_units": run.units,
                "p50_s": run.within_s(0.5),
                "p99_s": run.within_s(0.99),
                "load_s": run.load_s,
                "throttled_until_s": run.calm_from_s,
                "recovery_s": recovery_s(run, runs[0]),
                "feeds_on_itself": feeds_on_itself(run, runs[0]),
                "attempts_per_s": run.attempts_per_s,
                "throttled_per_s": run.throttled_per_s,
                "conflicts_per_s": run.conflicts_per_s,
            }
            for run in runs
        ],
    }
