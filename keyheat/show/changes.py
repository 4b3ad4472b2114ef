"""What changed since a table was calm, in sentences."""

from collections.abc import Iterator

from keyheat.analysis.changes import NOTABLE, Changes, Period
from keyheat.numbers import UNITS, clock, percent, rate, whole


def changed_words(changes: Changes) -> str:
    """What changed in a sentence or two: the demand, then capacity, mode, maximum, indexes, operations."""
    reference = changes.reference
    if reference is None:
        return "CloudWatch has no data from before."
    return " ".join(_sentences(changes, reference))


def _sentences(changes: Changes, reference: Period) -> Iterator[str]:
    yield f"{_demand(changes, reference)}{_what_stayed(changes, reference)}."
    yield from _capacity(changes, reference)
    if changes.later is not None:
        after, seen_s = changes.later
        what = "The on-demand maximum" if changes.now.provisioned_last_per_s is None else "Capacity"
        moved = _moved(what, changes.now.limit_last_per_s, after, UNITS[changes.resource.direction])
        yield f"{moved.removesuffix('.')} by {clock(seen_s)[:5]}."
    for name in changes.new_indexes:
        yield f"Index {name} is new."
    for operation, before, now in changes.shifted():
        yield f"{operation} is {percent(now)} of the requests, and was {percent(before)}."


def _demand(changes: Changes, reference: Period) -> str:
    unit, who = UNITS[changes.resource.direction], f"{changes.resource.direction.capitalize()}s"
    who += f" of {changes.resource.name}" if changes.resource.index is not None else ""
    before, now = reference.demand_per_s or 0.0, changes.now.demand_per_s or 0.0
    if abs(now - before) <= NOTABLE * max(before, now):
        return f"{who} were at {rate(before, unit)} {reference.name} as well"
    verb, least = "rose" if now > before else "fell", "at least " if changes.now.at_least else ""
    since, throttled = (clock(at_s)[:5] for at_s in (changes.rose_s, changes.now.start_s))
    burst = changes.now.provisioned_per_s is not None and now > changes.now.provisioned_per_s
    which = "peak" if reference.busiest_s is not None else "median"
    rise = f"{who} {verb} at {since}, from {rate(before, unit)} ({which}) {reference.name}"
    rise += f" to {least}{rate(now, unit)}"
    if changes.now.busiest_s is not None and (peak := clock(changes.now.busiest_s)[:5]) != since:
        rise += f" at the peak, {peak}"
    if throttled == since:
        return rise
    if changes.unseen:
        return f"{rise}; they throttled by {throttled}, and CloudWatch has no data of the time between"
    return f"{rise}; {'burst capacity served them until' if burst else 'they throttled from'} {throttled}"


def _what_stayed(changes: Changes, reference: Period) -> str:
    """That a limit is as it was, which is worth a word where the demand is not."""
    now = changes.now
    capacity = {
        units
        for period in (now, reference)
        for units in (period.provisioned_first_per_s, period.provisioned_last_per_s)
    }
    until = "" if changes.later is None else " while they throttled"
    if len(capacity) == 1 and None not in capacity:
        return f"; capacity did not change{until}"
    if now.maximum_per_s is not None and now.maximum_per_s == reference.maximum_per_s:
        return f"; the on-demand maximum did not change{until}"
    return ""


def _capacity(changes: Changes, reference: Period) -> Iterator[str]:
    """What is different of capacity, mode and maximum, as far as both are known."""
    unit, now = UNITS[changes.resource.direction], changes.now
    while_throttled = now.provisioned_first_per_s, now.provisioned_last_per_s
    if now.provisioned_per_s is None and reference.provisioned_per_s is not None:
        yield f"It is on demand now, and had {whole(reference.provisioned_per_s)} {unit} provisioned."
    elif (
        reference.provisioned_per_s not in (None, now.provisioned_per_s)
        and (reference.provisioned_per_s, now.provisioned_per_s) != while_throttled
    ):
        yield _moved("Capacity", reference.provisioned_per_s, now.provisioned_per_s, unit)
    for period, when in ((reference, reference.name), (now, "while it throttled")):
        first, last = period.provisioned_first_per_s, period.provisioned_last_per_s
        if first and last and first != last:
            yield f"{_moved('Capacity', first, last, unit)[:-1]} {when}."
    if now.maximum_per_s != reference.maximum_per_s:
        yield _moved("The on-demand maximum", reference.maximum_per_s, now.maximum_per_s, unit)


def _moved(what: str, before: float | None, now: float | None, unit: str) -> str:
    if before is None or now is None:
        done = "set" if before is None else "removed"
        return f"{what} of {whole(before or now)} {unit} was {done}."
    return (
        f"{what} was {'raised' if now > before else 'lowered'} from {whole(before)} to {whole(now)} {unit}."
    )


def not_held(changes: Changes) -> str | None:
    """Name the earlier periods without CloudWatch data; None if all or no periods have data: then
    `changed_words` says so.
    """
    if changes.reference is None:
        return None
    unknown = [period.name for period in changes.before if not period.is_known]
    return f"CloudWatch has no data of it {', nor '.join(unknown)}." if unknown else None
