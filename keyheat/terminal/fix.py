"""A fix before and after, in a terminal and for programs."""

from pathlib import Path
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from keyheat.analysis.advice.case import Limit
from keyheat.analysis.advice.proof import Kind, Tried
from keyheat.terminal.layout import set_out
from keyheat.wording.fix import Fix, measures_of, sentence_of, warnings_of

FORMAT: Final = "keyheat.fix/1"
STYLES: Final[dict[Kind, str]] = {
    "fixed": "bold green",
    "not_fixed": "bold red",
    "moved": "bold red",
    "not_shown": "bold yellow",
    "invalid": "bold yellow",
}


def fix_text(fix: Fix) -> RenderableType:
    """The verdict, every measure on both sides, and what has to be known beside it."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in ("", "before", "after"):
        table.add_column(name, justify="right" if name else "left")
    for one in measures_of(fix):
        table.add_row(one.name, one.before, one.after)
    return Group(Text(""), set_out(sentence_of(fix), STYLES[fix.proof.kind], [table], warnings_of(fix)))


def fix_json(fix: Fix, page: Path) -> dict[str, Any]:
    """The same for programs."""
    proof = fix.proof
    return {
        "format": FORMAT,
        "scenario": fix.scenario.name,
        "target": fix.target,
        "verdict": proof.kind,
        "sentence": sentence_of(fix),
        "recommendation": " + ".join(fix.remedy.actions),
        "tried": fix.remedy.says,
        "limit": _limit(proof.limit),
        "now": None if proof.now is None else _limit(proof.now),
        "on_burst": proof.on_burst,
        "changes": [{"path": one.path, "before": one.before, "after": one.after} for one in fix.changes],
        "notes": warnings_of(fix),
        "measures": [
            {"name": one.name, "before": one.before, "after": one.after, "ranges": list(one.ranges)}
            for one in measures_of(fix)
        ],
        "before": [_run(one) for one in proof.before],
        "after": [_run(one) for one in proof.after],
        "page": str(page),
    }


def _limit(limit: Limit) -> dict[str, str]:
    constraint, resource, direction = limit
    return {"constraint": constraint, "resource": resource, "direction": direction}


def _run(one: Tried) -> dict[str, Any]:
    return {
        "folder": str(one.folder),
        "seed": one.manifest.seed,
        "valid": one.valid,
        "constraint": one.diagnosis.verdict.constraint,
        "attempts": one.attempts,
        "throttles": one.throttles,
        "throttle_share": one.throttled_share,
        "accepted_write_units_per_s": one.measured.write.units_per_s,
        "accepted_read_units_per_s": one.measured.read.units_per_s,
        "units_per_read": one.measured.units_per_read,
        "dollars_per_month": one.dollars_per_month,
    }
