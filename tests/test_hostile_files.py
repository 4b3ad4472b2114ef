"""Files and folders of others that would never end, take all memory, or have a name that is no text.

Each is named in a sentence, with a documented exit code; what is beside it is still shown.
"""

import gzip
import json
import os
import struct
import zlib
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from shutil import copytree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hdrh.histogram import HdrHistogram

from keyheat.masking import as_cell
from tests.conftest import Sample, Verb
from tests.make import a_scenario_file

pytestmark = pytest.mark.timeout(600)  # a reader that waits for ever fails; nothing else waits so long


def too_long(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(40 << 30)  # it takes no room


ENDLESS: dict[str, Callable[[Path], None]] = {
    "a pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "at most": too_long,
}


def in_run(file: str, *arguments: str) -> Callable[[Path, Path], list[object]]:
    """A verb of a run directory, one of whose files is bad."""

    def command(run: Path, bad: Path) -> list[object]:
        (run / file).unlink(missing_ok=True)
        bad.rename(run / file)
        return [*arguments, run]

    return command


def traced(_run: Path, bad: Path) -> list[object]:
    trace = bad.rename(bad.with_suffix(".parquet"))
    keys = {"kind": "replay", "trace": trace.name}
    load = {"arrivals": "trace", "users": 1, "duration_s": 10}
    return ["plan", a_scenario_file(bad.parent, {"loadtest": "replay", "keys": keys, "load": load})]


READERS: dict[str, tuple[Callable[[Path, Path], list[object]], int]] = {
    "a diagnosis": (in_run("diagnosis.json", "report"), 3),
    "a manifest": (in_run("run.json", "clean"), 3),
    "evidence": (lambda run, bad: ["analyze", "--evidence", bad], 3),
    "a scenario": (lambda run, bad: ["plan", bad.rename(bad.with_suffix(".toml"))], 2),
    "a suite": (lambda run, bad: ["regress", bad.rename(bad.with_suffix(".toml"))], 2),
    "a trace": (traced, 2),
    "a template": (lambda run, bad: ["init", bad, "--out", bad.with_name("new.toml")], 2),
    "prices": (lambda run, bad: ["plan", "hotkey", "--prices", bad], 2),
    "an answer": (lambda run, bad: ["collect", "--run", run, "--metrics", bad], 2),
    "faults": (lambda run, bad: ["local", "--faults", bad], 2),
    "a snapshot": (lambda run, bad: ["local", "--snapshot", bad], 2),
    "a table": (lambda run, bad: ["local", "--table", bad], 2),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("words", ENDLESS)
def test_a_file_without_end_is_refused_by_every_reader(
    verb: Verb, sample: Sample, tmp_path: Path, reader: str, words: str
) -> None:
    bad = tmp_path / "bad"
    ENDLESS[words](bad)
    command, code = READERS[reader]
    said = verb(*command(sample("hotkey"), bad))
    assert said.code == code
    assert words in said.err or (reader == "a trace" and words == "at most")  # whose rows pass one by one
    assert "bad" in said.err or "diagnosis.json" in said.err or "run.json" in said.err, said.err


def many_rows(path: Path) -> None:
    pq.write_table(pa.table({"at": pa.nulls(16_000_001)}), path)


def long_words(path: Path) -> None:
    word = pa.DictionaryArray.from_arrays(pa.array([0] * 3_000, pa.int32()), pa.array(["x" * 1_000_000]))
    pq.write_table(pa.table({"key": word}), path)


def histograms(path: Path, payload: bytes, count: int = 1) -> None:
    lines = (f"Tag={tag},0.000,1.000,1,{payload.decode()}\n" for tag in range(count))
    path.write_text("#[keyheat.latency/1]\n" + "".join(lines))


def many_histograms(path: Path) -> None:
    histograms(path, HdrHistogram(1, 3_600_000_000, 3).encode(), 1_001)


def wide_histogram(path: Path) -> None:
    histograms(path, HdrHistogram(1, 1 << 40, 5).encode())


def packed_histogram(path: Path) -> None:
    """A payload of many megabytes of zeros."""
    packed = zlib.compress(bytes(8 << 20))
    histograms(path, b64encode(struct.pack(">II", 0x1C849314, len(packed)) + packed))


BOMBS = {
    "many rows": (many_rows, "seconds.parquet", "16,000,001 rows; at most 16,000,000 are read"),
    "long words": (long_words, "throttles.parquet", "its words unpack to 3,000,000,000 bytes"),
    "many histograms": (many_histograms, "latency.hdr", "has more than 1,000 lines"),
    "a wide histogram": (wide_histogram, "latency.hdr", "3 digits and 3,600,000,000 microseconds at most"),
    "a packed histogram": (packed_histogram, "latency.hdr", "unpacks to more than 1,048,576 bytes"),
}


@pytest.mark.slow
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_small_file_that_takes_much_memory_is_named_and_the_rest_goes_on(
    verb: Verb, sample: Sample, bomb: str
) -> None:
    run = sample("hotkey")
    make, file, words = BOMBS[bomb]
    make(run / file)
    said = verb("report", run)
    assert said.code == 0
    assert file in said.err + said.out + (run / "report.html").read_text()
    assert words in (run / "report.html").read_text()


def test_a_file_is_bounded_by_what_it_holds_before_it_is_parsed(verb: Verb, tmp_path: Path) -> None:
    packed, values = tmp_path / "table.json.gz", tmp_path / "evidence.json"
    packed.write_bytes(gzip.compress(bytes((64 << 20) + 1), 1))
    values.write_bytes(b'{"format": "keyheat.evidence/1", "a": [' + b"1," * 20_000_000 + b"1]}")
    said, of_values = verb("local", "--table", packed), verb("analyze", "--evidence", values)
    assert (said.code, of_values.code) == (2, 3)
    assert "it unpacks to more than 67,108,864 bytes" in said.err
    assert "at most 20,000,000 are read" in of_values.err


@pytest.mark.parametrize("bad", ["a pipe", "a name that is not UTF-8"])
def test_one_bad_folder_is_named_and_the_other_runs_are_shown(
    verb: Verb, sample: Sample, tmp_path: Path, bad: str
) -> None:
    good = sample("hotkey")
    folder = tmp_path / ("other" if bad == "a pipe" else os.fsdecode(b"other\xff"))
    copytree(good, folder)
    if bad == "a pipe":
        (folder / "diagnosis.json").unlink()
        os.mkfifo(folder / "diagnosis.json")
    said = verb("runs", tmp_path, "--json")
    assert said.code == 3
    shown = json.loads(said.out)
    assert [row["folder"] for row in shown["runs"]] == [str(good)]
    assert ["other" in problem["folder"] for problem in shown["problems"]] == [True]
    assert verb("runs", tmp_path).code == 3
    assert "other" in (tmp_path / "runs.html").read_text()


@pytest.mark.parametrize("name", ["analyze", "report", "clean", "compare"])
def test_a_folder_with_a_name_that_is_no_text_is_wrong_use(
    verb: Verb, sample: Sample, tmp_path: Path, name: str
) -> None:
    folder = sample("hotkey").rename(tmp_path / os.fsdecode(b"run\xff"))
    said = verb(name, folder)
    assert said.code == 2
    assert "is not UTF-8: rename the file or folder" in said.line


def test_a_link_in_place_of_an_output_folder_is_refused(verb: Verb, sample: Sample, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "out").symlink_to(elsewhere)
    for words in (["simulate", "hotkey", "--out"], ["report", sample("hotkey"), "--csv"]):
        said = verb(*words, tmp_path / "out")
        assert said.code == 2
        assert "is a link: name the folder that it leads to" in said.err
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize("word", ["=1+1", "+cmd", "-cmd|x", "@SUM(A1)", "\tx", "\rx"])
def test_text_that_a_spreadsheet_would_run_is_marked_as_text(word: str) -> None:
    assert as_cell(word) == f"'{word}"
    assert [as_cell(plain) for plain in ("-12.5", "+3e9", "a=b")] == ["-12.5", "+3e9", "a=b"]


def test_a_run_that_was_answered_nothing_has_a_summary_without_means(verb: Verb, sample: Sample) -> None:
    """As where an endpoint drips bytes: every request was sent in the first moment, and none ended."""
    run = sample("hotkey")
    rows = pq.read_table(run / "seconds.parquet")
    first = rows.slice(0, 1).to_pylist()[0] | {"accepted": 0, "throttled": 0, "consumed_units": 0}
    pq.write_table(pa.Table.from_pylist([first], schema=rows.schema), run / "seconds.parquet")
    throttles = pq.read_table(run / "throttles.parquet")
    pq.write_table(throttles.slice(0, 0), run / "throttles.parquet")
    (run / "latency.hdr").write_text("#[keyheat.latency/1]\n")
    (run / "evidence.json").unlink()
    for name in ("analyze", "report"):
        assert verb(name, run).code in (0, 3)
    summary = (run / "summary.json").read_text()
    assert json.loads(summary)["measures"]["accepted_units_per_s.write"] == 0.0
    assert "NaN" not in summary
    assert "nan" not in (run / "report.html").read_text().split("<script")[0]


def laughs() -> str:
    """A YAML text of few lines that stands for ten to the twelfth values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    return "\n".join([*lines, "Resources: {}"])


TEMPLATE_BOMBS = {
    "aliases of aliases": (laughs(), "expand to more than 200,000 values"),
    "an alias of itself": ("Resources: &a\n  T: *a\n", "too deep"),
    "brackets of JSON": ('{"Resources": ' + "[" * 100_000, "at most 64 are read"),
    "digits of YAML": ("Resources:\n  n: " + "9" * 5_000, "at most 1,000 are accepted"),
    "an object of Python": (
        "Resources: !!python/object/apply:os.getcwd []",
        "could not determine a constructor",
    ),
}


@pytest.mark.parametrize("bomb", TEMPLATE_BOMBS)
def test_a_template_that_takes_more_than_its_size_is_refused(verb: Verb, tmp_path: Path, bomb: str) -> None:
    text, words = TEMPLATE_BOMBS[bomb]
    path = tmp_path / "template"
    path.write_text(text)
    said = verb("init", path, "--out", tmp_path / "new.toml")
    assert said.code == 2
    assert words in said.err
    assert not (tmp_path / "new.toml").exists()
