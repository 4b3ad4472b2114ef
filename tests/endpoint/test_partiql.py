"""PartiQL by unmodified boto3: items, units, errors and metrics as of the operations that it stands for."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.endpoint import asking
from tests.endpoint.account import N, S, attributes, index, on_demand, schema
from tests.endpoint.clients import ServiceApp, service_app_at
from tests.endpoint.ordering import counted, first_refused, refused

NO_KEY = "Where clause does not contain a mandatory equality on all key attributes"


def filled(service_app: ServiceApp) -> ServiceApp:
    """A table `music` with keys `artist` and `song`, an index by genre, and seven items in it."""
    by_genre = index("by-genre", "genre", ProvisionedThroughput=None)
    keys, types = schema("artist", "song"), attributes("artist", "song", "genre")
    request = on_demand(
        "music", KeySchema=keys, AttributeDefinitions=types, GlobalSecondaryIndexes=[by_genre]
    )
    service_app.ddb.create_table(**request)
    for artist in ("abba", "acme"):
        for number in range(1, 4):
            item = {"artist": S(artist), "song": S(f"s{number}"), "plays": N(number * 10)}
            item["genre"] = S("pop" if number < 3 else "rock")
            service_app.ddb.put_item(TableName="music", Item=item)
    rich = {
        "artist": S("rich"), "song": S("s1"), "tags": {"SS": ["a", "b"]}, "list": {"L": [N(1)]},
        "map": {"M": {"deep": {"L": [S("x")]}}}, "nothing": {"NULL": True},
    }  # fmt: skip
    service_app.ddb.put_item(TableName="music", Item=rich)
    return service_app


@pytest.fixture
def app(service_app: ServiceApp) -> ServiceApp:
    return filled(service_app)


@pytest.fixture(scope="module")
def music() -> ServiceApp:
    """The same, to be read."""
    return filled(service_app_at())


def run(app: ServiceApp, statement: str, *parameters: Any, **more: Any) -> Any:
    if parameters:
        more["Parameters"] = list(parameters)
    return app.ddb.execute_statement(Statement=statement, **more)


def songs(app: ServiceApp, where: str, *parameters: Any, **more: Any) -> list[str]:
    found = run(app, f'SELECT artist, song FROM "music" {where}', *parameters, **more)["Items"]
    return [f"{item['artist']['S']}/{item['song']['S']}" for item in found]


def error_of(app: ServiceApp, statement: str, *parameters: Any, **more: Any) -> tuple[str, str]:
    return asking.error_of(run, app, statement, *parameters, **more)


def item_of(app: ServiceApp, artist: str, song: str) -> dict[str, Any] | None:
    key = {"artist": {"S": artist}, "song": {"S": song}}
    item: dict[str, Any] | None = app.ddb.get_item(TableName="music", Key=key).get("Item")
    return item


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("WHERE artist = 'abba' AND song = 's2'", ["abba/s2"]),
        ("WHERE artist = 'abba'", ["abba/s1", "abba/s2", "abba/s3"]),
        ("WHERE 'abba' = artist AND 's1' < song", ["abba/s2", "abba/s3"]),
        ("WHERE artist = 'abba' AND song BETWEEN 's1' AND 's2'", ["abba/s1", "abba/s2"]),
        ("WHERE artist = 'abba' AND begins_with(song, 's') AND plays >= 20", ["abba/s2", "abba/s3"]),
        ("WHERE artist = 'abba' AND (plays = 10 OR plays = 30)", ["abba/s1", "abba/s3"]),
        ("WHERE artist = 'abba' AND NOT plays = 10 AND plays <> 20", ["abba/s3"]),
        ("WHERE artist = 'abba' AND plays NOT IN (10, 30)", ["abba/s2"]),
        ("WHERE artist = 'abba' AND plays NOT BETWEEN 15 AND 25", ["abba/s1", "abba/s3"]),
        ("WHERE artist IN ['acme', 'abba', 'acme'] AND song = 's1'", ["acme/s1", "abba/s1"]),
        ("WHERE artist = 'abba' ORDER BY song DESC", ["abba/s3", "abba/s2", "abba/s1"]),
        ("WHERE artist = 'rich' AND contains(tags, 'b') AND size(tags) = 2", ["rich/s1"]),
        ("WHERE artist = 'rich' AND plays IS MISSING AND tags IS NOT MISSING", ["rich/s1"]),
        ("WHERE nothing IS NULL", ["rich/s1"]),
        ("""WHERE "map"."deep"[0] = 'x' -- a note""", ["rich/s1"]),
        ("WHERE artist = 'abba' /* or acme */ AND plays = .2e2;", ["abba/s2"]),
        ("WHERE artist = 'ab''ba'", []),
    ],
)
def test_where_finds(music: ServiceApp, where: str, found: list[str]) -> None:
    assert songs(music, where) == found


def test_parameters_stand_for_values_of_any_type(app: ServiceApp) -> None:
    found = songs(app, "WHERE artist = ? AND song IN [?, ?]", S("abba"), S("s1"), S("s3"))
    assert found == ["abba/s1", "abba/s3"]
    run(app, "INSERT INTO music VALUE {'artist': ?, 'song': 'b', 'raw': ?}", {"S": "new"}, {"B": b"\0\1"})
    assert item_of(app, "new", "b") == {"artist": {"S": "new"}, "song": {"S": "b"}, "raw": {"B": b"\0\1"}}
    unlike = ("ValidationException", "Number of parameters in request and statement don't match.")
    for given in ([], [{"S": "a"}, {"S": "b"}]):
        assert error_of(app, "SELECT * FROM music WHERE artist = ?", *given) == unlike


def test_an_index_is_read_by_its_keys_or_whole(music: ServiceApp) -> None:
    rock = "SELECT * FROM music.\"by-genre\" WHERE genre = 'rock'"
    found = run(music, rock, ReturnConsumedCapacity="INDEXES")
    assert {item["artist"]["S"] for item in found["Items"]} == {"abba", "acme"}
    assert found["ConsumedCapacity"]["GlobalSecondaryIndexes"] == {"by-genre": {"CapacityUnits": 0.5}}
    assert len(run(music, "SELECT * FROM music.\"by-genre\" WHERE artist = 'abba'")["Items"]) == 3
    statement = 'SELECT * FROM "music"."by-genre"'
    assert error_of(music, statement, ConsistentRead=True)[1].startswith("Consistent reads are not supported")
    assert "does not have the specified index: nope" in error_of(music, 'SELECT * FROM "music"."nope"')[1]


@pytest.mark.parametrize("where", ["", "WHERE artist IN ['rich', 'acme', 'abba']", "WHERE plays > 10"])
def test_pages_end_where_the_limit_is_and_go_on_there(music: ServiceApp, where: str) -> None:
    all_at_once = songs(music, where)
    found: list[str] = []
    token: dict[str, str] | None = {}
    while token is not None:
        page = run(music, f"SELECT * FROM music {where}", Limit=2, **token)
        assert len(page["Items"]) <= 2
        found += [f"{item['artist']['S']}/{item['song']['S']}" for item in page["Items"]]
        token = {"NextToken": page["NextToken"]} if "NextToken" in page else None
    assert found == all_at_once


def test_what_it_costs_is_what_the_operation_costs(app: ServiceApp) -> None:
    def units(statement: str, **more: Any) -> float:
        answer = run(app, statement, ReturnConsumedCapacity="TOTAL", **more)
        return float(answer["ConsumedCapacity"]["CapacityUnits"])

    assert units("SELECT * FROM music WHERE artist = 'abba' AND song = 's1'") == 0.5
    assert units("SELECT * FROM music WHERE artist = 'abba'", ConsistentRead=True) == 1.0
    assert units("SELECT * FROM music WHERE artist IN ['abba', 'acme', 'none']") == 1.5
    assert units("INSERT INTO music VALUE {'artist': 'x', 'song': 'y'}") == 1.0
    assert units("UPDATE music SET genre = 'jazz' WHERE artist = 'x' AND song = 'y'") == 2.0
    assert units("DELETE FROM music WHERE artist = 'x' AND song = 'y'") == 2.0


def test_insert_stores_an_item_once(app: ServiceApp) -> None:
    values = "'n': -1.50, 'l': [1, 'a', true, null], 'm': {'s': <<'b', 'a'>>}, 'ns': <<1>>"
    item = "{'artist': 'new', 'song': 'n', " + values + "}"
    assert run(app, f"INSERT INTO music VALUE {item}")["Items"] == []
    assert item_of(app, "new", "n") == {
        "artist": {"S": "new"},
        "song": {"S": "n"},
        "n": {"N": "-1.5"},
        "l": {"L": [{"N": "1"}, {"S": "a"}, {"BOOL": True}, {"NULL": True}]},
        "m": {"M": {"s": {"SS": ["a", "b"]}}},
        "ns": {"NS": ["1"]},
    }
    again = error_of(app, f"INSERT INTO music VALUE {item}")
    assert again == ("DuplicateItemException", "Duplicate primary key exists in table")
    missing = error_of(app, "INSERT INTO music VALUE {'artist': 'x'}")
    assert missing[1] == "One or more parameter values were invalid: Missing the key song in the item"


def test_update_changes_an_item_that_is_there(app: ServiceApp) -> None:
    where = "WHERE artist = 'rich' AND song = 's1'"
    sets = "SET n = 1 + 2 SET list = list_append(list, [?]), tags = set_add(tags, <<'c'>>) REMOVE nothing"
    new = run(app, f"UPDATE music {sets} {where} RETURNING ALL NEW *", {"N": "9"})["Items"][0]
    assert (new["n"], new["list"]) == ({"N": "3"}, {"L": [{"N": "1"}, {"N": "9"}]})
    assert (new["tags"], "nothing" in new) == ({"SS": ["a", "b", "c"]}, False)
    run(app, f"UPDATE music SET tags = set_delete(tags, <<'a', 'b'>>) SET \"map\".deep[1] = 5 {where}")
    assert item_of(app, "rich", "s1") == new | {
        "tags": {"SS": ["c"]},
        "map": {"M": {"deep": {"L": [{"S": "x"}, {"N": "5"}]}}},
    }
    modified = run(app, f"UPDATE music SET n = n - 1 {where} RETURNING MODIFIED OLD *")["Items"]
    assert modified == [{"n": {"N": "3"}}]
    assert run(app, f"UPDATE music SET n = n + 1 {where} AND n = 2")["Items"] == []


def test_update_and_delete_want_the_whole_key_and_a_condition_that_holds(app: ServiceApp) -> None:
    failed = ("ConditionalCheckFailedException", "The conditional request failed")
    gone, there = "WHERE artist = 'no' AND song = 'no'", "WHERE artist = 'abba' AND song = 's1'"
    assert error_of(app, f"UPDATE music SET a = 1 {gone}") == failed
    assert error_of(app, f"UPDATE music SET a = 1 {there} AND plays > 10") == failed
    delete = {"Statement": f"DELETE FROM music {there} AND plays > 10"}
    shown = refused(app.ddb.execute_statement, **delete, ReturnValuesOnConditionCheckFailure="ALL_OLD")
    assert (shown["Error"]["Code"], shown["Item"]["plays"]) == (failed[0], {"N": "10"})
    assert run(app, f"DELETE FROM music {gone} AND plays > 10")["Items"] == []
    for statement in ("UPDATE music SET a = 1", "DELETE FROM music WHERE artist = 'abba'"):
        assert error_of(app, statement) == ("ValidationException", NO_KEY)
    old = run(app, f"DELETE FROM music {there} AND plays = 10 RETURNING ALL OLD *")["Items"]
    assert old[0]["plays"] == {"N": "10"}
    assert item_of(app, "abba", "s1") is None
    part_of_key = error_of(app, "UPDATE music SET song = 'x' WHERE artist = 'abba' AND song = 's2'")[1]
    assert "Cannot update attribute song. This attribute is part of the key" in part_of_key


def test_deep_statements_are_refused(music: ServiceApp) -> None:
    for statement in (
        "SELECT * FROM music WHERE " + "(" * 3000 + "a = 1" + ")" * 3000,
        "SELECT * FROM music WHERE a = " + "[" * 3000 + "]" * 3000,
        "UPDATE music SET a = 1" + " + 1" * 1500,
        "SELECT * FROM music WHERE a" + ".a" * 500 + " = 1",
    ):
        assert error_of(music, statement)[0] == "ValidationException"


def test_a_batch_says_of_each_statement_what_came_of_it(app: ServiceApp) -> None:
    statements = [
        "INSERT INTO music VALUE {'artist': 'b', 'song': '1'}",
        "INSERT INTO music VALUE {'artist': 'abba', 'song': 's1'}",
        "UPDATE music SET a = 1 WHERE artist = 'no' AND song = 'no'",
        "UPDATE music SET a = 1 WHERE artist = 'no'",
        "UPDATE nope SET a = 1 WHERE artist = 'no'",
        "UPDATE music SET",
        "DELETE FROM music WHERE artist = 'acme' AND song = 's1' RETURNING ALL OLD *",
    ]
    answer = app.ddb.batch_execute_statement(
        Statements=[{"Statement": statement} for statement in statements], ReturnConsumedCapacity="TOTAL"
    )
    codes = [one.get("Error", {}).get("Code") for one in answer["Responses"]]
    assert codes == [
        None, "DuplicateItem", "ConditionalCheckFailed", "ValidationError", "ResourceNotFound",
        "ValidationError", None,
    ]  # fmt: skip
    assert answer["Responses"][0] == {"TableName": "music"}
    assert answer["Responses"][6]["Item"]["plays"] == {"N": "10"}
    assert answer["ConsumedCapacity"] == [{"TableName": "music", "CapacityUnits": 3.0}]
    both = [{"Statement": one} for one in (statements[0], "SELECT * FROM music WHERE artist = 'a'")]
    with pytest.raises(ClientError, match="not both"):
        app.ddb.batch_execute_statement(Statements=both)


def test_a_batch_reads_single_items(music: ServiceApp) -> None:
    one = "SELECT * FROM music WHERE artist = ? AND song = 's1'"
    statements = [
        {"Statement": one, "Parameters": [{"S": "abba"}], "ConsistentRead": True},
        {"Statement": one, "Parameters": [{"S": "none"}]},
        {"Statement": "SELECT * FROM music WHERE artist = 'abba'"},
        {"Statement": "SELECT * FROM music.\"by-genre\" WHERE genre = 'pop'"},
    ]
    answer = music.ddb.batch_execute_statement(Statements=statements)["Responses"]
    assert answer[0] == {"TableName": "music", "Item": item_of(music, "abba", "s1")}
    assert answer[1] == {"TableName": "music"}
    wrong = "Select statements within BatchExecuteStatement must specify the primary key in the where clause."
    assert [one["Error"] for one in answer[2:]] == [{"Code": "ValidationError", "Message": wrong}] * 2


def test_a_transaction_is_done_whole_or_not_at_all(app: ServiceApp) -> None:
    def together(*statements: str, **more: Any) -> Any:
        return app.ddb.execute_transaction(
            TransactStatements=[{"Statement": statement} for statement in statements], **more
        )

    there = "EXISTS(SELECT * FROM music WHERE artist = 'abba' AND song = 's1' AND plays = 10)"
    insert = "INSERT INTO music VALUE {'artist': 'tx', 'song': '1'}"
    update = "UPDATE music SET plays = plays + 1 WHERE artist = 'acme' AND song = 's1'"
    answer = together(there, insert, update, ReturnConsumedCapacity="TOTAL", ClientRequestToken="t")
    assert answer["Responses"] == []
    written = {"TableName": "music", "CapacityUnits": 7.0, "WriteCapacityUnits": 7.0}
    assert answer["ConsumedCapacity"] == [written]
    assert item_of(app, "acme", "s1")["plays"] == {"N": "11"}  # type: ignore[index]
    again = together(there, insert, update, ReturnConsumedCapacity="TOTAL", ClientRequestToken="t")
    assert "ReadCapacityUnits" in again["ConsumedCapacity"][0]
    steps = [{"Statement": one} for one in (there.replace("10", "11"), insert, update)]
    reasons = refused(app.ddb.execute_transaction, TransactStatements=steps)["CancellationReasons"]
    assert [reason["Code"] for reason in reasons] == ["ConditionalCheckFailed", "DuplicateItem", "None"]
    assert item_of(app, "acme", "s1")["plays"] == {"N": "11"}  # type: ignore[index]
    one = "SELECT plays FROM music WHERE artist = 'abba' AND song = '{}'"
    read = together(one.format("s1"), one.format("s2"), one.format("none"))["Responses"]
    assert read == [{"Item": {"plays": {"N": "10"}}}, {"Item": {"plays": {"N": "20"}}}, {}]
    with pytest.raises(ClientError, match="not both"):
        together(one.format("s1"), update)
    with pytest.raises(ClientError, match=r"Validation failed in TransactStatements\[1\]: Statement wasn't"):
        together(update, "UPDATE music")
    with pytest.raises(ClientError, match="multiple operations on one item"):
        together(update, update)


def test_throttles_are_those_of_the_operation_with_their_reasons(service_app: ServiceApp) -> None:
    service_app.ddb.create_table(**on_demand())
    fill = {"S": "x" * 300_000}
    run(service_app, "INSERT INTO orders VALUE {'pk': 'hot', 'fill': ?}", fill)
    statement = "UPDATE orders SET fill = ? WHERE pk = 'hot'"
    _, answer = first_refused(lambda _: run(service_app, statement, fill))
    assert answer["Error"]["Code"] == "ThrottlingException"
    assert answer["throttlingReasons"][0]["reason"] == "TableWriteKeyRangeThroughputExceeded"
    update = [{"Statement": statement, "Parameters": [fill]}]
    batch = service_app.ddb.batch_execute_statement(Statements=update)["Responses"]
    assert batch[0]["Error"]["Code"] == "ThrottlingError"
    cancelled = refused(service_app.ddb.execute_transaction, TransactStatements=update)
    assert cancelled["CancellationReasons"][0]["Code"] == "ThrottlingError"
    of_updates = {"Operation": "ExecuteStatement", "Verb": "PartiQLUpdate"}
    assert counted(service_app, "ThrottledRequests", "orders", **of_updates) == 1


def test_metrics_are_by_operation_and_verb(app: ServiceApp) -> None:
    run(app, "SELECT * FROM music WHERE artist = 'abba'")
    run(app, "INSERT INTO music VALUE {'artist': 'm', 'song': '1'}")
    delete = "DELETE FROM music WHERE artist='m' AND song='1'"
    app.ddb.batch_execute_statement(Statements=[{"Statement": delete}])
    select = {"Operation": "ExecuteStatement", "Verb": "PartiQLSelect"}
    assert counted(app, "ReturnedItemCount", "music", **select) == 3
    app.clock.advance(60)
    listed = app.cloudwatch.list_metrics(MetricName="SuccessfulRequestLatency")["Metrics"]
    done = [{each["Value"] for each in metric["Dimensions"]} for metric in listed]
    assert {"music", "ExecuteStatement", "PartiQLInsert"} in done
    assert {"music", "BatchExecuteStatement", "Write"} in done


def test_a_token_of_another_statement_is_refused(music: ServiceApp) -> None:
    token = run(music, "SELECT * FROM music", Limit=1)["NextToken"]
    for bad, statement in ((token, "SELECT * FROM music WHERE plays = 1"), ("x", "SELECT * FROM music")):
        wrong = ("ValidationException", "NextToken does not match request")
        assert error_of(music, statement, NextToken=bad) == wrong


def test_order_by_wants_a_partition_key_and_key_attributes(music: ServiceApp) -> None:
    assert "Must have WHERE clause" in error_of(music, "SELECT * FROM music ORDER BY song")[1]
    assert "hash key condition" in error_of(music, "SELECT * FROM music WHERE plays = 1 ORDER BY song")[1]
    of_no_key = error_of(music, "SELECT * FROM music WHERE artist = 'a' ORDER BY plays")[1]
    assert "must be part of the primary key" in of_no_key
