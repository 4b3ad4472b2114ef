"""Runs a command on a history that is kept in S3: brought before it, taken back after it, whatever its end.

    python kept.py s3://BUCKET/KEY FILE -- keyheat regress --history FILE

Gives the command's exit code. Where the object has changed meanwhile, as when two ran at once, the history is
not taken back over the other's (exit code 3). For tasks without a disk of their own, as on ECS with Fargate.
"""

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
from botocore.exceptions import ClientError

WRONG_USE, INVALID = 2, 3
NEW = ("404", "NoSuchKey")
CHANGED = ("ConditionalRequestConflict", "PreconditionFailed")


def main(arguments: Sequence[str], s3: Any = None) -> int:
    """Bring the history, run the command, take the history back."""
    if len(arguments) < 4 or arguments[2] != "--" or not arguments[0].startswith("s3://"):
        print(__doc__, file=sys.stderr)
        return WRONG_USE
    place, file = urlsplit(arguments[0]), Path(arguments[1])
    where = {"Bucket": place.netloc, "Key": place.path.lstrip("/")}
    s3 = s3 or boto3.client("s3")
    version = brought(s3, where, file)
    code = ran(arguments[3:])
    if file.exists() and not taken_back(s3, where, file, version):
        print(f"{arguments[0]} was changed by somebody else meanwhile: not kept", file=sys.stderr)
        return code or INVALID
    return code


def ran(command: Sequence[str]) -> int:
    """Run the command to its end; whoever stops this task interrupts it, so that it keeps what it has."""
    child = subprocess.Popen(command)
    signal.signal(signal.SIGTERM, lambda *_: child.send_signal(signal.SIGINT))
    return child.wait()


def brought(s3: Any, where: dict[str, str], file: Path) -> str | None:
    """Write the object to the file and give its ETag; None where there is no object yet."""
    try:
        answer = s3.get_object(**where)
    except ClientError as error:
        if error.response["Error"]["Code"] not in NEW:
            raise
        return None
    file.write_bytes(answer["Body"].read())
    return str(answer["ETag"])


def taken_back(s3: Any, where: dict[str, str], file: Path, version: str | None) -> bool:
    """Put the file in the place of the object that was brought; False where another is there by now."""
    with closing(sqlite3.connect(file)) as history:  # with what a killed writer left beside it
        history.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    only: dict[str, str] = {"IfNoneMatch": "*"} if version is None else {"IfMatch": version}
    try:
        s3.put_object(**where, Body=file.read_bytes(), **only)
    except ClientError as error:
        if error.response["Error"]["Code"] not in CHANGED:
            raise
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
