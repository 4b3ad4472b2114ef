"""Annotations and Markdown: escaped, bounded, and worst first."""

import re
from pathlib import Path

import pytest

from keyheat.regression.exports.markdown import (
    MOST,
    annotations,
    append_step_summary,
    command,
    markdown,
    write_markdown,
)
from keyheat.regression.outcome import Gate, SessionOutcome
from keyheat.runfiles import CannotWrite
from keyheat.words import plain_in_markdown
from tests.regression.outcomes import (
    FORCED,
    GOOD,
    HOSTILE,
    HOSTILE_WORDS,
    INTERRUPTED,
    INVALID,
    OUTCOMES,
    REGRESSED,
    a_finding,
    a_run,
    an_outcome,
)

LINE = re.compile(r"::(error|warning|notice) title=([^,:\r\n]*)(,file=[^,:\r\n]*)?::([^\r\n]*)")


def unescaped(text: str) -> str:
    for code, character in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(code, character)
    return text


@pytest.mark.parametrize("name", OUTCOMES)
def test_every_annotation_is_one_line_that_the_runner_reads(name: str) -> None:
    lines = annotations(OUTCOMES[name])
    assert lines
    assert all(LINE.fullmatch(line) for line in lines), lines
    levels = [line[2:].split(" ")[0] for line in lines]
    assert ("error" in levels) is (OUTCOMES[name].exit_code != 0)


def test_what_is_escaped_comes_back() -> None:
    line = command("error", HOSTILE, HOSTILE, HOSTILE)
    found = LINE.fullmatch(line)
    assert found is not None
    assert unescaped(found[2]) == unescaped(found[4]) == HOSTILE
    assert found[3] is not None
    assert unescaped(found[3].removeprefix(",file=")) == HOSTILE
    assert "%0D%0A::error::" in line, "the message has no command of its own"
    assert command("error", "a", "50%") == "::error title=a::50%25"


def test_errors_are_for_gates_that_failed_and_warnings_for_those_undecided() -> None:
    errors = [line for line in annotations(REGRESSED) if line.startswith("::error")]
    warnings = [line for line in annotations(REGRESSED) if line.startswith("::warning")]
    assert len(errors) == 2
    assert errors[0].startswith(
        "::error title=hotkey%3A accepted_units_per_s.write worse,file=configs/suites/nightly.toml::"
    )
    assert "::warning title=sharded%3A p99_ms undecided" in warnings[0]
    assert "hotkey, repetition 1 is not valid" in unescaped(annotations(INVALID)[0])
    assert "by force" in annotations(FORCED)[0]
    assert annotations(GOOD) == (
        "::notice title=keyheat regress nightly::nightly is as good as it was: its one gate held.",
    )
    assert "was interrupted" in annotations(INTERRUPTED)[0]


def many(count: int) -> SessionOutcome:
    gates = [Gate(measure=f"p{number}_ms") for number in range(count)]
    return an_outcome("regressed", findings=tuple(a_finding(gate=gate) for gate in gates))


@pytest.mark.parametrize(("count", "lines"), [(MOST, MOST), (MOST + 1, MOST), (500, MOST)])
def test_no_more_annotations_than_github_shows(count: int, lines: int) -> None:
    said = annotations(many(count))
    assert len(said) == lines
    named = "\n".join(map(unescaped, said))
    assert all(f"p{number}_ms" in named for number in range(count)), "none is left unsaid"


def test_the_summary_of_the_step_is_added_to_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    path.write_text("from another command\n")
    append_step_summary(path, GOOD)
    assert path.read_text() == "from another command\n" + markdown(GOOD)
    with pytest.raises(CannotWrite, match="cannot write the step's summary"):
        append_step_summary(tmp_path, GOOD)


def test_markdown_says_the_result_first_and_the_worst_next() -> None:
    lines = markdown(REGRESSED).splitlines()
    assert lines[0] == "<!-- keyheat regress nightly -->"
    assert lines[1] == "### Keyheat: nightly regressed: 2 of 4 gates failed."
    rows = [line for line in lines if line.startswith("| ") and "case" not in line]
    assert [row.split("|")[1].strip() for row in rows] == [
        "**worse**", "**missing**", "cannot be told", "as good",
    ]  # fmt: skip
    assert rows[0] == (
        r"| **worse** | hotkey | accepted\_units\_per\_s.write | 1,000 units/s | 902 units/s "
        "| -9.98 % (-12 % to -8 %) |"
    )


def test_the_report_of_what_failed_is_named_or_linked() -> None:
    def said(page: str) -> str:
        runs = (a_run("hotkey", 1, report=page), a_run("hotkey", 2))
        case = REGRESSED.cases[0].model_copy(update={"after": runs})
        return markdown(REGRESSED.model_copy(update={"cases": (case,)}))

    assert "- hotkey: `hotkey/1/report.html` in the folder" in said("file:///x/hotkey/1/report.html")
    assert "- hotkey: [report](https://kept/1/report.html)" in said("https://kept/1/report.html")


def test_what_was_forced_is_said() -> None:
    assert "**Forced**" in markdown(FORCED)
    assert "provisioned writes 4000 → 2000" in markdown(FORCED)
    assert "**Forced**" not in markdown(GOOD)


def test_markdown_makes_nothing_of_words_from_outside() -> None:
    text = markdown(HOSTILE_WORDS)
    assert not re.search(r"(?<!\\)<(?!!--|/?sub>)", text), "no element but its own"
    assert not re.search(r"(?<!\\)[@#](?=team|1)", text), "nobody is called"
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {7}, "no column of its own"
    assert plain_in_markdown("a\n\n  # b") == r"a \# b"


def test_markdown_fits_into_a_comment(tmp_path: Path) -> None:
    long = an_outcome(
        "regressed", findings=many(2_000).findings, because=("because " * 20,) * 1_000, suite="s" * 60
    )
    write_markdown(tmp_path / "comment.md", long)
    assert len((tmp_path / "comment.md").read_text()) < 65_536
    assert "1900 more are not shown" in (tmp_path / "comment.md").read_text()
    assert "- and 980 more" in (tmp_path / "comment.md").read_text()
