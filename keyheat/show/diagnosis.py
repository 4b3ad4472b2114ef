"""The diagnosis of a table that somebody else loads, as an answer."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from keyheat.analysis.advice.commands import command_of, insights_command, needs_accesses
from keyheat.analysis.changes import NOTABLE, Changes, Period
from keyheat.analysis.facts import Facts, facts_of
from keyheat.analysis.table_diagnosis import DiagnosedTable, exit_code_of
from keyheat.evidence.contributors import CONTRIBUTORS, OFF
from keyheat.evidence.table import CREATED_LATER
from keyheat.masking import typed
from keyheat.numbers import NOTHING, UNITS, a_month, clock, measured, percent, rate, some, units, whole
from keyheat.runs.formats import Recommendation, Verdict, Window, diagnosis_json
from keyheat.show.advice import can_be_tried, cure_of, cures_now, first_cure, in_short, now_of, other_cures
from keyheat.show.answer import Answer, Fact, Section, Table, Tone
from keyheat.show.questions import first_facts
from keyheat.show.verdict import in_two_words, tone_of, verdict_sentence
from keyheat.words import capital, index_of, key_name, title_of, whose


def diagnosis_answer(found: DiagnosedTable) -> Answer:
    """Which limit of which resource, since when, how bad, what to do now and for good, and how sure."""
    facts, diagnosis = facts_of(found.run), found.run.diagnosis
    return Answer(
        title=found.table.name,
        label=_label(diagnosis.verdict, facts),
        tone=_tone(diagnosis.verdict, facts),
        sentence=_sentence(found, facts),
        context=context_of(found.region, found.evidence.window, up_to_now=found.evidence.up_to_now),
        facts=tuple(_answers(found, facts)),
        tables=tuple(_tables(found)),
        notes=tuple(_notes(found)),
        data={
            "exit_code": exit_code_of(found.run), "region": found.region,
            "diagnosis": diagnosis_json(diagnosis),
        },
    )  # fmt: skip


def page_of(found: DiagnosedTable, generated_at: datetime) -> str:
    """The report of the table, whose first screen says what the terminal says."""
    from keyheat.show.html import html_of
    from keyheat.show.report import report_answer

    whole, short = report_answer(found.run), diagnosis_answer(found)
    before = Section(id="before", title="Now and before", short="Before", tables=short.tables)
    answer = replace(
        whole, title=short.title, label=short.label, tone=short.tone, sentence=short.sentence,
        facts=short.facts, sections=(*([before] if short.tables else []), *whole.sections),
        warnings=(*whole.warnings, *_beyond_the_evidence(found)),
    )  # fmt: skip
    return html_of(answer, generated_at)


def in_brief(found: DiagnosedTable, link: str) -> Answer:
    """The same without the cost and the reasons, beside other tables; `link` leads to the whole of it."""
    whole = diagnosis_answer(found)
    facts = tuple(fact for fact in whole.facts if fact.id != "cost")
    return replace(whole, context=found.region, facts=facts, tables=(), notes=(), link=link)


def _label(verdict: Verdict, facts: Facts) -> str:
    """What throttled and by which limit, as in `Writes of index by_day, partition limit`."""
    if verdict.constraint == "none" and facts.other_causes:
        return "Another cause"
    limit = in_two_words(verdict, on_burst=facts.on_burst, throttles=facts.run_throttles)
    if verdict.direction is None:
        return limit
    of_index = f" of {whose(verdict.resource)}" if index_of(verdict.resource) else ""
    return f"{verdict.direction.capitalize()}s{of_index}, {limit[0].lower()}{limit[1:]}"


def _sentence(found: DiagnosedTable, facts: Facts) -> str:
    verdict, evidence = found.run.diagnosis.verdict, found.evidence
    later = next((line for line in evidence.missing if line.startswith(CREATED_LATER)), None)
    if evidence.is_empty and later is not None:
        when = later.removeprefix(CREATED_LATER)
        return f"Nothing is known of this window: the table was created at{when}; choose a later one."
    return verdict_sentence(verdict, facts, found.run.diagnosis.generator)


def _tone(verdict: Verdict, facts: Facts) -> Tone:
    if verdict.constraint == "none" and facts.other_causes:
        return "invalid"
    return tone_of(verdict, on_burst=facts.on_burst)


def context_of(region: str, window: Window, *, up_to_now: bool) -> str:
    """Where and when, as in `eu-west-1, 2026-11-20 06:50 to 07:49 UTC (newest minute published)`."""
    newest = " (newest minute published)" if up_to_now and not window.end.second else ""
    where = f"{region}, " if region else ""
    return f"{where}{_span(window.start, window.end)} UTC{newest}"


def _span(start: datetime, end: datetime) -> str:
    day = "" if start.date() == end.date() else f"{end:%F} "
    return f"{start:%F %R} to {day}{end:{'%T' if end.second else '%R'}}"


def _answers(found: DiagnosedTable, facts: Facts) -> Iterator[Fact]:
    """What a report's first screen says, what changed, and the commands that ease it and try the cure."""
    for one in first_facts(found.run, facts):
        if one.id == "do":
            yield from _what_to_do(found, facts, one)
        elif one.id != "now":  # that is said with its command
            yield one
        if one.id == "bad":
            yield from _which_key(found, facts)
            yield from _indexes(found)
            yield from _changed(found)


def _indexes(found: DiagnosedTable) -> Iterator[Fact]:
    """The indexes that are no part of the trouble, where CloudWatch counts no throttle of theirs."""
    tracks = found.run.arranged.tracks if found.run.arranged else ()
    counted = {track.index: 0.0 for track in tracks if track.index and track.events is not None}
    for track in tracks:
        if track.index in counted:
            counted[track.index] += sum((track.events or {}).values())
    calm = [index for index, events in counted.items() if not events]
    if calm and found.run.diagnosis.labels:
        yield Fact(id="indexes", name="Indexes", value=f"No throttle events of {', '.join(map(str, calm))}")


def _changed(found: DiagnosedTable) -> Iterator[Fact]:
    if found.changes is not None:
        unknown = filter(None, [not_held(found.changes)])
        yield Fact(
            id="changed", name="What changed", value=changed_words(found.changes), beside=tuple(unknown)
        )


def _what_to_do(found: DiagnosedTable, facts: Facts, one: Fact) -> Iterator[Fact]:
    """What eases it tonight, and what cures it, with the command that tries the cure."""
    diagnosis = found.run.diagnosis
    now = now_of(diagnosis)
    if now is not None:
        yield _tonight(found, facts, now)
    if one.name == "Now":
        return
    one = replace(one, command=one.command or _cure_command(found), beside=(*one.beside, *_by_formula(found)))
    if now is not None and diagnosis.cure is None and cures_now(diagnosis):
        others = other_cures(diagnosis)
        beside = (f"Or {others}",) if others else ()
        one = replace(one, name="For good", value=f"The same: {cure_of(diagnosis)}", beside=beside)
    yield one


def _by_formula(found: DiagnosedTable) -> Iterator[str]:
    """That a number of shards is not tried: chance may put several of them into one partition."""
    diagnosis = found.run.diagnosis
    cure = None if diagnosis.cure else first_cure(diagnosis)
    if cure is not None and cure.shards and cure.foreseen is None:
        yield "By formula, not simulated: shards that share a partition may take more"


def _which_key(found: DiagnosedTable, facts: Facts) -> Iterator[Fact]:
    """How to have the keys named, where a partition throttles and nothing names them."""
    resource, evidence = facts.resource, found.evidence
    limits = {label.constraint for label in found.run.labels_of(resource)}
    if facts.hot_key is not None or limits.isdisjoint(("partition", "undetermined")):
        return
    counted = {rule.counts for rule in evidence.contributors or () if rule.index == resource.index}
    off = f"{CONTRIBUTORS}: {OFF}" in evidence.missing
    unknown = any(line.startswith(CONTRIBUTORS) for line in evidence.missing) and not off
    names_them = "accessed" in counted or (counted and not needs_accesses(resource))
    if names_them or unknown or (evidence.contributors is None and not off):
        return
    lacks = "does not count accesses" if counted else "is off"
    prices = found.billing.prices.contributor_insights
    price = (
        f"{a_month(prices.rule_per_month)} a month for each rule, {a_month(prices.events_per_million)} for a "
        f"million {'requests' if needs_accesses(resource) else 'throttled requests'}"
        if prices is not None
        else "its price is not in this price list"
    )
    yield Fact(
        id="key",
        name="Which key",
        value=f"Not known: Contributor Insights of {resource.place} {lacks}",
        beside=(f"This turns it on for what comes; {price}",),
        command=insights_command(found.table, resource, found.options),
    )


def _cure_command(found: DiagnosedTable) -> str | None:
    """The command that does what cures it, else the one that tries it, as where it is done already."""
    diagnosis = found.run.diagnosis
    cure = first_cure(diagnosis)
    if cure is None or cure_of(diagnosis) is None or diagnosis.verdict.constraint == "none":
        return None
    command = None
    if not cures_now(diagnosis):
        command = command_of(cure, found.table, found.options, found.scaled)
    if command is None and found.folder is not None and can_be_tried(diagnosis):
        command = f"keyheat fix {typed(found.folder)}"
    return command


def _tonight(found: DiagnosedTable, facts: Facts, now: Recommendation) -> Fact:
    """What eases it now: in words, as a command to paste, with what a month costs before and after."""
    bill, price, value = now.bill, "", capital(in_short(now))
    if bill is not None:
        before, after = a_month(bill.before_dollars_per_month), a_month(bill.after_dollars_per_month)
        price = f"{before} → {after} a month ({bill.prices})"
    if now.units and now.direction:
        value = f"{title_of(now.action, now.resource)} to {units(now.units, now.direction)}"
    if now.action == "back_off" and facts.hot_key is not None:
        name = key_name(facts.hot_key.key, facts.hot_key.shown)
        where = f" in {facts.resource.place}" if facts.resource.index else ""
        value = f"Slow down or queue the {facts.resource.direction}s of {name}{where}; retry with jitter"
    return Fact(
        id="now",
        name="Now",
        value=value,
        beside=tuple(filter(None, (now.why, price))),
        command=command_of(now, found.table, found.options, found.scaled),
    )


def _tables(found: DiagnosedTable) -> Iterator[Table]:
    if found.changes is not None and found.changes.reference is not None:
        yield Table(title="Now and before (UTC)", rows=tuple(changed_rows(found.changes)))


def _notes(found: DiagnosedTable) -> Iterator[str]:
    """Why, what else it may be, and what could not be had."""
    diagnosis = found.run.diagnosis
    yield from diagnosis.verdict.because
    yield from _beyond_the_evidence(found)
    if diagnosis.verdict.settled_by:
        yield diagnosis.verdict.settled_by
    for line in diagnosis.coverage.missing:
        if diagnosis.labels or line != f"{CONTRIBUTORS}: {OFF}":  # no key is to be named
            yield f"Missing: {line}"


def _beyond_the_evidence(found: DiagnosedTable) -> Iterator[str]:
    """What the account says that no evidence of this table has."""
    if found.user_errors:
        yield (
            f"UserErrors counts {some(round(found.user_errors), 'request')} that DynamoDB refused as wrong, "
            "of any table in the Region: look for ValidationException in the logs."
        )
    if found.scaled.why is not None:
        yield f"Missing: auto scaling, which may undo a change: {found.scaled.why}"


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
