"""What an endpoint of ours says of itself beside DynamoDB's own API: health, scale, partitions, faults.

AWS has no record of what each partition served and throttled.
"""

import json
from collections import Counter
from collections.abc import Callable
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote
from urllib.request import ProxyHandler, build_opener

from keyheat.answers import waiting_for
from keyheat.load.transport.boto import CALLS
from keyheat.load.transport.target import Target
from keyheat.runs.partitions import partitions_table
from keyheat.words import Endpoint

if TYPE_CHECKING:
    import pyarrow as pa

HEALTH_WITHIN_S: Final = 2.0
TOLD_WITHIN_S: Final = 30.0
Told = TypeVar("Told")


def scale_at(target: Target, *, elsewhere: bool = False) -> float | None:
    """By how much an endpoint of ours multiplies every rate limit; None if the target is another.

    It is a local one, unless `elsewhere`.
    """
    if not (target.local or elsewhere):
        return None
    try:
        page = page_of(target, "/_keyheat/health", HEALTH_WITHIN_S)
        return float(json.loads(page)["scale"])
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return None


def endpoint_at(target: Target) -> Endpoint:
    if target.aws:
        return "aws"
    return "other" if scale_at(target, elsewhere=True) is None else "keyheat"


def page_of(target: Target, path: str, within_s: float) -> bytes:
    """A page of the endpoint; of this machine without a proxy.

    `within_s`: to the next byte. Raises `OSError`, `HTTPException`, and `ValueError` for a bad path.
    """
    opener = build_opener(*([ProxyHandler({})] if target.local else []))
    with (
        CALLS.waiting(target.url),
        waiting_for(target.url, path.partition("?")[0]),
        opener.open(f"{target.url}{path}", timeout=within_s) as answer,
    ):
        page: bytes = answer.read()
    return page


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

    def read(content: Any) -> Counter[str]:
        return Counter({rule["name"]: int(rule["struck"]) for rule in content["rules"]})

    return _read_page(target, "faults", read)


def _read_page(target: Target, page: str, read: Callable[[Any], Told]) -> Told:
    try:
        return read(json.loads(page_of(target, f"/_keyheat/{page}", TOLD_WITHIN_S)))
    except (OSError, HTTPException) as problem:
        raise PageUnavailable(f"the endpoint did not answer: {problem}") from problem
    except (ValueError, KeyError, TypeError) as problem:
        raise PageUnavailable(f"the endpoint answered something else: {problem!r}") from problem
