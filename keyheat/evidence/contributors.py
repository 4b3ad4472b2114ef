"""Contributor Insights of a table and its indexes: where it is on, and the keys that its rules name.

Keys are plain text there. Here they become digests, the same that a run's own files have.
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

CONTRIBUTORS: Final = "Contributor Insights"  # what lines about it begin with
OFF: Final = "it is off for the table and its indexes, so no key is named"
PAGE: Final = timedelta(days=1)  # asked for at once: 1,440 minutes
HOUR_S: Final = 3_600
# By partition key alone: PKC counts accesses, PKT throttles. Rules by item (SKC, SKT) say less of partitions.
RULE: Final = re.compile(r"DynamoDBContributorInsights-PK([CT])-.*-(\d+)")
COUNTS: Final[dict[str, Literal["accessed", "throttled"]]] = {"C": "accessed", "T": "throttled"}
LATE: Final = timedelta(minutes=2)  # a rule made this soon after the window's start has seen the window


@dataclass(frozen=True, slots=True)
class ContributorsFound:
    """What Contributor Insights counted; None where it is nowhere on, or could not be asked."""

    contributors: tuple[Contributors, ...] | None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ContributorsRule:
    """One rule of the table, or of an index."""

    name: str
    index: str | None
    counts: Literal["accessed", "throttled"]
    made: datetime


@dataclass(slots=True, kw_only=True)
class ContributorsReader:
    """Asks DynamoDB for the rules and CloudWatch for their reports, no faster than the quota.

    `wanted`: whether it is worth a word that Contributor Insights is off: where nothing else names keys.
    """

    client_factory: Callable[[str], Any]
    sleep: Callable[[float], None]
    wanted: bool
    show_keys: bool = False
    _missing: dict[str, None] = field(default_factory=dict)  # lines, each once

    def read(self, table: TableFacts, window: Window) -> ContributorsFound:
        """The rules' reports over the window. What cannot be had is said in `missing`; nothing is raised."""
        rules = self._rules(table)
        found = tuple(one for rule in rules or () if (one := self._counted(rule, window)) is not None)
        if rules is not None and not rules and self.wanted:
            self._say(OFF)
        return ContributorsFound(found or None, tuple(self._missing))

    def _say(self, what: str) -> None:
        self._missing[f"{CONTRIBUTORS}: {what}"] = None

    def _rules(self, table: TableFacts) -> list[ContributorsRule] | None:
        """The rules by partition key that are there now; None where nobody could say."""
        found: list[ContributorsRule] = []
        try:
            client = self.client_factory("dynamodb")
            for index in (None, *(index.name for index in table.indexes)):
                named = {"IndexName": index} if index else {}
                found += _rules_of(index, client.describe_contributor_insights(TableName=table.name, **named))
        except (BotoCoreError, ClientError) as error:
            if self.wanted:
                self._say(str(error))
            return found or None
        return found

    def _counted(self, rule: ContributorsRule, window: Window) -> Contributors | None:
        if rule.made >= window.end:
            self._say(f"rule {rule.name} is newer than the window")
            return None
        pages = []
        try:
            client = self.client_factory("cloudwatch")
            period_s = MINUTE_S if window.end - window.start <= PAGE else HOUR_S
            for start, end in _days(window):
                pages.append(self._report(client, rule, start, end, period_s))
        except (BotoCoreError, ClientError) as error:
            self._say(f"rule {rule.name}: {error}")
            return None
        if rule.made > window.start + LATE:
            self._say(f"rule {rule.name} counts since {rule.made:%FT%TZ} only")
        if rule.counts == "accessed" and not any(page["Contributors"] for page in pages):
            self._say(f"rule {rule.name} counted nothing in the window")
        return _together(rule, pages, period_s, show_keys=self.show_keys)

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


def _rules_of(index: str | None, described: Mapping[str, Any]) -> Iterator[ContributorsRule]:
    for name in described.get("ContributorInsightsRuleList", ()):
        known = RULE.fullmatch(name)
        if known is not None:
            made = datetime.fromtimestamp(int(known[2]) / 1000, UTC)
            yield ContributorsRule(name, index, COUNTS[known[1]], made)


def _days(window: Window) -> Iterator[tuple[datetime, datetime]]:
    start = window.start
    while start < window.end:
        end = min(start + PAGE, window.end)
        yield start, end
        start = end


def _together(rule: ContributorsRule, pages: list[Any], period_s: int, *, show_keys: bool) -> Contributors:
    """The pages as one report: a key's values added up, as far as each page names the key."""
    points: dict[str, list[tuple[datetime, float]]] = {}
    values: dict[str, float] = {}
    for page in pages:
        for one in page["Contributors"]:
            key = one["Keys"][0]
            values[key] = values.get(key, 0.0) + one["ApproximateAggregateValue"]
            known = ((point["Timestamp"], point["ApproximateValue"]) for point in one["Datapoints"])
            points.setdefault(key, []).extend(sorted(known))
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
