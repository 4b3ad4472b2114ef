"""Read keys from Contributor Insights of a table and its indexes.

Reports contain keys in plain text; they become the same digests that a run's files use.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/contributorinsights_HowItWorks.html
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.model.limits import INSIGHT_CONTRIBUTORS, INSIGHT_REPORTS_PER_S, MINUTE_S
from keyheat.runs.formats import Contributor, Contributors, TableFacts, Window
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


@dataclass(slots=True, kw_only=True)
class ContributorsReader:
    """Reads rules from DynamoDB and their reports from CloudWatch, within the request quota.

    `required`: report that Contributor Insights is off, because nothing else names keys.
    """

    client_factory: Callable[[str], Any]
    sleep: Callable[[float], None]
    required: bool
    show_keys: bool = False
    _missing: dict[str, None] = field(default_factory=dict)  # messages, each once

    def read(self, table: TableFacts, window: Window) -> ContributorsFound:
        """Read the rules' reports over the window; failures go to `missing` and raise nothing."""
        rules = self._rules(table)
        reports = tuple(
            report for rule in rules or () if (report := self._read_rule(rule, window)) is not None
        )
        if rules is not None and not rules and self.required:
            self._note(OFF)
        return ContributorsFound(reports or None, tuple(self._missing))

    def _note(self, message: str) -> None:
        self._missing[f"{CONTRIBUTORS}: {message}"] = None

    def _rules(self, table: TableFacts) -> list[ContributorsRule] | None:
        """The current rules by partition key; None if DescribeContributorInsights failed."""
        rules: list[ContributorsRule] = []
        try:
            client = self.client_factory("dynamodb")
            for index in (None, *(index.name for index in table.indexes)):
                named = {"IndexName": index} if index else {}
                rules += _rules_of(index, client.describe_contributor_insights(TableName=table.name, **named))
        except (BotoCoreError, ClientError) as error:
            if self.required:
                self._note(str(error))
            return rules or None
        return rules

    def _read_rule(self, rule: ContributorsRule, window: Window) -> Contributors | None:
        if rule.created >= window.end:
            self._note(f"rule {rule.name} is newer than the window")
            return None
        pages = []
        try:
            client = self.client_factory("cloudwatch")
            period_s = MINUTE_S if window.end - window.start <= PAGE else HOUR_S
            for start, end in _days(window):
                pages.append(self._report(client, rule, start, end, period_s))
        except (BotoCoreError, ClientError) as error:
            self._note(f"rule {rule.name}: {error}")
            return None
        if rule.created > window.start + LATE:
            self._note(
                f"rule {rule.name} counts since {rule.created:%FT%TZ} on; earlier shares are taken from it"
            )
        if rule.counts == "accessed" and not any(page["Contributors"] for page in pages):
            self._note(f"rule {rule.name} counted nothing in the window")
        return _merge(rule, pages, period_s, show_keys=self.show_keys)

    def _report(
        self, client: Any, rule: ContributorsRule, start: datetime, end: datetime, period_s: int
    ) -> Any:
        self.sleep(1 / INSIGHT_REPORTS_PER_S)
        return client.get_insight_rule_report(
            RuleName=rule.name,
            StartTime=start,
            EndTime=end,
            Period=period_s,
            MaxContributorCount=INSIGHT_CONTRIBUTORS,
            OrderBy="Sum",
        )


def created_of(rule: str) -> datetime | None:
    """When a rule by partition key began to count, which its name ends with; None for another name."""
    match = RULE.fullmatch(rule)
    return datetime.fromtimestamp(int(match[2]) / 1000, UTC) if match else None


def _rules_of(index: str | None, described: Mapping[str, Any]) -> Iterator[ContributorsRule]:
    for name in described.get("ContributorInsightsRuleList", ()):
        if (match := RULE.fullmatch(name)) and (created := created_of(name)):
            yield ContributorsRule(name, index, COUNTS[match[1]], created)


def _days(window: Window) -> Iterator[tuple[datetime, datetime]]:
    start = window.start
    while start < window.end:
        end = min(start + PAGE, window.end)
        yield start, end
        start = end


def _merge(rule: ContributorsRule, pages: list[Any], period_s: int, *, show_keys: bool) -> Contributors:
    """Merge the pages into one report, adding up each key's values."""
    points: dict[str, list[tuple[datetime, float]]] = {}
    values: dict[str, float] = {}
    for page in pages:
        for contributor in page["Contributors"]:
            key = contributor["Keys"][0]
            values[key] = values.get(key, 0.0) + contributor["ApproximateAggregateValue"]
            new_points = (
                (point["Timestamp"], point["ApproximateValue"]) for point in contributor["Datapoints"]
            )
            points.setdefault(key, []).extend(sorted(new_points))
    ranked = sorted(values, key=lambda key: (-values[key], key))[:INSIGHT_CONTRIBUTORS]
    return Contributors(
        rule=rule.name,
        index=rule.index,
        counts=rule.counts,
        period_s=period_s,
        total=sum(page["AggregateValue"] for page in pages),
        keys=tuple(
            Contributor(
                key=digest_of(key),
                shown=key if show_keys else None,
                value=values[key],
                points=tuple(points[key]),
            )
            for key in ranked
        ),
    )
