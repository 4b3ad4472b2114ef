"""Run files of a made-up case: the numbers are drawn from a seed, the files are the real formats."""

from collections.abc import Hashable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from hdrh.histogram import HdrHistogram

from keyheat import runfiles
from keyheat.analysis.rules import RULES
from keyheat.runs import formats, parquet
from tools.samples.cases import SampleCase

START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
TABLE = "orders"
SHORTFALL = "The generator sent requests late and in bursts: the throttles are certain, their number is not."
Ints = npt.NDArray[np.int64]


def at(second: int) -> datetime:
    return START + timedelta(seconds=second)


def text(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def digest(key: str) -> str:
    """A partition key as run files name it."""
    return f"sha256:{sha256(key.encode()).hexdigest()[:16]}"


def table_of(case: SampleCase) -> dict[str, Any]:
    return {
        "name": TABLE,
        "arn": f"arn:aws:dynamodb:us-east-1:000000000000:table/{TABLE}",
        "billing_mode": "PROVISIONED",
        "provisioned": {"read": 100, "write": case.provisioned},
    }


def checks_of(case: SampleCase) -> list[str]:
    if case.generator_bound:
        return [
            "Sent 2,100 of 5,000 requests/s of demand.",
            "Busiest process at 99 % of a core.",
            "Event loop 310 ms late (p99).",
        ]
    return [
        "Sent the demand within 1 %.",
        "Busiest process at 41 % of a core.",
        "Event loop 3 ms late (p99).",
    ]


def evidence_of(case: SampleCase, sent: Ints, refused: Ints, seconds: int) -> formats.Evidence:
    content = {
        "table": table_of(case),
        "window": {"start": text(START), "end": text(at(-(-seconds // 60) * 60))},
        "series": _series(case, sent, refused, seconds) if case.published else [],
        "throttles": [
            {"second": text(at(s)), "direction": "write", "reason": case.reason, "count": int(count)}
            for s, count in enumerate(refused) if count
        ],
        "seconds": [
            {"second": text(at(s)), "direction": "write", "consumed": float(sent[s] - refused[s]),
             "attempts": int(sent[s]), "throttled": int(refused[s])}
            for s in range(seconds)
        ],
    }  # fmt: skip
    return formats.Evidence.model_validate(content)


def _series(case: SampleCase, sent: Ints, refused: Ints, seconds: int) -> list[dict[str, Any]]:
    firsts = range(0, seconds, 60)

    def per_minute(values: Ints) -> list[tuple[str, float]]:
        return [(text(at(first)), float(values[first : first + 60].sum())) for first in firsts]

    series: list[dict[str, Any]] = [
        {"metric": "ConsumedWriteCapacityUnits", "statistic": "Sum", "period_s": 60,
         "points": per_minute(sent - refused)},
        {"metric": "ProvisionedWriteCapacityUnits", "statistic": "Maximum", "period_s": 300,
         "points": [(text(at(first)), float(case.provisioned)) for first in range(0, seconds, 300)]},
    ]  # fmt: skip
    if refused.any():
        cause = {"partition": "WriteKeyRange", "table": "WriteProvisioned"}.get(case.constraint)
        names = ["WriteThrottleEvents"] + ([f"{cause}ThroughputThrottleEvents"] if cause else [])
        series += [
            {"metric": name, "statistic": "Sum", "period_s": 60,
             "points": [point for point in per_minute(refused) if point[1]]}
            for name in names
        ]  # fmt: skip
    return series


def diagnosis_of(case: SampleCase, sent: Ints, hot: Ints, refused: Ints, seconds: int) -> formats.Diagnosis:
    common = {"resource": "table", "direction": "write", "confidence": case.confidence}
    verdict = {**common, "constraint": case.constraint, "grade": case.grade, "because": case.because,
               "valid": not case.generator_bound}  # fmt: skip
    fitting = (r.id for r in RULES.values() if (r.constraint, r.grade) == (case.constraint, case.grade))
    rule = next(fitting, None)
    labels = [
        {**common, "constraint": case.constraint if lost else "none", "grade": case.grade if lost else "none",
         "start": text(at(first)), "end": text(at(last)), "throttles": lost,
         "because": [f"{lost:,} throttles"], "rule": rule if lost else None}
        for first, last, lost in _spans(refused)
    ]  # fmt: skip
    hot_keys = _hot_keys(case, sent, hot, refused)
    missing = (
        [] if case.published else ["CloudWatch: no series for this table", "reasons: the endpoint gave none"]
    )
    return formats.Diagnosis.model_validate(
        {
            "verdict": verdict,
            "labels": labels,
            "hot_keys": hot_keys,
            "recommendations": [one.model_dump() for one in case.recommendations],
            "generator": {
                "bound": case.generator_bound,
                "checks": checks_of(case),
                "shortfall": SHORTFALL if case.generator_bound else "",
            },
            "coverage": {"minutes": -(-seconds // 60) if case.published else 0, "missing": missing},
        }
    )


def _spans(refused: Ints) -> list[tuple[int, int, int]]:
    """(first second, second after the last, throttles) of each stretch with, and each without, throttles."""
    busy = refused > 0
    edges = [0, *(np.flatnonzero(np.diff(busy.astype(int))) + 1).tolist(), len(refused)]
    return [(a, b, int(refused[a:b].sum())) for a, b in pairwise(edges) if b > a]


def _hot_keys(case: SampleCase, sent: Ints, hot: Ints, refused: Ints) -> list[dict[str, Any]]:
    """Each key that was the hottest for a while, with its rate while it was."""
    if case.hot_share <= 0.2:
        return []
    keys = np.array([case.hot_key_at(second) for second in range(len(sent))])
    return [
        {
            "key": digest(key),
            "share": float(hot[keys == key].sum() / sent.sum()),
            "throttles": int(refused[keys == key].sum()),
            "units_per_s": float(hot[keys == key].mean()),
            "direction": "write",
        }
        for key in sorted(set(keys.tolist()))
    ]


OPERATION = "PutItem"
WINDOW_S = 5
PARTITIONS = 4


def make_run(
    case: SampleCase, run_dir: Path, *, seconds: int = 120, seed: int = 1, throttle_factor: float = 1.0
) -> Path:
    """Write all files of a case into `run_dir`; `throttle_factor` multiplies the throttles."""
    rng = np.random.default_rng(seed)
    sent = rng.poisson(case.demand_per_s, seconds)
    hot = np.round(sent * case.hot_share).astype(np.int64)
    refused = _refused(case, sent, hot, seconds, rng, throttle_factor)
    run_dir.mkdir(parents=True, exist_ok=True)
    runfiles.write_json(run_dir / "run.json", runfiles.RUN, _manifest(case, sent, refused, seconds))
    parquet.write_table(run_dir / "seconds.parquet", runfiles.SECONDS, _seconds(sent, refused))
    parquet.write_table(run_dir / "throttles.parquet", runfiles.THROTTLES, _throttles(case, refused, rng))
    runfiles.write_json(run_dir / "keys.json", runfiles.KEYS, _keys(case, sent, hot, refused))
    partitions = _partitions(case, sent, hot, refused)
    parquet.write_table(run_dir / "partitions.parquet", runfiles.PARTITIONS, partitions)
    _write_latency(run_dir / "latency.hdr", int(sent.sum() - refused.sum()), int(refused.sum()), rng)
    formats.write_evidence(run_dir / "evidence.json", evidence_of(case, sent, refused, seconds))
    formats.write_diagnosis(run_dir / "diagnosis.json", diagnosis_of(case, sent, hot, refused, seconds))
    return run_dir


def _refused(
    case: SampleCase, sent: Ints, hot: Ints, seconds: int, rng: np.random.Generator, times: float
) -> Ints:
    """Refused writes in each second: what is asked beyond the ceiling, once the burst is spent."""
    if case.constraint == "none":
        return np.zeros(seconds, dtype=np.int64)
    asked = sent if case.limits_table else hot
    since = np.arange(seconds) % (case.burst_again_s or seconds)
    over = np.clip(asked - case.ceiling_per_s + rng.normal(0, 12, seconds), 0, None)
    refused = np.where(since < case.burst_s, 0, over * times)
    return np.minimum(np.round(refused), sent).astype(np.int64)


def _manifest(case: SampleCase, sent: Ints, refused: Ints, seconds: int) -> dict[str, Any]:
    attempts, throttled = int(sent.sum()), int(refused.sum())
    asked = case.asked_per_s or case.demand_per_s
    return {
        "run_id": f"{case.name}-20261120T120000Z",
        "status": "finished",
        "scenario": {
            "format": "keyheat.scenario/1",
            "name": case.name,
            "question": case.question,
            "loadtest": "hotkey",
            "expects": case.expects,
            "keys": {"kind": "uniform"},
            "table": {"name": TABLE, "provisioned": {"read": 100, "write": case.provisioned}},
            "load": {"users": 50, "requests_per_s": asked, "duration_s": seconds, "item_bytes": 1000},
        },
        "scenario_path": f"configs/scenarios/{case.name}.toml",
        "seed": 1,
        "target": "local",
        "region": "us-east-1",
        "scale": 1.0,
        "transport": "signed",
        "started_at": text(START),
        "ended_at": text(at(seconds)),
        "versions": {"keyheat": "0.1.0", "python": "3.11.9", "locust": "2.47.0", "botocore": "1.44.5"},
        "table": table_of(case),
        "processes": 1,
        "users": 50,
        "generator": {
            "bound": case.generator_bound,
            "fell_behind": case.generator_bound,
            "checks": checks_of(case),
            "asked_per_s": asked,
            "achieved_per_s": attempts / seconds,
            "late_ms_p99": 480.0 if case.generator_bound else 1.4,
        },
        "totals": {
            "attempts": attempts,
            "accepted": attempts - throttled,
            "throttled": throttled,
            "errors": 0,
            "consumed_units": {"read": 0.0, "write": float(attempts - throttled)},
            "by_reason": {case.reason: throttled} if case.reason else {},
            "errors_by_kind": {},
        },
    }


def _seconds(sent: Ints, refused: Ints) -> pa.Table:
    admitted, none = sent - refused, np.zeros(len(sent), dtype=np.int64)
    moments = pa.array([at(second) for second in range(len(sent))], pa.timestamp("s", tz="UTC"))
    columns = (
        moments, _alike(None, len(sent)), _alike("write", len(sent)), _alike(OPERATION, len(sent)), sent,
        admitted, refused, none, admitted.astype(np.float64), none,
    )  # fmt: skip
    return pa.table(dict(zip(parquet.SECONDS_SCHEMA.names, columns, strict=True)))


def _alike(word: str | None, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(word, pa.string()), count)


def _throttles(case: SampleCase, refused: Ints, rng: np.random.Generator) -> pa.Table:
    second = np.repeat(np.arange(len(refused)), refused)
    count = len(second)
    start_us = int(START.timestamp() * 1_000_000)
    at_us = np.sort(start_us + second * 1_000_000 + rng.integers(1_000_000, size=count))
    keys = np.array([digest(_key_at(case, s)) for s in range(len(refused))], dtype=object)
    columns = (
        pa.array(at_us).cast(pa.timestamp("us", tz="UTC")), _alike(None, count), _alike("write", count),
        _alike(case.reason, count), _alike(OPERATION, count), pa.array(keys, pa.string()).take(second),
        np.ones(count), rng.integers(0, 900, size=count), rng.integers(300, 2_000, size=count),
        np.ones(count, np.int64),
    )  # fmt: skip
    return pa.table(dict(zip(parquet.THROTTLES_SCHEMA.names, columns, strict=True)))


def _key_at(case: SampleCase, second: int) -> str:
    return f"device-{second % 20}" if case.limits_table else case.hot_key_at(second)


def _keys(case: SampleCase, sent: Ints, hot: Ints, refused: Ints) -> dict[str, Any]:
    """Units and throttles of the hottest keys, over the run and in each window."""
    rows = [
        (second // WINDOW_S * WINDOW_S, digest(key), units, throttles)
        for second in range(len(sent))
        for key, units, throttles in _by_key(case, second, sent, hot, refused)
    ]
    used = pd.DataFrame(rows, columns=["first", "key", "units", "throttles"])
    by_window = used.groupby(["first", "key"], sort=False, as_index=False).sum()
    by_window["throttles"] = by_window["throttles"].astype(int)
    overall = by_window.groupby("key", sort=False, as_index=False)[["units", "throttles"]].sum()
    overall["share"] = overall["units"] / float(sent.sum())
    overall["shown"] = None
    windows = [
        {"start": text(at(first)), "seconds": WINDOW_S, "direction": "write",
         "top": _hottest(by_window[by_window["first"] == first].drop(columns="first"))}
        for first in range(0, len(sent), WINDOW_S)
    ]  # fmt: skip
    return {"k": 20, "overall": {"write": _hottest(overall)[:20], "read": []}, "windows": windows}


def _hottest(keys: pd.DataFrame) -> list[dict[Hashable, Any]]:
    return keys.sort_values("units", ascending=False, kind="stable").to_dict("records")


def _by_key(
    case: SampleCase, second: int, sent: Ints, hot: Ints, refused: Ints
) -> list[tuple[str, float, float]]:
    """(key, units asked for, throttles) of one second: the hottest key and eight of the many others."""
    even = case.limits_table or case.constraint == "none"
    shares = np.full(20, max(case.hot_share, 0.002)) if even else np.full(8, (1 - case.hot_share) / 1_000)
    wobble = 1 + 0.08 * np.sin(second / 7 + np.arange(len(shares)))
    lost = refused[second] / len(shares) if case.limits_table else 0.0
    others = [
        (f"device-{place}", float(sent[second] * share), float(lost))
        for place, share in enumerate(shares * wobble)
        if share > 0
    ]
    return others if even else [(_key_at(case, second), float(hot[second]), float(refused[second])), *others]


def _partitions(case: SampleCase, sent: Ints, hot: Ints, refused: Ints) -> pa.Table:
    """Four partitions: each serves its part of the even load, and one of them the key that is hot then."""
    count, began = len(sent), int(START.timestamp())
    rows = []
    for second in range(count):
        theirs = 0 if case.limits_table or case.constraint == "none" else hot[second]
        host = int(digest(_key_at(case, second))[-1], 16) % PARTITIONS
        for number in range(PARTITIONS):
            own = number == host and theirs > 0
            lost = 0 if case.limits_table or not own else int(refused[second])
            units = (sent[second] - theirs) / PARTITIONS + (theirs if own else 0) - lost
            rows.append((began + second, 1, None, number, None, began, number / PARTITIONS, 0.0,
                         max(0.0, round(float(units), 1)), 0, lost))  # fmt: skip
    arrays = [
        pa.array(column, pa.int64() if pa.types.is_timestamp(field.type) else field.type).cast(field.type)
        for field, column in zip(parquet.PARTITIONS_SCHEMA, zip(*rows, strict=True), strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=parquet.PARTITIONS_SCHEMA)


def _write_latency(path: Path, accepted: int, throttled: int, rng: np.random.Generator) -> None:
    lines = [f"#[{runfiles.LATENCY}]"]
    for outcome, count, median_us in (("accepted", accepted, 900), ("throttled", throttled, 420)):
        if not count:
            continue
        histogram = HdrHistogram(1, 60_000_000, 3)
        drawn = rng.lognormal(np.log(median_us), 0.35, 4_000) + rng.exponential(40, 4_000) ** 1.6
        each = max(1, count // len(drawn))
        for value in np.clip(drawn, 50, 900_000).astype(int).tolist():
            histogram.record_value(value, each)
        lines.append(f"Tag={OPERATION}.{outcome},0.0,1.0,{histogram.get_max_value() / 1e6:.6f},"
                     f"{histogram.encode().decode()}")  # fmt: skip
    body = "\n".join([*lines, ""]).encode()
    runfiles.write_atomically(path, lambda file: file.write(body))
