"""What docs/endpoint-state.md tells a reader to run does what the page says."""

import json
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keyheat.testing.local import LocalDynamoDB
from tests.endpoint.clients import client

pytestmark = pytest.mark.opens

PAGE = (Path(__file__).parents[2] / "docs" / "endpoint-state.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
START, *CURL = (line for kind, block in BLOCKS if kind == "sh" for line in block.splitlines())
TABLES, ITEMS = (block for kind, block in BLOCKS if kind == "json")
(EXAMPLE,) = (block for kind, block in BLOCKS if kind == "python")
EXAMPLES: dict[str, Any] = {}
exec(compile(EXAMPLE, "docs/endpoint-state.md", "exec"), EXAMPLES)
TESTS = [name for name in EXAMPLES if name.startswith("test_")]


def test_tables_and_items_are_there_and_come_back_and_time_goes_on(tmp_path: Path) -> None:
    (tmp_path / "tables.json").write_text(TABLES)
    (tmp_path / "orders.jsonl").write_text(ITEMS)
    program, *arguments = shlex.split(START.replace("8000", "0"))
    words = [str(Path(sys.executable).parent / program), *arguments]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        url = child.stdout.readline().removeprefix("ready ").strip()
        dynamodb = client("dynamodb", url)

        def there() -> list[str]:
            found = dynamodb.scan(TableName="orders")["Items"]
            return sorted(item["customer"]["S"] for item in found)

        def said(command: str) -> bytes:
            words = shlex.split(command.replace("http://127.0.0.1:8000", url))
            return subprocess.run(words, cwd=tmp_path, capture_output=True, check=True).stdout

        keep, give_back, advance = CURL
        assert there() == ["ann", "bob"]
        said(keep)
        dynamodb.delete_item(TableName="orders", Key={"customer": {"S": "ann"}})
        assert there() == ["bob"]
        assert json.loads(said(give_back)) == {"tables": {"orders": 2}}
        assert there() == ["ann", "bob"]
        assert json.loads(said(advance))["ahead_s"] == 300
        child.send_signal(signal.SIGTERM)
        assert child.wait() == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", TESTS)
def test_the_tests_of_the_page_hold(name: str, dynamodb_local: LocalDynamoDB) -> None:
    test: Callable[[LocalDynamoDB], None] = EXAMPLES[name]
    test(dynamodb_local)
