"""Read keys from Contributor Insights of a table and its indexes.

Reports contain keys in plain text; they become the same digests that a run's files use.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/contributorinsights_HowItWorks.html
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

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
LATE: Final = timedelta(minutes=2)  # a rule this much newer than the window's start still covers it


def read_contributors(
    factory: Callable[[str], Any], table: TableFacts, window: Window, *, sleep: Callable[[float], None],
    required: bool, show_keys: bool = False,
) -> tuple[tuple[Contributors, ...] | None, tuple[str, ...]]:  # fmt: skip
    """Read the reports by partition key over the window, within the request quota, and what is missing.

    The reports are None if Contributor Insights is off everywhere or the call failed. `required`: report that
    it is off, because nothing else names keys.
    """
    rules, reports, problems = list[tuple[str, str | None]](), list[Contributors](), list[str]()
    try:
        client = factory("dynamodb")
        for index in (None, *(index.name for index in table.indexes)):
            named = {"IndexName": index} if index else {}
            described = client.describe_contributor_insights(TableName=table.name, **named)
            rules += [(rule, index) for rule in described.get("ContributorInsightsRuleList", ())]
        problems += [] if any(created_of(rule) for rule, _index in rules) or not required else [OFF]
    except (BotoCoreError, ClientError) as error:
        problems += [str(error)] if required else []
    for rule, index in rules:
        if (created := created_of(rule)) is None:
            continue
        if created >= window.end:
            problems.append(f"rule {rule} is newer than the window")
            continue
        try:
            report = _read_rule(factory("cloudwatch"), rule, index, window, sleep, show_keys=show_keys)
        except (BotoCoreError, ClientError) as error:
            problems.append(f"rule {rule}: {error}")
            continue
        reports.append(report)
        if created > window.start + LATE:
            problems.append(f"rule {rule} counts since {created:%FT%TZ} on; earlier shares are taken from it")
        if report.counts == "accessed" and not report.keys:
            problems.append(f"rule {rule} counted nothing in the window")
    missing = tuple(dict.fromkeys(f"{CONTRIBUTORS}: {problem}" for problem in problems))
    return tuple(reports) or None, missing


def created_of(rule: str) -> datetime | None:
    """When a rule by partition key began to count, which its name ends with; None for another name."""
    match = RULE.fullmatch(rule)
    return datetime.fromtimestamp(int(match[2]) / 1000, UTC) if match else None


def _read_rule(
    client: Any, rule: str, index: str | None, window: Window, sleep: Callable[[float], None], *,
    show_keys: bool,
) -> Contributors:  # fmt: skip
    """Read the report of a rule page by page, adding up each key's values."""
    period_s = MINUTE_S if window.end - window.start <= PAGE else HOUR_S
    points, values = defaultdict[str, list[tuple[datetime, float]]](list), Counter[str]()
    total, start = 0.0, window.start
    while start < window.end:
        end = min(start + PAGE, window.end)
        sleep(1 / INSIGHT_REPORTS_PER_S)
        report = client.get_insight_rule_report(
            RuleName=rule, StartTime=start, EndTime=end, Period=period_s,
            MaxContributorCount=INSIGHT_CONTRIBUTORS, OrderBy="Sum",
        )  # fmt: skip
        total += report["AggregateValue"]
        for contributor in report["Contributors"]:
            key = contributor["Keys"][0]
            values[key] += contributor["ApproximateAggregateValue"]
            new = ((point["Timestamp"], point["ApproximateValue"]) for point in contributor["Datapoints"])
            points[key] += sorted(new)
        start = end
    ranked = sorted(values, key=lambda key: (-values[key], key))[:INSIGHT_CONTRIBUTORS]
    return Contributors(
        rule=rule, index=index, period_s=period_s, total=total,
        counts="accessed" if "-PKC-" in rule else "throttled",
        keys=tuple(
            Contributor(
                key=digest_of(key), shown=key if show_keys else None, value=values[key],
                points=tuple(points[key]),
            )
            for key in ranked
        ),
    )  # fmt: skip
