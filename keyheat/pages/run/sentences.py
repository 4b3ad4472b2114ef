"""The verdict in one plain sentence, as a DBA would say it to a colleague."""

from keyheat.analysis.endpoint import SAYS
from keyheat.numbers import UNITS, percent, rate, some, whole
from keyheat.pages.run.facts import Facts
from keyheat.runs.formats import Verdict
from keyheat.words import Grade

GRADES: dict[Grade, str] = {
    "reason": "DynamoDB said so",
    "cause_metric": "CloudWatch names the cause",
    "inferred": "inferred from rates",
}
GRADE_MEANINGS: dict[Grade, str] = {
    "reason": "every throttled answer carries DynamoDB's own reason",
    "cause_metric": "a CloudWatch metric that counts throttles of one cause only",
    "inferred": "throttles while consumption was below, or at, what is provisioned",
}


def verdict_sentence(verdict: Verdict, facts: Facts, *, generator_bound: bool) -> str:
    """What happened, with the two or three numbers that decide it."""
    if verdict.rule is not None and verdict.rule in SAYS:
        return SAYS[verdict.rule]
    if not verdict.valid and generator_bound:
        return "This run says nothing about the table: the load generator was the limit, not DynamoDB."
    if not verdict.valid and verdict.constraint != "undetermined":
        return "This run cannot be judged: most of its requests failed, and not by throttling."
    if not verdict.valid:
        return "This run cannot be judged: what is needed to judge it is missing."
    return _said(verdict, facts)


def sureness(verdict: Verdict) -> str:
    """How sure a verdict is; one that rests on the endpoint alone says nothing of the table to be sure of."""
    return "–" if verdict.rule in SAYS else percent(verdict.confidence)


def is_as_expected(expects: str, verdict: Verdict) -> bool:
    """Whether the verdict is the one that the scenario expects; one that is not valid never is."""
    return verdict.valid and verdict.constraint == expects


def expectation(expects: str, verdict: Verdict) -> str:
    """The same in words that follow the verdict."""
    return "as expected" if is_as_expected(expects, verdict) else f"expected {expects}"


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
    start = f"{_subject(facts)} were throttled by a partition limit"
    if facts.resource.index is not None and facts.resource.direction == "write":
        # The keys that were recorded are the table's: they do not tell what met on one key of the index.
        start += f" of {facts.resource.place}"
        return f"{start} ({whole(facts.ceiling_per_s)} {unit}/s on any one of its partitions){_used(facts)}."
    key = facts.hot_key
    if key is not None and key.units_per_s > facts.ceiling_per_s:
        start += (
            f": one key asked for {rate(key.units_per_s, unit)} where a partition admits "
            f"{whole(facts.ceiling_per_s)}"
        )
    else:
        start += f" ({whole(facts.ceiling_per_s)} {unit}/s on any one partition)"
    return f"{start}{_used(facts)}."


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
    word = "asked for" if facts.asked_per_s else "consuming"
    return (
        f"{start}: it was {word} {rate(asked, unit)} and is provisioned for {whole(facts.provisioned_per_s)}."
    )


def _max_on_demand(facts: Facts) -> str:
    unit = UNITS[facts.resource.direction]
    start = f"{_subject(facts)} were throttled by the on-demand maximum set on {facts.resource.place}"
    if facts.max_on_demand_per_s is None:
        return f"{start}."
    asked = f" and was asked for {rate(facts.asked_per_s, unit)}" if facts.asked_per_s else ""
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
    if facts.throttles:
        return (
            f"{_subject(facts)} were throttled {some(facts.throttles, 'time')}, and the evidence does not "
            "say whether by a partition or by the table."
        )
    return "The evidence is not enough to say whether anything was throttled."


def _none(facts: Facts) -> str:
    unit = UNITS[facts.resource.direction]
    if facts.consumed_per_s is None:
        return "Nothing was throttled."
    went = f"Nothing was throttled: {rate(facts.consumed_per_s, unit)} went through"
    if facts.used_share is None:
        return f"{went}."
    has = f"{facts.resource.place}'s {whole(facts.provisioned_per_s)} {unit}"
    return f"{went}, {percent(facts.used_share)} of {has}."


def _subject(facts: Facts) -> str:
    return f"{facts.resource.direction.capitalize()}s"
