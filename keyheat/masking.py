"""Text as it may be shown and kept: without the account, without credentials, and without
signs that a terminal obeys.

ARNs, the addresses of an account's own endpoint, and the errors of a service name the account; an error about
a signature repeats the request with its session token, and so does the SDK where it logs everything. A URL
may hold a password or a token. Whoever uses one has it in memory, and nowhere else.
"""

import json
import logging
import pkgutil
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final
from unicodedata import category

ACCOUNT: Final = "************"
KEY: Final = "(access key)"
TOKEN: Final = "(session token)"
SECRET: Final = "(secret)"
SDKS: Final = ("botocore", "aiobotocore", "boto3")

_USER: Final = r"[^\s/?#:@\[\]\"<>]{0,200}"
_MASKS: Final = (
    # https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html
    (re.compile(r"(arn:aws[\w-]*:[\w-]*:[\w-]*:)\d{12}\b"), rf"\g<1>{ACCOUNT}"),
    # https://docs.aws.amazon.com/sdkref/latest/guide/feature-account-endpoints.html
    (re.compile(r"\b\d{12}(?=\.ddb\.)"), ACCOUNT),
    (re.compile(r"(?i)(\baccount[ _-]?(?:id)?\W{0,4})\d{12}\b"), rf"\g<1>{ACCOUNT}"),
    # https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-unique-ids
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b"), KEY),
    (
        re.compile(r"(?i)(x-amz-security-token['\"]?\s?[:=]\s?(?:b?['\"])?+)[^\s('\",;&][^\s'\",;&]*"),
        rf"\g<1>{TOKEN}",
    ),
    (re.compile(r"(?i)(\bsignature\W{1,3})[0-9a-f]{32,}\b"), rf"\g<1>{SECRET}"),
    (re.compile(r"(?i)(\b(?:basic|bearer) )[\w.~+/=-]{16,}"), rf"\g<1>{SECRET}"),
    # As STS, SSO and an instance's metadata answer, in XML, JSON and the reprs of Python.
    (
        re.compile(
            r"(?i)((?:secret_?(?:access_?)?key|(?:session|access|refresh)_?token|client_?secret)"
            r"(?:\\?['\"])?\s?[=:>]\s?(?:\\?['\"])?+)[^\s('\"\\<,&][^\s'\"\\<,&]*"
        ),
        rf"\g<1>{SECRET}",
    ),
    # A user and a password: https://www.rfc-editor.org/rfc/rfc3986#section-3.2.1
    (re.compile(r"(?i)(\bhttps?://)[^\s/?#@\"<>]{1,500}@"), r"\g<1>"),
    (re.compile(rf"(://{_USER}):[^\s/?#\"<>]{{0,500}}@"), r"\g<1>@"),
    # One in which nothing is escaped, and that is no port.
    (re.compile(rf"(://{_USER}):(?!\d{{1,5}}(?:[/?#\s'\"]|$))[^\s\"<>]{{0,500}}?@"), r"\g<1>@"),
    (
        re.compile(
            r"(?i)([?&#;](?:[\w.-]{0,60}(?:token|secret|passw(?:or)?d|signature|credential|(?:api|access)[-_]?key)"
            r"|sig|key|auth|pwd|pass)=)[^\s(&#;'\"<>][^\s&#;'\"<>]*"
        ),
        rf"\g<1>{SECRET}",
    ),
)


_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_NUMBER: Final = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


def masked(text: str) -> str:
    """The text without account ids, access keys, session tokens, and the passwords and tokens of URLs."""
    for pattern, instead in _MASKS:
        text = pattern.sub(instead, text)
    return text


def plain(text: str) -> str:
    """The text with � for each sign that a terminal obeys, or that turns other text around."""
    return _each(text, lambda _sign: "\ufffd")


def as_cell(text: str) -> str:
    """Text for a cell of CSV: a quote before what a spreadsheet takes for a formula. Numbers stay numbers.

    https://owasp.org/www-community/attacks/CSV_Injection
    """
    return f"'{text}" if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def plain_json(body: bytes, encoding: str = "utf-8") -> str:
    """The same JSON, with an escape for each such sign, and for what an encoding has no sign for."""
    text = _each(body.decode(), lambda sign: json.dumps(sign)[1:-1])
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return re.sub(r"[^\x00-\x7f]+", lambda match: json.dumps(match[0])[1:-1], text)
    return text


def speak_plainly() -> None:
    """Have stdout and stderr show a ? where their encoding, such as ASCII, lacks a character.

    Otherwise an arrow ends the program where a terminal knows none.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and not stream.encoding.lower().startswith("utf"):
            stream.reconfigure(errors="replace")


def _each(text: str, instead: Callable[[str], str]) -> str:
    """Text with something instead of each sign that is not seen: all but spaces, tabs and ends of lines."""
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() or sign in "\n\t" or category(sign) == "Zs" else instead(sign)
        for sign in text
    )


def from_here(path: Path) -> Path | None:
    """The path relative to the working directory; None where it is not below that,
    so that what is kept or sent names no more of the machine."""
    whole, here = path.absolute(), Path.cwd()
    return whole.relative_to(here) if whole.is_relative_to(here) else None


def short_path(path: Path) -> str:
    """A path as a person would type it from here."""
    return str(from_here(path) or path)


def typed(path: Path) -> str:
    """A path for a command that is copied into a shell anywhere on this machine, or here: `~/runs/hotkey`."""
    near, home = from_here(path), Path.home()
    if near is not None and near != Path():
        return shlex.quote(str(near))
    whole = path.absolute()
    inside = whole.is_relative_to(home) and whole != home
    return f"~/{shlex.quote(str(whole.relative_to(home)))}" if inside else shlex.quote(str(whole))


def mask_errors(client: Any) -> Any:
    """A boto3 client whose errors, and whose library's log, say no more than may be shown; gives it back.

    botocore parses an error before it is raised, and lets others see what it parsed:
    https://botocore.amazonaws.com/v1/documentation/api/latest/topics/events.html
    """
    mask_logs()
    client.meta.events.register("after-call", _mask_error)
    return client


@cache
def mask_logs() -> None:
    """Have the AWS SDK log no secrets, however much it is told to log (`--loglevel DEBUG`).

    A filter sees the records of its own logger alone, and not those of the loggers below it.
    """
    for module in _sdk_modules():
        logging.getLogger(module).addFilter(_mask_record)


def _sdk_modules() -> Iterator[str]:
    """The modules of the SDK by name, each of which has a logger of its own; none is imported."""
    for package in SDKS:
        spec = find_spec(package)
        yield package
        for path in (spec.submodule_search_locations or ()) if spec else ():
            yield from (module.name for module in pkgutil.iter_modules([path], f"{package}."))


def _mask_record(record: logging.LogRecord) -> bool:
    record.msg, record.args = masked(record.getMessage()), None
    return True


def _mask_error(parsed: Any, **_more: Any) -> None:
    error = parsed.get("Error") if isinstance(parsed, dict) else None
    if isinstance(error, dict) and isinstance(error.get("Message"), str):
        error["Message"] = masked(error["Message"])
