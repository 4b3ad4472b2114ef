"""A plan as plain values for programs (keyheat.plan/1)."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from keyheat.plan.bill import Bill
from keyheat.plan.forecast import HotKeyForecast, LoadDemand
from keyheat.plan.plan import ScenarioPlan, ThrottleForecast
from keyheat.plan.quotas import Quotas
from keyheat.plan.totals import HottestPartition, LoadTotals
from keyheat.terminal.plan_words import warnings_of
from keyheat.words import Capacity


def plan_json(plan: ScenarioPlan) -> dict[str, Any]:
    """The plan as plain values; `load` has the rate at the breakpoints of the shape.

    `write_units` and `read_units` are as if every request were the one or the other; `sent` has what the
    load test sends.
    """
    made, scenario = plan.forecast, plan.scenario
    return {
        "format": "keyheat.plan/1",
        "scenario": scenario.name,
        "question": scenario.question,
        "duration_s": made.duration_s,
        "unit": made.unit,
        "target": _plain(made.target),
        "requests": _plain(made.requests),
        "write_units": _plain(made.write_units),
        "read_units": _plain(made.read_units),
        "units_per_write": made.units_per_write,
        "units_per_read": made.units_per_read,
        "provisioned": {"write": made.provisioned_write_per_s, "read": made.provisioned_read_per_s},
        "hot_key": _hot_key(made.hot_key),
        "dollars": {
            "on_demand": made.on_demand_dollars,
            "provisioned": made.provisioned_dollars,
            "region": made.prices.region,
            "as_of": made.prices.as_of.isoformat(),
        },
        "load": [
            {"at_s": at_s, "per_s": made.shape.rate(at_s)} for at_s in dict.fromkeys(made.shape.breakpoints)
        ],
        "sent": None if plan.sent is None else _sent(plan.sent),
        "foretold": [_foretold(one) for one in plan.foretold],
        "bill": _bill(plan.bill),
        "quotas": _quotas(plan.quotas),
        "over_quota": list(plan.over_quota),
        "scale": plan.scale,
        "region": plan.region,
        "warnings": list(warnings_of(plan)),
    }


def _hot_key(key: HotKeyForecast | None) -> dict[str, Any] | None:
    if key is None:
        return None
    return {
        "share": key.share,
        "units_per_s": key.units_per_s,
        "shards": key.shards,
        "shard_units_per_s": key.shard_units_per_s,
        "ceiling_per_s": key.ceiling_per_s,
        "shards_by_formula": key.needed,
        "shards_with_margin": key.needed_with_margin,
        "margin": key.margin,
    }


def _sent(sent: LoadTotals) -> dict[str, Any]:
    return {
        "operations": [
            {
                "operation": one.name,
                "table": one.table,
                "index": one.index,
                "direction": one.direction.value,
                "requests": one.requests,
                "items": one.items,
                "units": one.units,
            }
            for one in sent.operations
        ],
        "sides": list(_sides(sent)),
    }


def _sides(sent: LoadTotals) -> Iterator[dict[str, Any]]:
    for side, asked in sent.sides.items():
        yield {
            "table": side.table,
            "index": side.index,
            "direction": side.direction.value,
            "units": _plain(asked.demand(sent.duration_s)),
            "hottest_partition": _hottest(asked.hottest),
        }


def _hottest(hottest: HottestPartition | None) -> dict[str, float] | None:
    if hottest is None:
        return None
    return {
        "partitions": hottest.partitions,
        "at_s": hottest.at_s,
        "asked_per_s": hottest.asked_per_s,
        "ceiling_per_s": hottest.ceiling_per_s,
        "hottest_key_per_s": hottest.key_per_s,
    }


def _foretold(one: ThrottleForecast) -> dict[str, Any]:
    return {
        "constraint": one.constraint,
        "resource": one.name,
        "direction": one.direction.value,
        "asked_per_s": one.asked_per_s,
        "limit_per_s": one.limit_per_s,
        "from_s": one.from_s,
        "later": one.later,
        "behind": one.behind,
    }


def _bill(bill: Bill) -> dict[str, Any]:
    mode, other = bill.other_mode or (None, None)
    return {
        "dollars": bill.dollars,
        "write_units": bill.write_units,
        "read_units": bill.read_units,
        "hours": bill.hours,
        "known": bill.known,
        "lines": [
            {
                "what": line.what,
                "quantity": line.quantity,
                "unit": line.unit,
                "each_dollars": line.each_dollars,
                "dollars": line.dollars,
            }
            for line in bill.lines
        ],
        "unpriced": list(bill.unpriced),
        "other_mode": mode and {"billing_mode": mode, "dollars": other},
        "kept_per_hour": bill.kept_per_hour,
    }


def _quotas(quotas: Quotas) -> dict[str, Any]:
    return {
        "source": quotas.source,
        "problem": quotas.problem,
        "table": _pair_json(quotas.table),
        "account": _pair_json(quotas.account),
    }


def _pair_json(pair: Capacity) -> dict[str, float | None]:
    return {"write": pair.write, "read": pair.read}


def _plain(demand: LoadDemand | None) -> dict[str, float] | None:
    return None if demand is None else asdict(demand)
