"""The diagnosis of a table that somebody else loads, as an answer."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from keyheat.analysis.advice.commands import (
    account_command,
    command_of,
    file_commands,
    insights_command,
    needs_accesses,
    scaling_command,
)
from keyheat.analysis.advice.demand import demand
from keyheat.analysis.facts import Facts, facts_of
from keyheat.analysis.rules import NOT_GROWN
from keyheat.analysis.table_diagnosis import DiagnosedTable, beyond_after, exit_code_of
from keyheat.analysis.verdict import NOTABLE, groups
from keyheat.evidence.contributors import CONTRIBUTORS, OFF
from keyheat.evidence.table import CREATED_LATER
from keyheat.masking import typed
from keyheat.numbers import UNITS, a_month, measured, rate, some, whole
from keyheat.runs.formats import Recommendation, Verdict, Window, diagnosis_json
from keyheat.show.advice import (
    BY_FORMULA,
    can_be_tried,
    cure_of,
    cures_elsewhere,
    cures_now,
    first_cure,
    in_short,
    now_of,
    other_cures,
    steps_to_cure,
)  # fmt: skip
from keyheat.show.answer import Answer, Fact, Section, Table, Tone
from keyheat.show.changes import changed_rows, changed_words, not_held
from keyheat.show.run import first_facts
from keyheat.show.verdict import MOST_KEYS, in_two_words, tone_of, verdict_sentence
from keyheat.words import capital_first, enumerated, index_of, key_name, whose


def diagnosis_answer(diagnosed: DiagnosedTable) -> Answer:
    """Which limit of which resource, since when, how bad, what to do now and for good, and how sure."""
    facts, diagnosis, evidence = facts_of(diagnosed.run), diagnosed.run.diagnosis, diagnosed.evidence
    label, tone = _label(diagnosis.verdict, facts)
    changes = diagnosed.changes
    rows = tuple(changed_rows(changes)) if changes is not None and changes.reference is not None else ()
    commands = [account_command(evidence, diagnosed.options), *file_commands(evidence, diagnosed.options)]
    return Answer(
        title=diagnosed.table.name,
        label=label,
        tone=tone,
        sentence=_sentence(diagnosed, facts),
        context=context_of(diagnosed.region, evidence.window, up_to_now=evidence.up_to_now),
        facts=tuple(_answers(diagnosed, facts)),
        tables=(Table(title="Now and before (UTC)", rows=rows),) if rows else (),
        notes=tuple(_notes(diagnosed, facts)),
        commands=tuple(commands) if _lacks_evidence(diagnosed) else (),
        data={
            "exit_code": exit_code_of(diagnosed.run), "region": diagnosed.region,
            "diagnosis": diagnosis_json(diagnosis),
        },
    )  # fmt: skip


def _lacks_evidence(diagnosed: DiagnosedTable) -> bool:
    """Whether files leave open what throttled, or whether anything did."""
    return diagnosed.alone and diagnosed.run.diagnosis.verdict.constraint == "undetermined"


def page_of(diagnosed: DiagnosedTable, generated_at: datetime) -> str:
    """The report of the table, whose first screen says what the terminal says."""
    from keyheat.show.render import html_of
    from keyheat.show.report import report_answer

    whole, short = report_answer(diagnosed.run), diagnosis_answer(diagnosed)
    before = Section(id="before", title="Now and before", short="Before", tables=short.tables)
    answer = replace(
        whole, title=short.title, label=short.label, tone=short.tone, sentence=short.sentence,
        facts=short.facts, commands=short.commands,
        sections=(*([before] if short.tables else []), *whole.sections),
        warnings=(*whole.warnings, *_beyond_the_evidence(diagnosed)),
    )  # fmt: skip
    return html_of(answer, generated_at)


def in_brief(diagnosed: DiagnosedTable, link: str) -> Answer:
    """The same without the cost and the reasons, beside other tables; `link` leads to the whole of it."""
    whole = diagnosis_answer(diagnosed)
    facts = tuple(fact for fact in whole.facts if fact.id != "cost")
    return replace(whole, context=diagnosed.region, facts=facts, tables=(), notes=(), link=link)


def _label(verdict: Verdict, facts: Facts) -> tuple[str, Tone]:
    """What throttled and by which limit, as in `Writes of index by_day, partition limit`; and the tone."""
    if verdict.constraint == "none" and facts.other_causes:
        return "Another cause", "invalid"
    tone = tone_of(verdict, on_burst=facts.on_burst)
    limit = in_two_words(verdict, on_burst=facts.on_burst, throttles=facts.run_throttles)
    if verdict.direction is None:
        return limit, tone
    of_index = f" of {whose(verdict.resource)}" if index_of(verdict.resource) else ""
    return f"{verdict.direction.capitalize()}s{of_index}, {limit[0].lower()}{limit[1:]}", tone


def _sentence(diagnosed: DiagnosedTable, facts: Facts) -> str:
    verdict, evidence = diagnosed.run.diagnosis.verdict, diagnosed.evidence
    later = next((line for line in evidence.missing if line.startswith(CREATED_LATER)), None)
    if evidence.is_empty and later is not None:
        when = later.removeprefix(CREATED_LATER)
        return f"Nothing is known of this window: the table was created at{when}; choose a later one."
    return verdict_sentence(verdict, facts, diagnosed.run.diagnosis.generator)


def context_of(region: str, window: Window, *, up_to_now: bool) -> str:
    """Where and when, as in `eu-west-1, 2026-11-20 06:50 to 07:49 UTC (newest minute published)`."""
    start, end = window.start, window.end
    newest = " (newest minute published)" if up_to_now and not end.second else ""
    day = "" if start.date() == end.date() else f"{end:%F} "
    until = f"{day}{end:{'%T' if end.second else '%R'}}"
    return f"{f'{region}, ' if region else ''}{start:%F %R} to {until} UTC{newest}"


def _answers(diagnosed: DiagnosedTable, facts: Facts) -> Iterator[Fact]:
    """What a report's first screen says, what changed, and the commands that ease it and try the cure."""
    for fact in first_facts(diagnosed.run, facts):
        if fact.id == "do":
            yield from _what_to_do(diagnosed, facts, fact)
        elif fact.id != "now":  # that is said with its command
            yield fact
        if fact.id == "bad":
            yield from _which_key(diagnosed, facts)
            yield from _beside(diagnosed, facts)
            if (changes := diagnosed.changes) is not None:
                unknown = tuple(filter(None, [not_held(changes)]))
                value = changed_words(changes)
                yield Fact(id="changed", name="What changed", value=value, beside=unknown)


def _beside(diagnosed: DiagnosedTable, facts: Facts) -> Iterator[Fact]:
    """The indexes without throttles by CloudWatch, and the indexes or the table that a cure uncovers."""
    tracks = diagnosed.run.tracks
    counted = {track.index: 0.0 for track in tracks if track.index and track.events is not None}
    for track in tracks:
        if track.index in counted:
            counted[track.index] += sum((track.events or {}).values())
    beyond = {name: per_s for name, *per_s in beyond_after(diagnosed.run, facts)}
    of_table = beyond.pop(None, None)
    calm = [index for index, events in counted.items() if not events]
    if calm and diagnosed.run.diagnosis.labels:
        more = tuple(
            f"{name} has {whole(has)} WCU/s, and takes {whole(takes)} of that demand: once its burst and "
            "write buffer are spent, it throttles every write, so raise it as well"
            for name, (takes, has) in beyond.items()
        )
        value = f"No throttle events of {', '.join(map(str, calm))}"
        yield Fact(id="indexes", name="Indexes", value=value, beside=more)
    if of_table is not None:
        takes, has = (rate(each, UNITS[facts.resource.direction]) for each in of_table)
        when = f"{takes} reach it when {facts.resource.name} lets them through"
        value = f"Has {has}, and {when}: once its burst is spent it throttles them, so raise it as well"
        yield Fact(id="table", name="The table", value=value)


def _what_to_do(diagnosed: DiagnosedTable, facts: Facts, cure: Fact) -> Iterator[Fact]:
    """What eases it tonight, and what cures it, with the command that tries the cure."""
    diagnosis = diagnosed.run.diagnosis
    now = now_of(diagnosis)
    if now is not None:
        tonight = _tonight(diagnosed, facts, now)
        steps = diagnosis.cure.steps if cures_now(diagnosis) and diagnosis.cure else ()
        command = command_of(steps, diagnosed.table, diagnosed.options, diagnosed.scaled) if steps else None
        if len(steps) == 1 or command:
            fix = _fix_command(diagnosed)
            tried = f"To try it first: {fix}" if fix else ""
            why = tonight.beside if len(steps) == 1 else ()
            beside = tuple(filter(None, (*cure.beside, *why, tried)))
            yield replace(cure, command=command or tonight.command, beside=beside)
            return
        yield tonight
    if cure.name == "Now":
        return
    if _lacks_evidence(diagnosed) and not diagnosis.verdict.settled_by:
        cure = replace(cure, value="Get the missing evidence by the commands below")
    beside = (*cure.beside, *_assumed(diagnosed))
    cure = replace(cure, command=cure.command or _cure_command(diagnosed), beside=beside)
    if now is not None and diagnosis.cure is None and cures_now(diagnosis):
        others = other_cures(diagnosis)
        beside = (*([f"Or {others}"] if others else []), *cures_elsewhere(diagnosis))
        cure = replace(cure, name="For good", value=f"The same: {cure_of(diagnosis)}", beside=beside)
    yield cure


def _assumed(diagnosed: DiagnosedTable) -> Iterator[str]:
    """What a cure takes for granted: one key, shards that share no partition, a known range of scaling."""
    diagnosis = diagnosed.run.diagnosis
    by_formula = diagnosis.cure is None and cure_of(diagnosis) is not None
    cure = first_cure(diagnosis) if by_formula else None
    if cure is not None and cure.action == "shard_writes" and not diagnosis.hot_keys:
        yield "Assumed: one key fills the partition. If several do, use a partition key with more values"
    if cure is not None and cure.shards and cure.foreseen is None:
        yield BY_FORMULA
    actions = [step.action for step in diagnosis.cure.steps] if diagnosis.cure else []
    actions += [cure.action] if cure is not None else []  # by formula
    if any(_needs_scaling(diagnosed, action) for action in actions):
        yield "Its auto scaling was not looked up; this shows it. If its maximum is lower, raise that as well"


def _which_key(diagnosed: DiagnosedTable, facts: Facts) -> Iterator[Fact]:
    """How to have the keys named, where a partition throttles and nothing names them."""
    resource, evidence = facts.resource, diagnosed.evidence
    by_limit = groups(diagnosed.run.labels_of(resource))
    least = NOTABLE * sum(group.throttles for group in by_limit)
    notable = (group for group in by_limit if group.throttles >= least)
    limits = {group.constraint for group in notable if group.heaviest.rule != NOT_GROWN}
    if diagnosed.run.diagnosis.verdict.constraint == "none":  # a few throttles
        return
    if facts.hot_key is not None or facts.whose_unknown or limits.isdisjoint(("partition", "undetermined")):
        return
    counted = {rule.counts for rule in evidence.contributors or () if rule.index == resource.index}
    off = f"{CONTRIBUTORS}: {OFF}" in evidence.missing
    unknown = any(line.startswith(CONTRIBUTORS) for line in evidence.missing) and not off
    names_them = "accessed" in counted or (counted and not needs_accesses(resource))
    unread = diagnosed.alone and not unknown
    if names_them or unknown or (evidence.contributors is None and not (off or unread)):
        return
    lacks = "was not read" if unread else "does not count accesses" if counted else "is off"
    prices = diagnosed.prices.contributor_insights
    price = (
        f"{a_month(prices.rule_per_month)} a month for each rule, {a_month(prices.events_per_million)} for a "
        f"million {'requests' if needs_accesses(resource) else 'throttled requests'}"
        if prices is not None
        else "its price is not in this price list"
    )
    read = f"Where it is on, `{account_command(evidence, diagnosed.options)}` reads it from the account"
    yield Fact(
        id="key",
        name="Which key",
        value=f"Not known: Contributor Insights of {resource.name} {lacks}",
        beside=(*([read] if unread else []), f"This turns it on for what comes; {price}"),
        command=insights_command(diagnosed.table, resource, diagnosed.options),
    )


def _cure_command(diagnosed: DiagnosedTable) -> str | None:
    """The command that does what cures it, else the one that tries it, as where it is done already."""
    diagnosis = diagnosed.run.diagnosis
    if cure_of(diagnosis) is None or diagnosis.verdict.constraint == "none":
        return None
    steps = steps_to_cure(diagnosis)
    command = None
    if len(steps) == 1 and _needs_scaling(diagnosed, steps[0].action):
        return scaling_command(diagnosed.table, diagnosed.options)
    if len(steps) == 1 and not cures_now(diagnosis):
        command = command_of(steps, diagnosed.table, diagnosed.options, diagnosed.scaled)
    return command or _fix_command(diagnosed)


def _needs_scaling(diagnosed: DiagnosedTable, action: str) -> bool:
    """Whether a cure sets a range of auto scaling, of which nothing is known."""
    scaling = diagnosed.evidence.auto_scaling
    return action == "raise_minimum" and (scaling is None or scaling.why is not None)


def _fix_command(diagnosed: DiagnosedTable) -> str | None:
    """The command that tries the cure; None where a replay lacks the table's mode or capacity."""
    scaled = any(track.on_demand is not None for track in diagnosed.run.tracks)
    has_mode = diagnosed.evidence.table.on_demand_since or scaled
    if diagnosed.folder is None or not has_mode or not can_be_tried(diagnosed.run.diagnosis):
        return None
    return f"keyheat fix {typed(diagnosed.folder)}"


def _tonight(diagnosed: DiagnosedTable, facts: Facts, now: Recommendation) -> Fact:
    """What eases it now: in words, as a command to paste, with what a month costs before and after."""
    bill, price, value = now.bill, "", capital_first(in_short(now))
    if bill is not None:
        before, after = a_month(bill.before_dollars_per_month), a_month(bill.after_dollars_per_month)
        price = f"{before} → {after} a month ({bill.prices})"
    if now.action == "back_off" and facts.hot_key is not None:
        keys = (facts.hot_key, *facts.hot_beside)[:MOST_KEYS]
        name = enumerated([key_name(key.key, key.shown) for key in keys])
        where = f" in {facts.resource.name}" if facts.resource.index else ""
        value = f"Slow down or queue the {facts.resource.direction}s of {name}{where}; retry with jitter"
    return Fact(
        id="now",
        name="Now",
        value=value,
        beside=tuple(filter(None, (now.why, price))),
        command=command_of([now], diagnosed.table, diagnosed.options, diagnosed.scaled),
    )


def _notes(diagnosed: DiagnosedTable, facts: Facts) -> Iterator[str]:
    """Why, what else it may be, and what could not be had."""
    diagnosis = diagnosed.run.diagnosis
    yield from diagnosis.verdict.because
    track, labels = diagnosed.run.track(facts.resource), diagnosed.run.labels_of(facts.resource)
    least = demand(replace(track, units_per_request=None), labels) if track and track.alone else None
    if track is not None and least is not None:
        per_s = rate(least.units_per_s, UNITS[track.direction])
        yield (
            f"Assumed for the demand: {enumerated(track.alone)} alone was sent, since no other operation was "
            f"counted, and a throttled request takes {measured(track.units_per_request)} units. With others "
            f"beside, the demand was at least {per_s}."
        )
    for finding in diagnosis.findings:
        if finding.resource is None:  # what is found of a resource stands in the facts
            yield from finding.because
    for track in diagnosed.run.tracks:
        of_verdict = track.index and track.direction == diagnosis.verdict.direction
        if of_verdict and track.consumed is None and track.events is None:
            # CloudWatch was not asked about that index, which may have throttled as well.
            yield f"{track.direction.title()}s of {whose(track.resource)}: not collected."
    yield from _beyond_the_evidence(diagnosed)
    if diagnosis.verdict.settled_by:
        yield diagnosis.verdict.settled_by
    for line in diagnosis.coverage.missing:
        if diagnosis.labels or line != f"{CONTRIBUTORS}: {OFF}":  # no key is to be named
            yield f"Missing: {line}"


def _beyond_the_evidence(diagnosed: DiagnosedTable) -> Iterator[str]:
    """What the account says that no evidence of this table has."""
    if diagnosed.user_errors:
        yield (
            f"UserErrors counts {some(round(diagnosed.user_errors), 'request')} that DynamoDB refused as "
            "wrong, of any table in the Region: look for ValidationException in the logs."
        )
    if diagnosed.scaled.why is not None:
        yield f"Missing: auto scaling, which may undo a change: {diagnosed.scaled.why}"
