"""What a made-up case's `evidence.json` and `diagnosis.json` say, and the words all its files share."""

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from keyheat.analysis.rules import RULES
from keyheat.pages.samples.cases import Case
from keyheat.runs import formats

START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
TABLE = "orders"
Ints = npt.NDArray[np.int64]


def at(second: int) -> datetime:
    return START + timedelta(seconds=second)


def text(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def digest(key: str) -> str:
    """A partition key as run files name it."""
    return f"sha256:{sha256(key.encode()).hexdigest()[:16]}"


def table_of(case: Case) -> dict[str, Any]:
    return {
        "name": TABLE,
        "arn": f"arn:aws:dynamodb:us-east-1:000000000000:table/{TABLE}",
        "billing_mode": "PROVISIONED",
        "provisioned": {"read": 100, "write": case.provisioned},
    }


def checks_of(case: Case) -> list[str]:
    if case.generator_bound:
        return [
            "Sent 2,100 of 5,000 requests/s asked for.",
            "Busiest process at 99 % of a core.",
            "Event loop at most 310 ms late in 99 % of checks.",
        ]
    return [
        "Sent what was asked for within 1 %.",
        "Busiest process at 41 % of a core.",
        "Event loop at most 3 ms late in 99 % of checks.",
    ]


def evidence_of(case: Case, sent: Ints, refused: Ints, seconds: int) -> formats.Evidence:
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


def _series(case: Case, sent: Ints, refused: Ints, seconds: int) -> list[dict[str, Any]]:
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


def diagnosis_of(case: Case, sent: Ints, hot: Ints, refused: Ints, seconds: int) -> formats.Diagnosis:
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
            "generator": {"bound": case.generator_bound, "checks": checks_of(case)},
            "coverage": {"minutes": -(-seconds // 60) if case.published else 0, "missing": missing},
        }
    )


def _spans(refused: Ints) -> list[tuple[int, int, int]]:
    """(first second, second after the last, throttles) of each stretch with, and each without, throttles."""
    busy = refused > 0
    edges = [0, *(np.flatnonzero(np.diff(busy.astype(int))) + 1).tolist(), len(refused)]
    return [(a, b, int(refused[a:b].sum())) for a, b in pairwise(edges) if b > a]


def _hot_keys(case: Case, sent: Ints, hot: Ints, refused: Ints) -> list[dict[str, Any]]:
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
