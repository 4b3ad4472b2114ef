"""Thresholds: the scenario's, held against what was measured; the labelling numbers, checked at the edge."""

from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.checks import check, with_reads
from keyheat.analysis.rules import DEFAULT, load_thresholds
from keyheat.runfiles import FileProblem
from keyheat.runs.client import ClientFiles
from keyheat.runs.endpoints import NO_CAPACITY_MODEL
from keyheat.runs.formats import Verdict
from keyheat.scenario.scenario import ThresholdsSpec
from tests.make import START, a_manifest, an_evidence

OF_TABLE = {"second": START, "direction": "write", "consumed": 90, "attempts": 100, "throttled": 10}
EVIDENCE = an_evidence(minutes=1, seconds=[OF_TABLE, OF_TABLE | {"index": "i", "consumed": 9}])
VERDICT = Verdict(constraint="partition", grade="reason", confidence=0.97, valid=True, because=("x",))
TOTALS = {"attempts": 1_000, "accepted": 940, "throttled": 50, "errors": 10}
RUN = a_manifest(totals=TOTALS)
COUNTED = {"reads.checked": 90, "reads.missing": 3, "reads.duplicate": 1, "reads.misordered": 2}
READS = RUN.model_copy(update={"counted": COUNTED})

ROWS: list[tuple[dict[str, Any], ClientFiles | None, str, bool]] = [
    # the scenario's threshold, what the client kept, what was measured, broken
    ({"throttle_share_max": 0.05}, ClientFiles(manifest=RUN), "5 %", False),
    ({"throttle_share_max": 0.0499}, ClientFiles(manifest=RUN), "5 %", True),
    ({"throttle_share_max": 0.05}, None, "10 %", True),
    ({"error_share_max": 0.01}, ClientFiles(manifest=RUN), "1 %", False),
    ({"error_share_max": 0.5}, None, "not measured", True),
    ({"p99_ms_max": 10}, ClientFiles(p99_ms=12.0), "12.0 ms", True),
    ({"p99_ms_max": 10}, ClientFiles(), "not measured", True),
    ({"wrong_reads_max": 0}, ClientFiles(manifest=RUN), "not measured", True),
    ({"wrong_reads_max": 6}, ClientFiles(manifest=READS), "6", False),
    ({"constraint": "partition"}, None, "partition", False),
    ({"constraint": "none"}, None, "partition", True),
]


BOUND = [
    ({"throttle_share_max": 0.05}, False, False),  # held, for lack of demand
    ({"throttle_share_max": 0.0499}, True, True),  # broken by what little was sent
    ({"p99_ms_max": 1}, False, False),  # the generator's own latencies
    ({"error_share_max": 0.01}, False, True),
]


@pytest.mark.parametrize(("spec", "broken", "decided"), BOUND)
def test_a_late_generator_leaves_thresholds_open(spec: dict[str, Any], broken: bool, decided: bool) -> None:
    client = ClientFiles(manifest=RUN, p99_ms=9.0)
    (found,) = check(ThresholdsSpec(**spec), VERDICT, EVIDENCE, client, bound=True)
    assert (found.broken, found.decided) == (broken, decided)
    assert decided or found.measured == "the load generator was the limit"


def test_an_endpoint_without_a_capacity_model_leaves_thresholds_on_throttles_open() -> None:
    verdict = Verdict(
        constraint="undetermined", grade="none", confidence=0, valid=False, because=(), rule=NO_CAPACITY_MODEL
    )
    spec = ThresholdsSpec(throttle_share_max=0.01, error_share_max=0.5, constraint="none")
    found = {one.name: one for one in check(spec, verdict, EVIDENCE, ClientFiles(manifest=RUN))}
    assert [name for name, one in found.items() if one.decided] == ["error_share_max"]
    assert not any(one.broken for one in found.values())
    assert found["constraint"].measured == "this endpoint has no capacity model"


@pytest.mark.parametrize(("spec", "client", "measured", "broken"), ROWS)
def test_threshold(spec: dict[str, Any], client: ClientFiles | None, measured: str, broken: bool) -> None:
    (result,) = check(ThresholdsSpec(**spec), VERDICT, EVIDENCE, client)
    assert (result.name, result.measured, result.broken) == (next(iter(spec)), measured, broken)


def test_wrong_reads_are_the_first_thing_said() -> None:
    judged = with_reads(VERDICT, ClientFiles(manifest=READS))
    assert judged.because == (
        "Reads were wrong: of the items that 90 checked reads should have returned, "
        "3 items were not found, 1 was found twice, 2 came out of order.",
        "x",
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {
                "gap_s = 60.0": "gap_s = -1",
                "client_share = 0.5": "client_share = 8",
                "[noise]": "[noise]\nloud = true",
            },
            ["3 errors", "$.spans.gap_s", "$.inferred.client_share", "$.noise.loud"],
        ),
        ({"cause_metric = 0.98": "cause_metric = 1.0"}, ["confidence must not grow"]),
        (
            {"minutes-burst-spent =": "minutes-fully-spent ="},
            ["unknown rules: minutes-fully-spent; rules without a number: minutes-burst-spent"],
        ),
    ],
    ids=["several", "a worse grade is surer", "a number without a rule"],
)
def test_wrong_labelling_numbers_are_named(changes: dict[str, str], said: list[str], tmp_path: Path) -> None:
    text = DEFAULT.read_text()
    for old, new in changes.items():
        text = text.replace(old, new)
    path = tmp_path / "thresholds.toml"
    path.write_text(text)
    with pytest.raises(FileProblem) as problem:
        load_thresholds(path)
    assert [words for words in said if words not in str(problem.value)] == []
