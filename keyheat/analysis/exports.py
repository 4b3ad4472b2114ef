"""The frames of a run as CSV files: units in the names of columns, unknown cells empty."""

import csv
from functools import partial
from pathlib import Path
from typing import IO

import pandas as pd

from keyheat.analysis.diagnosis import load_run
from keyheat.masking import as_cell
from keyheat.runfiles import FILES, PARTITIONS, check_no_link, write_atomically
from keyheat.runs.parquet import FRAMES
from keyheat.runs.run import read_partitions


class KeysNotRecorded(ValueError):
    """Values of keys are asked for, and the run has nothing but their digests."""


def write_exports(folder: Path, target: Path, *, show_keys: bool = False) -> list[tuple[Path, int]]:
    """Write a CSV file for each frame that has rows into `target`; gives their paths with their rows.

    Raises `FileProblem` if the run cannot be read or a file not written, and `KeysNotRecorded`.
    """
    check_no_link(target)
    run = load_run(folder)
    if show_keys and not run.keys["shown"].notna().any():
        raise KeysNotRecorded(
            f"{folder} has digests of keys only; a load keeps their values if it is started with --show-keys"
        )
    written = []
    frames = {name: frame for name in FRAMES if len(frame := getattr(run, name))}
    if (folder / FILES[PARTITIONS]).exists():
        frames["partitions"] = read_partitions(folder)
    for name, frame in frames.items():
        kept = frame if show_keys else frame.drop(columns="shown", errors="ignore")
        path = target / f"{name}.csv"
        write_atomically(path, partial(_write, _csv(kept)))
        written.append((path, len(frame)))
    return written


def _write(body: bytes, file: IO[bytes]) -> None:
    file.write(body)


def _csv(frame: pd.DataFrame) -> bytes:
    """Times in UTC with a Z, every word in quotes, what a spreadsheet takes for a formula as a word."""
    plain = frame.copy()
    for name in plain:
        if isinstance(plain[name].dtype, pd.DatetimeTZDtype):
            plain[name] = plain[name].dt.strftime("%Y-%m-%dT%H:%M:%S.%f").str[:-3] + "Z"
        elif not pd.api.types.is_numeric_dtype(plain[name]):
            plain[name] = plain[name].map(lambda cell: as_cell(cell) if isinstance(cell, str) else cell)
    return plain.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC).encode()
