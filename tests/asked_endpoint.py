"""A scenario's tables on the endpoint, asked with the bodies of real requests, under a virtual clock.

Everything that the endpoint does is in it but the socket: what is parsed, what an item weighs, which entries
it has in indexes, why a request is refused, and the minutes of CloudWatch.
"""

import json
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from keyheat.evidence.cloudwatch import MetricSource
from keyheat.evidence.collection import collect_table
from keyheat.evidence.simulated import evidence_of
from keyheat.load.tables.control import creation
from keyheat.load.transport.answer import Answer
from keyheat.load.users.collections import Query
from keyheat.load.users.items import ItemTemplate
from keyheat.load.users.outcomes import consumed
from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.model.resources import Refusal, parse_reason
from keyheat.model.table import TableModel
from keyheat.runs.formats import Evidence
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.tables import IndexSpec
from keyheat.simulator.flow import Flow
from keyheat.simulator.simulate import SIMULATED_START_S, Simulation
from keyheat.words import Direction
from tests.endpoint.clients import service_app_at, taken_apart
from tests.make import SCENARIOS
from tests.one_by_one import Connections, Item, Outcome, asked_one_by_one

LIMIT = 50  # items that the readers of the shipped load tests ask for


def asked_on_endpoint(scenario: Scenario) -> Evidence:
    """Send the load of a shipped scenario to an endpoint, and collect the evidence."""
    endpoint = AskedEndpoint(scenario)
    return endpoint.evidence(asked_one_by_one(scenario, SCENARIOS, endpoint))


class ServedTables:
    """A scenario's tables on an endpoint in this process, whose clock each request sets."""

    def __init__(self, scenario: Scenario, **service: Any) -> None:
        tables = (scenario.table, *scenario.companions)
        self.app = service_app_at(scale=scenario.local.scale, **service)
        self.app.clock.now_s = SIMULATED_START_S
        for table in tables:
            self.app.ddb.create_table(**creation(table))
        catalog = self.app.service.catalog
        self.models: Mapping[str, TableModel] = {
            table.name: catalog.get(table.name).model for table in tables
        }
        self._connections = Connections()

    def answer(self, operation: str, body: bytes, at_s: float) -> Answer:
        """What one request is answered at this moment."""
        self.app.clock.now_s = at_s
        headers = {b"x-amz-target": b"DynamoDB_20120810." + operation.encode(), b"authorization": b"-"}
        connection = self._connections.use(at_s)
        raw = self.app.router.answer(b"POST", b"/", headers, body, connection)
        status, _headers, content = taken_apart(raw)
        return Answer(status, content, service_s=0.0)


class AskedEndpoint(ServedTables):
    """An endpoint that is asked for one item after the other."""

    def __init__(self, scenario: Scenario, behaviour: Behaviour = DEFAULT) -> None:
        super().__init__(scenario, behaviour=behaviour)
        self.scenario = scenario
        self._items = ItemTemplate(scenario)
        self._rng = Random(f"{scenario.seed} items")

    def ask(self, flows: Sequence[Flow], items: Sequence[Item], at_s: float) -> list[Outcome | None]:
        """One request with one item."""
        (flow,), (item,) = flows, items
        body = {"PutItem": self._put, "GetItem": self._get, "Query": self._query}[flow.operation](flow, item)
        return [_outcome(flow.direction, self.answer(flow.operation, body, at_s))]

    def _put(self, flow: Flow, item: Item) -> bytes:
        attributes = {}
        for entry, place in zip(flow.index_writes, item.entries, strict=True):
            index = self._index(entry.index)
            attributes[index.partition_key] = place.key
            if index.sort_key:
                attributes[index.sort_key] = place.within.hex()
        return self._items.put(item.place.key, item.place.within.hex(), self._rng, attributes=attributes)

    def _get(self, flow: Flow, item: Item) -> bytes:
        """Of an item that nobody has written."""
        table = self.scenario.table
        names = [name for name in (table.partition_key, table.sort_key) if name]
        keys = {name: {"S": item.place.key} for name in names}
        wanted = {"ConsistentRead": not flow.eventual, "ReturnConsumedCapacity": "TOTAL"}
        return json.dumps({"TableName": table.name, "Key": keys, **wanted}).encode()

    def _query(self, flow: Flow, item: Item) -> bytes:
        """The latest of a collection, of the table or of an index."""
        asked = self._index(flow.index) if flow.index else self.scenario.table
        query = Query(
            table=self.scenario.table.name,
            partition_key=asked.partition_key,
            sort_key=asked.sort_key,
            index=flow.index,
            limit=LIMIT,
            descending=True,
            consistent=not flow.eventual,
        )
        told = {"TableName": query.table, "ReturnConsumedCapacity": "INDEXES"}
        return json.dumps(query.members(item.place.key, None) | told).encode()

    def _index(self, name: str) -> IndexSpec:
        (index,) = (one for one in self.scenario.table.indexes if one.name == name)
        return index

    def evidence(self, sent: Simulation) -> Evidence:
        """What DescribeTable and CloudWatch say once the last minute is over, and what the client saw."""
        seen = evidence_of(sent)
        self.app.clock.now_s = seen.window.end.timestamp()
        source = MetricSource(
            client_factory=self.app.client, clock=self.app.clock, sleep=self.app.clock.advance
        )
        published = collect_table(source, seen.table, seen.window)
        return published.model_copy(
            update={"seconds": seen.seconds, "throttles": seen.throttles, "scale": seen.scale}
        )


def _outcome(direction: Direction, answer: Answer) -> Outcome:
    if answer.accepted:
        units, of_indexes = consumed(answer)
        if direction is Direction.READ:  # of the index that was asked
            return Outcome(None, units)
        return Outcome(None, units - sum(of_indexes.values()), of_indexes)
    assert answer.throttled, answer.body
    (told,) = answer.reasons
    _of_index, _direction, cause = parse_reason(told.reason or "") or (None, None, None)
    assert cause is not None, told
    return Outcome(Refusal(told.index, direction, cause))
