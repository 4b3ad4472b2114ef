"""Items, errors and capacity units against dynoxide, an implementation of DynamoDB's API that is not ours.

Generated requests go to both; where they differ, `KNOWN_DIFFERENCES` has the documentation that decides it.
Install it with `npm ci --prefix tests/conformance`, or name a binary in KEYHEAT_DYNOXIDE.
"""

import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tests.endpoint import clients
from tests.endpoint.generated import Operation, operations, table_named
from tests.outside import PATIENCE_S, eventually, free_port

pytestmark = pytest.mark.opens

BINARY = Path(__file__).parents[1] / "conformance/node_modules/@dynoxide/linux-x64/dynoxide"

Differs = Callable[[str, dict[str, Any], Any, Any], bool]
"""Arguments: the operation, its request, our outcome and theirs."""

DOCS = "https://docs.aws.amazon.com/amazondynamodb/latest/"
KNOWN_DIFFERENCES: dict[str, tuple[str, Differs]] = {
    "a global index answers only with what it projects": (
        DOCS + "developerguide/GSI.html#GSI.Reading",
        lambda name, request, ours, theirs: (
            request.get("IndexName") == "keys" and "ProjectionExpression" in request and "error" in ours
        ),
    ),
    "a local index fetches what it does not project, and reads the table for it": (
        DOCS + "developerguide/LSI.html#LSI.Reading",
        lambda name, request, ours, theirs: (
            request.get("IndexName") == "local" and "ProjectionExpression" in request and "error" not in ours
        ),
    ),
    "every item that a local index fetches is rounded up by itself, and none costs nothing": (
        DOCS + "developerguide/LSI.html#LSI.ThroughputConsiderations.Reads",
        lambda name, request, ours, theirs: (
            request.get("IndexName") == "local"
            and request.get("Select") == "ALL_ATTRIBUTES"
            and without_capacity(ours, theirs)
        ),
    ),
    "a scan of a local index is charged to that index": (
        DOCS + "APIReference/API_ConsumedCapacity.html",
        lambda name, request, ours, theirs: (
            name == "scan" and request.get("IndexName") == "local" and without_capacity(ours, theirs)
        ),
    ),
    "an item that was not there has no old attributes": (
        DOCS + "APIReference/API_UpdateItem.html#DDB-UpdateItem-request-ReturnValues",
        lambda name, request, ours, theirs: (
            name == "update_item" and request.get("ReturnValues") == "ALL_OLD" and "Attributes" not in ours
        ),
    ),
    "a path is removed only where there is what it leads through": (
        DOCS + "developerguide/Expressions.UpdateExpressions.html#Expressions.UpdateExpressions.REMOVE",
        lambda name, request, ours, theirs: (
            "REMOVE g, x.b" in str(request)
            and ("ValidationError" in ours["reasons"] or ours["error"] == "ValidationException")
        ),
    ),
    "no update changes the key, in a transaction neither": (
        DOCS + "APIReference/API_Update.html",
        lambda name, request, ours, theirs: (
            name == "transact_write_items"
            and "SET pk" in str(request)
            and ours.get("error") == "ValidationException"
        ),
    ),
    "an expression is checked before any item is looked at": (
        DOCS + "developerguide/Programming.Errors.html",
        lambda name, request, ours, theirs: (
            ours.get("error") == "ValidationException"
            and theirs.get("error") in ("ConditionalCheckFailedException", "TransactionCanceledException")
        ),
    ),
}


def without_capacity(ours: Any, theirs: Any) -> bool:
    """Whether the outcomes are one but for the units consumed."""
    return {**ours, "ConsumedCapacity": None} == {**theirs, "ConsumedCapacity": None}


def outcome(client: Any, operation: Operation) -> Any:
    """What came of it: the answer, or the error's code and what else the error tells."""
    try:
        answer = getattr(client, operation.name)(**operation.request)
    except ClientError as error:
        reasons = [reason["Code"] for reason in error.response.get("CancellationReasons", [])]
        return {
            "error": error.response["Error"]["Code"],
            "reasons": reasons,
            "item": error.response.get("Item"),
        }
    del answer["ResponseMetadata"]
    return settled(operation, answer)


def settled(operation: Operation, answer: Any) -> Any:
    """The answer with everything in order whose order the API leaves open: equal index keys among them."""
    answer = canonical(answer)
    if operation.name == "scan" or operation.request.get("IndexName") in ("all", "keys"):
        answer.get("Items", []).sort(key=repr)
    for listed in answer["Responses"].values() if operation.name == "batch_get_item" else ():
        listed.sort(key=repr)
    return answer


def canonical(value: Any) -> Any:
    """Sets and maps in order."""
    if isinstance(value, dict):
        return {
            key: sorted(value[key]) if key in ("SS", "NS", "BS") else canonical(value[key])
            for key in sorted(value)
        }
    return [canonical(element) for element in value] if isinstance(value, list) else value


def known(operation: Operation, ours: Any, theirs: Any) -> bool:
    return any(
        decides(operation.name, operation.request, ours, theirs) for _, decides in KNOWN_DIFFERENCES.values()
    )


@pytest.fixture(scope="module")
def dynoxide() -> Iterator[Any]:
    binary = Path(os.environ.get("KEYHEAT_DYNOXIDE", BINARY))
    if not binary.exists():
        pytest.skip("dynoxide is not installed: npm ci --prefix tests/conformance, or set KEYHEAT_DYNOXIDE")
    port = free_port()
    process = subprocess.Popen(
        [binary, "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_for(port)
        yield clients.client("dynamodb", f"http://127.0.0.1:{port}", parameter_validation=False)
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE_S)


def wait_for(port: int) -> None:
    def listens() -> bool:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True

    eventually(listens)


numbers = count()
EVERYTHING = Operation("scan", {"ConsistentRead": True})


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@settings(
    max_examples=int(os.environ.get("KEYHEAT_EXAMPLES", "40")),
    derandomize=True,
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)
@given(st.lists(operations, min_size=8, max_size=30))
def test_both_answer_alike(service_app: Any, dynoxide: Any, requests: list[Operation]) -> None:
    name = f"generated-{next(numbers)}"
    for client in (service_app.ddb, dynoxide):
        client.create_table(**table_named(name))
    service_app.clock.advance(600)
    for operation in (one.on(name) for one in [*requests, EVERYTHING]):
        service_app.clock.advance(10)
        ours, theirs = outcome(service_app.ddb, operation), outcome(dynoxide, operation)
        note(f"{operation.name} {operation.request}\n  ours   {ours}\n  theirs {theirs}")
        if ours == theirs:
            continue
        assert known(operation, ours, theirs), (ours, theirs)
        if ours.get("error") != theirs.get("error"):
            break  # the tables are no longer the same
    for client in (service_app.ddb, dynoxide):
        client.delete_table(TableName=name)
