"""What somebody gives as a file: unpacked, and without the mark that some editors put before text."""

import gzip
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from pathlib import Path
from typing import Final

GZIP: Final = b"\x1f\x8b"


def content_of(path: Path) -> bytes:
    """What is in a file, unpacked where it is packed. Raises `ValueError`: why it cannot be read."""
    try:
        with path.open("rb") as file:
            packed = file.peek(len(GZIP)).startswith(GZIP)
            content: bytes = gzip.GzipFile(fileobj=file).read() if packed else file.read()
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise ValueError(f"packed by gzip, and damaged or cut off ({error})") from None
    except OSError as error:
        raise ValueError(error.strerror or str(error)) from None
    return unmarked(content)


def unmarked(content: bytes) -> bytes:
    """Text without a byte order mark. Raises `ValueError` for UTF-16, as PowerShell's `>` may write it."""
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise ValueError("UTF-16 text; UTF-8 is read, so save it as that")
    return content.removeprefix(BOM_UTF8)
