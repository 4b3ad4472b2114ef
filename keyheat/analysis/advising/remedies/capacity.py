"""Remedies that are another capacity: units of the table or of an index, or another way to pay for them."""

from math import ceil
from typing import Final

from keyheat.analysis.advising.advised import OF_UNITS, on_demand, with_units
from keyheat.analysis.advising.remedies.remedy import Asked, Outcome, by_hand, raw_of, remedied
from keyheat.numbers import span, units
from keyheat.words import whose

SCALES_AFTER_S: Final = 600.0
"""A load that is shorter has ended before auto scaling has changed anything: two minutes above the target, an
alarm of up to three, and the update."""
_OF_UNITS: Final = {
    "raise_capacity": "{} provisioned",
    "raise_minimum": "at least {} provisioned",
    "auto_scaling": "auto scaling up to {}",
    "raise_max_on_demand": "an on-demand maximum of {}",
    "pre_warm": "warm throughput of {}",
}
assert _OF_UNITS.keys() == OF_UNITS.keys()


def of_units(asked: Asked) -> Outcome:
    """More capacity, a minimum, auto scaling, a higher maximum, or pre-warming."""
    amount, action = asked.advice.units, asked.advice.action
    if amount is None:
        return by_hand(asked, "how much was asked for is not known: `keyheat whatif` searches the capacity.")
    if action == "auto_scaling":
        if not asked.simulated:
            return by_hand(asked, "a run sets up no auto scaling; --target simulated plays it.")
        if (lasts_s := asked.scenario.load.duration_s) < SCALES_AFTER_S:
            return by_hand(
                asked,
                f"auto scaling acts after minutes, and this load lasts {span(lasts_s)}: run it for "
                f"{span(SCALES_AFTER_S)} or longer (load.duration_s).",
            )
    changed = with_units(
        asked.scenario, action, amount, index=asked.index, direction=asked.direction, target=asked.target
    )
    return remedied(asked, raw_of(changed), _OF_UNITS[action].format(_amount(asked, amount)))


def _amount(asked: Asked, amount: float) -> str:
    return f"{units(ceil(amount), asked.direction)} of {whose(asked.resource)}"


def paid_by_request(asked: Asked) -> Outcome:
    """On-demand mode."""
    changed = on_demand(asked.scenario)
    notes = (
        ("The timeline of capacities is left out.",) if changed.timeline != asked.scenario.timeline else ()
    )
    return remedied(asked, raw_of(changed), "the table on demand", notes=notes)
