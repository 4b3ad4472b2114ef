"""Write the tables of docs: summaries between the marks of a page, and whole tables in docs/data.

python -m tools.pages
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from keyheat.analysis.measures import MEASURES
from keyheat.regression.outcome import LEAST_EFFECTS
from keyheat.runs.parquet import FRAMES
from tools.accuracy.score import LEFT
from tools.accuracy.tally import CONSTRAINTS, SURE

DOCS: Final = Path(__file__).parents[1] / "docs"
DATA: Final = DOCS / "data"
MARKED: Final = r"(<!-- {name}: [^\n]*-->\n)(.*?)(<!-- end of {name} -->)"


def measures() -> str:
    rows = (
        (f"`{name}`", one.unit, one.kind, one.better,
         f"{LEAST_EFFECTS[name]:g}" if one.kind == "statistical" else "", one.says)
        for name, one in MEASURES.items()
    )  # fmt: skip
    return markdown_table(("measure", "unit", "kind", "better", "`least_effect`", "what it is"), rows)


def accuracy() -> str:
    result = json.loads((DATA / "accuracy.json").read_text(encoding="utf-8"))
    grades: Mapping[str, Any] = result["grades"]
    scores = (
        (LEFT[best], f"{score['decided']['whole']:,}",
         *(percent(score[share]) for share in ("right", "decided", "of_decided", "sure")),
         f"{score['false_alarms']:,}", f"{score['calibration_error']:.3f}")
        for best, score in grades.items()
    )  # fmt: skip
    sure = (
        (LEFT[best], *(percent_of(score["sure_by_constraint"][name]) for name in CONSTRAINTS))
        for best, score in grades.items()
    )
    return "\n\n".join((
        f"{result['scenarios']:,} random scenarios, seed {result['seed']}, {result['worlds']} worlds:",
        markdown_table(
            ("best evidence left", "spans", "right", "decided", "right of decided",
             f"confidence of {SURE:g} or more: right", "false alarms", "calibration error"), scores,
        ),
        f"Labels with a confidence of {SURE:g} or more that are right, by constraint:",
        markdown_table(("best evidence left", *(f"`{name}`" for name in CONSTRAINTS)), sure),
        "Goals missed: " + ("; ".join(result["missed_goals"]) or "none") + ".",
    ))  # fmt: skip


def fidelity() -> str:
    with (DATA / "fidelity.csv").open(encoding="utf-8", newline="") as file:
        every = list(csv.DictReader(file))
    rows = [row for row in every if row["verdict"] != "not modelled"]
    missed = [row for row in rows if row["verdict"] == "missed"]
    simulated = [row for row in rows if row["simulator"]]
    off = [row for row in simulated if row["simulator_verdict"] == "missed"]
    cases = {row["case"] for row in rows}
    worked = sum(row["kind"] == "arithmetic" for row in rows)
    listed = ((f"[{row['case']}]({row['source']})", row["observed"], row["model"]) for row in missed)
    return "\n\n".join((
        f"**Of {len(rows)} published observations in {len(cases)} cases the model meets "
        f"{len(rows) - len(missed)} and misses {len(missed)}. {worked} are arithmetic without a load, "
        f"and {len({row['case'] for row in every}) - len(cases)} more cases are not modelled.**",
        f"{len(simulated)} observations also run as scenarios through `keyheat simulate`: "
        f"{len(simulated) - len(off)} are met, {len(off)} missed. The model misses:",
        markdown_table(("case", "observed", "the model gives"), listed),
    ))  # fmt: skip


def clients() -> str:
    """What each client of data/clients.json makes of a throttle, and which checks do not apply to it."""
    results = json.loads((DATA / "clients.json").read_text(encoding="utf-8"))
    rows = []
    for name, checks in results.items():
        words = {check["check"]: check["words"] for check in checks}
        absent = [check["check"] for check in checks if check["outcome"] == "not in this client"]
        rows.append((
            name, words["client"], words["throttle"], words["retries"].removesuffix(" attempts"),
            ", ".join(absent) or "nothing",
        ))  # fmt: skip
    return markdown_table(("client", "versions", "a throttle arrives as", "attempts", "without"), rows)


BLOCKS: Final[Mapping[str, tuple[str, Callable[[], str]]]] = {
    "measures": ("regress.md", measures),
    "accuracy": ("trust.md", accuracy),
    "fidelity": ("trust.md", fidelity),
    "clients": ("applications.md", clients),
}
"""Name of a block -> its page, and what makes it."""


def block_of(name: str) -> str:
    page, _make = BLOCKS[name]
    match = re.search(MARKED.format(name=name), (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    if match is None:
        raise ValueError(f"docs/{page} has no block {name}")
    return match[2].strip("\n")


def frames() -> str:
    """Every column of the frames, as CSV."""
    file = io.StringIO()
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(("frame", "column", "dtype", "unit", "what it is"))
    for frame, columns in FRAMES.items():
        rows.writerows((frame, one.name, one.dtype, one.unit, one.says) for one in columns)
    return file.getvalue()


def percent(share: Mapping[str, int]) -> str:
    return f"{100 * share['part'] / share['whole']:.1f} %" if share["whole"] else "–"


def percent_of(share: Mapping[str, int]) -> str:
    return f"{percent(share)} of {share['whole']:,}"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (head, ["---"] * len(head), *rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    (DATA / "frames.csv").write_text(frames(), encoding="utf-8")
    for name, (page, make) in BLOCKS.items():
        path, text = DOCS / page, make()
        whole = path.read_text(encoding="utf-8")
        marked = re.compile(MARKED.format(name=name), re.DOTALL)
        path.write_text(marked.sub(lambda m, t=text: f"{m[1]}\n{t}\n\n{m[3]}", whole), encoding="utf-8")


if __name__ == "__main__":
    main()
