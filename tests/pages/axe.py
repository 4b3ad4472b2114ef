"""What axe-core finds wrong with a page: the rules of WCAG 2.2 AA that a machine can check.

https://github.com/dequelabs/axe-core/blob/develop/doc/rule-descriptions.md
"""

from functools import cache
from pathlib import Path
from typing import Any

TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
RUN = """([values, rules]) =>
    axe.run(document, {runOnly: {type: "tag", values}, rules, resultTypes: ["violations"]})
    .then(found => found.violations.flatMap(rule => rule.nodes.map(node =>
        `${rule.id} (${rule.impact}) at ${node.target.join(" ")}: ${node.failureSummary}`)))"""


def violations(page: Any, *, contrast: bool = True) -> list[str]:
    """Every violation on a page of Playwright as it stands: the rule, where, and what would mend it.

    Without `contrast`, which takes three quarters of the time: for pages that `CONTRASTS` looks at.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(_axe())
    found: list[str] = page.evaluate(RUN, [TAGS, {"color-contrast": {"enabled": contrast}}])
    return found


@cache
def _axe() -> str:
    import axe_playwright_python

    return (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
