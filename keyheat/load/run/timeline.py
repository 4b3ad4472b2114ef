"""The timeline of a real run: send UpdateTable at its times and log the outcome.

A step waits until the table is ACTIVE, since UpdateTable would refuse it before; a step that only pre-warms
does not: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import gevent
from botocore.exceptions import BotoCoreError, ClientError

from keyheat.intake.description import table_of
from keyheat.load.tables.control import all_active
from keyheat.load.tables.lifecycle import LOCAL_POLL_S, POLL_S
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import Target
from keyheat.model.resources import TableCapacity, capacities_to_aws
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.tables import CapacityPair, ChangeSpec, TableSpec, requests_of
from keyheat.simulator.capacity import TIMELINE, TimelineEvent, applied, capacity_of, events_of, only_warms

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
    client: Any = field(init=False)  # made before the load, since making one delays requests
    _pending: list[int] = field(default_factory=list)  # lines of the log that are not in force yet
    _unanswered: bool = False  # the last DescribeTable

    def __post_init__(self) -> None:
        self.client = make_client(self.target, attempts=ATTEMPTS)

    def follow(self) -> None:
        """Ask for every step at its moment; ends when all are in force, or refused."""
        try:
            for at_s, steps in requests_of(self.scenario.timeline):
                while (left_s := at_s - self._elapsed_s) > 0:
                    self._wait(left_s)
                while (description := self._look()) is None or not (
                    only_warms(steps)
                    or (
                        all_active(description)
                        and all(self.log[line].what.startswith("warm.") for line in self._pending)
                    )
                ):
                    self._wait()
                self._ask(capacity_of(TableSpec.model_validate(table_of(description))), at_s, steps)
            while self._pending:
                self._wait()
                self._look()
        finally:
            self.client.close()

    @property
    def _elapsed_s(self) -> float:
        return self.clock() - self.began_s

    def _wait(self, left_s: float = 0.0) -> None:
        """Sleep; one poll at most, once something is pending or late, and then see what is in force."""
        poll_s = LOCAL_POLL_S if self.target.local else POLL_S
        gevent.sleep(poll_s if self._pending or left_s <= 0 else left_s)
        if self._pending and left_s > 0:
            self._look()

    def _look(self) -> dict[str, Any] | None:
        name = self.scenario.table.name
        try:
            description: dict[str, Any] = self.client.describe_table(TableName=name)["Table"]
        except (ClientError, BotoCoreError) as error:
            if not self._unanswered:
                self.say(f"the timeline waits: table {name} at {self.target.url}: {error}")
            self._unanswered = True
            return None
        self._unanswered = False
        parts = [description, *description.get("GlobalSecondaryIndexes", [])]
        warming = any(part.get("WarmThroughput", {}).get("Status", "ACTIVE") != "ACTIVE" for part in parts)
        if self._pending and all_active(description) and not warming:
            for line in self._pending:
                self.log[line] = replace(self.log[line], in_force_s=self._elapsed_s)
            self._pending.clear()
        return description

    def _ask(self, before: TableCapacity, at_s: float, steps: tuple[ChangeSpec, ...]) -> None:
        asked_s, refused = self._elapsed_s, None
        try:
            self.client.update_table(**update_request(self.scenario.table.name, before, steps))
        except (ClientError, BotoCoreError) as error:
            refused = str(error)
            self.say(f"the timeline's step of {at_s:g} s was refused: {refused}")
            if isinstance(error, BotoCoreError):
                self.problems.append(f"the timeline's step of {at_s:g} s had no answer: {error}")
        late = f"due at {at_s:g} s, while the table was UPDATING" if asked_s - at_s >= LATE_S else None
        events = list(events_of(before, steps, at_s=asked_s, by=TIMELINE, because=late, refused=refused))
        if refused is None:
            self._pending += range(len(self.log), len(self.log) + len(events))
        self.log += events


def update_request(table: str, before: TableCapacity, steps: Sequence[ChangeSpec]) -> dict[str, Any]:
    """The parameters of one UpdateTable. It takes both sides of provisioned throughput, or neither."""
    after = applied(before, steps)
    request: dict[str, Any] = {"TableName": table}
    updates = []
    for step in steps:
        if step.provisioned is not None and (both := after.parts[step.index].provisioned) is not None:
            sides = {"read": both.read, "write": both.write}
            step = step.model_copy(update={"provisioned": CapacityPair.model_validate(sides)})
        parameters = capacities_to_aws(step)
        if step.index is not None:
            updates.append({"Update": {"IndexName": step.index, **parameters}})
        else:
            request |= {**({"BillingMode": step.billing_mode} if step.billing_mode else {}), **parameters}
    return request | ({"GlobalSecondaryIndexUpdates": updates} if updates else {})
