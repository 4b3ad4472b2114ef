"""What disturbs the picture: somebody else's load, capacity that changes meanwhile, another direction."""

from typing import Any

from keyheat.accuracy.chance import between
from keyheat.accuracy.draft import Draft
from keyheat.accuracy.keys import some_keys

ANOTHER_CLIENT, CHANGED, SCALED, SWITCHED = 0.15, 0.12, 0.08, 0.03  # chances; the last three: if provisioned


def disturb(draft: Draft) -> None:
    """Nothing, one disturbance or several, each by its own chance."""
    rng = draft.rng
    if rng.random() < ANOTHER_CLIENT:
        _another_client(draft)
    if not draft.on_demand:
        kind = rng.random()
        if kind < CHANGED:
            _capacity_changes(draft)
        elif kind < CHANGED + SCALED:
            _auto_scaling(draft)
        elif kind < CHANGED + SCALED + SWITCHED:
            _mode_switch(draft)


def _another_client(draft: Draft) -> None:
    """Somebody else uses the same table, and our client's record does not hold it."""
    keys, _word = some_keys(draft.rng, "theirs", min(1.0, 0.5 * draft.kind.ceiling / draft.peak))
    draft.send(draft.peak * between(draft.rng, 0.05, 1.0), (keys,), ours=False)


def _capacity_changes(draft: Draft) -> None:
    """UpdateTable in mid-window, up or down, of the table or of an index."""
    rng = draft.rng
    whose = rng.choice([draft.table, *draft.table.get("indexes", ())])
    now = whose["provisioned"][draft.side]
    factor = between(rng, 0.2, 0.8) if rng.random() < 0.5 else between(rng, 1.25, 4)
    step: dict[str, Any] = {
        "at_s": _some_time(draft),
        "provisioned": {draft.side: max(1, round(now * factor))},
    }
    if whose is not draft.table:
        step["index"] = whose["name"]
    if step["provisioned"][draft.side] != now:
        draft.timeline.append(step)
        draft.said.append(f"{now:,} becomes {step['provisioned'][draft.side]:,} after {step['at_s']} s")


def _auto_scaling(draft: Draft) -> None:
    """Target tracking, which comes minutes late."""
    now = draft.table["provisioned"][draft.side]
    most = max(now, round(now * between(draft.rng, 1.5, 10)))
    bounds = {"min": max(1, round(now * draft.rng.uniform(0.2, 1.0))), "max": most}
    draft.table["auto_scaling"] = {draft.side: bounds}
    draft.said.append(f"auto scaling from {bounds['min']:,} to {most:,}")


def _mode_switch(draft: Draft) -> None:
    """To on-demand mode in mid-window."""
    at_s = _some_time(draft)
    draft.timeline.append({"at_s": at_s, "billing_mode": "PAY_PER_REQUEST"})
    draft.said.append(f"on-demand after {at_s} s")


def _some_time(draft: Draft) -> int:
    return round(draft.duration_s * draft.rng.uniform(0.2, 0.8))


def other_direction(draft: Draft, other: Draft) -> None:
    """Let the same table also serve what another draft sends in the other direction, with its capacity."""
    for name in ("provisioned", "max_on_demand", "warm"):
        theirs = other.table.get(name, {}).get(other.side)
        if theirs is not None:
            own = draft.table.setdefault(name, {})
            own[other.side] = max(theirs, own.get(other.side) or 0)
    draft.streams += other.streams
    draft.said += other.said
    draft.duration_s = max(draft.duration_s, other.duration_s)
