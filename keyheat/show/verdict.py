"""The verdict in one plain sentence, and what is said of findings."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, get_args

from keyheat.analysis.facts import Facts
from keyheat.analysis.heat import ONE_SHARE
from keyheat.analysis.report import ReportRun
from keyheat.analysis.verdict import ONLY_UNDIRECTED
from keyheat.numbers import (
    NOTHING,
    UNITS,
    clock,
    crosses_midnight,
    measured,
    moment,
    percent,
    rate,
    some,
    units,
    whole,
)
from keyheat.runfiles import SIMULATED
from keyheat.runs.endpoints import NO_CAPACITY_MODEL, NO_MODEL
from keyheat.runs.formats import BEYOND, Diagnosis, Finding, GeneratorFacts, HotKey, Label, Verdict
from keyheat.show.answer import Fact, Section, Table, Tone
from keyheat.terms import CONFIDENCE, THROTTLED_BY
from keyheat.words import LIMITS, SPEAKERS, Constraint, Grade, Source, capital, enumerated, key_name, whose

if TYPE_CHECKING:
    from keyheat.analysis.summary import RunSummary

NAMES: dict[Constraint, str] = {
    "partition": "Partition limit",
    "table": "Table capacity",
    "max_on_demand": "On-demand maximum",
    "account": "Account limit",
    "undetermined": "Undetermined",
    "none": "No throttles",
}
SHOWN: Final = tuple(NAMES)[:-1]
"""What can throttle, in the order in which pages show it."""
SHORT: dict[str | None, str] = {NO_CAPACITY_MODEL: "No capacity model"}
"""The verdict that rests on the endpoint alone, by rule."""


BURST: Final[Tone] = "burst"
"""The tone of a run that did not throttle only because saved burst carried it."""


def in_two_words(verdict: "Verdict | RunSummary", *, on_burst: bool, throttles: int) -> str:
    """A verdict as a chip says it; `throttles` are all of the run, too few for a verdict among them."""
    if verdict.rule in SHORT:
        return SHORT[verdict.rule]
    if tone_of(verdict, on_burst=on_burst) == BURST:
        return "On saved burst"
    if throttles and verdict.valid and verdict.constraint == "none":
        return "Hardly any throttles"
    return NAMES[verdict.constraint] if verdict.valid or verdict.constraint == "undetermined" else "Not valid"


def tone_of(verdict: "Verdict | RunSummary", *, on_burst: bool) -> Tone:
    """What the colour of a verdict says: a constraint, `burst` or `invalid`."""
    if not verdict.valid:
        return "invalid"
    return BURST if on_burst and verdict.constraint == "none" else verdict.constraint


assert set(get_args(Constraint)) == set(NAMES) == set(LIMITS)


def target_words(target: str) -> str:
    """Where a run was sent to; a named endpoint is its own name."""
    return {"local": "local table", SIMULATED: "simulated"}.get(target, target)


def limit_of(constraint: Constraint, resource: str | None) -> str:
    """A limit with whose it is: `a partition limit of index by-country`."""
    limit = LIMITS[constraint]
    return limit if constraint in ("account", "undetermined") else f"{limit} of {whose(resource)}"


MOST_SPANS: Final = 200
MOST_KEYS: Final = 3  # named in the sentence
NEARLY_ALL: Final = 0.9  # least share of the throttles at which a key is named under a whole resource's limit
LONGEST_NAME: Final = 32  # of a key, in the sentence; charts and tables have all of it


def grade_words(grade: Grade, source: Source) -> str:
    """What the evidence of a label is, and who spoke."""
    metrics = "CloudWatch names" if source == "aws" else f"metrics of {SPEAKERS[source]} name"
    grades = {
        "reason": f"{SPEAKERS[source]} said so",
        "cause_metric": f"{metrics} the cause",
        "inferred": "inferred from rates",
    }
    return grades.get(grade, "none")


def verdict_sentence(verdict: Verdict, facts: Facts, generator: GeneratorFacts) -> str:
    """What happened, with the two or three numbers that decide it."""
    if verdict.rule == NO_CAPACITY_MODEL:
        return NO_MODEL
    if not verdict.valid and generator.bound:
        fell_behind = generator.shortfall or not generator.checks
        why = "the load generator was the limit, not DynamoDB." if fell_behind else generator.checks[0]
        return f"This run says nothing about the table: {why[:1].lower()}{why[1:]}"
    sentence = f"{_sentence(verdict, facts)}{_beside(facts)}"
    return f"{sentence} {generator.shortfall}" if generator.bound else sentence


def _beside(facts: Facts) -> str:
    """The other limits that throttled a good part, with the parts of all that is labelled."""
    if not facts.beside:
        return ""
    of_verdict = 1 - sum(share for _, share in facts.beside)
    others = " and ".join(f"{percent(share)} {what}" for what, share in facts.beside)
    throttles = "throttles" if facts.all_labelled else "labelled throttles"
    return f" This explains {percent(of_verdict)} of the {throttles}; {others}."


def sureness(verdict: "Verdict | RunSummary") -> str:
    """How sure a verdict is; one that says nothing about the table has nothing to be sure of."""
    spoiled = not verdict.valid and verdict.constraint != "undetermined"
    return NOTHING if spoiled or verdict.rule == NO_CAPACITY_MODEL else percent(verdict.confidence)


def is_as_expected(expects: str, verdict: Verdict) -> bool:
    """Whether the verdict is the one that the scenario expects; one that is not valid never is."""
    return verdict.valid and verdict.constraint == expects


def expectation(expects: str, verdict: Verdict) -> str:
    """The same in words that follow the verdict."""
    if is_as_expected(expects, verdict):
        return "as the scenario expects"
    return f"the scenario expects: {expects}"


def _sentence(verdict: Verdict, facts: Facts) -> str:
    if verdict.constraint == "none":
        return _none(facts)
    if verdict.constraint == "undetermined":
        return ONLY_UNDIRECTED if ONLY_UNDIRECTED in verdict.because else _undetermined(facts)
    if verdict.constraint == "partition":
        return f"{_subject(facts)} were throttled by a partition limit{_partition(facts)}{_used(facts)}."
    resource, demand_per_s = facts.resource.name, facts.asked_per_s or facts.at_least_per_s
    demand = f"{'' if facts.asked_per_s else 'at least '}{_rate(facts, demand_per_s)}"
    provisioned, maximum = facts.provisioned_per_s, facts.max_on_demand_per_s
    why = {
        "table": f"because {resource} itself was too small",
        "max_on_demand": f"by the on-demand maximum set on {resource}",
        "account": "by the account's limit for one table",
    }[verdict.constraint]
    numbers = ""
    if verdict.constraint == "table" and provisioned and (demand_per_s or facts.consumed_per_s):
        what = f"its demand was {demand}" if demand_per_s else f"it consumed {_consumed(facts)}"
        last = facts.provisioned_last_per_s
        at_end = f", {whole(last)} at the end" if last and whole(last) != whole(provisioned) else ""
        numbers = f": {what}, and {whole(provisioned)} were provisioned{at_end}"
    elif verdict.constraint == "max_on_demand" and maximum is not None:
        demanded = f", and the demand was {demand}" if demand_per_s else ""
        numbers = f": it allows {units(maximum, facts.resource.direction)}{demanded}"
    elif verdict.constraint == "account" and facts.consumed_per_s:
        numbers = f"; {resource} consumed {_consumed(facts)}"
    leading = _leading_key(facts) if verdict.constraint == "table" else ""
    return f"{_subject(facts)} were throttled {why}{numbers}{leading}."


def _leading_key(facts: Facts) -> str:
    """The key with nearly all throttles of a whole resource, or with most if no partition can serve it."""
    key, share, demand = facts.hot_key, _share(facts), ""
    if key is None or share < ONE_SHARE:
        return ""
    if key.units_per_s > (1 + BEYOND) * facts.ceiling_per_s:
        admits = f"where a partition admits {whole(facts.ceiling_per_s)}"
        demand = f", and asked for {_key_rate(facts, key)} {admits}"
    elif share < NEARLY_ALL:
        return ""
    return f"; one key, {_named(key)}, has {percent(share)} of the throttles{demand}"


def _share(facts: Facts) -> float:
    """The part of the throttles that the hottest key has."""
    return min(1.0, facts.hot_key.throttles / facts.throttles) if facts.hot_key and facts.throttles else 0.0


def _rate(facts: Facts, per_s: float | None) -> str:
    return rate(per_s, UNITS[facts.resource.direction])


def _key_rate(facts: Facts, key: HotKey) -> str:
    """A key's demand; a lower bound where its throttled requests are taken for the smallest."""
    at_least = "at least " if facts.at_least_per_s and key.throttles else ""
    return f"{at_least}{_rate(facts, key.units_per_s)}"


def _consumed(facts: Facts) -> str:
    return _rate(facts, facts.consumed_per_s)


def _partition(facts: Facts) -> str:
    """Of which index, and which key; without one, what any partition admits."""
    of_index = "" if facts.resource.index is None else f" of {facts.resource.name}"
    key, admits = facts.hot_key, f"where a partition admits {whole(facts.ceiling_per_s)}"
    if key is not None and facts.hot_beside:
        named = [f"{_named(each)} ({_key_rate(facts, each)})" for each in (key, *facts.hot_beside)]
        more = [f"{len(named) - MOST_KEYS} more"] if len(named) > MOST_KEYS else []
        keys = enumerated([*named[:MOST_KEYS], *more])
        each = f"each asked for more than the {whole(facts.ceiling_per_s)} that a partition admits"
        return f"{of_index}: {len(named)} keys, {keys}, {each}"
    if key is not None and key.units_per_s > facts.ceiling_per_s:
        return f"{of_index}: one key, {_named(key)}, asked for {_key_rate(facts, key)} {admits}"
    unit = UNITS[facts.resource.direction]
    if key is not None and (share := _share(facts)) >= ONE_SHARE:
        return f"{of_index}: one key, {_named(key)}, has {percent(share)} of the throttles, {admits} {unit}/s"
    which = "of its partitions" if of_index else "partition"
    return f"{of_index} ({whole(facts.ceiling_per_s)} {unit}/s on any one {which})"


def _named(key: HotKey) -> str:
    name = key_name(key.key, key.shown)
    name = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
    return name if key.shown is None else f"“{name}”"


def _used(facts: Facts) -> str:
    if facts.used_share is not None:
        has = f"{whole(facts.provisioned_per_s)} {UNITS[facts.resource.direction]}"
        return f"; {facts.resource.name} used {percent(facts.used_share)} of its {has}"
    if facts.consumed_per_s is None:
        return ""
    return f"; {facts.resource.name} as a whole consumed {_consumed(facts)}"


def _undetermined(facts: Facts) -> str:
    if facts.whose_unknown:
        who = "The client" if facts.by_client else "ThrottledRequests"
        what = "more throttle" if facts.throttles > facts.of_verdict else "throttle"
        counts = f"{who} counts {some(facts.of_verdict, what)} of {facts.resource.direction}s"
        if not facts.by_client:
            return f"{counts}, and the throttle events of {facts.resource.name} do not account for them."
        look = "look at Streams, Kinesis and KMS, the retry quota of the SDK, and other Regions and accounts"
        return f"{counts}, and CloudWatch does not say that {facts.resource.name} refused them: {look}."
    if facts.throttles:
        times = some(facts.throttles, "time")
        return f"{_subject(facts)} were throttled {times}, and the evidence does not say by which limit."
    return "The evidence is not enough to say whether anything was throttled."


def _none(facts: Facts) -> str:
    nothing = "Nothing was throttled" if not facts.elsewhere else "No read or write was throttled"
    if facts.run_throttles:
        nothing = f"Hardly anything was throttled ({some(facts.run_throttles, 'throttle')})"
    if facts.other_causes:
        return f"{nothing}, but {'; and '.join(facts.other_causes)}."
    if facts.consumed_per_s is None:
        return f"{nothing}."
    went = f"{nothing}: {_consumed(facts)} went through"
    if facts.used_share is None:
        return f"{went}."
    has = f"{facts.resource.name}'s {whole(facts.provisioned_per_s)} {UNITS[facts.resource.direction]}"
    went = f"{went}, {percent(facts.used_share)} of {has}"
    if not facts.is_beyond:
        return f"{went}."
    busiest = percent(facts.busiest_share)
    peak = "" if busiest == percent(facts.used_share) else f", and {busiest} in the busiest minute"
    burst = "Burst capacity served that, for minutes at most: a longer load will be throttled."
    return f"{went}{peak}. {burst}"


def _subject(facts: Facts) -> str:
    where = f" in {facts.region}" if facts.region else ""
    return f"{facts.resource.direction.capitalize()}s{where}"


def about(finding: Finding) -> str:
    """What a finding is about: a resource, a direction, a span of time; or the whole run."""
    who = "" if finding.resource is None else whose(finding.resource)
    if finding.direction is not None:
        who = f"{finding.direction}s of {who}" if who else f"{finding.direction}s"
    since, until = (moment(at.timestamp()) if at else "" for at in (finding.start, finding.end))
    when = " ".join(f"{word} {at}" for word, at in (("from", since), ("until", until)) if at)
    return ", ".join(filter(None, (who, when))) or "the whole run"


def rival_words(verdict: Verdict) -> tuple[str, ...]:
    """What each other constraint would take, and what would settle an inferred verdict."""
    lines = [f"{capital(LIMITS[rival.constraint])}: {rival.needs}." for rival in verdict.rivals]
    return (*lines, verdict.settled_by) if verdict.settled_by else tuple(lines)


def numbers(finding: Finding) -> str:
    """The numbers of a finding, each with its name and its unit."""
    lines = []
    for name, (value, unit) in finding.numbers.items():
        text = whole(value) if value == round(value) or abs(value) >= 1_000 else measured(value)
        lines.append(f"{name}: {text} {unit}".rstrip())
    return "; ".join(lines)


def sureness_fact(run: ReportRun, facts: Facts) -> Fact:
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


def span_table(labels: tuple[Label, ...]) -> Table | None:
    """The spans with most throttles, by time; all spans if none throttled; None without labels."""
    throttled = [label for label in labels if label.throttles]
    most = sorted(throttled or labels, key=lambda span: -span.throttles)[:MOST_SPANS]
    if not most:
        return None
    ends = (min(span.start for span in labels).timestamp(), max(span.end for span in labels).timestamp())
    days = crosses_midnight(*ends)
    rows = tuple(
        {
            "from": _when(span.start.timestamp(), days), "to": _when(span.end.timestamp(), days),
            "resource": f"{span.resource} {span.direction}s", THROTTLED_BY: NAMES[span.constraint].lower(),
            "throttles": whole(span.throttles),
            CONFIDENCE: f"{percent(span.confidence)} {span.grade.removeprefix('cause_')}",
        }
        for span in sorted(most, key=lambda span: (span.start, span.resource, span.direction))
    )  # fmt: skip
    return Table(title="Spans with throttles" if throttled else "Spans", rows=rows)


def _when(epoch_s: float, days: bool) -> str:
    """A time; with its day if the run crosses midnight, `11-20 23:59`, to fit 80 columns."""
    return moment(epoch_s)[5:16] if days else clock(epoch_s)


def findings_sections(diagnosis: Diagnosis) -> Iterator[Section]:
    """Findings of other analyzers; on a page also failed ones, which verbs print themselves."""
    rows = tuple(
        Fact(
            name=f"{finding.analyzer}: {finding.label} ({about(finding)}; "
            f"{CONFIDENCE} {percent(finding.confidence)})",
            value=" ".join(finding.because), beside=tuple(filter(None, [numbers(finding)])),
        )
        for finding in diagnosis.findings
    )  # fmt: skip
    if rows:
        yield Section(id="findings", title="What else was found", short="Findings", facts=rows)
    if diagnosis.problems:
        title = "Analyzers that failed"
        yield Section(id="failed", title=title, short="Failed", wrong=diagnosis.problems, page_only=True)
