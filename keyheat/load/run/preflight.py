"""What is settled before anything starts: may the table be loaded, whose is its endpoint, who agrees?

The order: the table as it is, whether it may be touched at all, and only then what it costs.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from time import time
from typing import Any, Final, TextIO

import numpy as np
from gevent.socket import wait_read

from keyheat.load.clock import service_ahead_s
from keyheat.load.options import InputError
from keyheat.load.run.consent import Undertaking, consent, is_interactive
from keyheat.load.run.launch import tell
from keyheat.load.run.plan import LoadPlan
from keyheat.load.tables.existing import adapted, check_tables, marked_if_foreign
from keyheat.load.tables.ownership import look_at_tables
from keyheat.load.transport.boto import endpoint_at
from keyheat.plan.bill import Bill, bill_of_run
from keyheat.plan.prices import load_prices
from keyheat.plan.totals import LoadTotals, total_load
from keyheat.scenario.variants import lasting

NO_PLACE: Final = (
    "--table {table} loads an existing table, and the local endpoint of a run starts without tables; add "
    "--target aws or --target URL"
)
NOTHING_SENT: Final = LoadTotals(duration_s=0.0, requests_per_s=np.zeros(0), sides={}, operations=())


def preflight(plan: LoadPlan, users: Sequence[Any] = ()) -> LoadPlan:
    """The plan as it is carried out. Raises `TableRefused` where it must not be, `TableError` where it
    cannot be, and `InputError` where what `users` need is not there.

    An endpoint of our own, which is not there yet, needs no look.
    """
    target, existing = plan.target, plan.guards.table
    if target is None:
        if existing is not None:
            raise InputError(NO_PLACE.format(table=existing))
        return plan
    name = existing or plan.scenario.table.name
    service_ahead_s(target, name, time)
    there = look_at_tables(target, [name, *(spec.name for spec in plan.scenario.companions)])
    if existing is not None:
        plan = adapted(plan, users, there[name])
    specs = (plan.scenario.table, *plan.scenario.companions)
    tables = [(spec, there[spec.name]) for spec in specs]
    check_tables(tables, plan.guards, datetime.now(UTC), local=target.local)
    plan = replace(plan, endpoint=endpoint_at(target))
    return marked_if_foreign(plan, users, there)


def consented(plan: LoadPlan, stdin: TextIO | None = None) -> LoadPlan:
    """Return the plan once a person has agreed. Raises `TableRefused` if it costs too much or they did not.

    A run on this machine costs nothing and needs no consent.
    """
    target = plan.target
    if target is None or target.local:
        return plan
    person = stdin or sys.stdin

    def ask(question: str) -> str:
        """Ask on a terminal. Waiting is left to gevent, so that Ctrl-C is heard meanwhile."""
        tell(question, end="")
        wait_read(person.fileno())
        if not (line := person.readline()):
            raise EOFError
        return line

    run = Undertaking(
        scenario=plan.scenario, target=target, bill=planned_bill(plan), budget=plan.budget,
        duration_s=plan.duration_s, guards=plan.guards,
        least=planned_bill(plan, sent=NOTHING_SENT) if plan.duration_s is None else None,
    )  # fmt: skip
    consent([run], yes=plan.guards.yes, ask=ask if is_interactive(stdin) else None, show=tell)
    return plan


def planned_bill(plan: LoadPlan, sent: LoadTotals | None = None) -> Bill:
    scenario = lasting(plan.scenario, plan.duration_s if sent is None else 0.0)
    if sent is None:
        sent = total_load(scenario, folder=plan.scenario_path.absolute().parent)
    return bill_of_run(
        scenario,
        load_prices(plan.prices),
        sent,
        existing=plan.guards.table is not None,
        clean_up=plan.guards.clean_up,
        table_bytes=plan.table_bytes,
    )
