"""Fault rules, applied where a request would ask for capacity, after all other checks.

    request --checked--> rules --none strikes--> the table's model --> response
                           '--> a throttle, a conflict, an error, a lost or a late response

So an invalid request gets DynamoDB's own error, and an injected throttle is answered as the model's own is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from keyheat.endpoint.errors import ServiceError, internal_error
from keyheat.endpoint.faultrules import FaultRule, FaultRules
from keyheat.endpoint.http import Loss
from keyheat.endpoint.service import Context, Struck
from keyheat.endpoint.tables.catalog import Aim, Table, table_name
from keyheat.model.resources import Cause, Refusal
from keyheat.words import Direction

LOST: Final[Mapping[str | None, Loss]] = {"before": "all", "after": "all", "middle": "half"}
NAMING: Final = ("TableName", "ResourceArn", "StreamArn")
"""The members by which requests about a table itself name it."""
OF_ON_DEMAND, OF_PROVISIONED = (Cause.ACCOUNT, Cause.MAX_ON_DEMAND), (Cause.PROVISIONED,)
"""https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/throttling-diagnosing-workflow.html"""


@dataclass(slots=True)
class RuleCount:
    """A rule, how often it was asked about a request or an item that it is for, and how often it struck.

    `unfit` counts those of tables in the mode that does not know its reason.
    """

    name: str
    rule: FaultRule
    rng: Random
    asked: int = 0
    struck: int = 0
    unfit: int = 0

    def is_for(self, operation: str, table: str | None) -> bool:
        rule = self.rule
        return rule.table in (None, table) and (rule.operations is None or operation in rule.operations)

    def is_for_item(self, operation: str, aim: Aim) -> bool:
        rule = self.rule
        if not self.is_for(operation, aim.table.name):
            return False
        reads = rule.index is None or (aim.index is not None and aim.index.name == rule.index)
        if not (reads if rule.refuses is None else _throttles(rule.index, rule.refuses, aim)):
            return False
        if rule.conflict and (  # a plain read and a batch of writes meet no transaction
            operation == "BatchWriteItem"
            or (aim.direction is Direction.READ and operation != "TransactGetItems")
        ):
            return False
        if rule.key is None and rule.key_prefix is None:
            return True
        key = aim.key
        return key is not None and (key == rule.key or key.startswith(rule.key_prefix or "\0"))

    def strikes(self, since_s: float) -> bool:
        rule = self.rule
        if since_s < rule.from_s or (rule.to_s is not None and since_s >= rule.to_s):
            return False
        if rule.times is not None and self.struck >= rule.times:
            return False
        self.asked += 1
        if rule.share < 1 and self.rng.random() >= rule.share:
            return False
        self.struck += 1
        return True

    def refusal(self, aim: Aim) -> Refusal | None:
        """The refusal that its throttle is; None where a table of that mode has no such reason."""
        assert self.rule.refuses is not None, "asked of a throttle"
        of_index, direction, cause = self.rule.refuses
        if cause in (OF_ON_DEMAND if aim.table.provisioned else OF_PROVISIONED):
            self.unfit += 1
            return None
        return Refusal(self.rule.index if of_index else None, direction, cause)


def _throttles(index: str | None, refuses: tuple[bool, Direction, Cause], aim: Aim) -> bool:
    """Whether the capacity that a throttle is about is asked for: a local index has its table's."""
    of_index, direction, _cause = refuses
    if direction is not aim.direction:
        return False
    if direction is Direction.WRITE:
        return not of_index or index in aim.table.model.index_names
    reads = None if aim.index is None or aim.index.local else aim.index.name
    return reads == (index if of_index else None)


@dataclass(slots=True)
class Faults:
    """The rules of all Regions since `since_s`, and what they have done."""

    rules: FaultRules
    since_s: float
    counts: list[RuleCount] = field(init=False)

    def __post_init__(self) -> None:
        self.counts = [
            RuleCount(name, rule, Random(f"{self.rules.seed} {name}"))
            for name, rule in zip(self.rules.names, self.rules.rules, strict=True)
        ]

    def report(self, now_s: float) -> dict[str, Any]:
        """Each rule as it was set, how often it was asked, struck and did not fit, and since when."""
        rows = [
            {
                **count.rule.model_dump(exclude_defaults=True), "name": count.name,
                "asked": count.asked, "struck": count.struck, "unfit": count.unfit,
            }
            for count in self.counts
        ]  # fmt: skip
        return {"seed": self.rules.seed, "since_s": round(now_s - self.since_s, 3), "rules": rows}

    def strike(self, context: Context, operation: str, aims: Sequence[Aim]) -> Struck:
        """The struck items by their numbers; delays and lost responses are noted on the way.

        Raises the error that answers the request as a whole.
        """
        struck: dict[int, Refusal | None] = {}
        name, now_s = operation.partition(",")[0], context.now_s
        for count in self.counts:
            numbers = [n for n, aim in enumerate(aims) if n not in struck and count.is_for_item(name, aim)]
            if not count.rule.by_item:
                if numbers and self._strikes_request(context, count, name, [aim.table for aim in aims]):
                    break
                continue
            for number in numbers:
                model = aims[number].table.model
                refusal = None if count.rule.conflict else count.refusal(aims[number])
                unfit = refusal is None and not count.rule.conflict
                if unfit or not count.strikes(now_s - self.since_s):
                    continue
                struck[number] = refusal
                _note(context, count)
                if refusal is None:
                    model.minutes.transaction_conflict(now_s)
                    continue
                resource = model.resource(refusal.index)
                lane = resource.read if refusal.direction is Direction.READ else resource.write
                lane.meter.injected(refusal.cause, now_s)
        return struck

    def strike_table(self, context: Context, operation: str, request: Mapping[str, Any]) -> None:
        """Strike a request about a table itself, or about all. Raises the error that answers it."""
        named = next((name for member in NAMING if isinstance(name := request.get(member), str)), None)
        table = None if named is None else table_name(named)
        for count in self.counts:
            rule = count.rule
            about_items = rule.by_item or (rule.key, rule.key_prefix, rule.index) != (None, None, None)
            if about_items or not count.is_for(operation, table):
                continue
            if self._strikes_request(context, count, operation, ()):
                return

    def _strikes_request(
        self, context: Context, count: RuleCount, operation: str, tables: Sequence[Table]
    ) -> bool:
        """Whether a rule strikes a request as a whole, and no rule comes after it.

        Raises the error of a request that is not carried out.
        """
        rule, now_s = count.rule, context.now_s
        if not count.strikes(now_s - self.since_s):
            return False
        _note(context, count)
        if rule.cut is not None:
            context.delay().loses = LOST[rule.cut]
            if rule.cut == "before":
                raise internal_error()  # it ends the request; the connection is cut, and nothing is sent
            return True
        if rule.error == 500:
            for table in {table.name: table for table in tables}.values():
                table.model.minutes.system_error(operation, now_s)
            raise internal_error()
        if rule.error == 503:
            raise ServiceError("ServiceUnavailable", "DynamoDB is currently unavailable.", status=503)
        return False


def _note(context: Context, count: RuleCount) -> None:
    """Note on the response that a rule struck, once for each."""
    delivery = context.delay()
    if count.name not in delivery.faults:
        delivery.faults += (count.name,)
        delivery.waits_s += (count.rule.delay_ms or 0.0) / 1_000
