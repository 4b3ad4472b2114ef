"""Read keys from Contributor Insights of a table and its indexes.

Reports contain keys in plain text; they become the same digests that a run's files use.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/contributorinsights_HowItWorks.html
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.model.limits import INSIGHT_CONTRIBUTORS, INSIGHT_REPORTS_PER_S, MINUTE_S
from keyheat.runs.formats import Contributor, Contributors, Window
from keyheat.runs.table_facts import TableFacts
from keyheat.scenario.keys import digest_of

CONTRIBUTORS: Final = "Contributor Insights"  # prefix of its messages
OFF: Final = "off for the table and its indexes, so keys are not named"
PAGE: Final = timedelta(days=1)  # per request: 1,440 minutes
HOUR_S: Final = 3_600
# By partition key only: PKC counts accesses, PKT throttles. Rules by item (SKC, SKT) tell less of partitions.
RULE: Final = re.compile(r"DynamoDBContributorInsights-PK([CT])-.*-(\d+)")
COUNTS: Final[dict[str, Literal["accessed", "throttled"]]] = {"C": "accessed", "T": "throttled"}
LATE: Final = timedelta(minutes=2)  # a rule this much newer than the window's start still covers it


@dataclass(frozen=True, slots=True)
class ContributorsFound:
    """Reports of Contributor Insights; None if it is off everywhere or the call failed."""

    contributors: tuple[Contributors, ...] | None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ContributorsRule:
    """One rule of the table, or of an index."""

    name: str
    index: str | None
    counts: Literal["accessed", "throttled"]
    created: datetime


def read_contributors(
    factory: Callable[[str], Any], table: TableFacts, window: Window, *, sleep: Callable[[float], None],
    required: bool, show_keys: bool = False,
) -> ContributorsFound:  # fmt: skip
    """Read the rules by partition key, and their reports over the window, within the request quota.

    Failures go to `missing` and raise nothing. `required`: report that Contributor Insights is off, because
    nothing else names keys.
    """
    rules, reports, problems = list[ContributorsRule](), list[Contributors](), list[str]()
    try:
        client = factory("dynamodb")
        for index in (None, *(index.name for index in table.indexes)):
            named = {"IndexName": index} if index else {}
            rules += _rules_of(index, client.describe_contributor_insights(TableName=table.name, **named))
        problems += [] if rules or not required else [OFF]
    except (BotoCoreError, ClientError) as error:
        problems += [str(error)] if required else []
    for rule in rules:
        if rule.created >= window.end:
            problems.append(f"rule {rule.name} is newer than the window")
            continue
        try:
            reports.append(_read_rule(factory("cloudwatch"), rule, window, sleep, show_keys=show_keys))
        except (BotoCoreError, ClientError) as error:
            problems.append(f"rule {rule.name}: {error}")
            continue
        if rule.created > window.start + LATE:
            problems.append(
                f"rule {rule.name} counts since {rule.created:%FT%TZ} on; earlier shares are taken from it"
            )
        if rule.counts == "accessed" and not reports[-1].keys:
            problems.append(f"rule {rule.name} counted nothing in the window")
    missing = tuple(dict.fromkeys(f"{CONTRIBUTORS}: {problem}" for problem in problems))
    return ContributorsFound(tuple(reports) or None, missing)


def _read_rule(
    client: Any, rule: ContributorsRule, window: Window, sleep: Callable[[float], None], *, show_keys: bool
) -> Contributors:
    pages, start = list[Any](), window.start
    period_s = MINUTE_S if window.end - window.start <= PAGE else HOUR_S
    while start < window.end:
        end = min(start + PAGE, window.end)
        sleep(1 / INSIGHT_REPORTS_PER_S)
        report = client.get_insight_rule_report(
            RuleName=rule.name, StartTime=start, EndTime=end, Period=period_s,
            MaxContributorCount=INSIGHT_CONTRIBUTORS, OrderBy="Sum",
        )  # fmt: skip
        pages.append(report)
        start = end
    return _merge(rule, pages, period_s, show_keys=show_keys)


def created_of(rule: str) -> datetime | None:
    """When a rule by partition key began to count, which its name ends with; None for another name."""
    match = RULE.fullmatch(rule)
    return datetime.fromtimestamp(int(match[2]) / 1000, UTC) if match else None


def _rules_of(index: str | None, described: Mapping[str, Any]) -> Iterator[ContributorsRule]:
    for name in described.get("ContributorInsightsRuleList", ()):
        if (match := RULE.fullmatch(name)) and (created := created_of(name)):
            yield ContributorsRule(name, index, COUNTS[match[1]], created)


def _merge(rule: ContributorsRule, pages: list[Any], period_s: int, *, show_keys: bool) -> Contributors:
    """Merge the pages into one report, adding up each key's values."""
    points = defaultdict[str, list[tuple[datetime, float]]](list)
    values = Counter[str]()
    for contributor in (contributor for page in pages for contributor in page["Contributors"]):
        key = contributor["Keys"][0]
        values[key] += contributor["ApproximateAggregateValue"]
        new = ((point["Timestamp"], point["ApproximateValue"]) for point in contributor["Datapoints"])
        points[key] += sorted(new)
    ranked = sorted(values, key=lambda key: (-values[key], key))[:INSIGHT_CONTRIBUTORS]
    return Contributors(
        rule=rule.name, index=rule.index, counts=rule.counts, period_s=period_s,
        total=sum(page["AggregateValue"] for page in pages),
        keys=tuple(
            Contributor(
                key=digest_of(key), shown=key if show_keys else None, value=values[key],
                points=tuple(points[key]),
            )
            for key in ranked
        ),
    )  # fmt: skip
