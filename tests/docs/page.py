"""A page of docs as a reader follows it: its commands in their order, what each prints, and its code.

One rule for all pages. A block marked `sh` or `console` has commands, one a line. A block marked `text` is
printed by the commands of the block before it. A block without a mark is prose: a drawing, an example.
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = {
    path.name: path for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md"))
}
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
MOMENT = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?Z?|\d{8}T\d{6}Z|\b\d\d:\d\d(?::\d\d)?\b"
)
SHELLS = ("sh", "console")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block, and the line of the page on which it begins."""

    page: str
    line: int
    language: str
    text: str

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def commands(self) -> list[str]:
        """The commands of a shell's block; none in any other."""
        if self.language not in SHELLS:
            return []
        lines = self.text.replace("\\\n", "").splitlines()
        return [line.strip() for line in lines if line.strip()]


def blocks_of(page: str) -> list[Block]:
    """Every fenced block of a page, in its order."""
    text = PAGES[page].read_text(encoding="utf-8")
    return [
        Block(page, text.count("\n", 0, match.start()) + 1, match[2], match[3])
        for match in FENCE.finditer(text)
    ]


def code_of(page: str, language: str) -> list[str]:
    """The blocks of one language."""
    return [block.text for block in blocks_of(page) if block.language == language]


def commands_of(page: str) -> list[str]:
    """Every command of a page."""
    return [command for block in blocks_of(page) for command in block.commands]


def find_missing(shown: str, printed: str) -> str | None:
    """The first part of what a page shows that was not printed; a line `...` leaves something out.

    Line breaks, spaces and moments may differ: a terminal has another width, and every run another time.
    """
    rest = _bare(printed)
    for piece in re.split(r"^ *\.\.\.$", shown, flags=re.MULTILINE):
        _before, match, rest = rest.partition(_bare(piece))
        if _bare(piece) and not match:
            return piece
    return None


def _bare(text: str) -> str:
    return "".join(MOMENT.sub("@", text).split())
