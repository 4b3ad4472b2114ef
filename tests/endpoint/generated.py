"""Generated requests to a table with global and local indexes, for comparing two endpoints."""

import operator
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.endpoint.account import BOTH, N, S, attributes, index, local, on_demand, schema


@dataclass(frozen=True)
class Operation:
    """A boto3 client's method and what it is called with; the table is not named yet."""

    name: str
    request: dict[str, Any]

    def __repr__(self) -> str:
        return f"{self.name}({str(self.request)[:400]})"

    def on(self, table: str) -> "Operation":
        """The operation on this table: its name goes where the operation wants it."""
        request = self.request
        if self.name.startswith("batch"):
            return Operation(self.name, {**request, "RequestItems": {table: request["RequestItems"]}})
        if self.name.startswith("transact"):
            named = [
                {kind: {"TableName": table, **step} for kind, step in one.items()}
                for one in request["TransactItems"]
            ]
            return Operation(self.name, {**request, "TransactItems": named})
        return Operation(self.name, {"TableName": table, **request})


PARTITIONS = [S("a"), S("b"), S("ä")]
SORTS = [N("-10"), N("-1.5"), N("0"), N("2"), N("10"), N("1E3")]
GROUPS = [S("g1"), S("g2"), S("g")]
KEYS = st.builds(lambda pk, sk: {"pk": pk, "sk": sk}, st.sampled_from(PARTITIONS), st.sampled_from(SORTS))


def table_named(name: str) -> dict[str, Any]:
    """The CreateTable request."""
    keys_only = {"ProjectionType": "KEYS_ONLY"}
    include = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]}
    return on_demand(
        name,
        AttributeDefinitions=[*attributes("pk", "g", "l"), *attributes("sk", kind="N")],
        KeySchema=BOTH,
        GlobalSecondaryIndexes=[
            index("all", KeySchema=schema("g", "sk"), ProvisionedThroughput=None),
            index("keys", "g", Projection=keys_only, ProvisionedThroughput=None),
        ],
        LocalSecondaryIndexes=[local("local", "l", Projection=include)],
    )


scalars = st.one_of(
    st.builds(S, st.text("abé", max_size=6)),
    st.builds(S, st.sampled_from(["x" * 900, "y" * 1500, "z" * 4200])),
    st.builds(N, st.sampled_from(["0", "7", "-7", "3.50", "1e3", "0.001", "12345678901234567890", "100"])),
    st.builds(lambda raw: {"B": raw}, st.binary(max_size=5)),
    st.builds(lambda flag: {"BOOL": flag}, st.booleans()),
    st.just({"NULL": True}),
    st.builds(lambda texts: {"SS": texts}, st.lists(st.sampled_from("abc"), min_size=1, unique=True)),
    st.builds(lambda texts: {"NS": texts}, st.lists(st.sampled_from("123"), min_size=1, unique=True)),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.builds(lambda elements: {"L": elements}, st.lists(inner, max_size=3)),
        st.builds(lambda entries: {"M": entries}, st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    ),
    max_leaves=4,
)
items = st.builds(
    lambda key, more: {**key, **more},
    KEYS,
    st.fixed_dictionaries(
        {},
        optional={
            "g": st.sampled_from(GROUPS),
            "l": st.sampled_from([S("l1"), S("l2")]),
            "x": values,
            "y": values,
            "n": st.sampled_from([N("1"), N("2"), N("2.5")]),
        },
    ),
)

CONDITIONS = [
    {},
    {"ConditionExpression": "attribute_not_exists(pk)"},
    {"ConditionExpression": "attribute_exists(x) AND NOT contains(x, :v)",
     "ExpressionAttributeValues": {":v": S("a")}},
    {"ConditionExpression": "n >= :v OR size(y) < :v", "ExpressionAttributeValues": {":v": N("2")}},
    {"ConditionExpression": "#g IN (:a, :b)", "ExpressionAttributeNames": {"#g": "g"},
     "ExpressionAttributeValues": {":a": S("g1"), ":b": S("g2")}},
    {"ConditionExpression": "n BETWEEN :a AND :b", "ExpressionAttributeValues": {":a": N("1"), ":b": N("2")}},
    {"ConditionExpression": "attribute_type(x, :t) AND x <> :s",
     "ExpressionAttributeValues": {":t": S("S"), ":s": S("a")}},
    {"ConditionExpression": "begins_with(g, :v)", "ExpressionAttributeValues": {":v": S("g")}},
    {"ConditionExpression": "n = :v AND unknown_function(x)", "ExpressionAttributeValues": {":v": S("g")}},
    {"ConditionExpression": "n = :v", "ExpressionAttributeValues": {":v": N("1"), ":unused": S("g")}},
    {"ConditionExpression": "n = :missing"},
]  # fmt: skip
UPDATES = [
    {},
    {"UpdateExpression": "SET n = n + :one", "ExpressionAttributeValues": {":one": N("1")}},
    {"UpdateExpression": "SET n = if_not_exists(n, :one) - :one",
     "ExpressionAttributeValues": {":one": N("1")}},
    {"UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": N("0.25")}},
    {"UpdateExpression": "ADD x :set", "ExpressionAttributeValues": {":set": {"SS": ["b", "z"]}}},
    {"UpdateExpression": "DELETE x :set", "ExpressionAttributeValues": {":set": {"SS": ["a", "b"]}}},
    {"UpdateExpression": "SET #g = :g REMOVE l", "ExpressionAttributeNames": {"#g": "g"},
     "ExpressionAttributeValues": {":g": S("g2")}},
    {"UpdateExpression": "SET l = :l, y = x", "ExpressionAttributeValues": {":l": S("l2")}},
    {"UpdateExpression": "SET x[0] = :v REMOVE y[1], y[0]", "ExpressionAttributeValues": {":v": N("9")}},
    {"UpdateExpression": "SET x.a = :v", "ExpressionAttributeValues": {":v": S("deep")}},
    {"UpdateExpression": "SET x = list_append(x, :v)", "ExpressionAttributeValues": {":v": {"L": [N("1")]}}},
    {"UpdateExpression": "SET pk = :v", "ExpressionAttributeValues": {":v": S("no")}},
    {"UpdateExpression": "SET x = :v, x.a = :v", "ExpressionAttributeValues": {":v": S("no")}},
    {"UpdateExpression": "REMOVE g, x.b"},
    {"UpdateExpression": "SET g = :v", "ExpressionAttributeValues": {":v": N("1")}},
    {"UpdateExpression": "SET y = :v", "ExpressionAttributeValues": {":v": S("w" * 3000)}},
]  # fmt: skip
KEY_CONDITIONS = [
    ({"KeyConditionExpression": "pk = :p"}, {}),
    ({"KeyConditionExpression": "pk = :p AND sk > :s"}, {":s": N("-1.5")}),
    ({"KeyConditionExpression": "pk = :p AND sk <= :s"}, {":s": N("2")}),
    ({"KeyConditionExpression": "(pk = :p) AND (sk = :s)"}, {":s": N("2.0")}),
    ({"KeyConditionExpression": "sk < :s AND pk = :p"}, {":s": N("2")}),
    ({"KeyConditionExpression": "pk = :p AND sk >= :s"}, {":s": N("0")}),
    ({"KeyConditionExpression": "pk = :p AND sk BETWEEN :s AND :t"}, {":s": N("-2"), ":t": N("10")}),
    ({"KeyConditionExpression": "pk = :p AND begins_with(l, :s)", "IndexName": "local"}, {":s": S("l")}),
    ({"KeyConditionExpression": "pk = :p AND l = :s", "IndexName": "local"}, {":s": S("l1")}),
]
SELECTS = [
    {}, {"Select": "COUNT"}, {"ProjectionExpression": "sk, x.a, y[0]"}, {"Select": "ALL_ATTRIBUTES"},
    {"ScanIndexForward": False}, {"Limit": 2}, {"Limit": 2, "ScanIndexForward": False},
    {"ConsistentRead": True},
]  # fmt: skip
ABOVE_ONE = {"FilterExpression": "n > :f", "ExpressionAttributeValues": {":f": N("1")}}
SCANS = [
    {}, {"ConsistentRead": True}, {"Select": "COUNT"}, {"IndexName": "all"}, {"IndexName": "keys"},
    {"IndexName": "local"}, {"ProjectionExpression": "pk, sk, x"},
    {"FilterExpression": "attribute_exists(n)"}, {"Segment": 3, "TotalSegments": 2},
]  # fmt: skip
BILLED = [{"ReturnConsumedCapacity": level} for level in ("NONE", "TOTAL", "INDEXES", "INDEXES")]


def joined(*parts: dict[str, Any]) -> dict[str, Any]:
    """Requests laid over one another, their names and values put together."""
    whole: dict[str, Any] = {}
    for part in parts:
        for member, content in part.items():
            if member.startswith("ExpressionAttribute") and member in whole:
                whole[member] = {**whole[member], **content}
            else:
                whole[member] = content
    return whole


def member(name: str, contents: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A request of one member."""
    return contents.map(lambda content: {name: content})


def requests(name: str, *parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Operation]:
    """Requests of one operation, billed at any level."""
    return st.tuples(st.sampled_from(BILLED), *parts).map(lambda drawn: Operation(name, joined(*drawn)))


def lists(elements: st.SearchStrategy[Any], most: int, least: int = 1) -> st.SearchStrategy[list[Any]]:
    return st.lists(elements, min_size=least, max_size=most)


key, condition = member("Key", KEYS), st.sampled_from(CONDITIONS)
returned = st.sampled_from([{}, {"ReturnValues": "ALL_OLD"}])
consistent = member("ConsistentRead", st.booleans())
of_partition = st.builds(
    lambda pk, at: at[0] | {"ExpressionAttributeValues": {":p": pk, **at[1]}},
    st.sampled_from(PARTITIONS), st.sampled_from(KEY_CONDITIONS),
)  # fmt: skip
of_group = st.builds(
    lambda group: {"KeyConditionExpression": "g = :g", "ExpressionAttributeValues": {":g": group}},
    st.sampled_from(GROUPS),
)
steps = st.one_of(
    st.builds(lambda item, condition: {"Put": {"Item": item, **condition}}, items, condition),
    st.builds(lambda key, update: {"Update": {**key, **update}}, key, st.sampled_from(UPDATES[1:])),
    st.builds(lambda key, condition: {"Delete": {**key, **condition}}, key, condition),
    key.map(lambda key: {"ConditionCheck": {**key, "ConditionExpression": "attribute_exists(pk)"}}),
)
puts = requests(
    "put_item", member("Item", items), condition, returned,
    st.sampled_from([{}, {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}]),
)  # fmt: skip
updates = requests(
    "update_item", key, st.sampled_from(UPDATES),
    member("ReturnValues", st.sampled_from(["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"])),
)  # fmt: skip
operations = st.one_of(
    puts, puts, puts, updates, updates,
    requests("delete_item", key, condition, returned),
    requests("get_item", key, consistent, st.sampled_from([{}, {"ProjectionExpression": "x.a, y, n"}])),
    requests(
        "query", of_partition, st.sampled_from(SELECTS),
        st.sampled_from([{}, {}, ABOVE_ONE]),
    ),
    requests(
        "query", of_group, st.sampled_from([{"IndexName": "all"}, {"IndexName": "keys"}]),
        st.sampled_from([select for select in SELECTS if "Limit" not in select]),
    ),
    requests("scan", st.sampled_from(SCANS)),
    requests("batch_write_item", member("RequestItems", st.builds(
        operator.add,
        lists(items.map(lambda item: {"PutRequest": {"Item": item}}), 3),
        lists(key.map(lambda key: {"DeleteRequest": key}), 2, 0),
    ))),
    requests("batch_get_item", member(
        "RequestItems", st.builds(operator.or_, member("Keys", lists(KEYS, 4)), consistent)
    )),
    requests("transact_write_items", member("TransactItems", lists(steps, 3))),
    requests("transact_get_items", member("TransactItems", lists(key.map(lambda key: {"Get": key}), 3))),
)  # fmt: skip
