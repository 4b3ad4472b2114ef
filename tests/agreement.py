"""What came of a run, minute by minute, and the label that it gets: what two runs are held against by."""

from collections import Counter
from dataclasses import dataclass

from keyheat.analysis.diagnosis import diagnose
from keyheat.analysis.rules import load_thresholds
from keyheat.model.limits import MINUTE_S
from keyheat.runs.formats import Evidence, Verdict
from keyheat.scenario.scenario import Scenario, load_scenario
from keyheat.scenario.variants import at_scale
from tests.make import SAMPLED, a_shipped

LONGEST_S = 300  # docs/trust.md's test runs one of those that last longer
SHORT = [path.stem for path in SAMPLED if load_scenario(path).load.duration_s <= LONGEST_S]
Resource = tuple[int, str | None, str]


MOST_PER_S = 500


def few_requests(name: str) -> Scenario:
    """A shipped scenario, at a tenth of its size if it sends many requests.

    A tenth of a limit takes few large items: whether one more is admitted would be chance.
    """
    scenario = a_shipped(name)
    many = scenario.load.arrivals == "trace" or scenario.load.rate_shape().highest_per_s > MOST_PER_S
    return at_scale(scenario, 0.1) if many else scenario


@dataclass(slots=True)
class Came:
    """What came of the requests of one minute on one resource in one direction."""

    units: float = 0.0
    throttles: int = 0


def by_minute(evidence: Evidence) -> dict[Resource, Came]:
    found: dict[Resource, Came] = {}
    start_s = evidence.window.start.timestamp()
    for row in evidence.seconds or ():
        minute = int(row.second.timestamp() - start_s) // MINUTE_S
        came = found.setdefault((minute, row.index, row.direction), Came())
        came.units += row.consumed
        came.throttles += row.throttled
    return found


def totals(evidence: Evidence) -> Counter[tuple[str | None, ...]]:
    """What the client saw in the whole run, and every sum of CloudWatch; nothing that is 0."""
    found: Counter[tuple[str | None, ...]] = Counter()
    for (_minute, index, direction), came in by_minute(evidence).items():
        found[index, direction, "units"] += came.units  # type: ignore[assignment]
        found[index, direction, "throttles"] += came.throttles
    for one in evidence.series:
        if (one.statistic, one.period_s) == ("Sum", MINUTE_S):
            total = sum(value for _at, value in one.points)
            found[one.index, one.operation, one.metric] += total  # type: ignore[assignment]
    return +found


def verdict(evidence: Evidence) -> Verdict:
    return diagnose(evidence, client=None, thresholds=load_thresholds(), scenario=None).verdict


def named(found: Verdict) -> tuple[str, str | None, str | None]:
    return found.constraint, found.resource, found.direction
