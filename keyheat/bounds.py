"""Parse TOML and JSON of limited length and depth.

The parsers recurse for each level, and TOML's memory grows by the square of a dotted key's parts. So a linear
scan counts both first.
"""

import re
import tomllib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import orjson

from keyheat.inputs import MOST_TEXT_BYTES, encoding_of, read_file

MOST_DEPTH: Final = 64
MOST_TOML_DEPTH: Final = 16
MOST_KEY_PARTS: Final = 16

_STEPS: Final = {ord(sign): 1 if sign in "[{" else -1 for sign in "[{]}"}
_NO_BRACKET: Final = bytes(sign for sign in range(256) if sign not in b'"[]{}')
# Strings that are not ended go on to where TOML says so: to the end of their line, or of the text.
_TOML_STRINGS: Final = re.compile(
    r'"""(?:\\.|[^\\])*?(?:"{3,5}|\Z)'
    r"|'''.*?(?:'{3,5}|\Z)"
    r'|"(?:\\.|[^"\\\n])*"?'
    r"|'[^'\n]*'?|#[^\n]*",
    re.DOTALL,
)
_NO_KEY: Final = re.compile(r"[^\w.\-]+")


class NotAccepted(ValueError):
    """Text that is invalid, too long or too deep; the message tells which."""


def text_of(path: Path) -> str:
    """Read a text file. Raises `NotAccepted`, and `OSError` if it cannot be read."""
    return _decoded(read_file(path, MOST_TEXT_BYTES)).replace("\r\n", "\n")


def unmarked(body: bytes) -> bytes:
    """Convert text with a byte order mark to UTF-8 without it. Raises `NotAccepted`."""
    marked = body.startswith((BOM_UTF8, BOM_UTF16_LE, BOM_UTF16_BE))
    return _decoded(body).encode() if marked else body


def _decoded(body: bytes) -> str:
    encoding = encoding_of(body)
    try:
        return body.decode(encoding)
    except UnicodeDecodeError as error:
        raise NotAccepted(f"not {encoding.removesuffix('-sig').upper()} text") from error


def parsed_toml(text: str) -> dict[str, Any]:
    """Parse TOML. Raises `NotAccepted`."""
    # A string may be part of a key; a comment is not.
    bare = _TOML_STRINGS.sub(lambda match: "" if match[0].startswith("#") else "x", text)
    _check_depth(bare.encode(errors="replace"), MOST_TOML_DEPTH)
    words = _NO_KEY.split(bare.replace(" ", "").replace("\t", ""))
    if (parts := 1 + max(word.count(".") for word in words)) > MOST_KEY_PARTS:
        raise NotAccepted(f"a key has {parts:,} parts with dots between, at most {MOST_KEY_PARTS} are read")
    try:
        return tomllib.loads(text)
    except ValueError as error:  # a number with too many digits is no TOMLDecodeError
        raise NotAccepted(f"not TOML: {error}") from error


def parsed_json(body: bytes) -> Any:
    """Parse JSON, also in UTF-16 with a byte order mark. Raises `NotAccepted`."""
    body = unmarked(body)
    _check_depth(_outside_strings(body), MOST_DEPTH)
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise NotAccepted(f"not whole JSON: {error}") from error


def _outside_strings(body: bytes) -> bytes:
    """Keep only the brackets of JSON that are not in a string."""
    if b"\\" in body:
        body = re.sub(rb"\\.", b"", body, flags=re.DOTALL)
    signs = body.translate(None, _NO_BRACKET).replace(b'""', b"")  # empty strings
    return re.sub(rb'"[^"]*"?', b"", signs)


def _check_depth(text: bytes, most: int) -> None:
    """Raise `NotAccepted` if brackets are nested deeper."""
    brackets = text.translate(None, _NO_BRACKET + b'"')
    depth = max(accumulate(map(_STEPS.__getitem__, brackets)), default=0)
    if depth > most:
        raise NotAccepted(f"too deep: {depth:,} brackets within each other, at most {most} are read")
