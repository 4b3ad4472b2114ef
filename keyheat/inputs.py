"""Read untrusted files: regular files only, up to a stated number of bytes.

A pipe never ends or never begins, a link may lead to a device, and a short file may unpack to a long one.
Every reader of such a file opens it here; docs/files.md states the limits.

TOML and JSON are parsed up to a length and a depth: the parsers recurse for each level, and TOML's memory
grows by the square of a dotted key's parts. So a linear scan counts both first.
"""

import errno
import os
import re
import stat
import tomllib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator
from io import BufferedReader
from itertools import accumulate
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import orjson

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

MOST_TEXT_BYTES: Final = 1 << 20
"""Of handwritten text."""
PIECE_BYTES: Final = 1 << 16

_NO_WAITING: Final = getattr(os, "O_NONBLOCK", 0)  # Windows has no named pipes in folders
_KINDS: Final = {
    stat.S_IFIFO: "a pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket",
}  # fmt: skip


class NotRead(OSError):
    """A file that is not read; `strerror` is the reason."""

    def __init__(self, why: str) -> None:
        super().__init__(errno.EINVAL, why)


def open_file(path: Path) -> BufferedReader:
    """Open a regular file for reading. Raises `OSError`, as `NotRead` for a pipe, a device or a socket."""
    _check_kind(os.stat(path))  # before opening it, which may block or trigger a device
    file = open(  # noqa: SIM115 (its caller closes it)
        path, "rb", opener=lambda name, flags: os.open(name, flags | _NO_WAITING)
    )
    try:
        _check_kind(os.fstat(file.fileno()))
    except NotRead:
        file.close()
        raise
    return file


def read_file(path: Path, most_bytes: int) -> bytes:
    """Read a regular file. Raises `OSError`, as `NotRead` if it has more bytes."""
    with open_file(path) as file:
        if (size := os.fstat(file.fileno()).st_size) > most_bytes:
            raise NotRead(f"it has {size:,} bytes; at most {most_bytes:,} are read")
        expected = max(size, PIECE_BYTES)
        body = file.read(expected + 1)
    if len(body) > expected:
        raise NotRead("it grew while it was read; try again when it is whole")
    return body


def lines_of(file: IO[str], most_characters: int) -> Iterator[str]:
    """Read the lines of an open text, one at a time. Raises `NotRead` for a longer line."""
    for number, line in enumerate(iter(lambda: file.readline(most_characters + 1), ""), start=1):
        if len(line) > most_characters:
            raise NotRead(
                f"line {number:,} has more than {most_characters:,} characters, the most that is read"
            )
        yield line


def begins_with(path: Path) -> str:
    """Read the start of a text file in any encoding; empty if it is not a regular file. Raises `OSError`."""
    if not path.is_file():
        return ""
    with open_file(path) as file:
        head = file.read(MOST_TEXT_BYTES)
    return head.decode(encoding_of(head), errors="replace")


def encoding_of(head: bytes) -> str:
    """The encoding of a text by its first bytes: UTF-16 with a byte order mark, else UTF-8.

    PowerShell's `>` writes UTF-16 with a mark, and some Windows editors mark UTF-8.
    """
    return "utf-16" if head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8-sig"


def is_text(name: str) -> bool:
    """Whether a file name is UTF-8; pages and JSON cannot contain another one."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_kind(status: os.stat_result) -> None:
    if (kind := _KINDS.get(stat.S_IFMT(status.st_mode))) is not None:
        raise NotRead(f"it is {kind}, and only regular files are read; save its content to a file first")


MOST_PARQUET_BYTES: Final = 2 << 30
"""Of an unpacked Parquet file, and of all words in its rows."""
MOST_WIDTH_BYTES: Final = 64


def open_parquet(file: Any, most_rows: int | None = None) -> "pq.ParquetFile":
    """Open a Parquet file with flat columns and bounded size, by its metadata.

    Words become dictionaries, so that repeated ones are in memory once. Raises `NotRead`, and
    `pyarrow.ArrowException`.
    """
    import pyarrow.parquet as pq  # here: an install without extras lacks pyarrow

    metadata = pq.read_metadata(file)
    if most_rows is not None and metadata.num_rows > most_rows:
        raise NotRead(f"it has {metadata.num_rows:,} rows; at most {most_rows:,} are read")
    size = sum(metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
    if size > MOST_PARQUET_BYTES:
        raise NotRead(f"it unpacks to {size:,} bytes; at most {MOST_PARQUET_BYTES:,} are read")
    columns = [metadata.schema.column(number) for number in range(metadata.num_columns)]
    for column in columns:
        wide = column.physical_type == "FIXED_LEN_BYTE_ARRAY" and column.length > MOST_WIDTH_BYTES
        if wide or column.max_repetition_level:
            raise NotRead(f"its column {column.path} is neither words nor numbers")
    words = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    return pq.ParquetFile(file, metadata=metadata, read_dictionary=words)


def check_words(batches: Iterable["pa.RecordBatch"], most_bytes: int = MOST_PARQUET_BYTES) -> None:
    """Raise `NotRead` if the words of all rows together are longer."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = (column for batch in batches for column in batch.columns)
    words = (each for each in columns if pa.types.is_dictionary(each.type))
    size = sum(pc.sum(pc.binary_length(each.dictionary).take(each.indices)).as_py() or 0 for each in words)
    if size > most_bytes:
        raise NotRead(f"its words unpack to {size:,} bytes; at most {most_bytes:,} are read")


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
