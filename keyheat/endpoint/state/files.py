"""What somebody gives as a file: unpacked, and without the mark that some editors put before text."""

import gzip
import zlib
from pathlib import Path
from typing import Final

from keyheat.bounds import unmarked

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
