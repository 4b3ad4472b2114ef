"""Requests through boto3: those of a load, as an application would see them, and calls beside a load.

The latter are bounded once a run is interrupted: the first Ctrl-C abandons the calls under way, and each
later call has a few seconds. A host that leaves one unanswered is not called again, so that a run whose
endpoint hangs ends soon and names what it leaves behind.

An endpoint of ours says more of itself beside DynamoDB's own API: health, scale, partitions, faults. AWS has
no record of what each partition served and throttled.
"""

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote, urlsplit
from urllib.request import ProxyHandler, build_opener

import orjson
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from gevent import Greenlet, Timeout, getcurrent, kill

from keyheat.answers import guarded, waiting_for
from keyheat.load.transport.answer import CREDENTIALS, TIMEOUT_S, Answer, damage, kind_of
from keyheat.load.transport.target import Target, ca_bundle, credentials_for, sdk
from keyheat.masking import mask_errors
from keyheat.runs.partitions import partitions_table
from keyheat.words import Endpoint

if TYPE_CHECKING:
    import pyarrow as pa


ANSWER_S: Final = 3.0


class Abandoned(BotoCoreError, OSError):  # type: ignore[misc]  # botocore has no types
    """A call that was given up. It is no error that the SDK retries."""

    fmt = "{host} did not answer, and the run is being ended"

    def __init__(self, host: str) -> None:
        BotoCoreError.__init__(self, host=host)  # not of `OSError`


class _Cut(BaseException):
    """Ends a call under way: no `except Exception` of an SDK takes it for its own."""


@dataclass(slots=True)
class Calls:
    """The calls of one process beside its load; each greenlet has one at most."""

    hurried: bool = False
    _silent: set[str] = field(default_factory=set)  # hosts
    _waiting: dict[Greenlet, str] = field(default_factory=dict)

    def hurry(self, *, but: Any = None) -> None:
        """Abandon the calls under way, except that of greenlet `but`, and bound later ones."""
        self.hurried = True
        for greenlet in self._waiting:
            if greenlet is not but:
                kill(greenlet, _Cut())

    def is_silent(self, url: str) -> bool:
        return urlsplit(url).netloc in self._silent

    @contextmanager
    def waiting(self, url: str) -> Iterator[None]:
        """Enclose one call to `url`, from its request to its whole response. Raises `Abandoned`."""
        host, mine = urlsplit(url).netloc, getcurrent()
        if host in self._silent:
            raise Abandoned(host)
        self._waiting[mine] = host
        limit = Timeout(ANSWER_S) if self.hurried else None
        try:
            if limit is not None:
                limit.start()
            yield
        except (Timeout, _Cut) as end:
            if isinstance(end, Timeout):
                if end is not limit:
                    raise
                self._silent.add(host)
            raise Abandoned(host) from end
        finally:
            del self._waiting[mine]
            if limit is not None:
                limit.close()


CALLS: Final = Calls()


def make_client(
    target: Target,
    *,
    connections: int = 10,
    timeout_s: float = TIMEOUT_S,
    service: str = "dynamodb",
    attempts: int = 1,
    tells: bool = True,
) -> Any:
    """A plain client of the target, which never retries by itself unless more `attempts` are allowed.

    A pool smaller than the number of users would open and close connections all the time. The streams of
    DynamoDB in AWS are a `service` with an address of its own. Nothing on this machine is asked through a
    proxy. `tells`: a long wait is said on stderr, and abandoned once the run is being ended.
    """
    config = Config(
        retries={"total_max_attempts": attempts, "mode": "standard"},
        max_pool_connections=max(10, connections),
        connect_timeout=timeout_s,
        read_timeout=timeout_s,
        parameter_validation=False,
        proxies={} if target.local else None,
    )
    session = sdk()
    elsewhere, keys = service != "dynamodb" and target.aws, {}
    if target.local:  # elsewhere botocore finds them and refreshes them itself
        local = credentials_for(target, session)()
        keys = {
            "aws_access_key_id": local.access_key,
            "aws_secret_access_key": local.secret_key,
            "aws_session_token": local.token,
        }
    client = session.create_client(
        service,
        endpoint_url=None if elsewhere else target.url,
        region_name=target.region,
        config=config,
        verify=(ca_bundle() if target.tls else None) or True,
        **keys,
    )
    return guarded(mask_errors(client), tells=tells, around=CALLS.waiting)


class _Came(Exception):
    """A whole response, as it came."""

    def __init__(self, response: dict[str, Any]) -> None:
        self.response = response


def _come(response_dict: dict[str, Any], **_more: Any) -> None:
    raise _Came(response_dict)


class Boto3Transport:
    """One shared boto3 client. Its answers are made of what came, before botocore parses that.

    An older botocore drops the throttling reasons, a current one drops them under another spelling, and each
    fails on what is no answer.
    """

    def __init__(self, target: Target, *, connections: int, timeout_s: float = TIMEOUT_S) -> None:
        self._client = make_client(target, connections=connections, timeout_s=timeout_s, tells=False)
        self._client.meta.events.register("before-parse.dynamodb", _come)
        # It warns of each head that is cut off, with a traceback; that is a failure of the record.
        logging.getLogger("urllib3.connection").setLevel(logging.ERROR)

    def send(self, operation: str, body: bytes) -> Answer:
        call = getattr(self._client, xform_name(operation))
        parameters, failure = orjson.loads(body), CREDENTIALS
        started = perf_counter()
        try:
            call(**parameters)
        except _Came as came:
            service_s, response = perf_counter() - started, came.response
            headers, content = response["headers"], response["body"]
            if (wrong := damage(content, headers)) is not None:
                return Answer(0, b"", service_s, failure=wrong)
            return Answer(response["status_code"], content, service_s, headers.get("x-amz-retry-after"))
        except BotoCoreError as error:
            failure = kind_of(error)
        except (ClientError, RuntimeError):  # of a service that gives credentials; or they have expired, too
            pass
        return Answer(0, b"", perf_counter() - started, failure=failure)

    def close(self) -> None:
        self._client.close()


HEALTH_WITHIN_S: Final = 2.0
TOLD_WITHIN_S: Final = 30.0
Told = TypeVar("Told")


def scale_at(target: Target, *, elsewhere: bool = False) -> float | None:
    """By how much an endpoint of ours multiplies every rate limit; None if the target is another.

    It is a local one, unless `elsewhere`.
    """
    if target.local or elsewhere:
        with suppress(PageUnavailable):
            return _read_page(target, "health", lambda page: float(page["scale"]), HEALTH_WITHIN_S)
    return None


def endpoint_at(target: Target) -> Endpoint:
    if target.aws:
        return "aws"
    return "other" if scale_at(target, elsewhere=True) is None else "keyheat"


class PageUnavailable(Exception):
    """The endpoint does not say what is asked of it; the message says why."""


def partitions_of(target: Target, table: str, start_s: float, end_s: float) -> "pa.Table":
    """The rows of `partitions.parquet`, from `start_s` to `end_s`. Raises `PageUnavailable`."""
    page = f"partitions?table={quote(f'arn:aws:dynamodb:{target.region}::table/{table}')}"
    return _read_page(target, page, lambda content: partitions_table(content, start_s, end_s))


def faults_of(target: Target) -> Counter[str]:
    """How often each rule of faults struck since it was set on an endpoint of ours.

    Raises `PageUnavailable`.
    """

    return _read_page(
        target, "faults", lambda page: Counter({rule["name"]: int(rule["struck"]) for rule in page["rules"]})
    )


def _read_page(
    target: Target, page: str, read: Callable[[Any], Told], within_s: float = TOLD_WITHIN_S
) -> Told:
    """Return what a page of an endpoint of ours says; of this machine without a proxy.

    `within_s`: to the next byte. Raises `PageUnavailable`.
    """
    path, opener = f"/_keyheat/{page}", build_opener(*([ProxyHandler({})] if target.local else []))
    try:
        with (
            CALLS.waiting(target.url),
            waiting_for(target.url, path.partition("?")[0]),
            opener.open(f"{target.url}{path}", timeout=within_s) as answer,
        ):
            content = answer.read()
        return read(json.loads(content))
    except (OSError, HTTPException) as problem:
        raise PageUnavailable(f"the endpoint did not answer: {problem}") from problem
    except (ValueError, KeyError, TypeError) as problem:
        raise PageUnavailable(f"the endpoint answered something else: {problem!r}") from problem
