"""What changed before a table throttled, in sentences and as a table."""

from collections.abc import Iterator

from keyheat.analysis.changes import NOTABLE, Changes, Period
from keyheat.numbers import NOTHING, UNITS, clock, measured, percent, rate, whole


def changed_words(found: Changes) -> str:
    """What changed in a sentence or two: the demand, then capacity, mode, maximum, indexes, operations."""
    reference = found.reference
    if reference is None:
        return "CloudWatch holds nothing of the time before."
    return " ".join(_sentences(found, reference))


def _sentences(found: Changes, reference: Period) -> Iterator[str]:
    yield f"{_demand(found, reference)}{_what_stayed(found.now, reference)}."
    yield from _capacity(found, reference)
    for name in found.new_indexes:
        yield f"Index {name} is new."
    for operation, before, now in found.shifted():
        yield f"{operation} is {percent(now)} of the requests, and was {percent(before)}."


def _demand(found: Changes, reference: Period) -> str:
    unit, who = UNITS[found.resource.direction], f"{found.resource.direction.capitalize()}s"
    who += f" of {found.resource.place}" if found.resource.index is not None else ""
    before, now = reference.demand_per_s or 0.0, found.now.demand_per_s or 0.0
    if abs(now - before) <= NOTABLE * max(before, now):
        return f"{who} were at {rate(before, unit)} {reference.name} as well"
    verb, least = "rose" if now > before else "fell", "at least " if found.now.at_least else ""
    since = clock(found.rose_s)[:5]
    rise = f"{who} {verb} from {rate(before, unit)} {reference.name} to {least}{rate(now, unit)} at {since}"
    throttled = clock(found.now.start_s)[:5]
    if throttled == since:
        return rise
    burst = found.now.provisioned_per_s is not None and now > found.now.provisioned_per_s
    return f"{rise}, and {'burst capacity served them until' if burst else 'throttled from'} {throttled}"


def _what_stayed(now: Period, reference: Period) -> str:
    """That a limit is as it was, which is worth a word where the demand is not."""
    if now.provisioned_per_s is not None and now.provisioned_per_s == reference.provisioned_per_s:
        return "; capacity did not change"
    if now.maximum_per_s is not None and now.maximum_per_s == reference.maximum_per_s:
        return "; the on-demand maximum did not change"
    return ""


def _capacity(found: Changes, reference: Period) -> Iterator[str]:
    """What is different of capacity, mode and maximum, as far as both are known."""
    unit, now = UNITS[found.resource.direction], found.now
    if now.provisioned_per_s is None and reference.provisioned_per_s is not None:
        yield f"It is on demand now, and had {whole(reference.provisioned_per_s)} {unit} provisioned."
    elif reference.provisioned_per_s not in (None, now.provisioned_per_s):
        yield _moved("Capacity", reference.provisioned_per_s, now.provisioned_per_s, unit)
    if now.maximum_per_s != reference.maximum_per_s:
        yield _moved("The on-demand maximum", reference.maximum_per_s, now.maximum_per_s, unit)


def _moved(what: str, before: float | None, now: float | None, unit: str) -> str:
    if before is None or now is None:
        done = "set" if before is None else "removed"
        return f"{what} of {whole(before or now)} {unit} was {done}."
    return (
        f"{what} was {'raised' if now > before else 'lowered'} from {whole(before)} to {whole(now)} {unit}."
    )


def changed_rows(found: Changes) -> list[dict[str, str]]:
    """A row for each measure, with a column for each time of which something is known."""
    unit = UNITS[found.resource.direction]
    periods = [found.now, *(period for period in found.before if period.is_known)]
    rows = {
        f"demand, {unit}/s": [measured(one.demand_per_s) for one in periods],
        f"provisioned, {unit}/s": [whole(one.provisioned_per_s) for one in periods],
        f"maximum, {unit}/s": [whole(one.maximum_per_s) for one in periods],
        "throttles": [whole(one.throttles) for one in periods],
    }
    for operation in sorted({name for one in periods for name in one.per_operation}):
        rows[f"{operation} accepted/s"] = [measured(one.per_operation.get(operation, 0.0)) for one in periods]
    return [
        {found.resource.title: name, **dict(zip((one.name for one in periods), values, strict=True))}
        for name, values in rows.items()
        if set(values) != {NOTHING}
    ]


def not_held(found: Changes) -> str | None:
    """Of which times before CloudWatch holds nothing; None if that is none of them, or all: then
    `changed_words` says so.
    """
    if found.reference is None:
        return None
    unknown = [period.name for period in found.before if not period.is_known]
    return f"CloudWatch holds nothing of it {', nor '.join(unknown)}." if unknown else None
