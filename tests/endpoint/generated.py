"""Generated requests to a table with global and local indexes, for comparing two endpoints."""

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
    ({"KeyConditionExpression": "pk = :p AND sk BETWEEN :s AND :t"}, {":s": N("-2"), ":t": N("10")}),
    ({"KeyConditionExpression": "pk = :p AND begins_with(l, :s)", "IndexName": "local"}, {":s": S("l")}),
    ({"KeyConditionExpression": "pk = :p AND l = :s", "IndexName": "local"}, {":s": S("l1")}),
]
SELECTS = [
    {}, {"Select": "COUNT"}, {"ProjectionExpression": "sk, x.a, y[0]"}, {"Select": "ALL_ATTRIBUTES"},
    {"ScanIndexForward": False}, {"Limit": 2}, {"Limit": 2, "ScanIndexForward": False},
    {"ConsistentRead": True},
]  # fmt: skip


def billed(level: str, **request: Any) -> dict[str, Any]:
    return {"ReturnConsumedCapacity": level, **request}


levels = st.sampled_from(["NONE", "TOTAL", "INDEXES", "INDEXES"])
conditions = st.sampled_from(CONDITIONS)
failing = st.sampled_from([{}, {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}])
returned = st.sampled_from([{}, {"ReturnValues": "ALL_OLD"}])


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


puts = st.builds(
    lambda level, item, condition, wish, failure: Operation("put_item",
        billed(level, Item=item, **condition, **wish, **failure),
    ),
    levels, items, conditions, returned, failing,
)  # fmt: skip
deletes = st.builds(
    lambda level, key, condition, wish: Operation("delete_item", billed(level, Key=key, **condition, **wish)),
    levels, KEYS, conditions, returned,
)  # fmt: skip
updates = st.builds(
    lambda level, key, update, wish: Operation(
        "update_item", billed(level, Key=key, ReturnValues=wish, **update)
    ),
    levels, KEYS, st.sampled_from(UPDATES),
    st.sampled_from(["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"]),
)  # fmt: skip
gets = st.builds(
    lambda level, key, consistent, more: Operation("get_item",
        billed(level, Key=key, ConsistentRead=consistent, **more),
    ),
    levels, KEYS, st.booleans(), st.sampled_from([{}, {"ProjectionExpression": "x.a, y, n"}]),
)  # fmt: skip
queries = st.builds(
    lambda level, pk, condition, select, filtered: Operation("query",
        billed(
            level,
            **joined(
                condition[0], select, filtered, {"ExpressionAttributeValues": {":p": pk, **condition[1]}}
            ),
        ),
    ),
    levels, st.sampled_from(PARTITIONS), st.sampled_from(KEY_CONDITIONS), st.sampled_from(SELECTS),
    st.sampled_from([{}, {}, {"FilterExpression": "n > :f", "ExpressionAttributeValues": {":f": N("1")}}]),
)  # fmt: skip
index_queries = st.builds(
    lambda level, group, index, select: Operation("query",
        billed(
            level,
            IndexName=index,
            KeyConditionExpression="g = :g",
            ExpressionAttributeValues={":g": group},
            **select,
        ),
    ),
    levels, st.sampled_from(GROUPS), st.sampled_from(["all", "keys"]),
    st.sampled_from([select for select in SELECTS if "Limit" not in select]),
)  # fmt: skip
scans = st.builds(
    lambda level, more: Operation("scan", billed(level, **more)),
    levels,
    st.sampled_from([
        {}, {"ConsistentRead": True}, {"Select": "COUNT"}, {"IndexName": "all"}, {"IndexName": "keys"},
        {"IndexName": "local"}, {"ProjectionExpression": "pk, sk, x"},
        {"FilterExpression": "attribute_exists(n)"}, {"Segment": 3, "TotalSegments": 2},
    ]),
)  # fmt: skip
batch_writes = st.builds(
    lambda level, puts, deletes: Operation("batch_write_item",
        billed(
            level,
            RequestItems=[{"PutRequest": {"Item": item}} for item in puts]
            + [{"DeleteRequest": {"Key": key}} for key in deletes],
        ),
    ),
    levels, st.lists(items, min_size=1, max_size=3), st.lists(KEYS, max_size=2),
)  # fmt: skip
batch_gets = st.builds(
    lambda level, keys, consistent: Operation("batch_get_item",
        billed(level, RequestItems={"Keys": keys, "ConsistentRead": consistent}),
    ),
    levels, st.lists(KEYS, min_size=1, max_size=4), st.booleans(),
)  # fmt: skip
steps = st.one_of(
    st.builds(lambda item, condition: {"Put": {"Item": item, **condition}}, items, conditions),
    st.builds(lambda key, update: {"Update": {"Key": key, **update}}, KEYS, st.sampled_from(UPDATES[1:])),
    st.builds(lambda key, condition: {"Delete": {"Key": key, **condition}}, KEYS, conditions),
    st.builds(
        lambda key: {"ConditionCheck": {"Key": key, "ConditionExpression": "attribute_exists(pk)"}}, KEYS
    ),
)
transactions = st.builds(
    lambda level, steps: Operation("transact_write_items", billed(level, TransactItems=steps)),
    levels, st.lists(steps, min_size=1, max_size=3),
)  # fmt: skip
transact_gets = st.builds(
    lambda level, keys: Operation("transact_get_items",
        billed(level, TransactItems=[{"Get": {"Key": key}} for key in keys]),
    ),
    levels, st.lists(KEYS, min_size=1, max_size=3),
)  # fmt: skip
operations = st.one_of(
    puts, puts, puts, updates, updates, deletes, gets, queries, index_queries, scans,
    batch_writes, batch_gets, transactions, transact_gets,
)  # fmt: skip
