"""The checks. Each takes a scenario file, a scenario, its parts in Python, or requests that were recorded.

They return nothing where it is so, and raise `CheckFailed` where it is not; `ScenarioError`, a `ValueError`,
says every mistake in a scenario, and `TypeError` an unknown option. Beside its own numbers each
takes `keyheat.testing.subject.CheckOptions`. All run on the simulator, with a seed: the same every time.
"""

from dataclasses import replace
from math import inf
from typing import Unpack, get_args

from keyheat.model.resources import Cause
from keyheat.numbers import UNITS, measured, percent
from keyheat.scenario.variants import with_shards
from keyheat.simulator.flow import Flow
from keyheat.simulator.search import outcome_of
from keyheat.simulator.simulate import Simulation
from keyheat.simulator.traffic import Change, spread_traffic
from keyheat.simulator.whatif import smallest_shards
from keyheat.testing.failure import diagnosed, failed
from keyheat.testing.subject import CheckOptions, Source, asked_of
from keyheat.words import Constraint, Direction, DirectionName, label_of, whose


def assert_no_hot_partition(source: Source | None = None, /, **options: Unpack[CheckOptions]) -> None:
    """No request meets the limit of a partition, of the table or of an index."""
    __tracebackhide__ = True
    sent = asked_of(source, options)
    simulation = sent.simulated()
    if any(refusal.cause is Cause.KEY_RANGE for refusal in outcome_of(simulation).limits):
        raise failed("no hot partition", sent, simulation)


def assert_no_throttles(
    source: Source | None = None, /, *, at_most: float = 0.0, **options: Unpack[CheckOptions]
) -> None:
    """No attempt is throttled, for whatever reason; or a share of at most `at_most` of them, from 0 to 1."""
    __tracebackhide__ = True
    require_share(at_most)
    sent = asked_of(source, options)
    simulation = sent.simulated()
    if _over(simulation, at_most):
        allowed = f"at most {percent(at_most)} throttled" if at_most else "no throttles"
        raise failed(allowed, sent, simulation)


def assert_label(
    source: Source | None = None, /, *, label: Constraint, **options: Unpack[CheckOptions]
) -> None:
    """The analyzer labels the run so: partition, table, max_on_demand, account, undetermined or none."""
    __tracebackhide__ = True
    labels = get_args(Constraint)
    _require(label in labels, f"label is one of {', '.join(labels)}, not {label!r}")
    sent = asked_of(source, options)
    simulation = sent.simulated()
    constraint = diagnosed(sent, simulation).diagnosis.verdict.constraint
    if constraint != label:
        because = f"The label is {constraint}, and should be {label}."
        raise failed(f"label {label}", sent, simulation, because=because)


def assert_shards_suffice(
    source: Source | None = None, /, *, shards: int, at_most: float = 0.001, **options: Unpack[CheckOptions]
) -> None:
    """With this number of shards of every hot key, or fewer, at most `at_most` of attempts are throttled."""
    __tracebackhide__ = True
    _require(shards >= 1, f"shards is a whole number from 1 on, not {shards}")
    require_share(at_most)
    sent = asked_of(source, options)
    if not sent.ours:
        raise ValueError("shards are searched for a scenario; recorded requests have the keys that they have")
    scenario = sent.scenario.model_copy(update={"seed": sent.seed})
    search = smallest_shards(scenario, share_most=at_most, burst=sent.burst, folder=sent.folder)
    answer = search.answer
    if answer is not None and answer.value <= shards:
        return
    enough = f"{answer.value} are" if answer else f"not even {search.question.within.most} are"
    because = f"{shards} shards are not enough: {enough}, for at most {percent(at_most)} throttled."
    if any(step.value == shards and step.holds for step in search.in_order):
        because += f" With {shards} it is luck that no two of them share a partition."
    spread = with_shards(sent.scenario, shards)
    tried = replace(
        sent,
        scenario=spread,
        named=f"{sent.named} with {shards} shards",
        traffic=lambda: spread_traffic(spread, sent.seed, sent.folder)[0],
    )
    raise failed(f"{shards} shards suffice", tried, tried.simulated(), because=because)


def assert_units_per_operation(
    source: Source | None = None,
    /,
    *,
    at_most: float,
    direction: DirectionName = "write",
    **options: Unpack[CheckOptions],
) -> None:
    """An accepted operation consumes at most `at_most` units in the mean, those of indexes included."""
    __tracebackhide__ = True
    _require(at_most >= 0, f"at_most is a number of units, not {at_most}")
    _require(direction in UNITS, f"direction is one of {', '.join(UNITS)}, not {direction!r}")
    side, check = Direction(direction), f"at most {measured(at_most)} {UNITS[direction]} per {direction}"
    sent = asked_of(source, options)
    simulation = sent.simulated()
    outcome = outcome_of(simulation)
    accepted = outcome.attempts[side] - outcome.throttled[side]
    if not accepted:
        because = f"No {direction} was accepted, so what one costs is not known."
        raise failed(check, sent, simulation, because=because)
    units = outcome.consumed_per_s(side) * outcome.seconds / accepted
    if units > at_most * (1 + 1e-9):
        parts = [
            f"{measured(per_s * outcome.seconds / accepted)} on {whose(label_of(index))}"
            for (index, of_side), per_s in outcome.accepted_per_s.items()
            if of_side is side and per_s
        ]
        because = (
            f"A {direction} consumes {measured(units)} {UNITS[direction]} in the mean, and may consume "
            f"{measured(at_most)}: {', '.join(parts)}."
        )
        raise failed(check, sent, simulation, because=because)


def assert_headroom(
    source: Source | None = None, /, *, times: float, at_most: float = 0.0, **options: Unpack[CheckOptions]
) -> None:
    """The same demand `times` over is still not throttled, or at most a share `at_most` of it."""
    __tracebackhide__ = True
    _require(0 < times < inf, f"times is a number above 0, not {times}")
    require_share(at_most)
    sent = asked_of(source, options)
    simulation = sent.simulated(_times(times))
    if not _over(simulation, at_most):
        return
    because = f"At {measured(times)} times the demand requests are throttled."
    loaded = replace(sent, named=f"{measured(times)} times {sent.named}")
    raise failed(f"headroom for {measured(times)} times the demand", loaded, simulation, because=because)


def require_share(at_most: float) -> None:
    """Raise `ValueError` for what is no share: nothing is above NaN or 5, so that no check could fail."""
    __tracebackhide__ = True
    _require(0.0 <= at_most <= 1.0, f"at_most is a share from 0 to 1, not {at_most}")


def _require(holds: bool, message: str) -> None:
    __tracebackhide__ = True
    if not holds:
        raise ValueError(message)


def _over(simulation: Simulation, at_most: float) -> bool:
    outcome = outcome_of(simulation)
    return outcome.share() > at_most or (not at_most and bool(outcome.limits))


def _times(factor: float) -> Change:
    def change(flow: Flow) -> Flow:
        return replace(flow, requests=flow.requests * factor)

    return change
