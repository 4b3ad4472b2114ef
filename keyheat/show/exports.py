"""What the charts of a run show, as CSV files: every row, units in column names, unknown cells empty."""

import csv
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any, Final

import pandas as pd

from keyheat.analysis.report.facts import facts_of
from keyheat.analysis.report.run import ReportRun, load_run
from keyheat.masking import as_cell
from keyheat.runfiles import check_no_link, write_atomically
from keyheat.runs.frames import labels_of
from keyheat.show.charts.generator import sent_per_s
from keyheat.show.charts.heat import key_windows, partition_rates, partition_resources
from keyheat.show.charts.keys import hottest_keys
from keyheat.show.charts.rates import LIMITS, Rates
from keyheat.show.report import rates_of
from keyheat.words import WRITES_FIRST

UNSAFE: Final = r"[^\w.-]"  # in a file's name: indexes of a damaged file may be called anything
VALUES: Final = "key_shown"
"""The one column with values of keys, if the run recorded them."""


class KeysNotRecorded(ValueError):
    """Values of keys are asked for, and the run has nothing but their digests."""


def write_exports(folder: Path, place: Path, *, show_keys: bool = False) -> list[tuple[Path, int]]:
    """Write one CSV file for each chart into `place`; gives their paths with their rows.

    Raises `FileProblem` if the run cannot be read or a file not written, and `KeysNotRecorded`.
    """
    check_no_link(place)
    run = load_run(folder)
    uses = [use for found in run.keys.overall.values() for use in found] if run.keys is not None else []
    if show_keys and not any(use.shown is not None for use in uses):
        raise KeysNotRecorded(
            f"{folder} has digests of keys only; a load keeps their values if it is started with --show-keys"
        )
    written = []
    for name, frame in exports_of(run):
        columns = frame if show_keys else frame.drop(columns=VALUES, errors="ignore")
        path, body = place / f"{re.sub(UNSAFE, '_', name)[:120]}.csv", _csv(columns)
        write_atomically(path, partial(_write, body))
        written.append((path, len(frame)))
    return written


def _write(body: bytes, file: IO[bytes]) -> None:
    file.write(body)


def exports_of(run: ReportRun) -> Iterator[tuple[str, pd.DataFrame]]:
    """The frame of every chart with its name, in the order of the page."""
    for rates in rates_of(run, facts_of(run)):
        what = "seconds" if rates.step_s == 1 else "minutes"
        yield f"{what}-{rates.resource.slug}", _timed(_capacity(rates))
    if run.diagnosis.labels:
        labels = labels_of(run.diagnosis).rename(columns={"start": "from_utc", "end": "to_utc"})
        yield "constraints", labels.drop(columns=["grade", "because"])
    for side in WRITES_FIRST:
        windows, keys = key_windows(run, side), hottest_keys(run, side)
        if windows is not None:
            yield f"heat-of-keys-{side}", _timed(windows.rename(columns=lambda key: f"{key}_units_per_s"))
        if len(keys):
            names = {"shown": VALUES, "units_per_s": f"asked_{side}_units_per_s"}
            yield f"hottest-keys-{side}", keys.rename(columns=names)
    partitions = pd.DataFrame() if run.partitions is None else run.partitions
    for resource in partition_resources(partitions):
        units, refused, _born = partition_rates(partitions, resource, 1.0)
        side = resource.direction
        units = units.rename(columns=lambda number, side=side: f"partition_{number}_{side}_units_per_s")
        refused = refused.rename(
            columns=lambda number, side=side: f"partition_{number}_throttled_{side}s_per_s"
        )
        yield f"partitions-{resource.slug}", _timed(units.join(refused))
    if curves := [_curve(one) for one in run.latency or () if one.drawn]:
        yield "latency", pd.concat(curves, ignore_index=True)
    if (sent := sent_per_s(run)) is not None:
        yield "generator", _timed(sent.rename(columns=lambda name: f"{name}_requests_per_s"))


def _capacity(rates: Rates) -> pd.DataFrame:
    side = rates.resource.direction
    units: Mapping[Any, str] = {name: f"{name}_{side}_units_per_s" for name in ("consumed", *LIMITS)}
    return rates.frame.drop(columns=["attempts", "ceiling"], errors="ignore").rename(
        columns=lambda name: units.get(name, f"throttled_{name}_per_s")
    )


def _curve(latency: Any) -> pd.DataFrame:
    percentiles, values = zip(*latency.curve, strict=True)
    return pd.DataFrame(
        {
            "operation": latency.operation,
            "outcome": latency.words,
            "percentile": percentiles,
            "latency_ms": values,
        }
    )  # fmt: skip


def _timed(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows by epoch second with the moment at which each begins."""
    moments = pd.to_datetime(frame.index, unit="s", utc=True)
    frame = frame.reset_index(drop=True)
    frame.insert(0, "from_utc", moments)
    return frame


def _csv(frame: pd.DataFrame) -> bytes:
    """Times in UTC with a Z, every word in quotes, what a spreadsheet takes for a formula as a word."""
    plain = frame.rename(columns=lambda name: as_cell(str(name)))
    for name in plain:
        if isinstance(plain[name].dtype, pd.DatetimeTZDtype):
            plain[name] = plain[name].dt.strftime("%Y-%m-%dT%H:%M:%S.%f").str[:-3] + "Z"
        elif not pd.api.types.is_numeric_dtype(plain[name]):
            plain[name] = plain[name].map(lambda cell: as_cell(cell) if isinstance(cell, str) else cell)
    return plain.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC).encode()
