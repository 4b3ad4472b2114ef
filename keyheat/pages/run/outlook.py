"""What the simulator says of a recommendation, and what it would cost, in sentences."""

from keyheat.numbers import percent
from keyheat.runs.formats import Recommendation


def outlook(advice: Recommendation) -> str:
    """The sentences, nothing where neither is known."""
    return " ".join(filter(None, (_foreseen(advice), _bill(advice))))


def _foreseen(advice: Recommendation) -> str:
    found = advice.foreseen
    if found is None:
        return ""
    before, after = percent(found.throttle_share_before), percent(found.throttle_share_after)
    left = "no attempt" if not found.throttle_share_after else f"{after} of the attempts"
    change = f"still {left}" if before == after else left
    said = f"Simulated: with this alone, {change} would be throttled"
    said += "." if before == after else f", instead of {before}."
    if found.enough_shards is not None:
        said += f" With {found.enough_shards:,} shards hardly any would be: fewer share a partition."
    return said


def _bill(advice: Recommendation) -> str:
    bill = advice.bill
    if bill is None:
        return ""
    before, after = _dollars(bill.before_dollars_per_month), _dollars(bill.after_dollars_per_month)
    if before == after:
        return f"The bill for capacity stays at {before} a month, if the demand goes on ({bill.prices})."
    return f"Capacity costs {after} a month instead of {before}, if the demand goes on ({bill.prices})."


def _dollars(amount: float) -> str:
    return f"${amount:,.2f}" if amount < 100 else f"${amount:,.0f}"
