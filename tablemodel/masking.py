"""Text as it may be shown and kept: without the account, without anything that signs a request, and without
signs that a terminal obeys.

ARNs, the addresses of an account's own endpoint, and the errors of a service name the account; an error about
a signature repeats the request with its session token.
"""

import json
import re
from collections.abc import Callable
from typing import Any, Final
from unicodedata import category

ACCOUNT: Final = "************"
KEY: Final = "(access key)"
TOKEN: Final = "(session token)"

_MASKS: Final = (
    # https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html
    (re.compile(r"(arn:aws[\w-]*:[\w-]*:[\w-]*:)\d{12}\b"), rf"\g<1>{ACCOUNT}"),
    # https://docs.aws.amazon.com/sdkref/latest/guide/feature-account-endpoints.html
    (re.compile(r"\b\d{12}(?=\.ddb\.)"), ACCOUNT),
    (re.compile(r"(?i)(\baccount[ _-]?(?:id)?\W{0,4})\d{12}\b"), rf"\g<1>{ACCOUNT}"),
    # https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-unique-ids
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b"), KEY),
    (re.compile(r"(?i)(x-amz-security-token\W{1,4})[^\s'\",;]+"), rf"\g<1>{TOKEN}"),
)


def masked(text: str) -> str:
    """The text without account ids, access keys and session tokens."""
    for pattern, instead in _MASKS:
        text = pattern.sub(instead, text)
    return text


def plain(text: str) -> str:
    """The text with � for each sign that a terminal obeys, or that turns other text around."""
    return _each(text, lambda _sign: "\ufffd")


def plain_json(body: bytes) -> str:
    """The same JSON, with an escape for each such sign."""
    return _each(body.decode(), lambda sign: json.dumps(sign)[1:-1])


def _each(text: str, instead: Callable[[str], str]) -> str:
    """Text with something instead of each sign that is not seen: all but spaces, tabs and ends of lines."""
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() or sign in "\n\t" or category(sign) == "Zs" else instead(sign)
        for sign in text
    )


def mask_errors(client: Any) -> Any:
    """A boto3 client whose errors say no more than may be shown; gives it back.

    botocore parses an error before it is raised, and lets others see what it parsed:
    https://botocore.amazonaws.com/v1/documentation/api/latest/topics/events.html
    """
    client.meta.events.register("after-call", _mask_error)
    return client


def _mask_error(parsed: Any, **_more: Any) -> None:
    error = parsed.get("Error") if isinstance(parsed, dict) else None
    if isinstance(error, dict) and isinstance(error.get("Message"), str):
        error["Message"] = masked(error["Message"])
