"""An endpoint of a few lines, which does what a test says of it; nothing is sent anywhere."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from keyheat.load.probe.table import ProbedEndpoint, ServiceReply
from keyheat.load.transport.answer import Answer

REASON = "TableWriteProvisionedThroughputExceeded"
Content = dict[str, Any]


def refused(code: str, **more: Any) -> Answer:
    """An error as DynamoDB spells it."""
    return Answer(400, orjson.dumps({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", **more}), 0.002)


def ok(**content: Any) -> Answer:
    return Answer(200, orjson.dumps(content), 0.002)


@dataclass
class MadeUp:
    """A transport that keeps what it was asked, on a clock that each request moves on."""

    burst_requests: int | None = None  # throttles after so many puts; None: never
    reasons: bool = True
    answers: dict[str, Callable[[Content], Answer]] = field(default_factory=dict)
    latency_s: float = 0.002
    headers: dict[str, str] = field(default_factory=dict)
    served: set[str] = field(default_factory=lambda: {"dynamodb", "cloudwatch", "dynamodbstreams"})
    sent: list[tuple[str, Content]] = field(default_factory=list)
    now_s: float = 1_795_000_000.0
    puts: int = 0
    closed: bool = False

    def asked(self) -> ProbedEndpoint:
        return ProbedEndpoint(
            url="http://made.up", transport=self, call=self.call, clock=lambda: self.now_s, sleep=self.sleep
        )

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def send(self, operation: str, body: bytes) -> Answer:
        content = orjson.loads(body)
        self.sent.append((operation, content))
        self.now_s += self.latency_s
        made = self.answers.get(operation, self._usual(operation))(content)
        return Answer(made.status, made.body, self.latency_s, failure=made.failure)

    def close(self) -> None:
        self.closed = True

    def call(self, service: str, _method: str, _parameters: Content) -> ServiceReply:
        return ServiceReply({}, self.headers, None if service in self.served else "UnknownOperationException")

    def names(self) -> list[str]:
        """The operations in the order in which they were asked for."""
        return [operation for operation, _ in self.sent]

    def _usual(self, operation: str) -> Callable[[Content], Answer]:
        usual = {"DescribeTable": self._table, "PutItem": self._put}
        return usual.get(operation, lambda _content: ok())

    def _table(self, content: Content) -> Answer:
        return ok(Table={"TableName": content["TableName"], "TableStatus": "ACTIVE", "TableArn": "arn:x"})

    def _put(self, _content: Content) -> Answer:
        self.puts += 1
        if self.burst_requests is None or self.puts <= self.burst_requests:
            return ok()
        reasons = [{"reason": REASON, "resource": "arn:x"}] if self.reasons else []
        return refused("ProvisionedThroughputExceededException", ThrottlingReasons=reasons)
