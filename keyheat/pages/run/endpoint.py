"""What an endpoint can do, and what a run there can prove: as names and values, and in a terminal."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from keyheat.runs.capabilities import QUESTIONS, Capabilities
from keyheat.runs.provable import can_prove, cannot_prove
from keyheat.terminal.diagnosis import Paragraph

STYLES = {"yes": "green", "no": "red", "unknown": "yellow"}
CLOCK_OFF_S = 2.0  # from which a clock is worth a word


def endpoint_facts(found: Capabilities) -> dict[str, str]:
    """Everything that is known of an endpoint, under names."""
    return {
        "it": f"{found.product} ({found.source})",
        **{f"can prove {place}": words for place, words in enumerate(can_prove(found), start=1)},
        **{f"cannot prove {place}": words for place, words in enumerate(cannot_prove(found), start=1)},
        **dict(measured(found)),
        **{said: f"{found.of(name).answer}: {found.of(name).seen}" for name, said in QUESTIONS.items()},
    }


def endpoint_json(url: str, found: Capabilities) -> dict[str, Any]:
    """The same for another program."""
    return {
        "url": url,
        "can_prove": can_prove(found),
        "cannot_prove": cannot_prove(found),
        **found.to_json(),
    }


def endpoint_text(url: str, found: Capabilities) -> RenderableType:
    """What a run there can and cannot prove, and below that what was seen."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for name in ("what", ""):
        table.add_column(name, no_wrap=True)
    table.add_column("seen", overflow="fold")
    for name, said in QUESTIONS.items():
        finding = found.of(name)
        table.add_row(Text(said), Text(finding.answer, STYLES[finding.answer]), Text(finding.seen))
    return Group(
        Text.assemble((url, "bold"), f"  {found.product} ({found.source})"),
        *_listed("A run there can prove", can_prove(found)),
        *_listed("It cannot prove", cannot_prove(found)),
        Text("\nWhat it can do", "bold"),
        table,
        *(Text(f"{name}: {value}") for name, value in measured(found)),
    )


def measured(found: Capabilities) -> Iterator[tuple[str, str]]:
    """What was measured of it, as names and values."""
    if found.latency_ms is not None:
        yield "a read that finds nothing", f"{found.latency_ms:g} ms"
    if found.clock_ahead_s is not None:
        off = abs(found.clock_ahead_s) >= CLOCK_OFF_S
        word = "ahead of" if found.clock_ahead_s > 0 else "behind"
        yield "its clock", f"{abs(found.clock_ahead_s):g} s {word} ours" if off else "agrees with ours"


def _listed(heading: str, lines: Sequence[str]) -> list[RenderableType]:
    return [Text(f"\n{heading}", "bold"), *(Paragraph(line, "  - ", "    ") for line in lines)]
