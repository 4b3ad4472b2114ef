"""Is the heat on one key, on a few, on all alike, or on one key after the other?"""

from collections.abc import Iterator

from keyheat.analysis.heat import KeySpread, heats_of, key_spread
from keyheat.numbers import percent, some
from keyheat.runs.formats import Finding
from keyheat.runs.run import Run
from keyheat.words import enumerated, label_of

SPREAD = {
    "one_key": "one key has at least half of them",
    "few_keys": "a few keys have most of them",
    "even": "no key stands out, which speaks against a hot key",
}


def analyze(run: Run) -> Iterator[Finding]:
    """Report how each resource's throttles are spread, and where the heat moves, as with a date key."""
    for index in (None, *(index_definition.name for index_definition in run.evidence.table.indexes)):
        if (spread := key_spread(run.evidence, index)) is not None:
            yield _of_spread(spread, label_of(index))
    for heat in heats_of(run.evidence, run.client):
        if heat.moves:
            keys = len(heat.moved_over)
            message = f"{some(keys, 'key')} led one after the other: each was hot for a while."
            numbers = {"keys that led": (float(keys), "")}
            yield Finding(label="moving", because=(message,), numbers=numbers, direction=heat.direction)


def _of_spread(spread: KeySpread, resource: str) -> Finding:
    counted = f"{spread.total:,.0f} throttled requests that Contributor Insights counted"
    shares = [f"{name} has {percent(share)}" for name, share in spread.notable]
    keys = enumerated(shares) if shares else f"the first key has {percent(spread.top_share)}"
    return Finding(
        label=spread.spread,
        because=(f"Of the {counted}, {keys}: {SPREAD[spread.spread]}.",),
        numbers={"first key": (100 * spread.top_share, "%"), "throttled": (spread.total, "requests")},
        resource=resource,
    )
