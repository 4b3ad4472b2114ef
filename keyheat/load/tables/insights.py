"""Contributor Insights of a run's tables: throttled keys are named while it loads, then it is off again.

Where it is on already, throttled keys are counted in either of its modes, so that nothing is changed there.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateContributorInsights.html
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import gevent
from botocore.exceptions import BotoCoreError, ClientError

from keyheat.load.tables.control import asking
from keyheat.load.tables.ownership import TableError
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import Target

MODE = "THROTTLED_KEYS"
STATUS = "ContributorInsightsStatus"
ON = ("ENABLED", "ENABLING")
ENABLED_WITHIN_S = 120.0
POLL_S, LOCAL_POLL_S = 1.0, 0.1
ATTEMPTS = 4  # of each request, since what stays on costs; none of them does more when it is sent twice


@dataclass(frozen=True, slots=True)
class InsightsState:
    """How Contributor Insights of a table or an index was before the run, as `run.json` says it."""

    table: str
    index: str | None
    status: str
    mode: str | None

    @property
    def was_on(self) -> bool:
        """Whether it was on, and stays as it is."""
        return self.status in ON

    @property
    def named(self) -> dict[str, str]:
        """The request members that name the resource."""
        return {"TableName": self.table} | ({"IndexName": self.index} if self.index else {})

    @property
    def resource(self) -> str:
        return f"table {self.table}" + (f", index {self.index}" if self.index else "")

    @property
    def put_back_by_hand(self) -> str:
        """The command that turns it off again."""
        index = f" --index-name {self.index}" if self.index else ""
        return (
            f"aws dynamodb update-contributor-insights --table-name {self.table}{index} "
            "--contributor-insights-action DISABLE"
        )


@dataclass(slots=True)
class ThrottledKeys:
    """Contributor Insights of the run's table and its indexes: look, turn on, put back, in this order."""

    target: Target
    before: tuple[InsightsState, ...]
    _changed: bool = False

    @classmethod
    def look(cls, target: Target, description: dict[str, Any]) -> "ThrottledKeys":
        """What is there now; nothing is changed. Raises `TableError`."""
        indexes = [index["IndexName"] for index in description.get("GlobalSecondaryIndexes", [])]
        with asking(target, OF_KEYS) as client:
            found = [_before(client, description["TableName"], index) for index in (None, *indexes)]
        return cls(target, tuple(found))

    def noted(self) -> list[dict[str, Any]]:
        """What was there, for `run.json`: so that a run that was killed can be put back by hand."""
        return [asdict(one) for one in self.before]

    def turn_on(self) -> None:
        """Turn on what is off, and wait until all of it counts. Raises `TableError`."""
        self._changed = True
        with asking(self.target, OF_KEYS) as client:
            for one in self.before:
                if not one.was_on:
                    client.update_contributor_insights(
                        **one.named, ContributorInsightsAction="ENABLE", ContributorInsightsMode=MODE
                    )
            poll_s = LOCAL_POLL_S if self.target.local else POLL_S
            for one in self.before:
                _wait(client, one, poll_s)

    def put_back(self, say: Callable[[str], None]) -> None:
        """Turn off what was off, once; what cannot be put back is said with the command that does it."""
        if not self._changed:
            return
        client = make_client(self.target, attempts=ATTEMPTS)
        for one in self.before:
            if not one.was_on:
                _turn_off(client, one, say)
        client.close()
        self._changed = False

    def left_behind(self) -> list[str]:
        """What is on and was not, in words, with the command that turns it off."""
        if not self._changed:
            return []
        return [
            f"Contributor Insights of {one.resource} stays on, and costs; turn it off with: "
            f"{one.put_back_by_hand}"
            for one in self.before
            if not one.was_on
        ]


OF_KEYS = "Contributor Insights (--throttled-keys)"


def _before(client: Any, table: str, index: str | None) -> InsightsState:
    named = {"TableName": table} | ({"IndexName": index} if index else {})
    found = client.describe_contributor_insights(**named)
    return InsightsState(table, index, found[STATUS], found.get("ContributorInsightsMode"))


def _wait(client: Any, one: InsightsState, poll_s: float) -> None:
    late = TableError(f"{one.resource}: Contributor Insights was not on in {ENABLED_WITHIN_S:g} s")
    with gevent.Timeout(ENABLED_WITHIN_S, late):
        while (found := client.describe_contributor_insights(**one.named))[STATUS] != "ENABLED":
            if found[STATUS] == "FAILED":
                why = found.get("FailureException", {}).get("ExceptionDescription", "AWS gave no reason")
                raise TableError(f"{one.resource}: Contributor Insights cannot be turned on: {why}")
            gevent.sleep(poll_s)


def _turn_off(client: Any, one: InsightsState, say: Callable[[str], None]) -> None:
    try:
        client.update_contributor_insights(**one.named, ContributorInsightsAction="DISABLE")
    except client.exceptions.ResourceNotFoundException:
        return  # the table is gone, and this with it
    except (ClientError, BotoCoreError) as error:
        say(
            f"Contributor Insights of {one.resource} stays on, and costs ({error}); turn it off with: "
            f"{one.put_back_by_hand}"
        )
