"""Runs the checks of one client and tells of each: a line of JSON with its name, its outcome and words.

A program is called with the URLs of two endpoints, the second of which serves a hundredth of the rates:

    python boto3_client.py http://127.0.0.1:8000 http://127.0.0.1:8001
"""

import json
import sys
import traceback
import urllib.request
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path

NAMES: list[str] = list(json.loads(Path(__file__).with_name("checks.json").read_text(encoding="utf-8")))
URL, SLOW_URL = sys.argv[1:3]
WHERE = {"region_name": "us-east-1", "aws_access_key_id": "any", "aws_secret_access_key": "any"}
FILLING = 390_000
"""An item of so many bytes takes 381 units: 38 seconds of a partition at a hundredth of the rate."""


class NotServed(Exception):
    """The local table says that it does not have the operation."""


def tell(*packages: str, checks: Mapping[str, Callable[[], str | None]], lacks: Mapping[str, str]) -> None:
    """Run the checks in their order. `lacks`: why a client has none of a kind, by the name of the check."""
    assert sorted({*checks, *lacks}) == sorted(NAMES), "each check is made, or said to be missing"
    said("client", "yes", ", ".join(f"{package} {version(package)}" for package in packages))
    for name in NAMES:
        if name in lacks:
            said(name, "not in this client", lacks[name])
            continue
        try:
            said(name, "yes", checks[name]() or "")
        except NotServed:
            said(name, "not served", "")
        except Exception as error:  # noqa: BLE001 (each check is told of, whatever becomes of the others)
            traceback.print_exc()
            said(name, "no", f"{type(error).__name__}: {error}")


def said(check: str, outcome: str, words: str) -> None:
    print(json.dumps({"check": check, "outcome": outcome, "words": words}), flush=True)


def asked_for(operation: str) -> int:
    """How often the slow endpoint was asked for an operation since it began."""
    with urllib.request.urlopen(f"{SLOW_URL}/_keyheat/requests", timeout=30) as answer:
        return int(json.load(answer).get(operation, 0))


def attempts_of(put: Callable[[], object], refused: type[Exception]) -> str:
    """How often a put was sent that is refused each time."""
    before = asked_for("PutItem")
    try:
        put()
    except refused:
        attempts = asked_for("PutItem") - before
        return f"{attempts} attempt{'s' if attempts > 1 else ''}"
    raise AssertionError("it was not refused")
