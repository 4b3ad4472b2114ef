"""What is looked at before anything starts: may this table be loaded, and will it be as the plan says?

The order: the table as it is, whether it may be touched at all, and only then what it costs.
"""

from collections.abc import Sequence
from time import time
from typing import Any

from keyheat.load.around.look import check_clock
from keyheat.load.existing.adapt import adapted, marked_if_foreign
from keyheat.load.run.options import Plan
from keyheat.load.tables.checking import Allowed
from keyheat.load.tables.prepare import control_client, look_at_tables
from keyheat.load.tables.quotas import check_quotas
from keyheat.load.transport.target import Target


def preflight(plan: Plan, users: Sequence[Any] = ()) -> Plan:
    """The plan as it is carried out. Raises `Refused` where it must not be, `TableError` where it cannot be,
    and `InputError` where what `users` need is not there.

    An endpoint of our own, which is not there yet, needs no look.
    """
    if plan.target is not None:
        check_clock(plan.target, plan.existing or plan.scenario.table.name, time)
    if plan.existing is not None:
        plan = adapted(plan, users)
    if plan.target is None:
        return plan
    look_at_tables(
        plan.target, (plan.scenario.table, *plan.scenario.companions), allowed_by(plan, plan.target)
    )
    if plan.existing is None and not plan.target.local:
        check_quotas(plan.scenario, plan.target, control_client)
    return marked_if_foreign(plan, users)


def allowed_by(plan: Plan, target: Target) -> Allowed:
    """Which tables the person who made the plan allows to be loaded at the target."""
    return Allowed(
        local=target.local,
        foreign=plan.allowed,
        protected=plan.allowed_protected,
        existing=plan.existing,
        share=plan.share,
    )
