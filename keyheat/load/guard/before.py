"""The last look before a run that is not on this machine: is it within its budget, and is it agreed to?"""

import sys
from dataclasses import replace
from typing import TextIO

from gevent.socket import wait_read

from keyheat.load.guard.budget import over_budget
from keyheat.load.guard.consent import DECLINED, NEEDS_YES, Undertaking, agrees, announced, somebody_there
from keyheat.load.run.options import Plan
from keyheat.load.run.progress import tell
from keyheat.load.tables.errors import Refused
from keyheat.load.transport.proxy import proxy_in_words
from keyheat.load.transport.target import Target
from keyheat.plan.bill import Bill, bill_of_run
from keyheat.plan.prices import load_prices
from keyheat.scenario.scenario import Scenario


def consented(plan: Plan, stdin: TextIO | None = None) -> Plan:
    """The plan, to which somebody has agreed. Raises `Refused` where it costs too much, or nobody has.

    What is on this machine costs nothing and asks nobody.
    """
    target = plan.target
    if target is None or target.local:
        return plan
    bill = planned_bill(plan)
    if plan.duration_s is not None and (reasons := list(over_budget(plan.budget, bill, plan.duration_s))):
        raise Refused(*reasons)
    if plan.yes:
        if through := proxy_in_words(target):
            tell(f"keyheat: {through}")
        return plan
    if not somebody_there(stdin):
        raise Refused(NEEDS_YES)
    person = stdin or sys.stdin
    tell(announced([undertaking(plan, target, bill)]))
    if not agrees(lambda question: _answer(question, person)):
        raise Refused(DECLINED)
    return replace(plan, yes=True)


def planned_bill(plan: Plan) -> Bill:
    """What the plan costs at most, for as long as the command line says."""
    return bill_of_run(
        lasting(plan.scenario, plan.duration_s),
        load_prices(plan.prices),
        folder=plan.scenario_path.absolute().parent,
        throttled_keys=plan.throttled_keys,
        existing=plan.existing is not None,
        clean_up=plan.clean_up,
        table_bytes=plan.table_bytes,
    )


def lasting(scenario: Scenario, duration_s: float | None) -> Scenario:
    """The scenario for another time than it says."""
    if duration_s is None or duration_s == scenario.load.duration_s:
        return scenario
    load = scenario.load.model_copy(update={"duration_s": duration_s})
    return scenario.model_copy(update={"load": load})


def undertaking(plan: Plan, target: Target, bill: Bill) -> Undertaking:
    """What somebody is asked to agree to."""
    return Undertaking(
        scenario=plan.scenario,
        target=target,
        bill=bill,
        budget=plan.budget,
        duration_s=plan.duration_s,
        existing=plan.existing,
        keep_table=plan.keep_table,
        clean_up=plan.clean_up,
        probe=plan.probe,
    )


def _answer(question: str, stdin: TextIO) -> str:
    """Ask on a terminal. Waiting is left to gevent, so that Ctrl-C is heard meanwhile."""
    tell(question, end="")
    wait_read(stdin.fileno())
    line = stdin.readline()
    if not line:
        raise EOFError
    return line
