"""Run files that are missing, cut short, damaged or of another version, and folders that cannot be written.

The right answer is always one clear line, the documented exit code, the best use of what is left, and no file
that is half written.
"""

import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from keyheat.runfiles import FILES
from keyheat.runs.formats import read_diagnosis
from tests.conftest import Sample, Verb


def another_version(content: bytes) -> bytes:
    """The same file, stating a version of its format that is not ours."""
    if not content.startswith(b"PAR1"):
        return re.sub(rb"(keyheat\.\w+)/1", rb"\1/9", content)
    table, written = pq.read_table(BytesIO(content)), BytesIO()
    pq.write_table(table.replace_schema_metadata({"format": "keyheat.seconds/9"}), written)
    return written.getvalue()


DAMAGE: dict[str, Callable[[bytes], bytes | None]] = {
    "missing": lambda content: None,
    "empty": lambda content: b"",
    "cut short": lambda content: content[: len(content) // 2],
    "garbage": lambda content: bytes(range(255, -1, -1)) * 4,
    "another version": another_version,
    "another kind": lambda content: b'{"format": "keyheat.run/2", "scenario": 3}',
}
CLIENT_FILES = ("run.json", "seconds.parquet", "throttles.parquet", "latency.hdr", "keys.json")
# Which files a stage needs, and which it reads but goes on without. `analyze` reads the client's records
# only where `evidence.json`, which has them too, is not there.
NEEDED = {"analyze": (), "report": ("diagnosis.json",), "collect": ("run.json",)}
USED = {
    "analyze": ("run.json", "latency.hdr", "keys.json", "evidence.json"),
    "report": (*CLIENT_FILES, "evidence.json", "partitions.parquet"),
    "collect": ("seconds.parquet", "throttles.parquet"),
}
EVERY_KIND = {("analyze", "evidence.json"), ("analyze", "latency.hdr"), ("collect", "seconds.parquet")}
"""A file of each kind is damaged in every way; all others, which are read alike, in one."""
MAKES = {"analyze": "diagnosis.json", "report": "report.html", "collect": "evidence.json"}


@pytest.fixture
def stage(verb: Verb, tmp_path: Path) -> Verb:
    """Runs one of the three stages on a run directory; CloudWatch's answer is an empty one, from a file."""
    answer = tmp_path / "answer.json"
    answer.write_text('{"MetricDataResults": []}')

    def run(name: str, folder: Path) -> Any:
        if name == "collect":
            return verb("collect", "--run", folder, "--metrics", answer)
        return verb(name, folder)

    return run


def damage(path: Path, how: str) -> None:
    content = DAMAGE[how](path.read_bytes())
    path.unlink()
    if content is not None:
        path.write_bytes(content)


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.endswith(".tmp")]


def said_to_be_missing(stage: str, folder: Path, said: Any) -> str:
    """Where a stage says what it had to do without."""
    if stage == "analyze":
        lines = read_diagnosis(folder / "diagnosis.json").coverage.missing
        assert all(said.says(line.splitlines()[0]) for line in lines)
        return "\n".join(lines)
    return " ".join(said.out.split()) if stage == "collect" else (folder / "report.html").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stage_name", "files", "how"),
    [
        ("report", USED["report"], "another version"),
        *(
            (stage, (file,), how)
            for stage in ("analyze", "collect")
            for file in USED[stage]
            for how in (DAMAGE if (stage, file) in EVERY_KIND else ("another version",))
        ),
    ],
)
def test_a_stage_names_the_file_and_goes_on_with_the_rest(
    stage: Verb, sample: Sample, stage_name: str, files: tuple[str, ...], how: str
) -> None:
    run = sample("hotkey")
    for file in files:
        damage(run / file, how)
    said = stage(stage_name, run)
    assert said.code == 0
    text = said_to_be_missing(stage_name, run, said)
    assert [file for file in files if file not in text] == []
    assert not leftovers(run)
    if stage_name == "analyze":
        verdict = read_diagnosis(run / "diagnosis.json").verdict
        assert (verdict.constraint, verdict.valid) == ("partition", True)


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize(
    ("stage_name", "file"), [(stage, file) for stage, files in NEEDED.items() for file in files]
)
def test_a_stage_without_the_file_that_it_needs_leaves_everything_as_it_was(
    stage: Verb, sample: Sample, stage_name: str, file: str, how: str
) -> None:
    run = sample("hotkey")
    (run / "report.html").write_text("an earlier report")
    damage(run / file, how)
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    said = stage(stage_name, run)
    assert said.code == 3
    assert said.err.startswith(f"keyheat: {run / file}")
    assert said.out == ""
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


def test_nothing_to_analyze_is_said_file_by_file(stage: Verb, sample: Sample) -> None:
    run = sample("hotkey")
    old = (run / "diagnosis.json").read_bytes()
    for file in ("evidence.json", *CLIENT_FILES):
        damage(run / file, "missing")
    said = stage("analyze", run)
    assert said.code == 3
    assert said.err.startswith("keyheat: nothing to analyze\n")
    assert all(file in said.err for file in ("evidence.json", "run.json", "keys.json", "latency.hdr"))
    assert (run / "diagnosis.json").read_bytes() == old


@pytest.mark.parametrize("stage_name", MAKES)
def test_a_place_that_cannot_be_written(stage: Verb, sample: Sample, stage_name: str) -> None:
    """A folder stands where the file should go: that stops the superuser too, whom no permission stops."""
    run = sample("hotkey")
    target = run / MAKES[stage_name]
    target.unlink(missing_ok=True)
    (target / "inside").mkdir(parents=True)
    said = stage(stage_name, run)
    assert said.code == 2
    assert said.line.startswith(f"keyheat: cannot write {target}: ")
    assert not leftovers(run)
    assert (target / "inside").exists()


def test_the_table_above_names_every_file() -> None:
    named = {file for table in (NEEDED, USED) for files in table.values() for file in files}
    assert named == set(FILES.values()) - {"summary.json"}  # no stage reads it: it is made again
