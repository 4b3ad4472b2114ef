"""A plan in a terminal: what will not be enough and what it costs, then the demand over time."""

from collections.abc import Iterator
from functools import partial

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from keyheat.numbers import measured, percent, rate, some, span, whole
from keyheat.plan.forecast import Forecast, LoadDemand, shards_needed
from keyheat.plan.plan import ScenarioPlan
from keyheat.plan.quotas import given_to
from keyheat.plan.totals import LoadTotals, OperationTotals, SideTotals
from keyheat.terminal.layout import Paragraph, Strip
from keyheat.terminal.plan_words import (
    capacity_of,
    dollars,
    exact_dollars,
    global_table,
    other_mode,
    quota_rows,
    shortly,
    warnings_of,
)
from keyheat.terms import DEMAND, titled
from keyheat.words import Direction

TICKS = "▁▂▃▄▅▆▇█"
WIDTH = 60


def picture(made: Forecast, width: int) -> Text:
    """The rate over time, in a line of bars."""
    step_s = made.duration_s / width
    rates = [made.shape.rate((number + 0.5) * step_s) for number in range(width)]
    top = made.target.peak_per_s
    return Text("".join(TICKS[round(min(1.0, per_s / top) * (len(TICKS) - 1))] for per_s in rates))


NO_SHARDS_SHARE = 0.01  # of a partition's ceiling, below which nobody asks for shards


def plan_text(plan: ScenarioPlan) -> RenderableType:
    """The whole plan, narrow enough for 80 columns."""
    made, scenario = plan.forecast, plan.scenario
    return Group(
        Text.assemble((scenario.name, "bold"), f"  {span(made.duration_s)}, {_manner(plan)}"),
        Paragraph(scenario.question),
        Text(""),
        *verdict(plan),
        Text(""),
        Text(f"{titled(DEMAND)}, {_unit(made)} per second, over the run{_extremes(made)}"),
        *([Strip(partial(picture, made), WIDTH)] if _moves(made) else []),
        _two_columns(rows_of(plan)),
        *([_sides(plan, plan.sent)] if plan.sent is not None else []),
        *_bill(plan),
        Text(""),
        _two_columns(quota_rows(plan)),
    )


def verdict(plan: ScenarioPlan) -> Iterator[RenderableType]:
    """What to know before anything else: throttles, quotas, dollars."""
    found = list(warnings_of(plan))
    if plan.sent is not None and not plan.foretold and not plan.over_quota:
        yield Paragraph("No part of the table is asked for more than it has.", style="green")
    yield from (Paragraph(f"! {shortly(plan, warning)}", style="yellow") for warning in found)
    bill = plan.bill
    yield Paragraph(
        f"At most {dollars(bill.dollars)} in AWS ({bill.prices.shown}); nothing on a local table."
    )


def rows_of(plan: ScenarioPlan) -> Iterator[tuple[str, str]]:
    """The plan as names and values."""
    made, sent = plan.forecast, plan.sent
    if made.requests is not None:
        yield "Requests", _demand(made.requests, "requests")
    if sent is not None:
        if plan.scenario.table.regions:
            yield "Global table", global_table(plan, sent)
        yield "Sends", "; ".join(_operation(plan, one, sent) for one in sent.operations)
        yield from _hot_key(plan, sent)
        return
    if made.write_units is not None:
        yield "Write units", f"{_demand(made.write_units, 'WCU')} if every request writes"
    if made.read_units is not None:
        yield "Read units", f"{_demand(made.read_units, 'RCU')} if every request reads, eventually consistent"


def _operation(plan: ScenarioPlan, one: OperationTotals, sent: LoadTotals) -> str:
    """How often an operation is sent; its items, where they are several; what each of them costs."""
    unit = "WCU" if one.direction is Direction.WRITE else "RCU"
    often = f"{measured(one.requests / sent.duration_s)}/s"
    items = one.items / one.requests if one.requests else 0.0
    several = f" of {measured(items)} items" if items > 1 + 1e-9 else ""
    where = f" of index {one.index}" if one.index else ""
    where += f" to {one.table}" if one.table != plan.scenario.table.name else ""
    return f"{one.name}{where} {often}{several}, {measured(one.units / one.items)} {unit} each"


def _hot_key(plan: ScenarioPlan, sent: LoadTotals) -> Iterator[tuple[str, str]]:
    """The key that is asked for the most of what a partition sustains, and the shards that it takes."""
    asked = max(sent.sides.values(), key=_key_share, default=None)
    if asked is None or asked.hottest is None or not asked.hottest.key_per_s:
        yield "Hottest key", "none: keys are too many to meet on one"
        return
    side, hottest, shards = asked.side, asked.hottest, plan.scenario.keys.shards
    where = f", of index {side.index}" if side.index else ""
    where += f", of table {side.table}" if side.table != plan.scenario.table.name else ""
    units, share = hottest.key_per_s * shards, percent(_key_share(asked))
    yield "Hottest key", f"{rate(units, side.unit)} at the peak{where}"
    each = "it takes" if shards == 1 else f"each of {shards:,} shards takes"
    yield "One partition", f"sustains {whole(hottest.ceiling_per_s)} {side.unit}/s: {each} {share} of that"
    if _key_share(asked) >= NO_SHARDS_SHARE:
        formula = f"ceil({whole(units)} / {whole(hottest.ceiling_per_s)})"
        needed, more = (shards_needed(units, hottest.ceiling_per_s, factor) for factor in (1.0, plan.margin))
        yield "Shards, at least", f"{formula} = {needed:,}; with a margin of {plan.margin:g}: {more:,}"
        yield "", "keyheat whatif NAME shards: how many are enough where some share a partition"


def _key_share(asked: SideTotals) -> float:
    """Of what one partition sustains, the part that the hottest key asks for."""
    return asked.hottest.key_per_s / asked.hottest.ceiling_per_s if asked.hottest is not None else 0.0


def _sides(plan: ScenarioPlan, sent: LoadTotals) -> RenderableType:
    """Every table and index: the demand on it, what it has, and its hottest partition."""
    given = {(one.table, one.index): one for one in given_to(plan.scenario)}
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    demand_on = f"{titled(DEMAND)} on"
    for name in (demand_on, "", "mean/s", "peak/s", "has", "partitions", "the hottest"):
        grid.add_column(name, justify="left" if name in (demand_on, "") else "right", overflow="fold")
    for side, asked in sent.sides.items():
        demand, hottest = asked.demand(sent.duration_s), asked.hottest
        grid.add_row(
            shortly(plan, given[side.table, side.index].name),
            side.unit,
            measured(demand.mean_per_s),
            measured(demand.peak_per_s),
            capacity_of(given[side.table, side.index], side.direction, plan.scale),
            f"{hottest.partitions:,}" if hottest else "",
            f"{measured(hottest.asked_per_s)} of {whole(hottest.ceiling_per_s)}" if hottest else "",
        )
    return Group(Text(""), grid)


def _bill(plan: ScenarioPlan) -> Iterator[RenderableType]:
    """What is paid for in AWS: every line, the sum, and the other mode."""
    bill = plan.bill
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in (f"Paid for in AWS, at most ({some(bill.hours, 'hour')} begun)", "how many", "dollars"):
        grid.add_column(name, justify="left" if name.startswith("Paid") else "right", overflow="fold")
    for line in bill.lines:
        cost = "not priced" if line.dollars is None else exact_dollars(line.dollars)
        grid.add_row(shortly(plan, line.what), f"{measured(line.quantity)} {line.unit}", cost)
    grid.add_row("together", "", exact_dollars(bill.dollars))
    yield Group(Text(""), grid)
    if (other := other_mode(bill)) is not None:
        yield Paragraph(other)


def _two_columns(rows: Iterator[tuple[str, str]]) -> Table:
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(name, value)
    return grid


def _manner(plan: ScenarioPlan) -> str:
    load = plan.scenario.load
    manners = {"closed": "closed loop", "trace": "open loop, at the times of a trace"}
    manner = manners.get(load.arrivals, f"open loop, {load.arrivals} arrivals")
    return f"{manner}, {some(load.users, 'user')}"


def _unit(made: Forecast) -> str:
    return "Requests" if made.unit == "requests" else made.unit


def _moves(made: Forecast) -> bool:
    return made.target.peak_per_s > made.target.mean_per_s


def _extremes(made: Forecast) -> str:
    mean, peak = made.target.mean_per_s, made.target.peak_per_s
    return f": {measured(mean)} on average, {measured(peak)} at the peak" if _moves(made) else ""


def _demand(demand: LoadDemand, unit: str) -> str:
    peak = f", {rate(demand.peak_per_s, unit)} at the peak" if demand.peak_per_s > demand.mean_per_s else ""
    return f"{rate(demand.mean_per_s, unit)}{peak}, {measured(demand.total)} in all"
