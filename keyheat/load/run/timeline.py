"""The timeline of a real run: UpdateTable is asked at its moments, and what comes of it is logged.

A step whose moment has come waits until the table is ACTIVE, as UpdateTable would refuse it before; a step
that only pre-warms does not. Source:
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import gevent
from botocore.exceptions import BotoCoreError, ClientError

from keyheat.load.tables.description import all_active
from keyheat.load.tables.lifecycle import LOCAL_POLL_S, POLL_S
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import Target
from keyheat.model.resources import CAPACITIES, IndexCapacity, TableCapacity, capacities_to_aws
from keyheat.runs.formats import IndexFacts, TableFacts
from keyheat.runs.table_facts import table_facts
from keyheat.scenario.changes import TIMELINE, TimelineEvent, applied, asked, only_warms
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.tables import CapacityPair, ChangeSpec, requests_of

ATTEMPTS = 3  # of each request: UpdateTable asks for a state, so asking twice does no harm
LATE_S = 1.0


@dataclass(slots=True)
class TableTimeline:
    """The steps of one run on one table; `follow` asks for them, in a greenlet of its own.

    `began_s` is when the load began, epoch seconds; `say` tells a person what was refused.
    """

    scenario: Scenario
    target: Target
    began_s: float
    say: Callable[[str], None]
    clock: Callable[[], float]
    log: list[TimelineEvent] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)  # steps of which we do not know what became
    client: Any = (
        None  # of DynamoDB; made before the load, for making one takes long enough to hold up requests
    )
    _waiting: bool = False  # for an answer to DescribeTable
    _pending: list[int] = field(default_factory=list)  # lines of the log that are not in force yet

    def __post_init__(self) -> None:
        self.client = make_client(self.target, attempts=ATTEMPTS)

    @property
    def _table(self) -> str:
        return self.scenario.table.name

    @property
    def _poll_s(self) -> float:
        return LOCAL_POLL_S if self.target.local else POLL_S

    def follow(self) -> None:
        """Ask for every step at its moment; ends when all are in force, or refused."""
        requests = deque(requests_of(self.scenario.timeline))
        try:
            while requests or self._pending:
                self._sleep(requests[0][0] if requests else inf)
                description = self._describe()
                if description is None:
                    continue
                self._note_in_force(description)
                while requests and self._elapsed_s >= requests[0][0]:
                    at_s, steps = requests[0]
                    if not (only_warms(steps) or (all_active(description) and not self._changing)):
                        break
                    requests.popleft()
                    self._ask(described(description), at_s, steps)
        finally:
            self.client.close()

    @property
    def _elapsed_s(self) -> float:
        return self.clock() - self.began_s

    @property
    def _changing(self) -> bool:
        """Whether a change that is not only pre-warming is under way."""
        return any(not self.log[line].what.startswith("warm.") for line in self._pending)

    def _sleep(self, next_s: float) -> None:
        """Until the next step is due; while something is under way, or late, for one poll."""
        left_s = next_s - self._elapsed_s
        gevent.sleep(self._poll_s if self._pending or left_s <= 0 else left_s)

    def _describe(self) -> dict[str, Any] | None:
        """DescribeTable's answer; None where there is none now: it is asked again."""
        try:
            found: dict[str, Any] = self.client.describe_table(TableName=self._table)["Table"]
        except (ClientError, BotoCoreError) as error:
            if not self._waiting:
                self.say(f"the timeline waits: table {self._table} at {self.target.url}: {error}")
            self._waiting = True
            gevent.sleep(self._poll_s)
            return None
        self._waiting = False
        return found

    def _note_in_force(self, description: dict[str, Any]) -> None:
        if self._pending and all_active(description) and not _warming(description):
            for line in self._pending:
                self.log[line] = replace(self.log[line], in_force_s=self._elapsed_s)
            self._pending.clear()

    def _ask(self, before: TableCapacity, at_s: float, steps: tuple[ChangeSpec, ...]) -> None:
        asked_s, refused = self._elapsed_s, None
        try:
            self.client.update_table(**update_request(self._table, before, steps))
        except ClientError as error:
            refused = str(error)
        except BotoCoreError as error:
            refused = str(error)
            self.problems.append(f"the timeline's step of {at_s:g} s had no answer: {error}")
        if refused is not None:
            self.say(f"the timeline's step of {at_s:g} s was refused: {refused}")
        late = f"due at {at_s:g} s, while the table was UPDATING" if asked_s - at_s >= LATE_S else None
        for index, what, old, new in asked(before, steps):
            if refused is None:
                self._pending.append(len(self.log))
            self.log.append(
                TimelineEvent(
                    at_s=asked_s,
                    by=TIMELINE,
                    index=index,
                    what=what,
                    before=old,
                    after=new,
                    because=late,
                    refused=refused,
                )
            )


def update_request(table: str, before: TableCapacity, steps: Sequence[ChangeSpec]) -> dict[str, Any]:
    """The parameters of one UpdateTable; a side of a pair that the steps do not name is what it was."""
    after = applied(before, steps)
    request: dict[str, Any] = {"TableName": table}
    updates = []
    for step in steps:
        parameters = capacities_to_aws(_with_both_sides(step, after))
        if step.index is not None:
            updates.append({"Update": {"IndexName": step.index, **parameters}})
            continue
        mode = {"BillingMode": step.billing_mode} if step.billing_mode else {}
        request |= {**mode, **parameters}
    return request | ({"GlobalSecondaryIndexUpdates": updates} if updates else {})


def _with_both_sides(step: ChangeSpec, after: TableCapacity) -> ChangeSpec:
    """The step with both sides of its provisioned throughput, since UpdateTable takes no single one."""
    provisioned = after.parts[step.index].provisioned
    if step.provisioned is None or provisioned is None:
        return step
    pair = CapacityPair.model_validate({"read": provisioned.read, "write": provisioned.write})
    return step.model_copy(update={"provisioned": pair})


def described(description: dict[str, Any]) -> TableCapacity:
    """The capacity that DescribeTable's answer shows."""
    facts = table_facts(description)
    return TableCapacity(
        billing_mode=facts.billing_mode or "PROVISIONED",
        has_lsi=bool(facts.has_lsi),
        indexes=tuple(IndexCapacity(name=index.name, **_capacities(index)) for index in facts.indexes),
        **_capacities(facts),
    )


def _capacities(facts: TableFacts | IndexFacts) -> dict[str, Any]:
    return {name: getattr(facts, name) for name in CAPACITIES}


def _warming(description: dict[str, Any]) -> bool:
    """Whether the table or an index is still being pre-warmed."""
    parts = [description, *description.get("GlobalSecondaryIndexes", [])]
    return any(part.get("WarmThroughput", {}).get("Status", "ACTIVE") != "ACTIVE" for part in parts)
