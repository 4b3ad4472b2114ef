"""What else analyzers found, as a page and a terminal say it."""

from keyheat.numbers import measured, moment, whole
from keyheat.runs.formats import Finding
from keyheat.words import whose


def about(finding: Finding) -> str:
    """What a finding is about: a resource, a direction, a span of time; or the whole run."""
    who = "" if finding.resource is None else whose(finding.resource)
    if finding.direction is not None:
        who = f"{finding.direction}s of {who}" if who else f"{finding.direction}s"
    since, until = (moment(at.timestamp()) if at else "" for at in (finding.start, finding.end))
    when = " ".join(f"{word} {at}" for word, at in (("from", since), ("until", until)) if at)
    return ", ".join(filter(None, (who, when))) or "the whole run"


def numbers(finding: Finding) -> str:
    """The numbers of a finding, each with its name and its unit."""
    return "; ".join(f"{name}: {_number(*measure)}" for name, measure in finding.numbers.items())


def _number(value: float, unit: str) -> str:
    text = whole(value) if value == round(value) or abs(value) >= 1_000 else measured(value)
    return f"{text} {unit}".rstrip()
