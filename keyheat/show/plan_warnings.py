"""Warnings of a plan: exceeded limits, the table's design, and cost."""

import re
from collections.abc import Iterator

from keyheat.model.resources import partition_ceiling
from keyheat.numbers import UNITS, rate, span, whole
from keyheat.plan.plan import ScenarioPlan, ThrottleForecast
from keyheat.plan.quotas import hottest_shard
from keyheat.plan.totals import LONGEST_S, HottestPartition
from keyheat.scenario.spec.tables import TableSpec
from keyheat.scenario.variants import scaled_fields, without_options
from keyheat.words import Direction, capital


def warnings_of(plan: ScenarioPlan) -> Iterator[str]:
    """All warnings before a run, the most serious first."""
    yield from (f"Over quota: {sentence}." for sentence in plan.over_quota)
    yield from map(foretold_sentence, plan.foretold)
    if plan.sent is None:
        yield from _guessed(plan)
    yield from _unscaled_indexes(plan.scenario.table)
    yield from _unscaled_copies(plan.scenario.table)
    yield from plan.assumed
    yield from _money(plan)
    if scaled := scaled_fields(plan.scenario):
        yield (
            "Auto scaling is not in the plan; `keyheat simulate` has it. A run sets none up, so take it "
            f"out: {without_options(scaled)}"
        )
    if plan.scenario.table.billing_mode == "PAY_PER_REQUEST":
        yield (
            "In AWS this load may raise the warm throughput of an existing table. Nothing lowers it again, "
            "and infrastructure as code shows it as drift."
        )
    if plan.scale != 1:
        yield f"At scale {plan.scale:g} the local table multiplies every limit by it."


def _unscaled_indexes(table: TableSpec) -> Iterator[str]:
    """Warn of indexes without the table's auto scaling."""
    scaled = table.auto_scaling.sides() if table.auto_scaling else {}
    for index in (index for index in table.indexes if not index.local):
        follows = index.auto_scaling.sides() if index.auto_scaling else {}
        for side in (side for side in scaled if side not in follows):
            back = (
                ", which throttles every write to the table once it falls behind" if side == "write" else ""
            )
            yield (
                f"Auto scaling raises the table's {side} capacity, but not that of index {index.name}{back}."
            )


def _unscaled_copies(table: TableSpec) -> Iterator[str]:
    """Warn of a global table without scaled writes, which DynamoDB rejects:
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/V2globaltables_reqs_bestpractices.html
    """
    scaled = table.auto_scaling is not None and table.auto_scaling.write is not None
    if table.regions and table.billing_mode == "PROVISIONED" and not scaled:
        yield (
            "AWS requires a global table to be on demand, or to scale its writes; this one does neither: "
            "add [table.auto_scaling.write]."
        )


def foretold_sentence(limit: ThrottleForecast) -> str:
    """A limit that the demand exceeds, and the label of its throttles."""
    demand, has = rate(limit.asked_per_s, UNITS[limit.direction]), whole(limit.limit_per_s)
    label = f"{_carried(limit)}expect throttles with the constraint {limit.constraint}"
    if limit.index and limit.direction is Direction.WRITE:
        label += ", of every write to the table"
    if limit.constraint == "partition" and limit.hottest is not None:
        partition, cure = _partition(limit, limit.hottest), _cure(limit, limit.hottest)
        return f"Behind that: {partition}. {cure}." if limit.behind else f"{partition}: {label}. {cure}."
    if limit.constraint == "table":
        unit = UNITS[limit.direction]
        return f"{capital(limit.name)} has {has} {unit}/s, and the demand is {demand}: {label}."
    who = (
        f"After {span(limit.from_s)} {limit.name}"
        if limit.from_s >= 1 and not limit.later
        else capital(limit.name)
    )
    if limit.constraint == "max_on_demand":
        return f"{who} has a maximum of {has}, and the demand is {demand}: {label}."
    return f"{who} with its indexes has a quota of {has}, and the demand is {demand}: {label}."


def _carried(limit: ThrottleForecast) -> str:
    """How long burst or write buffer serve the excess; empty if only moments."""
    buffered = limit.index and limit.direction is Direction.WRITE
    if not (buffered or limit.later or limit.constraint == "table"):
        return ""
    burst = [] if buffered and limit.constraint != "table" else ["burst"]
    saved = " and ".join((*burst, *(["write buffer"] if buffered else [])))
    if limit.later:
        return f"its {saved} can serve that for {span(limit.from_s)} at most, longer than this run; then "
    lasts = span(limit.from_s) if limit.from_s >= 1 else "a moment"
    return f"its {saved} can last {lasts} at most; then "


def _partition(limit: ThrottleForecast, hottest: HottestPartition) -> str:
    demand, count = rate(hottest.asked_per_s, UNITS[limit.direction]), hottest.partitions
    which = "its only partition" if count == 1 else f"the hottest of {count:,} partitions"
    sustains = whole(hottest.ceiling_per_s)
    return f"{capital(limit.name)}: the demand on {which} is {demand}, and one sustains {sustains}"


def _cure(limit: ThrottleForecast, hottest: HottestPartition) -> str:
    """Why the partition is too hot, and what helps."""
    if hottest.key_per_s > hottest.ceiling_per_s:
        key = rate(hottest.key_per_s, UNITS[limit.direction])
        cure = "shards" if limit.direction is Direction.WRITE else "copies or a cache"
        split = "no split does"
        if limit.divisible:
            split = "and so does a split between its items, after minutes, unless new items always sort last"
        return f"Its hottest key alone takes {key}: {cure} help, {split}"
    if limit.grows:
        return "A new on-demand table starts small and grows in minutes: pre-warm it, or begin with less"
    return "No key alone exceeds that, so splits help, after minutes"


def _guessed(plan: ScenarioPlan) -> Iterator[str]:
    """Warnings from the scenario's numbers alone, for a load test whose requests are unknown."""
    why = f"The requests of {plan.scenario.loadtest} are not known"
    if plan.scenario.load.duration_s > LONGEST_S:
        why = f"A load of more than {span(LONGEST_S)} is not simulated"
    yield f"{why}: the plan assumes that each one writes an item and moves its index entries."
    if (shard := hottest_shard(plan.scenario)) is not None:
        direction, units_per_s = shard
        ceiling_per_s = partition_ceiling(direction, plan.scenario.local.scale)
        each = "the hottest key" if plan.scenario.keys.shards == 1 else "each shard of the hottest key"
        if units_per_s > ceiling_per_s:
            yield (
                f"At the peak {each} takes {rate(units_per_s, direction.unit)}, and one partition "
                f"sustains {whole(ceiling_per_s)}: expect throttles with the constraint partition."
            )


def _money(plan: ScenarioPlan) -> Iterator[str]:
    bill = plan.bill
    yield from _over_budget(plan)
    if bill.unpriced:
        yield f"Not priced, so not in the total: {'; '.join(bill.unpriced)}."
    if plan.other_region is not None:
        yield (
            f"Prices are those of {bill.prices.region}, and may differ in {plan.other_region}: name "
            "a price list of your own with --prices FILE."
        )
    if bill.kept_per_hour:
        yield (
            f"The table stays after the run (on_end = keep), at {dollars(bill.kept_per_hour)} an hour until "
            "it is deleted."
        )


def _over_budget(plan: ScenarioPlan) -> Iterator[str]:
    """Caps of the scenario's budget that refuse a run in AWS."""
    bill, budget = plan.bill, plan.scenario.budget
    units, minutes = bill.write_units + bill.read_units, plan.scenario.load.duration_s / 60
    for demand, cap, what, flag in (
        (bill.dollars, budget.dollars, "costs up to {} dollars", "dollars"),
        (units, budget.units, "consumes {} units", "units"),
        (minutes, budget.minutes, "lasts {} minutes", "minutes"),
    ):
        if cap is not None and demand > cap * (1 + 1e-9):
            words = what.format(_number(demand))
            yield (
                f"Over budget: a run in AWS {words}, and budget.{flag} is {_number(cap)}; allow it with "
                f"--max-{flag}."
            )


def _number(value: float) -> str:
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def exact_dollars(amount: float) -> str:
    """Dollars with four decimals, for sums."""
    return "under $0.0001" if 0 < amount < 0.0001 else f"${amount:,.4f}"


def dollars(amount: float) -> str:
    """Dollars with two decimals, or four below a dollar."""
    return f"${amount:,.2f}" if amount >= 0.995 else exact_dollars(amount)


def shortly(plan: ScenarioPlan, text: str) -> str:
    """Replace the name of the scenario's own table by "the table"."""
    name = plan.scenario.table.name
    table = rf"(?<![\w-])([Tt])able {re.escape(name)}(?![\w-]|\.\w)"
    return re.sub(table, lambda match: f"{match[1]}he table", text)
