"""What to do about each constraint: a mitigation that helps now, a cure that lasts, with measured numbers."""

from collections.abc import Callable, Iterator
from typing import Final

from keyheat.analysis.advice.case import AdviceCase
from keyheat.analysis.advice.hot_partition import hot_partition
from keyheat.analysis.rules import AT_CEILING, WHOSE
from keyheat.model.resources import TABLE_QUOTA
from keyheat.numbers import percent, units, whole
from keyheat.runs.formats import Recommendation
from keyheat.words import Constraint

SCALED_DOWN: Final = "table-scaled-down"
SCALED_LATE: Final = "auto-scaling-late"
"""Rules that do not decide between the table and its partitions, where more capacity helps both."""


def table(case: AdviceCase) -> Iterator[Recommendation]:
    """The provisioned throughput is used up: more of it now, and what adapts it for good."""
    if not case.raised_since:
        yield _raise_capacity(case, unless=_spread_as_well(case) if case.has_key_beyond else "")
    if case.has_key_beyond:
        yield from _cures_of_key(case)
    if case.is_pinned:
        yield case.advise(
            "raise_maximum",
            units=case.with_headroom,
            why=f"{case.demand_words}, and {_pinned(case)}.",
            expected=f"A maximum{_of_at_least(case, '')} lets auto scaling follow slow changes; its minimum "
            "stays. If that was raised meanwhile, lower it again: between equal bounds nothing scales.",
        )
    if case.scaled_most is not None or case.rule in (SCALED_DOWN, SCALED_LATE):
        yield _raise_minimum(case)
    else:
        yield case.advise(
            "auto_scaling",
            units=case.with_headroom,
            why=f"A fixed {case.direction} capacity of {case.whose} fits one demand only.{case.raised_since}",
            expected=f"Target tracking at {percent(case.numbers.target_utilisation)}"
            f"{_of_at_least(case, ' with a maximum')} follows slow changes; steep ones still throttle, "
            "because it reacts after minutes.",
        )
    with_it = "" if case.resource == "table" else " The table and its indexes switch together."
    yield case.advise(
        "on_demand",
        why=f"If demand is unpredictable, on-demand mode needs no capacity planning.{with_it}",
        expected="Only the account's quota "
        f"({units(TABLE_QUOTA.of(case.direction) or 0, case.direction)} by default) limits the table then, "
        f"and one partition is still held to {case.sustained}.",
    )


def _spread_as_well(case: AdviceCase) -> str:
    return f" But one key alone asks for more than {case.sustained}, and has to be spread as well."


def _cures_of_key(case: AdviceCase) -> Iterator[Recommendation]:
    return (item for item in hot_partition(case) if item.kind == "cure")


def _raise_capacity(case: AdviceCase, more: str = "", *, unless: str = "") -> Recommendation:
    has = "what is provisioned is not known"
    if case.limit is not None:
        has = f"{units(case.limit, case.direction)} were provisioned for {case.whose}"
        if case.has_now is not None and case.has_now > case.limit:
            has += f" ({units(case.has_now, case.direction)} are now)"
    more_about = ""
    if case.is_pinned:
        has = _pinned(case)
        more_about = " With this alone, auto scaling may lower it again when the load falls."
    if case.resource != "table":
        more_about += " The index lacks capacity; raising the table's alone would change nothing."
    target = case.with_headroom
    share = percent(case.numbers.target_utilisation)
    room = f"That demand uses {share} of {units(target, case.direction)}. " if target else ""
    return case.advise(
        "raise_capacity",
        units=target,
        max_units=case.max_units,
        why=f"{case.demand_words}, and {has}.{case.carried}{more_about}{unless}{_quota_first(case)}",
        expected=f"{room}UpdateTable takes effect within minutes.{_maximum_too(case)}{more}",
    )


def _maximum_too(case: AdviceCase) -> str:
    """That auto scaling may not go as high yet; empty if it may, or is not on."""
    if case.max_units is None or case.scaled_most is None:
        return ""
    now, then = whole(case.scaled_most), units(case.max_units, case.direction)
    return f" The maximum of its auto scaling is {now} and has to rise as well, to at least {then}."


def _quota_first(case: AdviceCase) -> str:
    """That the account does not allow one table so much yet; empty if it does.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
    """
    target = case.with_headroom
    if target is None or target <= case.quota:
        return ""
    allowed = units(case.quota, case.direction)
    return f" The account allows one table {allowed}: ask Service Quotas for more before."


def _pinned(case: AdviceCase) -> str:
    most = "not known" if case.scaled_most is None else units(case.scaled_most, case.direction)
    return f"auto scaling of {case.whose} is pinned at its maximum of {most}"


def _raise_minimum(case: AdviceCase) -> Recommendation:
    """Auto scaling is on, or somebody scales: what is lacking is room before it reacts."""
    why = "Auto scaling reacts after minutes, which is too late for steep changes."
    if case.is_pinned:
        why = "If the load rises within minutes, a higher maximum of auto scaling alone helps too late."
    when = (
        "before the peak leaves room (by a schedule if the time is known); a lower target always leaves some"
    )
    if case.rule == SCALED_LATE and case.scaled_by_hand:
        why, when = "The capacity was raised only after the load was there.", "before the peak leaves room"
    elif case.rule == SCALED_LATE:
        unsure = "" if case.scaled_most is not None else ", if it was that,"
        why = f"The capacity was raised only after the load was there: auto scaling{unsure} takes minutes."
    elif case.rule == SCALED_DOWN:
        why = "The capacity was lowered below what the load takes."
        when = "for as long as such a load may come keeps room for it, whatever lowers the capacity"
    unknown = case.has_now is not None and case.scaled_most is None and not case.scaled_by_hand
    first = " If its auto scaling has a lower maximum, raise that first." if unknown else ""
    if case.max_units is not None:
        first = " Between equal bounds nothing scales: a maximum above that leaves it room."
    return case.advise(
        "raise_minimum",
        units=case.with_headroom,
        max_units=case.max_units,
        why=f"{why}{case.carried}{case.raised_since}{_quota_first(case)}",
        expected=f"A minimum{_of_at_least(case, '')} {when}.{_maximum_too(case)}{first}",
    )


def _of_at_least(case: AdviceCase, what: str) -> str:
    target = case.with_headroom
    return f"{what} of at least {units(target, case.direction)}" if target else ""


def maximum(case: AdviceCase) -> Iterator[Recommendation]:
    """The maximum of an on-demand table or index is reached."""
    allowed = "the maximum is not known"
    if case.limit is not None:
        allowed = f"{units(case.limit, case.direction)} are allowed"
    if case.is_raised_enough:  # nothing is left to do
        return
    yield case.advise(
        "raise_max_on_demand",
        units=case.with_headroom,
        why=f"{case.demand_words}, and {allowed}: a setting of {case.whose} that bounds its bill."
        f"{case.raised_since}",
        expected="More requests are admitted, up to the new maximum, and paid for.",
    )
    yield from _slow_down(case, "the maximum that its owner set")


def account(case: AdviceCase) -> Iterator[Recommendation]:
    """The account's quota for one table with its indexes is reached."""
    yield from _slow_down(case, "the account's quota for one table with its indexes, in this region")
    quota = units(case.quota if case.limit is None else case.limit, case.direction)
    yield case.advise(
        "raise_account_quota",
        units=case.with_headroom,
        why=f"{case.demand_words}, and the account allows one table with its indexes {quota}.",
        expected="Service Quotas raises the quota of a table on request; no setting of the table helps "
        "beyond it.",
    )


def _slow_down(case: AdviceCase, what: str) -> Iterator[Recommendation]:
    return case.wait(
        why=f"The {case.direction}s of {case.whose} reach {what}.",
        expected="Waiting spreads a short peak over time; demand that stays above the limit piles up.",
    )


def _undetermined(case: AdviceCase) -> Iterator[Recommendation]:
    # Held at what is provisioned, and at what whole partitions serve.
    at_ceiling = case.rule == AT_CEILING
    if at_ceiling and not case.raised_since:
        hot = case.hottest is not None and case.hottest.units_per_s > case.ceiling
        partitions, target = case.partitions or 1, case.with_headroom
        too, stays = "It also helps if partitions are the limit, because more capacity adds partitions.", ""
        if target is not None and target <= partitions * case.ceiling:
            too = (
                f"If partitions are the limit, it does not: the table has at least {partitions} already, and "
                "adds none for that."
            )
        else:
            stays = f" Only a key that asks for more than {case.sustained} by itself stays throttled."
        if hot:
            stays = _spread_as_well(case)
        yield _raise_capacity(
            case, f" It helps if the provisioned throughput is the limit. {too}", unless=stays
        )
        if hot:
            yield from _cures_of_key(case)
    since = case.raised_since if at_ceiling else ""
    what = f"whether {case.whose} refused them" if case.rule == WHOSE else f"what throttled {case.whose}"
    yield case.advise(
        "collect_evidence",
        why=f"{case.only_for}{'this' if case.only_for else 'This'} evidence does not show {what}.{since}",
        expected="A client with an AWS SDK of August 2025 or later keeps ThrottlingReasons, and `keyheat "
        "collect` asks CloudWatch for the cause-specific metrics and for what is provisioned.",
    )


_ADVICE: Final[dict[Constraint, Callable[[AdviceCase], Iterator[Recommendation]]]] = {
    "partition": hot_partition,
    "table": table,
    "max_on_demand": maximum,
    "account": account,
    "undetermined": _undetermined,
    "none": lambda _case: iter(()),
}


def recommend(case: AdviceCase) -> tuple[Recommendation, ...]:
    """What to do about a constraint."""
    return tuple(_ADVICE[case.constraint](case))
