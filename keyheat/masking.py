"""Mask accounts, credentials and control characters in text that is shown or kept.

ARNs, account endpoints and service errors name the account; errors about a signature, and the SDK's debug
log, contain the session token. A URL may contain a password or a token.
"""

import json
import logging
import pkgutil
import re
import shlex
import sys
from collections.abc import Callable
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
    # In responses of STS, SSO and instance metadata, as XML, JSON and Python reprs.
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
    # An unescaped password; not a port.
    (re.compile(rf"(://{_USER}):(?!\d{{1,5}}(?:[/?#\s'\"]|$))[^\s\"<>]{{0,500}}?@"), r"\g<1>@"),
    (
        re.compile(
            r"(?i)([?&#;](?:[\w.-]{0,60}(?:token|secret|passw(?:or)?d|signature|credential|(?:api|access)[-_]?key)"
            r"|sig|key|auth|pwd|pass)=)[^\s(&#;'\"<>][^\s&#;'\"<>]*"
        ),
        rf"\g<1>{SECRET}",
    ),
)


_NUMBER: Final = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


def masked(text: str) -> str:
    """Remove account ids, access keys, session tokens, and passwords and tokens of URLs."""
    for pattern, instead in _MASKS:
        text = pattern.sub(instead, text)
    return text


def plain(text: str) -> str:
    """Replace control and bidirectional characters by �."""
    return _each(text, lambda _sign: "\ufffd")


def as_cell(text: str) -> str:
    """Quote text that a spreadsheet would take for a formula; numbers stay numbers.

    https://owasp.org/www-community/attacks/CSV_Injection
    """
    return (
        f"'{text}"
        if text.startswith(("=", "+", "-", "@", "\t", "\r")) and not _NUMBER.fullmatch(text)
        else text
    )


def plain_json(body: bytes, encoding: str = "utf-8") -> str:
    """Escape control characters in JSON, and those that the encoding lacks."""
    text = _each(body.decode(), lambda sign: json.dumps(sign)[1:-1])
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return re.sub(r"[^\x00-\x7f]+", lambda match: json.dumps(match[0])[1:-1], text)
    return text


def speak_plainly() -> None:
    """Let stdout and stderr print ? for characters that their encoding, such as ASCII, lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and not stream.encoding.lower().startswith("utf"):
            stream.reconfigure(errors="replace")


def _each(text: str, instead: Callable[[str], str]) -> str:
    """Replace each character that is invisible, except spaces, tabs and line ends."""
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() or sign in "\n\t" or category(sign) == "Zs" else instead(sign)
        for sign in text
    )


def from_here(path: Path) -> Path | None:
    """The path relative to the working directory; None if it is not below it."""
    whole, here = path.absolute(), Path.cwd()
    return whole.relative_to(here) if whole.is_relative_to(here) else None


def short_path(path: Path) -> str:
    """A path as a user would type it from here."""
    return str(from_here(path) or path)


def typed(path: Path) -> str:
    """A path for a command to copy into a shell on this machine: `~/runs/hotkey`."""
    near, home = from_here(path), Path.home()
    if near is not None and near != Path():
        return shlex.quote(str(near))
    whole = path.absolute()
    inside = whole.is_relative_to(home) and whole != home
    return f"~/{shlex.quote(str(whole.relative_to(home)))}" if inside else shlex.quote(str(whole))


def mask_errors(client: Any) -> Any:
    """Mask the errors and the log of a boto3 client, and return it.

    botocore lets handlers change a parsed error before it is raised:
    https://botocore.amazonaws.com/v1/documentation/api/latest/topics/events.html
    """
    mask_logs()
    client.meta.events.register("after-call", _mask_error)
    return client


@cache
def mask_logs() -> None:
    """Keep secrets out of the AWS SDK's log, at any level (`--loglevel DEBUG`).

    A filter sees the records of its own logger only, not those of loggers below it.
    """
    for package in SDKS:
        spec = find_spec(package)
        paths = (spec.submodule_search_locations or ()) if spec else ()
        for name in (package, *(module.name for module in pkgutil.iter_modules(paths, f"{package}."))):
            logging.getLogger(name).addFilter(_mask_record)


def _mask_record(record: logging.LogRecord) -> bool:
    record.msg, record.args = masked(record.getMessage()), None
    return True


def _mask_error(parsed: Any, **_more: Any) -> None:
    error = parsed.get("Error") if isinstance(parsed, dict) else None
    if isinstance(error, dict) and isinstance(error.get("Message"), str):
        error["Message"] = masked(error["Message"])
