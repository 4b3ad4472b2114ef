"""A run, or evidence alone, as an answer: verdict, main facts, actions and reasons.

A terminal shows it as it is; `keyheat.show.report` adds the charts and the numbers for a page.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from typing import Final

import numpy as np

from keyheat.analysis.elsewhere import usual_latency_ms
from keyheat.analysis.facts import Facts, facts_of, throttled_seconds, throttled_spans
from keyheat.analysis.report import ReportRun
from keyheat.analysis.run_result import STILL_S
from keyheat.analysis.track import EvidenceTrack
from keyheat.analysis.verdict import going_on, groups
from keyheat.model import limits
from keyheat.model.limits import MINUTE_S
from keyheat.numbers import (
    NOTHING,
    UNITS,
    measured,
    milliseconds,
    moment,
    percent,
    rate,
    saying,
    some,
    span,
    whole,
)
from keyheat.runs.formats import Label, diagnosis_json
from keyheat.runs.manifest import RetryCost
from keyheat.show.advice import advice_sections, carried_words, cost_fact, cure_fact, now_fact
from keyheat.show.answer import Answer, Fact, Section
from keyheat.show.verdict import (
    NAMES,
    expectation,
    findings_sections,
    in_two_words,
    is_as_expected,
    limit_of,
    rival_words,
    span_table,
    sureness_fact,
    target_words,
    tone_of,
    verdict_sentence,
)
from keyheat.words import Constraint, capital, enumerated, key_name, sentence, whose

ON_A_VIRTUAL_CLOCK: Final = "Simulated on a virtual clock: no request was sent, and there are no latencies."
TO_DO: Final = ("now", "do")
MODES: Final[Mapping[str | None, str]] = {"PROVISIONED": "provisioned", "PAY_PER_REQUEST": "on-demand"}


def run_answer(run: ReportRun) -> Answer:
    """The answer."""
    diagnosis, facts = run.diagnosis, facts_of(run)
    verdict, expects = diagnosis.verdict, run.manifest.expects if run.manifest else None
    scenario, table = run.manifest and run.manifest.name, run.table and run.table.name
    return Answer(
        title=scenario or table or "run",
        label=in_two_words(verdict, on_burst=facts.on_burst, throttles=facts.run_throttles),
        tone=tone_of(verdict, on_burst=facts.on_burst),
        sentence=verdict_sentence(verdict, facts, diagnosis.generator),
        context=_context(run),
        question=(run.manifest.question if run.manifest else None) or "",
        remark=expectation(expects, verdict) if expects else "",
        surprise=expects is not None and not is_as_expected(expects, verdict),
        facts=first_facts(run, facts),
        warnings=tuple(_warnings(run)),
        sections=tuple(sections_of(run)),
        data=diagnosis_json(diagnosis),
    )


def first_screen(run: ReportRun, *, brief: bool = False) -> Answer:
    """The answer in short, with broken thresholds: what verbs print after a run.

    One of several is `brief`: what happened, and what to do.
    """
    whole, verdict = run_answer(run), run.diagnosis.verdict
    why = () if verdict.valid else verdict.because[:1]
    thresholds = tuple(section for section in whole.sections if section.id == "thresholds")
    facts = tuple(fact for fact in whole.facts if not brief or fact.id in TO_DO)
    key = facts_of(run).hot_key if run.simulated and not brief else None  # simulated again at no cost
    digest = key is not None and key.shown is None and key_name(key.key, None) in whole.sentence
    hint = ("The key is shown by its digest: add --show-keys to see its value.",) if digest else ()
    return replace(whole, facts=facts, sections=thresholds, notes=(*why, *hint))


def _context(run: ReportRun) -> str:
    """Table, billing mode, target, time and duration."""
    as_it_was = ", loaded as it was" if run.manifest and run.manifest.existing else ""
    target = run.manifest.target if run.manifest else None
    start_s, end_s = times_of(run)
    when = "" if start_s is None or end_s is None else f"{moment(start_s)} UTC, {span(end_s - start_s)}"
    table = (f"table {run.table.name}{as_it_was}", MODES.get(run.table.billing_mode, "")) if run.table else ()
    return " · ".join(filter(None, (*table, target and target_words(target), when)))


def _warnings(run: ReportRun) -> Iterator[str]:
    """Warnings before relying on the numbers."""
    manifest = run.manifest
    if manifest is not None and manifest.stopped_by is not None:
        yield f"{sentence(manifest.stopped_by.words)} The record until then is valid."
    elif manifest is not None and manifest.status != "finished":
        how = "interrupted" if manifest.status == "interrupted" else "not finished"
        seconds = run.record.range()
        lasted = f", {span(seconds[1] - seconds[0])}" if seconds else ""
        yield f"The run was {how}: it shows what was recorded{lasted}."
    if manifest is not None and manifest.company is not None:
        yield manifest.company
    if run.simulated:
        yield ON_A_VIRTUAL_CLOCK
    yield from map(sentence, run.health.missing)
    if manifest is not None and manifest.auto_scaling is not None:
        yield from map(sentence, manifest.auto_scaling.in_words())
    yield from (f"{capital(words)}." for words in carried_words(run.diagnosis))
    if not run.units_hold:
        yield "Do not rely on units, shares and costs: this endpoint may count units differently."
    if run.scale != 1:
        word, kind = ("Simulated", "simulated") if run.simulated else ("Rehearsed", "local")
        admits = whole(limits.PARTITION_WRITE_UNITS_PER_S * run.scale)
        yield (
            f"{word} at scale {run.scale:g}: the {kind} table multiplies every rate limit by it, "
            f"so one partition admits {admits} WCU/s here."
        )


def sections_of(run: ReportRun) -> Iterator[Section]:
    """Actions, reasons, limited spans, other findings, thresholds, and missing files."""
    diagnosis = run.diagnosis
    yield from advice_sections(run)
    why = diagnosis.verdict.because or ("The diagnosis gives no reasons.",)
    yield Section(id="evidence", title="Why", short="Why", lines=tuple(why))
    if rivals := rival_words(diagnosis.verdict):
        yield Section(id="rivals", title="What else it may be, and what that takes", lines=rivals)
    if spans := span_table(diagnosis.labels):
        title = "What was limited, and when (UTC)"
        yield Section(id="labels", title=title, short="Limits", tables=(spans,))
    yield from findings_sections(diagnosis)
    if diagnosis.thresholds:
        wrong, kept, undecided = [], [], []
        for each in diagnosis.thresholds:
            words = f"{each.name}: {each.measured} measured, {each.allowed} allowed"
            if not each.decided:
                undecided.append(f"{each.name}, {each.allowed}, is not decided: {each.measured}")
            elif each.broken:
                wrong.append(f"Broken: {words} by [thresholds] of the scenario")
            else:
                kept.append(f"Held: {words}")
        yield Section(
            id="thresholds", title="Thresholds", short="Thresholds", wrong=tuple(wrong),
            lines=(*kept, *undecided),
        )  # fmt: skip
    if missing := (*run.missing, *diagnosis.coverage.missing):
        yield Section(id="missing", title="Missing", short="Missing", lines=missing)


NOT_YET: Final = "CloudWatch publishes a minute after it ends: ask again in 2 minutes, or add --log FILE."
"""How to learn of the time since the newest minute that is published."""


def first_facts(run: ReportRun, facts: Facts) -> tuple[Fact, ...]:
    """The answers, in the order in which they are asked; nothing of costs where no change has a price."""
    verdict = run.diagnosis.verdict
    if run.alone and verdict.valid and verdict.constraint == "none" and not facts.run_throttles:
        return tuple(_calm(run, facts))
    bad, beside = _throttled(run, facts), tuple(_throttled_beside(run, facts))
    answers = (
        _since(run, facts), Fact(id="bad", name="How bad", value=bad, beside=beside), now_fact(run.diagnosis),
        cure_fact(run), cost_fact(run.diagnosis), sureness_fact(run, facts),
    )  # fmt: skip
    return tuple(fact for fact in answers if fact is not None)


def _calm(run: ReportRun, facts: Facts) -> Iterator[Fact]:
    """What is worth a word of a table that did not throttle: over which time, and what it used."""
    began_s, ended_s = times_of(run)
    if began_s is not None and ended_s is not None:
        say = saying(began_s, ended_s)
        began, ended = (say(at_s).removesuffix(":00") for at_s in (began_s, ended_s))
        what = "None of a read or write" if facts.elsewhere else "None"
        beside = (NOT_YET,) if run.evidence is not None and run.evidence.up_to_now else ()
        value = f"{what} from {began} to {ended} UTC"
        yield Fact(id="bad", name="Throttles", value=value, beside=beside)
    used = [words for track in run.tracks if (words := _used(track))]
    if used:
        yield Fact(id="used", name="Used", value=used[0], beside=tuple(used[1:]))
    if run.evidence is not None and (latency_ms := usual_latency_ms(run.evidence)) is not None:
        value = f"{milliseconds(latency_ms)} at most, in the mean of any minute"
        waits = "A client that waits longer waits for its network, its connections or its own retries."
        yield Fact(id="sure", name="Latency", value=value, beside=(waits,))


def _used(track: EvidenceTrack) -> str | None:
    """What a resource consumed in its busiest minute, and of how much; None if nothing is known."""
    rates = {cell: track.consumed_per_s(cell) or 0.0 for cell in track.consumed or ()}
    if not rates:
        return None
    busiest = max(rates, key=rates.__getitem__)
    unit, has = UNITS[track.direction], track.provisioned.at(busiest)
    share = f", {percent(rates[busiest] / has)} of {whole(has)}" if has else ""
    who = f"{track.direction}s of {whose(track.resource)}"
    return f"{capital(who)}: {rate(rates[busiest], unit)} in the busiest {track.cell_name}{share}"


def times_of(run: ReportRun) -> tuple[float | None, float | None]:
    """When a run began and ended, epoch seconds: by its manifest, its record, its evidence or its labels."""
    manifest, recorded = run.manifest, run.record.range()
    if manifest and manifest.ended_at:
        return manifest.started_at.timestamp(), manifest.ended_at.timestamp()
    if manifest and recorded:
        return manifest.started_at.timestamp(), float(recorded[1])
    if run.evidence is not None:
        return run.evidence.window.start.timestamp(), run.evidence.window.end.timestamp()
    spans = [recorded] if recorded else throttled_spans(run.diagnosis.labels)
    return (spans[0][0], spans[-1][1]) if spans else (None, None)


def _since(run: ReportRun, facts: Facts) -> Fact:
    answer = partial(Fact, id="since", name="Since when")
    spans = throttled_spans(run.diagnosis.labels)
    began_s, ended_s = times_of(run)
    if not spans:
        unknown = facts.run_throttles or _throttles_unknown(run, facts)
        return answer(value=NOTHING if unknown else "Never")
    first_s, last_s = spans[0][0], spans[-1][1]
    seen = throttled_seconds(run)  # of batches, labels are by CloudWatch's minutes
    if run.evidence is not None and not any(track.published_throttles for track in run.tracks):
        logged = (row.second.timestamp() for row in run.evidence.throttles or () if row.count)
        seen = seen if seen.size else np.array(sorted(logged))
    if (seen := seen[(first_s <= seen) & (seen < last_s)]).size:
        first_s, last_s = float(seen[0]), float(seen[-1]) + 1
    window_s = inf if began_s is None or ended_s is None else ended_s - began_s
    say = saying(first_s, last_s)
    throttled = span(min(facts.throttled_s, window_s, last_s - first_s))
    pieces = f", in {len(spans):,} pieces" if len(spans) > 1 else ""
    # CloudWatch holds the time before a window, which was not looked at.
    since, track = say(first_s), run.track(facts.resource)
    if run.alone and run.evidence is not None and run.evidence.series and began_s is not None:
        created = run.evidence.table.created
        is_new = created is not None and first_s <= created.timestamp() + MINUTE_S
        unseen = track.unpublished(began_s, first_s + 1) if track is not None else []
        after_a_gap = any(gap_s < first_s <= end_s for gap_s, end_s in unseen)
        since += " or earlier" if (first_s <= began_s or after_a_gap) and not is_new else ""
    whole_span = f"{since} to {say(last_s)}{pieces}"
    if began_s is None or ended_s is None:
        return answer(value=whole_span, beside=(f"throttled for {throttled}",))
    lasted = span(ended_s - began_s)
    beside = f"throttled for {'all' if throttled == lasted else throttled} of {lasted}"
    if gaps := track.unpublished(began_s, ended_s) if track is not None else []:
        beside += f", unknown for {span(sum(end_s - start_s for start_s, end_s in gaps))}"
    uncovered = tuple(_uncovered(run, say))
    if ended_s - last_s <= STILL_S and run.evidence is not None and run.evidence.up_to_now:
        return answer(value=f"{since}, still going on at {say(ended_s)}{pieces}", beside=(beside, *uncovered))
    if ended_s - last_s <= STILL_S:
        return answer(value=f"{since} to the end{pieces}", beside=(beside, *uncovered))
    over = f"ended {span(ended_s - last_s)} before the {'window' if run.alone else 'run'} did"
    return answer(value=whole_span, beside=(beside, over, *uncovered))


def _uncovered(run: ReportRun, say: Callable[[float], str]) -> Iterator[str]:
    """Since when another limit throttles, which a raise of capacity uncovered: the cure is for that."""
    by_limit = groups(run.diagnosis.labels) if run.alone else ()
    uncured = going_on(by_limit, run.arranged) if run.arranged else by_limit
    raised = {(group.resource, group.direction) for group in by_limit if group not in uncured}
    for group in uncured:
        if (group.resource, group.direction) in raised:
            since = say(min(label.start for label in group.labels).timestamp())
            limit = limit_of(group.constraint, group.resource)
            yield f"since {since}, with more capacity, by {limit}: the cure is for that"


def _throttles_unknown(run: ReportRun, facts: Facts) -> bool:
    """That there were none is known only where the evidence is complete."""
    return not facts.run_throttles and run.diagnosis.verdict.constraint == "undetermined"


def _throttled(run: ReportRun, facts: Facts) -> str:
    if _throttles_unknown(run, facts):
        return NOTHING
    if not facts.run_throttles:
        return "No read or write throttled" if facts.elsewhere else "Nothing throttled"
    if facts.throttled_share is None:
        return some(facts.run_throttles, "throttle")
    return f"{percent(facts.throttled_share)} of attempts"


def _throttled_beside(run: ReportRun, facts: Facts) -> Iterator[str]:
    if facts.run_attempts and not _throttles_unknown(run, facts):
        throttled = whole(facts.run_throttles) if facts.run_throttles else "none"
        yield f"{throttled} of {whole(facts.run_attempts)}"
    if run.alone and facts.labelled:
        yield f"{measured(facts.run_throttles / facts.throttled_s)} a second while throttled"
    yield from _of_constraint(run, facts)
    if run.manifest and (cost := run.manifest.retry_cost) is not None:
        yield from _with_retries(cost)
    if not facts.units_hold:
        yield "its units are not judged: they may not be DynamoDB's"


def throttled_words(labels: Sequence[Label]) -> str:
    """How many throttles there were, and how many a second while there were any."""
    count, spans = sum(label.throttles for label in labels), throttled_spans(labels)
    lasted_s = sum(end_s - start_s for start_s, end_s in spans)
    return f"{whole(count)}, {measured(count / lasted_s)} a second" if count else "no throttle"


def _of_constraint(run: ReportRun, facts: Facts) -> Iterator[str]:
    """The part of the throttles that the verdict names, of those that have a label; and what the rest are."""
    counts = Counter[Constraint]()
    for label in run.diagnosis.labels:
        counts[label.constraint] += label.throttles
    constraint = run.diagnosis.verdict.constraint
    if not (mine := counts.pop(constraint, 0)):
        return
    name, rest = NAMES[constraint].lower(), [NAMES[other].lower() for other, count in counts.items() if count]
    share = percent(mine / facts.labelled) if rest else "all"
    by_others = run.alone and facts.run_attempts is None  # then CloudWatch counted, and the log has a part
    log = (run.evidence.throttles or ()) if run.evidence and by_others else ()
    if 0 < (logged := sum(row.count for row in log)) < facts.run_throttles:
        yield f"{whole(logged)} of them in the client's log"
    elif not facts.all_labelled:
        yield f"{whole(facts.labelled)} of them have a label: {share} {name}"
    elif rest:
        yield f"{share} of them: {name}, the rest: {enumerated(rest)}"


def _with_retries(cost: RetryCost) -> Iterator[str]:
    """What retries took, and what the rate of an adaptive client cost: its throttles alone look few."""
    given_up = f"{percent(cost.given_up_share)} of requests" if cost.given_up else "none"
    attempts = measured(cost.amplification)
    attempts += " attempt" if attempts == "1" else " attempts"
    waiting = f", {whole(cost.waiting)} still waiting at the end" if cost.waiting else ""
    yield f"with retries: {attempts} a request, {given_up} given up{waiting}"
    if cost.held_s:
        pause = milliseconds(cost.held_each_s * 1000)
        yield f"each request was held back {pause} on average by its client's rate"
