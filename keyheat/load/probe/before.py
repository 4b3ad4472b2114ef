"""The probe before a run: the plan learns what its endpoint can do, and the person what the run can prove."""

from collections.abc import Iterator
from dataclasses import replace

from keyheat.load.probe.known import known
from keyheat.load.probe.probe import DoesNotAnswer, capabilities_of
from keyheat.load.run.options import Plan
from keyheat.load.run.progress import Progress
from keyheat.load.tables.errors import TableError
from keyheat.runs.capabilities import Capabilities, not_probed
from keyheat.runs.provability import can_prove, cannot_prove


def with_endpoint(plan: Plan) -> Plan:
    """The plan with what its endpoint can do. Raises `TableError` where that does not answer.

    The probe makes a table there: somebody has agreed to that before, unless it is on this machine. An
    endpoint of our own, which is not there yet, needs no look.
    """
    if plan.target is None:
        return plan
    progress = Progress(plan.progress)
    if not plan.probe:
        return replace(plan, endpoint=known(plan.target) or not_probed("left out by --no-probe"))
    progress.phase("probing", f"keyheat: finding out what {plan.target.url} can do")
    try:
        found = capabilities_of(plan.target, progress.say)
    except DoesNotAnswer as error:
        raise TableError(str(error)) from error
    if found.source == "probed":
        lines = list(said(plan.target.url, found))
        progress.phase("probing", "\n".join(lines), said=lines)
    return replace(plan, endpoint=found)


def said(url: str, found: Capabilities) -> Iterator[str]:
    """What a run there can prove and what it cannot, a line each."""
    yield f"{url} {found.product}. A run there can prove"
    yield from (f"  - {words}" for words in can_prove(found))
    yield "and cannot prove"
    yield from (f"  - {words}" for words in cannot_prove(found))
