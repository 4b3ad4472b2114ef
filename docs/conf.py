"""The site of these pages: make docs."""

from typing import Any, Final

project = "Keyheat"
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence"]
root_doc = "README"
include_patterns = ["README.md", "CONTRIBUTING.md", "docs/*.md"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = "Keyheat"
html_show_sphinx = False
html_copy_source = False
suppress_warnings = ["misc.highlighting_failure"]  # mermaid, and parts of JSON

CHAPTERS: Final = {
    "Ask without a load": ("simulate", "whatif"),
    "Send a load": ("run", "watch", "aws"),
    "Describe and design": ("init", "scenario", "key-designs", "sharding"),
    "Test an application": ("local-table", "applications", "pytest"),
    "Find the cause": ("diagnose", "evidence", "labels", "report", "analyzers", "files"),
    "Stay good": ("regress", "schedules"),
    "How far to trust it": ("trust", "speed"),
    "Look up": ("glossary", "architecture"),
}
"""The navigation: every page of docs stands in one chapter, or the build fails."""


def add_navigation(_app: object, page: str, source: list[str]) -> None:
    """Append the navigation to the first page; in the repository its table of links does."""
    if page == root_doc:
        trees = (
            f":::{{toctree}}\n:caption: {caption}\n:hidden:\n\n" + "\n".join(f"docs/{name}" for name in names)
            for caption, names in (*CHAPTERS.items(), ("Work on it", ("../CONTRIBUTING",)))
        )
        source[0] += "\n" + "\n:::\n\n".join(trees) + "\n:::\n"


def setup(app: Any) -> None:
    app.connect("source-read", add_navigation)
