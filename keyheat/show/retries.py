"""What retries make of throttling: the answer, in words and tables."""

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any, Final

from keyheat.model.retries import QUOTA_TOKENS
from keyheat.numbers import NOTHING, measured, milliseconds, percent, rate, some, span, whole
from keyheat.scenario.scenario import Scenario
from keyheat.show.answer import Answer, Fact, Figure, Table
from keyheat.simulator.requests import SERVICE_S
from keyheat.simulator.retrying import (
    LONGEST_TAIL_S,
    RetriedRun,
    best_of,
    feeds_on_itself,
    recovery_s,
    usual_of,
)
from keyheat.terms import (
    ADAPTIVE_MODE,
    AMPLIFICATION,
    CONFLICT,
    DEMAND,
    GIVEN_UP,
    GOODPUT,
    MEANINGS,
    P50,
    P99,
    RETRY_QUOTA,
    titled,
)

Runs = Sequence[RetriedRun]
READING: Final = (
    *((titled(term), MEANINGS[term]) for term in (GOODPUT, GIVEN_UP, CONFLICT, RETRY_QUOTA, ADAPTIVE_MODE)),
    ("Attempts", MEANINGS[AMPLIFICATION]),
    ("Calm from", "The second of the run from which on nothing was throttled any more."),
    ("Recovers", "How much longer than under the demand alone something was throttled."),
    ("Feeds on itself", "Retries are throttled when the demand alone would be throttled no more."),
)


def retries_answer(
    scenario: Scenario, runs: Runs, clients: int, assumed: tuple[str, ...] = (), *, drawn: bool = False
) -> Answer:
    """The answer over a demand under several policies, the first of which does not retry.

    Only one that is `drawn` has figures, which take plotly.
    """
    usual = usual_of(runs)
    return Answer(
        title=scenario.name,
        label=_label(runs, usual),
        tone="none" if usual.accepted == usual.requests else "undetermined",
        sentence=sentence_of(runs),
        context=f"simulated · {some(clients, 'client')} · {span(usual.load_s)} of load",
        facts=tuple(_facts(runs, usual)),
        tables=(_table(runs), _policies(runs)),
        figures=_figures(runs) if drawn else (),
        notes=(*assumed, *found_in(runs), *_worked_out(scenario, clients)),
        reading=READING,
        data={"question": "retries", "scenario": scenario.name, "clients": clients, "policies": _data(runs)},
    )


def _figures(runs: Runs) -> tuple[Figure, ...]:
    from keyheat.show.retry_figures import fates_figure, response_figure, time_figures

    return (fates_figure(runs), *response_figure(runs), *time_figures(runs))


def _data(runs: Runs) -> list[dict[str, Any]]:
    """Every policy for programs; times in seconds."""
    numbers = (
        "requests", "accepted", "given_up", "given_up_share", "quota_ran_out", "waiting", "conflicts",
        "attempts", "amplification", "goodput_per_s", "units", "load_s", "calm_from_s", "attempts_per_s",
        "throttled_per_s", "conflicts_per_s",
    )  # fmt: skip
    return [
        {
            "sdk": run.policy.name,
            "says": run.policy.says,
            **{name: getattr(run, name) for name in numbers},
            "p50_s": run.within_s(0.5),
            "p99_s": run.within_s(0.99),
            "recovery_s": recovery_s(run, runs[0]),
            "feeds_on_itself": feeds_on_itself(run, runs[0]),
        }
        for run in runs
    ]


def _label(runs: Runs, usual: RetriedRun) -> str:
    if runs[0].calm_from_s:
        return f"{_given_up(usual)} {GIVEN_UP}".capitalize()
    return f"{some(usual.conflicts, CONFLICT)}, no throttles" if usual.conflicts else "No throttles"


def _given_up(run: RetriedRun) -> str:
    return percent(run.given_up_share) if run.given_up else "none"


def sentence_of(runs: Runs) -> str:
    """The verdict: what the usual policy loses, and what the one that loses least makes of it."""
    return f"{_of_throttles(runs)}{_of_conflicts(runs[0])}"


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
    said = f"With {name} {_lost(usual)} of {some(usual.requests, 'request')} {are} given up"
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


def _lost(run: RetriedRun) -> str:
    if not run.waiting:
        return _given_up(run)
    left = percent(run.lost / run.requests)
    return f"{left}, given up or still waiting {span(LONGEST_TAIL_S)} after the load"


def _longer(usual: RetriedRun, best: RetriedRun) -> str:
    """How much longer the slowest hundredth waits."""
    before, after = usual.within_s(0.99), best.within_s(0.99)
    if not before or after is None:
        return f"{duration(after)} at p99"
    return f"{duration(after)} at p99 instead of {duration(before)}"


def duration(seconds: float | None) -> str:
    """A response time."""
    return milliseconds(None if seconds is None else round(seconds, 4) * 1000)


def _facts(runs: Runs, usual: RetriedRun) -> Iterator[Fact]:
    """The usual policy beside no retries and the best one; and what is asked of the table at most."""
    none, best, of = runs[0], best_of(runs), usual.policy.name
    demand = f"{rate(none.requests / none.load_s, 'requests')} {DEMAND}"
    yield Fact(
        name=f"{titled(GOODPUT)}, with {of}", value=rate(usual.goodput_per_s, "requests"), beside=(demand,)
    )
    slowest = f"{duration(best.within_s(0.99))} with {best.policy.name}"
    beside = slowest if best is not usual else f"{P50} {duration(usual.within_s(0.5))}"
    yield Fact(name=f"{P99}, with {of}", value=duration(usual.within_s(0.99)), beside=(beside,))
    if not none.calm_from_s:
        return
    asks, longest = max(runs, key=attrgetter("amplification")), max(runs, key=attrgetter("calm_from_s"))
    most = f"x {measured(asks.amplification)}"
    yield Fact(name=f"{titled(AMPLIFICATION)}, at most", value=most, beside=(f"with {asks.policy.name}",))
    alone = (f"with {longest.policy.name}; {none.calm_from_s} s without retries",)
    said = alone if longest is not none else ("without retries",)
    yield Fact(name="Calm from, at the latest", value=f"{longest.calm_from_s} s", beside=said)


def _table(runs: Runs) -> Table:
    met = any(run.conflicts for run in runs)
    rows = ({name: cell for name, cell in row_of(run).items() if met or name != CONFLICT} for run in runs)
    return Table(title="Policy by policy", rows=tuple(rows))


def row_of(run: RetriedRun) -> dict[str, str]:
    """What a policy makes of the requests."""
    return {
        "SDK": run.policy.name,
        GOODPUT: rate(run.goodput_per_s, "").replace(" /s", "/s"),
        "attempts": f"x {measured(run.amplification)}",
        GIVEN_UP: _given_up(run),
        CONFLICT: whole(run.conflicts),
        P50: duration(run.within_s(0.5)),
        P99: duration(run.within_s(0.99)),
        "calm from": f"{run.calm_from_s} s" if run.calm_from_s else "always",
    }


def _policies(runs: Runs) -> Table:
    """What each policy makes of a throttling that would be over, and what it is."""
    rows = [
        {"SDK": run.policy.name, **_afterwards(run, runs[0]), "what it does": run.policy.says} for run in runs
    ]
    return Table(title="Policies", rows=tuple(rows))


def _afterwards(run: RetriedRun, none: RetriedRun) -> dict[str, str]:
    if run is none or not none.calm_from_s:
        return {"recovers": NOTHING, "feeds on itself": NOTHING}
    later_s = recovery_s(run, none)
    feeds = "yes" if feeds_on_itself(run, none) else "no"
    return {"recovers": span(later_s) if later_s else "at once", "feeds on itself": feeds}


def found_in(runs: Runs) -> Iterator[str]:
    """Where throttling feeds on itself, and what the adaptive mode holds back."""
    none, *others = runs
    for run in others:
        if feeds_on_itself(run, none):
            yield (
                f"{run.policy.name}: throttling goes on for {span(recovery_s(run, none))} after the demand "
                "alone would be throttled no more; it feeds on "
                f"{some(run.attempts - run.requests, 'retry', 'retries')}."
            )
    for run in others:
        if run.policy.limits_rate and none.calm_from_s:
            yield (
                f"{run.policy.name} holds requests back: those that it brings through take "
                f"{duration(run.within_s(0.5))} at {P50} and {duration(run.within_s(0.99))} at {P99}; its "
                f"last throttle comes {run.calm_from_s} s after the beginning."
            )


def _worked_out(scenario: Scenario, clients: int) -> Iterator[str]:
    """How the answer was found, and what it leaves out."""
    tokens = scenario.client.quota_tokens
    own = "" if tokens is None else f", the scenario's own with {f'{tokens:g}' if tokens else 'none'}"
    yield (
        f"The demand of {scenario.name}, request by request on the simulator; {some(clients, 'client')}, "
        f"each with a retry quota of {QUOTA_TOKENS:.0f} tokens{own} (--clients N). An attempt takes "
        f"{duration(SERVICE_S)}; response times are from when a request was due to its answer, "
        "goodput is while the load lasts."
    )
    if any(task.operation.startswith(("batch", "transact")) for task in scenario.tasks):
        yield "What a batch hands back, and transactions that are cancelled, are sent again by no SDK."
