"""A plan as Markdown for a pull request: what is too little, what each part is asked for, what it costs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from keyheat.numbers import UNITS, measured, rate, span, whole
from keyheat.plan.charges import provisioned_month
from keyheat.plan.plan import ScenarioPlan
from keyheat.plan.prices import MONTH_S, consumed_dollars
from keyheat.plan.quotas import GivenCapacity, given_to
from keyheat.plan.totals import LoadTotals, SideTotals
from keyheat.runfiles import write_atomically
from keyheat.scenario.spec.tables import AutoScalingSpec
from keyheat.terminal.plan_words import capacity_of, dollars, shortly, warnings_of_design
from keyheat.terms import DEMAND
from keyheat.words import LIMITS, Direction, plain_in_markdown

DECIMALS_FROM: Final = 100  # dollars a month from which cents are noise


def write_plan_markdown(path: Path, plan: ScenarioPlan) -> None:
    """Write the file, whole or not at all. Raises `CannotWrite`."""
    body = plan_markdown(plan).encode()
    write_atomically(path, lambda file: file.write(body))


def plan_markdown(plan: ScenarioPlan) -> str:
    """The whole text."""
    return "\n".join(_parts(plan)) + "\n"


def _parts(plan: ScenarioPlan) -> Iterator[str]:
    scenario, load = plan.scenario, plan.forecast
    yield f"### Keyheat: {plain_in_markdown(scenario.name)}, {_headline(plan)}\n"
    yield f"{plain_in_markdown(scenario.question)}\n"
    found = [shortly(plan, warning) for warning in warnings_of_design(plan)]
    if found:
        yield from (f"- {plain_in_markdown(warning)}" for warning in found)
        yield ""
    if plan.sent is not None:
        yield from _asked(plan, plan.sent)
    yield from _cost(plan)
    peak, unit = measured(load.target.peak_per_s), load.unit
    yield (
        f"<sub>Planned for {peak} {unit}/s at the peak over {span(load.duration_s)}; nothing was sent. "
        "Retries and splits are not in it: `keyheat simulate` plays those.</sub>"
    )


def _headline(plan: ScenarioPlan) -> str:
    """The verdict in a few words: the limits that are asked for more than they have."""
    if plan.sent is None:
        return "of which it is not known what it sends"
    limits = list(dict.fromkeys(f"{LIMITS[one.constraint]} ({one.name})" for one in plan.foretold))
    if not limits:
        return "over quota" if plan.over_quota else "no part of the table is asked for more than it has"
    return f"throttled by {plain_in_markdown(shortly(plan, ' and '.join(limits)))}"


def _asked(plan: ScenarioPlan, sent: LoadTotals) -> Iterator[str]:
    given = {(one.table, one.index): one for one in given_to(plan.scenario)}
    yield f"| {DEMAND} on | mean/s | peak/s | has | auto scaling | hottest partition |"
    yield "|---|---:|---:|---:|---|---:|"
    for side, asked in sent.sides.items():
        demand, owner = asked.demand(sent.duration_s), given[side.table, side.index]
        cells = (
            f"{shortly(plan, owner.name)}, {side.unit}",
            measured(demand.mean_per_s),
            measured(demand.peak_per_s),
            capacity_of(owner, side.direction, plan.scale),
            _scaling(plan, owner, side.direction),
            _hottest(asked),
        )
        yield f"| {' | '.join(plain_in_markdown(cell) for cell in cells)} |"
    yield ""


def _hottest(asked: SideTotals) -> str:
    hottest = asked.hottest
    if hottest is None:
        return ""
    over = ", too hot" if hottest.over else ""
    return (
        f"{measured(hottest.asked_per_s)} of {whole(hottest.ceiling_per_s)} (of {hottest.partitions:,}){over}"
    )


def _scaling(plan: ScenarioPlan, given: GivenCapacity, direction: Direction) -> str:
    """What auto scaling does to one side of a table or index of the scenario's own table."""
    table = plan.scenario.table
    if given.starts_on_demand or given.table != table.name:
        return ""
    index = next((one for one in table.indexes if one.name == given.index), None)
    spec: AutoScalingSpec | None = index.auto_scaling if index else table.auto_scaling
    policy = spec.sides().get(direction.value) if spec else None
    return f"{whole(policy.min)} to {whole(policy.max)} at {policy.target:.0%}" if policy else "none"


def _cost(plan: ScenarioPlan) -> Iterator[str]:
    """Dollars a month of the table, if this load went on around the clock, in both modes."""
    prices, said = plan.bill.prices, []
    provisioned = provisioned_month(plan.scenario.table, prices)
    if provisioned is not None:
        said.append(f"{_monthly(provisioned)} a month for what is provisioned")
    if plan.sent is not None:
        units = {side: _mean_per_s(plan.sent, side) / plan.scale * MONTH_S for side in Direction}
        consumed = consumed_dollars(
            prices.on_demand,
            write_units=units[Direction.WRITE] * plan.scenario.table.copies,
            read_units=units[Direction.READ],
        )
        asked = " and ".join(
            rate(_mean_per_s(plan.sent, side), UNITS[side]) for side in (Direction.WRITE, Direction.READ)
        )
        said.append(
            f"{_monthly(consumed)} a month on demand, if the mean of {asked} went on around the clock"
        )
    if said:
        yield f"**Cost**: {'; '.join(said)} ({prices.shown}).\n".replace("$", r"\$")


def _mean_per_s(sent: LoadTotals, direction: Direction) -> float:
    return sum(
        asked.demand(sent.duration_s).mean_per_s
        for side, asked in sent.sides.items()
        if side.direction is direction
    )


def _monthly(amount: float) -> str:
    return f"${amount:,.0f}" if amount >= DECIMALS_FROM else dollars(amount)
