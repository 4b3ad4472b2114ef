"""How a botocore retries: calls of a client, with its chance, its clock and its pauses in our hands.

    python botocore_retries.py '[{"endpoint": "http://127.0.0.1:8000", "calls": 1, "chance": 0.5,
                                  "every_s": 0, "mode": "standard", "attempts": 8}]'

Each has a client of its own. It prints its version, and of each call the pauses that it would have made, in
milliseconds, and how it ended.
"""

import json
import random
import sys
import threading
import time
from types import SimpleNamespace
from typing import Any

now_s = 0.0
pauses_ms: list[float] = []
chance = 0.0
random.random = lambda: chance  # botocore takes hold of it when it is imported


def sleep(pause_s: float) -> None:
    """Note it; no sleep ends early."""
    global now_s
    now_s += pause_s + 1e-6
    pauses_ms.append(1000 * pause_s)


class Turn(threading.Condition):
    """Where an adaptive client waits for its rate; nobody else is there."""

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        sleep(timeout)
        return False


time.sleep = sleep
import botocore.session  # noqa: E402
from botocore.config import Config  # noqa: E402
from botocore.exceptions import BotoCoreError, ClientError, ReadTimeoutError  # noqa: E402
from botocore.retries import bucket  # noqa: E402

bucket.threading = SimpleNamespace(Lock=threading.Lock, Condition=Turn)
bucket.Clock.current_time = lambda _clock: now_s
SESSION = botocore.session.get_session()


def client_of(asked: dict[str, Any]) -> tuple[Any, list[Any]]:
    """A client, and what it has sent."""
    attempts = {"total_max_attempts": asked["attempts"]} if "attempts" in asked else {}
    made = SESSION.create_client(
        "dynamodb", region_name="us-east-1", endpoint_url=asked["endpoint"],
        aws_access_key_id="any", aws_secret_access_key="any",
        config=Config(retries={"mode": asked["mode"], **attempts}),
    )  # fmt: skip
    sent: list[Any] = []
    http = made._endpoint.http_session
    really_send = http.send

    def send(request: Any) -> Any:
        sent.append(request)
        answer = really_send(request)
        if "silent" in answer.headers:
            raise ReadTimeoutError(endpoint_url=asked["endpoint"])
        return answer

    http.send = send
    return made, sent


def played(asked: dict[str, Any]) -> list[dict[str, Any]]:
    global now_s, chance
    now_s, chance = 1_000.25, asked["chance"]
    client, sent = client_of(asked)
    found = []
    for _ in range(asked["calls"]):
        pauses_ms.clear()
        sent.clear()
        failed = None
        try:
            client.delete_item(TableName="orders", Key={"pk": {"S": "a"}})
        except ClientError as error:
            failed = error.response["Error"]["Code"]
        except BotoCoreError as error:
            failed = type(error).__name__
        found.append({"pauses_ms": [*pauses_ms], "attempts": len(sent), "error": failed})
        now_s += asked["every_s"]
    return found


print(json.dumps({"version": botocore.__version__, "told": [played(one) for one in json.loads(sys.argv[1])]}))
