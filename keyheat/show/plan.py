"""A plan as an answer: which limits the demand exceeds and what it costs, before anything is sent."""

from collections.abc import Iterator
from typing import Any, Final

from keyheat.model.behaviour import ROUNDING
from keyheat.numbers import UNITS, a_month, measured, percent, rate, some, span, whole
from keyheat.plan.bill import provisioned_month
from keyheat.plan.plan import ScenarioPlan, provisioned_per_s
from keyheat.plan.prices import MONTH_S
from keyheat.plan.quotas import GivenCapacity, Quotas, capacities_of, shards_needed
from keyheat.plan.totals import LoadTotals, OperationTotals, SideTotals
from keyheat.show.answer import Answer, Fact, Table, Tone
from keyheat.show.plan_warnings import dollars, exact_dollars, shortly, warnings_of
from keyheat.show.verdict import NAMES
from keyheat.terms import DEMAND, titled
from keyheat.words import Direction

NO_SHARDS_SHARE: Final = 0.01  # of a partition's ceiling, below which shards are no question
WITHIN: Final = "Within every limit"
SENT_NOTHING: Final = "Nothing was sent. Retries and splits are not in the plan; `keyheat simulate` has them."


def plan_answer(plan: ScenarioPlan, named: str | None = None) -> Answer:
    """The whole plan; `named` is what commands call its scenario."""
    warnings = [shortly(plan, warning) for warning in warnings_of(plan)]
    label, tone = _outcome(plan)
    grave, load = label != WITHIN, plan.scenario.load
    sentence = warnings.pop(0) if grave else _within_limits(plan)
    manners = {"closed": "closed loop", "trace": "open loop, at the times of a trace"}
    manner = manners.get(load.arrivals, f"open loop, {load.arrivals} arrivals")
    return Answer(
        title=plan.scenario.name,
        label=label,
        tone=tone,
        context=f"{span(load.duration_s)}, {manner}, {some(load.users, 'user')}. {plan.scenario.question}",
        sentence=sentence,
        facts=tuple(_facts(plan, warnings, named or plan.scenario.name)),
        tables=tuple(_tables(plan)),
        notes=(SENT_NOTHING,),
        data=_data(plan, [sentence, *warnings] if grave else warnings),
    )


def _within_limits(plan: ScenarioPlan) -> str:
    """That no limit throttles, and which demand only saved burst carries."""
    peaks = []
    for side, totals in plan.sent.sides.items() if plan.sent else ():
        rates = provisioned_per_s(plan.scenario, side, len(totals.per_s))
        if rates is not None and (totals.per_s > rates * plan.scale * (1 + ROUNDING)).any():
            peak = rate(float(totals.per_s.max()), UNITS[side.direction])
            owner = f"index {side.index}" if side.index else f"table {side.table}"
            peaks.append(f"{peak} on {shortly(plan, owner)}")
    burst = f"; saved burst carries its peaks: {', '.join(peaks)}" if peaks else ""
    return f"Demand is within every limit{burst}."


def _outcome(plan: ScenarioPlan) -> tuple[str, Tone]:
    """The limits that the demand exceeds, and the tone of the first."""
    if plan.sent is None:
        return "Demand not known", "invalid"
    if plan.foretold:
        limits = (f"{NAMES[limit.constraint]} of {shortly(plan, limit.name)}" for limit in plan.foretold)
        named = dict.fromkeys(limit.removesuffix(" of the table") for limit in limits)
        return ", ".join(named), plan.foretold[0].constraint
    return ("Over quota", "account") if plan.over_quota else (WITHIN, "none")


def _facts(plan: ScenarioPlan, warnings: list[str], named: str) -> Iterator[Fact]:
    yield from (Fact(name="Warning", value=warning) for warning in warnings)
    most = f"Costs at most {dollars(plan.bill.dollars)} in AWS ({plan.bill.prices.title})"
    yield Fact(name="A run", value=most, beside=("nothing on a local table",))
    yield from _cost_of_a_month(plan)
    demand, unit = plan.target, plan.scenario.load.target_unit
    peak = f", {rate(demand.peak_per_s, unit)} at the peak" if demand.peak_per_s > demand.mean_per_s else ""
    value = f"{rate(demand.mean_per_s, unit)}{peak}, {measured(demand.total)} in all"
    yield Fact(name=titled(DEMAND), value=value)
    if plan.sent is not None:
        yield from _sent_facts(plan, plan.sent, named)
    yield _quotas(plan.quotas)


def _quotas(quotas: Quotas) -> Fact:
    """Where the quotas are from, and what they are."""
    if quotas.source == "unknown":
        return Fact(name="Quotas", value=f"Unknown: {quotas.problem}")
    source = {
        "default": "AWS's defaults; --target aws reads those of your account",
        "account": "Of the account, in this Region",
    }[quotas.source]
    of_table, of_account = (
        f"{whole(pair.write)} WCU/s and {whole(pair.read)} RCU/s" for pair in (quotas.table, quotas.account)
    )
    return Fact(
        name="Quotas",
        value=source,
        beside=(f"a table and its indexes {of_table}", f"the account {of_account}"),
    )


def _cost_of_a_month(plan: ScenarioPlan) -> Iterator[Fact]:
    """Monthly cost of the table, provisioned and on-demand, under this load around the clock."""
    prices, lines = plan.bill.prices, []
    provisioned = provisioned_month(plan.scenario.table, prices)
    if provisioned is not None:
        lines.append(f"{a_month(provisioned)} for the provisioned capacity")
    if plan.sent is not None:
        means = dict.fromkeys(Direction, 0.0)
        for side, totals in plan.sent.sides.items():
            means[side.direction] += totals.demand(plan.sent.duration_s).mean_per_s / plan.scale
        write, read = means[Direction.WRITE], means[Direction.READ]
        consumed = prices.on_demand.dollars(
            write_units=write * MONTH_S * plan.scenario.table.copies, read_units=read * MONTH_S
        )
        load = f"{rate(write, UNITS[Direction.WRITE])} and {rate(read, UNITS[Direction.READ])}"
        load += " at full size" if plan.scale != 1 else ""
        lines.append(f"{a_month(consumed)} on demand, if the mean of {load} goes on around the clock")
    if lines:
        yield Fact(name="A month", value=lines[0], beside=tuple(lines[1:]))


def _sent_facts(plan: ScenarioPlan, sent: LoadTotals, named: str) -> Iterator[Fact]:
    if regions := plan.scenario.table.regions:
        value = f"Every write is replicated to {some(len(regions) - 1, 'other Region')} and billed there, too"
        yield Fact(name="Global table", value=value)
    operations = [_operation(plan, operation, sent) for operation in sent.operations]
    yield Fact(name="Sends", value="; ".join(operations))
    yield from _hot_key(plan, sent, named)


def _operation(plan: ScenarioPlan, operation: OperationTotals, sent: LoadTotals) -> str:
    """An operation's rate, items per request, and units per item."""
    often = f"{measured(operation.requests / sent.duration_s)}/s"
    items = operation.items / operation.requests if operation.requests else 0.0
    several = f" of {measured(items)} items" if items > 1 + 1e-9 else ""
    where = f" of index {operation.index}" if operation.index else ""
    where += f" to {operation.table}" if operation.table != plan.scenario.table.name else ""
    each = f"{measured(operation.units / operation.items)} {UNITS[operation.direction]} each"
    return f"{operation.name}{where} {often}{several}, {each}"


def _hot_key(plan: ScenarioPlan, sent: LoadTotals, named: str) -> Iterator[Fact]:
    """The hottest key relative to one partition's limit, and the shards it needs."""
    totals = max(sent.sides.values(), key=_key_share, default=None)
    if totals is None or totals.hottest is None or not totals.hottest.key_per_s:
        yield Fact(name="Hottest key", value="None: there are too many keys to collide on one")
        return
    side, hottest, shards = totals.side, totals.hottest, plan.scenario.keys.shards
    where = f", of index {side.index}" if side.index else ""
    where += f", of table {side.table}" if side.table != plan.scenario.table.name else ""
    units, share = hottest.key_per_s * shards, percent(_key_share(totals))
    each = "it takes" if shards == 1 else f"each of {shards:,} shards takes"
    sustains = f"one partition sustains {whole(hottest.ceiling_per_s)} {side.unit}/s: {each} {share} of that"
    yield Fact(name="Hottest key", value=f"{rate(units, side.unit)} at the peak{where}", beside=(sustains,))
    if _key_share(totals) >= NO_SHARDS_SHARE:
        formula = f"ceil({whole(units)} / {whole(hottest.ceiling_per_s)})"
        needed, more = (shards_needed(units, hottest.ceiling_per_s, factor) for factor in (1.0, plan.margin))
        value = f"At least {formula} = {needed:,}; with a margin of {plan.margin:g}: {more:,}"
        beside = ("how many are enough where some share a partition:",)
        of_index = f" --index {side.index}" if side.index else ""
        command = f"keyheat whatif {named} shards{of_index}"
        yield Fact(name="Shards", value=value, beside=beside, command=command)


def _key_share(totals: SideTotals) -> float:
    """The demand for the hottest key, as a share of what one partition sustains."""
    return totals.hottest.key_per_s / totals.hottest.ceiling_per_s if totals.hottest is not None else 0.0


def _tables(plan: ScenarioPlan) -> Iterator[Table]:
    if plan.sent is not None:
        yield Table(title="Demand and limits", rows=tuple(_sides(plan, plan.sent)))
    bill = plan.bill
    rows = [
        {
            "item": shortly(plan, line.what),
            "quantity": f"{measured(line.quantity)} {line.unit}",
            "dollars": "not priced" if line.dollars is None else exact_dollars(line.dollars),
        }
        for line in bill.lines
    ]
    rows.append({"item": "total", "quantity": "", "dollars": exact_dollars(bill.dollars)})
    yield Table(title=f"Paid for in AWS, at most ({some(bill.hours, 'hour')} begun)", rows=tuple(rows))


def _sides(plan: ScenarioPlan, sent: LoadTotals) -> list[dict[str, str]]:
    """Every table and index: its demand, its limit, and its hottest partition."""
    given = {(owner.table, owner.index): owner for owner in capacities_of(plan.scenario)}
    rows = []
    for side, totals in sent.sides.items():
        demand, owner, hottest = totals.demand(sent.duration_s), given[side.table, side.index], totals.hottest
        rows.append(
            {
                "resource": f"{shortly(plan, owner.name)}, {side.unit}",
                "mean/s": measured(demand.mean_per_s),
                "peak/s": measured(demand.peak_per_s),
                "limit/s": _limit(owner, side.direction, plan.scale),
                "partitions": f"{hottest.partitions:,}" if hottest else "",
                "hottest": f"{measured(hottest.asked_per_s)} of {whole(hottest.ceiling_per_s)}"
                if hottest
                else "",
            }
        )
    return rows


def _limit(given: GivenCapacity, direction: Direction, scale: float) -> str:
    """Capacity of one direction: provisioned, or an on-demand table's maximum or start."""
    if given.starts_on_demand:
        most = given.max_on_demand.of(direction)
        start = max(given.at_start.of(direction) or 0.0, given.warm.of(direction) or 0.0)
        return f"max {whole(most * scale)}" if most else f"from {whole(start * scale)}"
    units = given.provisioned.of(direction)
    return whole(units * scale) if units else "any"


def _data(plan: ScenarioPlan, warnings: list[str]) -> dict[str, Any]:
    """The plan for programs."""
    load, sent = plan.scenario.load, plan.sent
    sides = () if sent is None else sent.sides.items()
    of_sides = [
        {"side": side, "units": totals.demand(load.duration_s), "hottest_partition": totals.hottest}
        for side, totals in sides
    ]
    return {
        "scenario": plan.scenario.name, "duration_s": load.duration_s, "unit": load.target_unit,
        "target": plan.target,
        "sent": None if sent is None else {"operations": sent.operations, "sides": of_sides},
        "foretold": plan.foretold, "dollars": plan.bill.dollars, "bill": plan.bill,
        "quotas": plan.quotas, "over_quota": plan.over_quota, "scale": plan.scale, "region": plan.region,
        "warnings": warnings,
    }  # fmt: skip
