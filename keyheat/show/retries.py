"""The answer on retries: what they change about throttling, and what becomes of the requests."""

from collections.abc import Iterator, Sequence
from typing import Final

from keyheat.model.retries import QUOTA_TOKENS
from keyheat.numbers import NOTHING, measured, milliseconds, percent, rate, some, span, whole
from keyheat.scenario.scenario import Scenario
from keyheat.show.answer import Answer, Table
from keyheat.simulator.requests import SERVICE_S
from keyheat.simulator.retrying import (
    LONGEST_TAIL_S,
    RetriedRun,
    best_of,
    feeds_on_itself,
    recovery_s,
    usual_of,
)
from keyheat.terms import CONFLICT, GIVEN_UP, GOODPUT, P50, P99

Runs = Sequence[RetriedRun]
NUMBERS: Final = (
    "requests", "accepted", "given_up", "given_up_share", "quota_ran_out", "waiting", "conflicts", "attempts",
    "amplification", "goodput_per_s", "units", "load_s", "calm_from_s", "attempts_per_s", "throttled_per_s",
    "conflicts_per_s",
)  # fmt: skip


def retries_answer(scenario: Scenario, runs: Runs, clients: int, assumed: tuple[str, ...] = ()) -> Answer:
    """Compare retry policies under one demand; the first policy never retries."""
    none, usual, load_s = runs[0], usual_of(runs), runs[0].load_s
    demand = rate(runs[0].requests / load_s, "requests")
    return Answer(
        title=scenario.name,
        label=_label(runs, usual),
        tone="none" if usual.accepted == usual.requests else "undetermined",
        sentence=sentence_of(runs),
        context=f"simulated · {some(clients, 'client')} · {span(load_s)} of {demand}",
        tables=(Table(title="Policy by policy", rows=tuple(_rows(runs))),),
        notes=(*assumed, *found_in(runs), *_worked_out(scenario, clients)),
        data={
            "question": "retries", "scenario": scenario.name, "clients": clients,
            "policies": [
                {
                    "sdk": run.policy.name, "says": run.policy.says,
                    **{name: getattr(run, name) for name in NUMBERS},
                    "p50_s": run.within_s(0.5), "p99_s": run.within_s(0.99),
                    "recovery_s": recovery_s(run, none), "feeds_on_itself": feeds_on_itself(run, none),
                }
                for run in runs
            ],
        },
    )  # fmt: skip


def _label(runs: Runs, usual: RetriedRun) -> str:
    if runs[0].calm_from_s:
        return f"{_given_up(usual)} {GIVEN_UP}".capitalize()
    return f"{some(usual.conflicts, CONFLICT)}, no throttles" if usual.conflicts else "No throttles"


def _given_up(run: RetriedRun) -> str:
    return percent(run.given_up_share) if run.given_up else "none"


def sentence_of(runs: Runs) -> str:
    """Compare what the usual policy loses with the policy that loses least; conflicts are never resent."""
    conflicts = runs[0].conflicts
    cancelled = (
        f" {percent(conflicts / runs[0].requests)} of the requests are cancelled for a {CONFLICT} with "
        "another transaction on the same item; no SDK sends those again."
    )
    return _of_throttles(runs) + (cancelled if conflicts else "")


def _of_throttles(runs: Runs) -> str:
    none, *others = runs
    if not none.calm_from_s:
        accepted = f"{whole(none.accepted)} of" if none.conflicts else "all"
        requests = f"{accepted} {whole(none.requests)} requests"
        return f"Nothing is throttled, so no client retries: {requests} are accepted."
    if not others:
        return f"Without retries {percent(none.given_up_share)} of the requests are given up."
    usual, best = usual_of(runs), best_of(runs)
    name = usual.policy.name + ("," if "," in usual.policy.name else "")  # "quota 50 3 %" is one number
    are = "is" if usual.given_up == 1 else "are"
    lost = f"With {name} {_lost(usual)} of {some(usual.requests, 'request')} {are} given up"
    if usual.quota_ran_out:
        lost += f", {percent(usual.quota_ran_out / usual.given_up)} of them because the retry quota ran out"
    if best is usual:
        return f"{lost}; no policy that was tried loses fewer."
    either = "" if usual.lost else " either"
    slowest, before = duration(best.within_s(0.99)), duration(usual.within_s(0.99))
    instead = "" if before == NOTHING else f" instead of {before}"
    return f"{lost}; {best.policy.name} loses {_lost(best)}{either}, and takes {slowest} at p99{instead}."


def _lost(run: RetriedRun) -> str:
    if not run.waiting:
        return _given_up(run)
    lost = percent(run.lost / run.requests)
    return f"{lost}, given up or still waiting {span(LONGEST_TAIL_S)} after the load"


def duration(seconds: float | None) -> str:
    """A response time."""
    return milliseconds(None if seconds is None else round(seconds, 4) * 1000)


def _rows(runs: Runs) -> Iterator[dict[str, str]]:
    """Each policy's results."""
    conflicts = any(run.conflicts for run in runs)
    for run in runs:
        yield {
            "SDK": run.policy.name,
            GOODPUT: rate(run.goodput_per_s, "").replace(" /s", "/s"),
            "attempts": f"x {measured(run.amplification)}",
            GIVEN_UP: _given_up(run),
            **({CONFLICT: whole(run.conflicts)} if conflicts else {}),
            P50: duration(run.within_s(0.5)),
            P99: duration(run.within_s(0.99)),
            "calm from": f"{run.calm_from_s} s" if run.calm_from_s else "always",
        }


def found_in(runs: Runs) -> Iterator[str]:
    """Note policies whose retries sustain throttling."""
    none, *others = runs
    for run in others:
        if feeds_on_itself(run, none):
            yield (
                f"{run.policy.name}: throttling goes on for {span(recovery_s(run, none))} longer than the "
                f"demand alone would cause; {some(run.attempts - run.requests, 'retry', 'retries')} sustain "
                "it."
            )


def _worked_out(scenario: Scenario, clients: int) -> Iterator[str]:
    """Explain the method and its limits."""
    tokens = scenario.client.quota_tokens
    of_scenario = "" if tokens is None else f", the scenario's own with {f'{tokens:g}' if tokens else 'none'}"
    yield (
        f"The demand of {scenario.name}, request by request on the simulator; {some(clients, 'client')}, "
        f"each with a retry quota of {QUOTA_TOKENS:.0f} tokens{of_scenario} (--clients N). An attempt takes "
        f"{duration(SERVICE_S)}; response times are from when a request was due to its answer, "
        "goodput is while the load lasts."
    )
    if any(task.operation.startswith(("batch", "transact")) for task in scenario.tasks):
        yield "No SDK resends the unprocessed items of a batch, or a cancelled transaction."
