"""What would happen if advice were taken: the same demand on the simulator, as it was and after the change.

    as it was --simulated--> throttle share: does it agree with what was measured?  no: nothing is foretold
    changed   --simulated--> throttle share, dollars a month

The simulator is only believed about a change where it repeats the run itself.
"""

from collections.abc import Sequence
from typing import Final

from keyheat.analysis.advising.advised import OF_UNITS, on_demand, with_units
from keyheat.analysis.advising.cases import Case
from keyheat.analysis.advising.rerun import Rerun
from keyheat.plan.charges import consumed_month, provisioned_month
from keyheat.plan.prices import Prices
from keyheat.runs.formats import Bill, Foreseen, Recommendation
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.alterations import eventually_consistent, in_shards
from keyheat.simulator.outcome import SimulationOutcome
from keyheat.words import Direction

HARDLY: Final = 0.001
"""A throttle share that an application with retries does not notice."""
NEAR_RATIO: Final = 0.75
"""Of the simulated and the measured throttle share, the smaller is at least so much of the larger."""


MOST_INDEXES: Final = 50
"""Of a table that is simulated again. DynamoDB's quota is 20, each is simulated second by second."""
MOST_SHOWN: Final = 10
"""Advice that is simulated, the heaviest limit first: each takes the whole run anew, or several times."""


def can_be_shown(case: Case, advice: Recommendation) -> bool:
    """Whether the advice is a change of the table or of what is sent that the simulator knows."""
    if advice.action in _IN_SHARDS:
        return advice.shards is not None
    if advice.action in OF_UNITS:
        return advice.units is not None
    return advice.action in ("read_eventually_consistent", "on_demand")


def with_outlooks(advice: Sequence[tuple[Case, Recommendation]], rerun: Rerun) -> list[Recommendation]:
    """The advice, where it can be shown, with what the simulator says of it and what it costs."""
    before = rerun.simulated()
    shown = [place for place, (case, one) in enumerate(advice) if can_be_shown(case, one)][:MOST_SHOWN]
    found = [
        _with_outlook(case, one, rerun, before) if place in shown else one
        for place, (case, one) in enumerate(advice)
    ]
    return [one for one in found if not _is_so_already(one)]


def _is_so_already(advice: Recommendation) -> bool:
    """Whether the reads that it would make eventually consistent are so already: then it changes nothing."""
    said = advice.foreseen if advice.action == "read_eventually_consistent" else None
    return said is not None and said.throttle_share_before == said.throttle_share_after


def _with_outlook(
    case: Case, advice: Recommendation, rerun: Rerun, before: SimulationOutcome
) -> Recommendation:
    changed = _changed(case, advice, rerun)
    after = changed.simulated()
    bill = _bill(rerun, before, changed, after)
    update: dict[str, object] = {"bill": bill}
    if _believed(rerun, before):
        update["foreseen"] = Foreseen(
            throttle_share_before=before.share(),
            throttle_share_after=after.share(),
            enough_shards=_enough(case, advice, rerun, after),
        )
    return advice.model_copy(update=update)


def _enough(case: Case, advice: Recommendation, rerun: Rerun, after: SimulationOutcome) -> int | None:
    """The next number of shards that leaves hardly a throttle, where the advised one does not, if any does.

    Shards that meet on one partition throttle although each alone would not; with more of them, less meets.
    """
    if advice.shards is None or after.share() <= HARDLY:
        return None
    count = advice.shards
    tried = sorted({count + 1, count + 2, 2 * count, 3 * count, 4 * count})
    more = (advice.model_copy(update={"shards": number}) for number in tried)
    return next(
        (one.shards for one in more if _changed(case, one, rerun).simulated().share() <= HARDLY), None
    )


def _believed(rerun: Rerun, before: SimulationOutcome) -> bool:
    """Whether the simulator repeats what was measured, nearly."""
    measured, share = rerun.measured, before.share()
    if not measured or not share:
        return False
    return NEAR_RATIO * max(measured, share) <= min(measured, share)


def _bill(rerun: Rerun, before: SimulationOutcome, changed: Rerun, after: SimulationOutcome) -> Bill | None:
    """Dollars a month before and after, if this demand went on; None where capacity changes on the way.

    What is paid by request is known only where the simulator repeats the run.
    """
    tables = rerun.scenario.table, changed.scenario.table
    if rerun.scenario.timeline or any(table.scaled for table in tables):
        return None
    by_request = any(table.billing_mode == "PAY_PER_REQUEST" for table in tables)
    if by_request and not _believed(rerun, before):
        return None
    return Bill(
        before_dollars_per_month=_dollars(rerun.scenario, before, rerun.prices),
        after_dollars_per_month=_dollars(changed.scenario, after, rerun.prices),
        prices=rerun.prices.shown,
    )


def _dollars(scenario: Scenario, outcome: SimulationOutcome, prices: Prices) -> float:
    """A month of the table with its indexes: by what is provisioned, on demand by what was consumed."""
    reserved = provisioned_month(scenario.table, prices)
    return consumed_month(outcome, scenario.local.scale, prices) if reserved is None else reserved


def _changed(case: Case, advice: Recommendation, rerun: Rerun) -> Rerun:
    """The run with the advice taken."""
    index = None if case.resource == "table" else case.resource
    if advice.action in _IN_SHARDS:
        return rerun.altered(in_shards(advice.shards or 1, Direction(case.direction), index))
    if advice.action == "read_eventually_consistent":
        return rerun.altered(eventually_consistent)
    if advice.action == "on_demand":
        return rerun.of(on_demand(rerun.scenario))
    return rerun.of(
        with_units(
            rerun.scenario, advice.action, advice.units or 0.0, index=index, direction=case.direction,
            target=case.numbers.target_utilisation,
        )
    )  # fmt: skip


_IN_SHARDS: Final = frozenset(("shard_writes", "shard_date_key", "replicate_reads", "change_index_key"))
