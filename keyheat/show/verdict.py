"""The verdict in one plain sentence, and what is said of findings."""

from typing import TYPE_CHECKING, Final

from keyheat.analysis.heat import ONE_SHARE
from keyheat.analysis.report.facts import Facts
from keyheat.numbers import NOTHING, UNITS, measured, moment, percent, rate, some, whole
from keyheat.runs.endpoints import NO_CAPACITY_MODEL, NO_MODEL
from keyheat.runs.formats import (
    Finding,
    GeneratorFacts,
    HotKey,
    Verdict,
)
from keyheat.words import (
    LIMITS,
    SPEAKERS,
    Grade,
    Source,
    capital,
    key_name,
    whose,
)

if TYPE_CHECKING:
    from keyheat.analysis.summary import RunSummary

LONGEST_NAME: Final = 32  # of a key, in the sentence; charts and tables have all of it


def grade_words(grade: Grade, source: Source) -> str:
    """What the evidence of a label is, and who spoke."""
    metrics = "CloudWatch names" if source == "aws" else f"metrics of {SPEAKERS[source]} name"
    said = {
        "reason": f"{SPEAKERS[source]} said so",
        "cause_metric": f"{metrics} the cause",
        "inferred": "inferred from rates",
    }
    return said.get(grade, "none")


def verdict_sentence(verdict: Verdict, facts: Facts, generator: GeneratorFacts) -> str:
    """What happened, with the two or three numbers that decide it."""
    if verdict.rule == NO_CAPACITY_MODEL:
        return NO_MODEL
    if not verdict.valid and generator.bound:
        return "This run says nothing about the table: the load generator was the limit, not DynamoDB."
    said = f"{_said(verdict, facts)}{_beside(facts)}"
    return f"{said} {generator.shortfall}" if generator.bound else said


def _beside(facts: Facts) -> str:
    """The other limits that throttled a good part, with the parts of all that is labelled."""
    if not facts.beside:
        return ""
    own = 1 - sum(share for _, share in facts.beside)
    others = " and ".join(f"{percent(share)} {what}" for what, share in facts.beside)
    throttles = "throttles" if facts.all_labelled else "labelled throttles"
    return f" That is {percent(own)} of the {throttles}; {others}."


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


def _said(verdict: Verdict, facts: Facts) -> str:
    sentences = {
        "partition": _partition,
        "table": _table,
        "max_on_demand": _max_on_demand,
        "account": _account,
        "undetermined": _undetermined,
        "none": _none,
    }
    return sentences[verdict.constraint](facts)


def _partition(facts: Facts) -> str:
    unit = UNITS[facts.resource.direction]
    of_index = "" if facts.resource.index is None else f" of {facts.resource.place}"
    start = f"{_subject(facts)} were throttled by a partition limit{of_index}"
    key = facts.hot_key
    admits = f"where a partition admits {whole(facts.ceiling_per_s)}"
    if key is not None and key.units_per_s > facts.ceiling_per_s:
        start += f": one key, {_named(key)}, asked for {rate(key.units_per_s, unit)} {admits}"
    elif key is not None and facts.throttles and key.throttles >= ONE_SHARE * facts.throttles:
        share = percent(min(1.0, key.throttles / facts.throttles))
        start += f": one key, {_named(key)}, has {share} of the throttles, {admits} {unit}/s"
    else:
        which = "of its partitions" if of_index else "partition"
        start += f" ({whole(facts.ceiling_per_s)} {unit}/s on any one {which})"
    return f"{start}{_used(facts)}."


def _named(key: HotKey) -> str:
    name = key_name(key.key, key.shown)
    name = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
    return name if key.shown is None else f"“{name}”"


def _used(facts: Facts) -> str:
    unit = UNITS[facts.resource.direction]
    place = facts.resource.place
    if facts.used_share is not None:
        return f"; {place} used {percent(facts.used_share)} of its {whole(facts.provisioned_per_s)} {unit}"
    if facts.consumed_per_s is not None:
        return f"; {place} as a whole consumed {rate(facts.consumed_per_s, unit)}"
    return ""


def _table(facts: Facts) -> str:
    unit = UNITS[facts.resource.direction]
    start = f"{_subject(facts)} were throttled because {facts.resource.place} itself was too small"
    asked = facts.asked_per_s or facts.consumed_per_s
    if asked is None or not facts.provisioned_per_s:
        return f"{start}."
    what = "its demand was" if facts.asked_per_s else "it consumed"
    return f"{start}: {what} {rate(asked, unit)}, and {whole(facts.provisioned_per_s)} are provisioned."


def _max_on_demand(facts: Facts) -> str:
    unit = UNITS[facts.resource.direction]
    start = f"{_subject(facts)} were throttled by the on-demand maximum set on {facts.resource.place}"
    if facts.max_on_demand_per_s is None:
        return f"{start}."
    asked = f", and the demand was {rate(facts.asked_per_s, unit)}" if facts.asked_per_s else ""
    return f"{start}: it allows {whole(facts.max_on_demand_per_s)} {unit}/s{asked}."


def _account(facts: Facts) -> str:
    unit = UNITS[facts.resource.direction]
    start = f"{_subject(facts)} were throttled by the account's limit for one table"
    consumed = (
        f"; {facts.resource.place} consumed {rate(facts.consumed_per_s, unit)}"
        if facts.consumed_per_s
        else ""
    )
    return f"{start}{consumed}."


def _undetermined(facts: Facts) -> str:
    if facts.whose_unknown:
        who = "the client" if facts.by_client else "ThrottledRequests"
        said = f"{who} counts {some(facts.throttles, 'throttle')} of {facts.resource.direction}s"
        look = (
            "look at Streams, Kinesis and KMS, the retry quota of the SDK, and other Regions and accounts"
            if facts.by_client
            else "look at its indexes"
        )
        place = facts.resource.place
        return f"{capital(said)}, and CloudWatch does not say that {place} refused them: {look}."
    if facts.throttles:
        times = some(facts.throttles, "time")
        return f"{_subject(facts)} were throttled {times}, and the evidence does not say by which limit."
    return "The evidence is not enough to say whether anything was throttled."


def _none(facts: Facts) -> str:
    unit = UNITS[facts.resource.direction]
    nothing = "Nothing was throttled" if not facts.elsewhere else "No read or write was throttled"
    if facts.run_throttles:
        nothing = f"Hardly anything was throttled ({some(facts.run_throttles, 'throttle')})"
    if facts.other_causes:
        return f"{nothing}, but {'; and '.join(facts.other_causes)}."
    if facts.consumed_per_s is None:
        return f"{nothing}."
    went = f"{nothing}: {rate(facts.consumed_per_s, unit)} went through"
    if facts.used_share is None:
        return f"{went}."
    has = f"{facts.resource.place}'s {whole(facts.provisioned_per_s)} {unit}"
    said = f"{went}, {percent(facts.used_share)} of {has}."
    if facts.on_burst:
        said += " Saved burst carried that, for minutes at most: a load that goes on will be throttled."
    return said


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
    said = [f"{capital(LIMITS[one.constraint])}: {one.needs}." for one in verdict.rivals]
    return (*said, verdict.settled_by) if verdict.settled_by else tuple(said)


def numbers(finding: Finding) -> str:
    """The numbers of a finding, each with its name and its unit."""
    return "; ".join(f"{name}: {_number(*measure)}" for name, measure in finding.numbers.items())


def _number(value: float, unit: str) -> str:
    text = whole(value) if value == round(value) or abs(value) >= 1_000 else measured(value)
    return f"{text} {unit}".rstrip()
