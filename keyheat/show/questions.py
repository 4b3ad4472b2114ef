"""What a reader of a run asks first, each answered in a few words: since when, how bad, what to do, for how
much, with what confidence. Page, terminal and ticket have them from here.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import inf
from pathlib import Path
from typing import Final

from keyheat.analysis.elsewhere import usual_latency_ms
from keyheat.analysis.facts import Facts, throttled_seconds, throttled_spans
from keyheat.analysis.groups import going_on, groups
from keyheat.analysis.report import ReportRun
from keyheat.analysis.run_result import STILL_S
from keyheat.analysis.track import EvidenceTrack
from keyheat.masking import typed
from keyheat.model.limits import MINUTE_S
from keyheat.numbers import (
    NOTHING,
    UNITS,
    a_month,
    measured,
    milliseconds,
    percent,
    rate,
    saying,
    some,
    span,
    whole,
)
from keyheat.runs.formats import Diagnosis, Label
from keyheat.runs.manifest import RetryCost
from keyheat.shipped import shipped
from keyheat.show.advice import (
    can_be_tried,
    cure_of,
    cures_elsewhere,
    cures_now,
    first_cure,
    how_long_a_day,
    in_short,
    now_of,
    simulated_words,
)
from keyheat.show.answer import Fact
from keyheat.show.verdict import NAMES, SHORT, grade_words, limit_of, sureness
from keyheat.words import capital, capital_first, enumerated, whose

NOT_YET: Final = "CloudWatch publishes a minute after it ends: ask again in 2 minutes, or add --log FILE."
"""How to learn of the time since the newest minute that is published."""


def first_facts(run: ReportRun, facts: Facts) -> tuple[Fact, ...]:
    """The answers, in the order in which they are asked; nothing of costs where no change has a price."""
    verdict = run.diagnosis.verdict
    if run.alone and verdict.valid and verdict.constraint == "none" and not facts.run_throttles:
        return tuple(_calm(run, facts))
    bad, beside = _throttled(run, facts), tuple(_throttled_beside(run, facts))
    answers = (
        _since(run, facts), Fact(id="bad", name="How bad", value=bad, beside=beside), _now(run.diagnosis),
        _what_to_do(run), _cost(run.diagnosis), _how_sure(run, facts),
    )  # fmt: skip
    return tuple(fact for fact in answers if fact is not None)


def _calm(run: ReportRun, facts: Facts) -> Iterator[Fact]:
    """What is worth a word of a table that did not throttle: over which time, and what it used."""
    began_s, ended_s = times_of(run, facts)
    if began_s is not None and ended_s is not None:
        say = saying(began_s, ended_s)
        began, ended = (say(at_s).removesuffix(":00") for at_s in (began_s, ended_s))
        what = "None of a read or write" if facts.elsewhere else "None"
        beside = (NOT_YET,) if run.evidence is not None and run.evidence.up_to_now else ()
        value = f"{what} from {began} to {ended} UTC"
        yield Fact(id="bad", name="Throttles", value=value, beside=beside)
    used = [words for track in (run.arranged.tracks if run.arranged else ()) if (words := _used(track))]
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


def times_of(run: ReportRun, facts: Facts) -> tuple[float | None, float | None]:
    """When a run began and ended, epoch seconds: by its manifest, else its record, else its evidence."""
    manifest, recorded = run.manifest, run.record.range()
    if manifest and manifest.ended_at:
        return manifest.started_at.timestamp(), manifest.ended_at.timestamp()
    if manifest and recorded:
        return manifest.started_at.timestamp(), float(recorded[1])
    if run.evidence is not None:
        return run.evidence.window.start.timestamp(), run.evidence.window.end.timestamp()
    return facts.start_s, facts.end_s


def _since(run: ReportRun, facts: Facts) -> Fact:
    answer = partial(Fact, id="since", name="Since when")
    spans = throttled_spans(run.diagnosis.labels)
    began_s, ended_s = times_of(run, facts)
    if not spans:
        unknown = facts.run_throttles or _throttles_unknown(run, facts)
        return answer(value=NOTHING if unknown else "Never")
    first_s, last_s = spans[0][0], spans[-1][1]
    seen = throttled_seconds(run)  # of batches, labels are by CloudWatch's minutes
    if (seen := seen[(first_s <= seen) & (seen < last_s)]).size:
        first_s, last_s = float(seen[0]), float(seen[-1]) + 1
    window_s = inf if began_s is None or ended_s is None else ended_s - began_s
    say, throttled = saying(first_s, last_s), span(min(facts.throttled_s, window_s))
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
    if facts.of_constraint:
        yield from _of_constraint(facts, run.diagnosis)
    if run.manifest and (cost := run.manifest.retry_cost) is not None:
        yield from _with_retries(cost)
    if not facts.units_hold:
        yield "its units are not judged: they may not be DynamoDB's"


def throttled_words(labels: Sequence[Label]) -> str:
    """How many throttles there were, and how many a second while there were any."""
    count, spans = sum(label.throttles for label in labels), throttled_spans(labels)
    lasted_s = sum(end_s - start_s for start_s, end_s in spans)
    return f"{whole(count)}, {measured(count / lasted_s)} a second" if count else "no throttle"


def _of_constraint(facts: Facts, diagnosis: Diagnosis) -> Iterator[str]:
    """The part of the throttles that the verdict names, of those that have a label; and what the rest are."""
    name = NAMES[diagnosis.verdict.constraint].lower()
    others = (label.constraint for label in diagnosis.labels if label.throttles)
    rest = [NAMES[other].lower() for other in dict.fromkeys(others) if other != diagnosis.verdict.constraint]
    every = facts.of_constraint == facts.labelled
    share = "all" if every else percent(facts.of_constraint / facts.labelled)
    if facts.logged and facts.logged < facts.run_throttles:
        yield f"{whole(facts.logged)} of them in the client's log"
    elif not facts.all_labelled:
        yield f"{whole(facts.labelled)} of them have a label: {share} {name}"
    elif not every:
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


def _now(diagnosis: Diagnosis) -> Fact | None:
    """Tonight's step, where the cure is another one."""
    now = now_of(diagnosis)
    if now is None or cure_of(diagnosis) is None or cures_now(diagnosis):
        return None
    value, foreseen = capital_first(in_short(now)), now.foreseen
    enough = foreseen is not None and not foreseen.throttle_share_after
    helps = (
        "Simulated: no attempt throttled then, while it lasts." if enough else "Eases it; the cause stays."
    )
    return Fact(id="now", name="Now", value=value, beside=(helps,))


def _what_to_do(run: ReportRun) -> Fact:
    answer = partial(Fact, id="do", name="What to do")
    diagnosis = run.diagnosis
    verdict, scenario = diagnosis.verdict, _scenario_of(run)
    if (cure := cure_of(diagnosis)) is not None:
        simulated = (simulated_words(diagnosis.cure),) if diagnosis.cure is not None else ()
        tried = verdict.constraint != "none" and can_be_tried(diagnosis)
        question = "What to do" if now_of(diagnosis) is None else "For good"
        question = "Now and for good" if cures_now(diagnosis) else question
        command = f"keyheat fix {typed(run.folder)}" if tried and run.folder else None
        beside = (*simulated, *cures_elsewhere(diagnosis))
        return Fact(id="do", name=question, value=capital_first(cure), beside=beside, command=command)
    if verdict.rule in SHORT:
        value = "Run it on a target that can throttle"
        return answer(value=value, command=scenario and f"keyheat run {scenario}")
    if diagnosis.generator.bound:
        return answer(
            value="Run it again with a generator that keeps up"
            if diagnosis.generator.shortfall
            else "Correct what went wrong, and run it again",
            beside=diagnosis.generator.checks[:1],
        )
    if verdict.valid and verdict.constraint == "none":
        command = f"keyheat whatif {scenario} load" if scenario else None
        beside = ("how much more it holds:",) if command else ()
        return answer(value="Nothing needs to change", beside=beside, command=command)
    since = run.evidence.table.on_demand_since if run.evidence else None
    if verdict.constraint == "table" and since is not None:
        return answer(value=f"Nothing more: the table is on demand since {since:%F %R} UTC")
    now = now_of(diagnosis)
    if verdict.settled_by and (now is None or now.action == "collect_evidence"):
        return answer(value="Get the evidence that settles it", beside=(verdict.settled_by,))
    if now is not None:
        return Fact(id="do", name="Now", value=capital_first(in_short(now)), beside=(now.why,))
    return answer(value="Not enough evidence to recommend a change")


def _scenario_of(run: ReportRun) -> str | None:
    """The run's scenario as a verb takes it here: ours by its name, another by its path if that is known."""
    stated = run.manifest.scenario_path if run.manifest else None
    if stated is None:
        return None
    path = Path(stated)
    if path.parent == shipped("configs") / "scenarios":
        return path.stem
    return typed(path) if path.is_file() else "SCENARIO"


def _cost(diagnosis: Diagnosis) -> Fact | None:
    answer = partial(Fact, id="cost", name="What it costs")
    easing = filter(None, [now_of(diagnosis)])
    priced = easing if cure_of(diagnosis) is None else diagnosis.recommendations
    bills = (diagnosis.cure.bill if diagnosis.cure else None, *(advice.bill for advice in priced))
    bill = next((each for each in bills if each is not None), None)
    if bill is None:
        scaled = any(step.max_units for step in (diagnosis.cure.steps if diagnosis.cure else ()))
        why = ("auto scaling changes the capacity, and the bill with it",)
        return answer(value="Not known", beside=why) if scaled else None
    before, after = a_month(bill.before_dollars_per_month), a_month(bill.after_dollars_per_month)
    value = f"{before} a month, as before" if before == after else f"{before} → {after} a month"
    more = ", including requests that throttle today" if bill.by_request else ""
    beside = f"if the load goes on {how_long_a_day(bill)}{more}; {bill.prices}"
    cure = diagnosis.cure.steps if diagnosis.cure else tuple(filter(None, [first_cure(diagnosis)]))
    once = "pre-warming is charged once on top, and cannot be lowered afterwards"
    warm = any(step.action == "pre_warm" for step in cure)
    return answer(value=value, beside=(beside, once) if warm else (beside,))


def _how_sure(run: ReportRun, facts: Facts) -> Fact:
    verdict, source = run.diagnosis.verdict, run.diagnosis.source
    minutes = f"from {some(run.diagnosis.coverage.minutes, 'minute')} of evidence"
    if verdict.grade != "none":
        by = grade_words(verdict.grade, source)
    elif verdict.rule in SHORT:
        by = "this endpoint never throttles"
    elif verdict.constraint == "none":
        few = "there are too few throttles for a verdict"
        by = few if facts.run_throttles else "there is no throttle to explain"
    else:
        by = "no reasons, and nothing to infer the cause from"
    return Fact(id="sure", name="Confidence", value=sureness(verdict), beside=(capital(f"{by}, {minutes}"),))
