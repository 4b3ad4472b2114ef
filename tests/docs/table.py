"""What each page needs to be followed, and the commands that cannot be run by a test.

A page without a line here needs a folder that looks like the repository, and nothing else.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.docs.page import PAGES, Block, blocks_of, commands_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a reader of a page has before the first command."""

    world: str = "repository"
    """The fixture that makes it, in `conftest.py`."""
    files: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """Files that the page tells to write: name -> (language, which block of it)."""
    code: Mapping[str, int] = field(default_factory=dict)
    """Commands whose exit code is another one than 0."""
    nightly: bool = False


NIGHTLY = Needs(nightly=True)
NEEDS: Mapping[str, Needs] = {
    "analyzers.md": Needs(files={"retry_cost.py": ("python", 0)}),
    "applications.md": Needs(world="local"),
    "aws.md": Needs(world="orphans"),
    "evidence.md": Needs(
        world="incident",
        code={
            "keyheat diagnose --log app.log --out incident": 1,
            "keyheat diagnose orders --metrics export.csv --describe-json table.json --out seen": 1,
        },
        nightly=True,
    ),
    "files.md": Needs(world="hot_run"),
    "init.md": Needs(world="your_table", nightly=True),
    "key-designs.md": NIGHTLY,
    "local-table.md": Needs(
        files={"tables.json": ("json", 0), "orders.jsonl": ("json", 1), "faults.toml": ("toml", 0)}
    ),
    "README.md": Needs(world="newcomer"),
    "pytest.md": Needs(world="project", code={"pytest --keyheat-report reports": 1}, nightly=True),
    "regress.md": Needs(world="suites"),
    "run.md": NIGHTLY,
    "schedules.md": Needs(world="team"),
    "sharding.md": Needs(world="local", nightly=True),
    "simulate.md": Needs(world="account", nightly=True),
    "watch.md": NIGHTLY,
}

RUN_BY = {
    "diagnose.md": ("tests/test_diagnose.py", "tests/test_diagnose_page.py"),
    "whatif.md": ("tests/test_whatif.py",),
}
"""Pages whose commands another test runs, on tables that its other cases need as well."""

DYNAMIC = "keyheat run dynamic-sharding-one dynamic-sharding dynamic-sharding-fixed --out reports/out/dynamic"
COMPARE = "keyheat compare reports/out/cures/hotkey reports/out/cures/sharded --out reports/out/two.html"
EXISTING = (
    "keyheat run hotkey --target http://127.0.0.1:8000 --table orders --no-collect --out reports/out/mine"
)
AT = {
    "keyheat diagnose": "diagnose.md",
    "keyheat whatif hotkey shards": "whatif.md",
    "keyheat fix events-run --out events-fix": "tests/test_your_table.py",
    DYNAMIC: "tests/sharding/test_dynamic_runs.py",
    COMPARE: "tests/test_series.py",
    "keyheat run hotkey sharded --out reports/out/cures": "tests/test_series.py",
    EXISTING: "tests/load/existing/test_existing_run.py",
    "keyheat clean reports/out/mine": "tests/load/existing/test_existing_run.py",
    "locust -f loadtests/hotkey.py --headless --processes 2 -t 60s": "tests/load/test_aggregate_runs.py",
    "locust -f loadtests/hotkey.py --master": "tests/load/live/test_page.py",
    "locust -f loadtests/hotkey.py --worker --master-host 127.0.0.1": "tests/load/live/test_page.py",
    "pytest": "the next command",
}
"""Commands that are run at another place."""

PROGRAMS = {
    "aws", "docker", "git", "install", "journalctl", "kubectl", "make", "pip", "python3", "systemctl",
    "useradd",
}  # fmt: skip
"""Programs that reach an account or a cluster, need rights, or run these very tests."""
NOT_HERE = {
    "trust.md": "takes minutes: make accuracy, make trial",
}
"""Pages none of whose commands can be run here. They are still read as the command line reads them."""
NEVER = re.compile(
    r"--target aws|^export AWS_PROFILE|^cp keyheat/schedules|/opt/keyheat|-m (pytest|tools|benchmarks)"
    r"|--prometheus-host|^KEYHEAT_(COMPILED|TARGET)|X-Keyheat-Token"
)
"""What a command has in it that asks an account, or wants the reader's own words."""

EXCERPTS = {
    "analyzers.md": "docs/analyzers.md",
    "run.md": "examples/own-loadtest/orders.py",
}
"""Pages that show a part of a file, or tell to write one."""
ENGINE = "testcontainers"
"""What needs a container engine."""
SCENARIO = {"simulate.md": "country-index"}
"""Pages whose parts of a scenario belong into another one than `hotkey`, or than the load test they name."""


def is_run(page: str, command: str) -> bool:
    """Whether the runner runs a command of a page."""
    return not (
        page in NOT_HERE
        or page in RUN_BY
        or AT.get(command, page) != page
        or command.split()[0] in PROGRAMS
        or NEVER.search(command)
    )


def is_executed(block: Block) -> bool:
    """Whether the runner executes a block of Python."""
    return block.language == "python" and block.page not in EXCERPTS and ENGINE not in block.text


def pages_that_run() -> list[str]:
    """Pages with a command that is run, or with Python."""
    return sorted(
        page
        for page in PAGES
        if any(is_run(page, command) for command in commands_of(page))
        or any(map(is_executed, blocks_of(page)))
    )
