"""What is settled before anything starts: may the table be loaded, whose is its endpoint, who agrees?

The order: the service's clock, the table as it is, whether it may be touched at all, and only then what it
costs. The clock of a run is the service's, by which CloudWatch counts minutes. A load begins with such one:

12:00:00        12:00:37   12:01:00
|               |----------|=====================>     -: waited, =: loaded

How far it is ahead of this machine's is told by the Date of an answer.
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import time
from typing import Any, Final, TextIO

import numpy as np
from botocore.exceptions import BotoCoreError, ClientError
from gevent.socket import wait_read

from keyheat.load.options import InputError, TableError
from keyheat.load.run.consent import Undertaking, consent, is_interactive
from keyheat.load.run.launch import tell
from keyheat.load.run.plan import LoadPlan
from keyheat.load.tables.existing import adapted, check_tables
from keyheat.load.tables.ownership import look_at_tables
from keyheat.load.transport.boto import endpoint_at, make_client
from keyheat.load.transport.target import Target
from keyheat.model.limits import MINUTE_S, SIGNATURE_CLOCK_S
from keyheat.numbers import span
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
    specs = (plan.scenario.table.model_copy(update={"name": name}), *plan.scenario.companions)
    tables = [(spec, there[spec.name]) for spec in specs]
    check_tables(tables, plan.guards, datetime.now(UTC), local=target.local)
    return replace(adapted(plan, users, there), endpoint=endpoint_at(target))


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
    """Return what the plan costs at most, for as long as the command line says."""
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


AFTER_S: Final = 0.7
"""How long after the minute the load begins: the service's clock is known to half a second and an answer."""


def align(
    *, clock: Callable[[], float], sleep: Callable[[float], None], tell: Callable[[float], None]
) -> None:
    """Sleep until the next minute begins; `tell` gets the seconds that are left, at once and every ten."""
    until_s = -(-clock() // MINUTE_S) * MINUTE_S + AFTER_S
    next_told_s = float("inf")
    while (left_s := until_s - clock()) > 0:
        if round(left_s) <= next_told_s:
            tell(left_s)
            next_told_s = (round(left_s) - 1) // 10 * 10 or -1
        sleep(min(1.0, left_s))


PATIENCE_S: Final = 5.0  # this answer is optional, and not worth a longer wait
LOOK_ATTEMPTS: Final = 3
NOTABLE_S: Final = 3.0  # the Date of an answer has whole seconds, and an answer takes its time
MOST_S: Final = SIGNATURE_CLOCK_S / 2
"""A clock that is further off is to be set first: AWS refuses what is signed more than five minutes off.
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_aws-signing.html"""


def service_ahead_s(target: Target, table: str, clock: Callable[[], float]) -> float | None:
    """How far the service's clock is ahead of ours; None if unknown. On this machine both are one clock.

    Raises `TableError` where they are so far apart that no run can be made.
    """
    if target.local:
        return 0.0
    with closing(make_client(target, timeout_s=PATIENCE_S, attempts=LOOK_ATTEMPTS)) as client:
        return measure_ahead_s(client, table, clock)


def measure_ahead_s(client: Any, table: str, clock: Callable[[], float]) -> float | None:
    """The same by the Date of an answer; None if it has no Date."""
    sent_s = clock()
    try:
        answer = client.describe_table(TableName=table)
    except ClientError as error:  # a refusal has a Date as well
        answer = error.response
    except BotoCoreError:
        return None  # others say why
    date = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
    try:
        date_s = parsedate_to_datetime(date).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
    ahead_s = date_s + 0.5 - (sent_s + clock()) / 2
    if abs(ahead_s) > MOST_S:
        raise TableError(f"{skew_words(ahead_s)}: set the one that is wrong (`timedatectl set-ntp true`)")
    return ahead_s


def skew_words(ahead_s: float) -> str:
    """Return how far this machine's clock is from the service's."""
    side = "behind" if ahead_s > 0 else "ahead of"
    length_s = abs(ahead_s) if abs(ahead_s) < 120 else abs(round(ahead_s / 60) * 60.0)
    return f"this machine's clock is {span(length_s)} {side} the service's"
