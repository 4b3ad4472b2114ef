"""What docs/local-table.md tells a reader to run does what the page says."""

import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.opens

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "local-table.md").read_text(encoding="utf-8")
CHILDREN = Path(sys.executable).parent


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_the_examples_run_one_after_the_other(endpoint):
    code = "\n".join(blocks("python")).replace("http://127.0.0.1:8000", endpoint.url)
    names = {}
    exec(compile(code, "docs/local-table.md", "exec"), names)
    for table in ("orders", "streamed"):
        names["dynamodb"].delete_table(TableName=table)
    assert names["answer"]["Label"] == "WriteKeyRangeThroughputThrottleEvents"


@pytest.mark.parametrize("command", [line for block in blocks("sh") for line in block.splitlines()])
def test_the_commands_start_an_endpoint_that_ends_cleanly(command):
    program, *arguments = shlex.split(command.replace("--port 8000", "--port 0"))
    with subprocess.Popen([CHILDREN / program, *arguments], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        line = child.stdout.readline()
        child.send_signal(signal.SIGTERM)
        assert line.startswith("ready http://127.0.0.1:")
        assert child.wait() == 0
