"""What somebody gives as a file: unpacked, and without the mark that some editors put before text."""

import gzip
import zlib
from pathlib import Path
from typing import Final

from keyheat.bounds import unmarked
from keyheat.inputs import NotRead, open_file, read_file

GZIP: Final = b"\x1f\x8b"
MOST_BYTES: Final = 2 << 30
"""Of items or a snapshot, unpacked."""
MOST_TABLES_BYTES: Final = 64 << 20
PIECE_BYTES: Final = 1 << 20


def content_of(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """What is in a file, unpacked where it is packed. Raises `ValueError`: why it cannot be read."""
    try:
        with open_file(path) as file:
            packed = file.peek(len(GZIP)).startswith(GZIP)
            content = _unpacked(gzip.GzipFile(fileobj=file), most_bytes) if packed else None
        content = read_file(path, most_bytes) if content is None else content
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise ValueError(f"packed by gzip, and damaged or cut off ({error})") from None
    except OSError as error:
        raise ValueError(error.strerror or str(error)) from None
    return unmarked(content)


def _unpacked(file: gzip.GzipFile, most_bytes: int) -> bytes:
    """All that a packed file holds, piece by piece: how much that is, is known at its end."""
    pieces, left = list[bytes](), most_bytes
    while piece := file.read(PIECE_BYTES):
        pieces.append(piece)
        left -= len(piece)
        if left < 0:
            raise NotRead(f"it unpacks to more than {most_bytes:,} bytes; at most so many are read")
    return b"".join(pieces)
