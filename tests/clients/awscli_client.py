"""The AWS CLI, as a shell calls it: `aws dynamodb put-item --cli-input-json ...`, in this process.

A process for each command would read the CLI's modules sixty times, which takes half a second each time.
"""

import io
import json
import os
import re
import sys
from base64 import b64encode
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from awscli.clidriver import create_clidriver
from botocore import xform_name
from lowlevel import Body, LowLevel, Refused
from told import SLOW_URL, URL, WHERE, tell

ERROR = re.compile(
    r"An error occurred \((\w+)\) when calling the \w+ operation(?: \(.*?\))?: (.*)", re.DOTALL
)


class Command:
    """`aws SERVICE`, on one endpoint."""

    def __init__(self, url: str, service: str = "dynamodb", *, again: bool = False) -> None:
        self.url, self.service, self.again = url, service, again

    def call(self, operation: str, **request: Any) -> Body:
        """One command. `--no-paginate`: as many items as DynamoDB gives at once."""
        return self._said(operation, request, "--no-paginate" if paged(operation) else "")

    def pages(self, operation: str, page: int, **request: Any) -> list[Body]:
        """All pages are what the CLI reads by itself."""
        return list(self._said(operation, request, f"--page-size={page}")["Items"])

    def wait(self, until: str, table: str) -> None:
        self._ran(["wait", until.replace("_", "-"), "--table-name", table])

    def _said(self, operation: str, request: Body, *more: str) -> Body:
        name = xform_name(operation, "-")
        given = json.dumps(request, default=lambda data: b64encode(data).decode())
        out = self._ran([name, *filter(None, more), "--cli-input-json", given])
        return dict(json.loads(out)) if out.strip() else {}

    def _ran(self, words: list[str]) -> str:
        os.environ["AWS_MAX_ATTEMPTS"] = "1"
        if self.again:
            del os.environ["AWS_MAX_ATTEMPTS"]
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = DRIVER.main([self.service, "--endpoint-url", self.url, "--output", "json", *words])
        if code == 0:
            return out.getvalue()
        match = ERROR.search(err.getvalue())
        assert (code, match is None) == (255, False), (words, err.getvalue())
        raise Refused(f"`{match[1]}` on stderr", match[1], {"message": match[2].strip()})


def paged(operation: str) -> bool:
    return operation in ("Query", "Scan", "ListTables")


if __name__ == "__main__":
    os.environ |= {
        "AWS_DEFAULT_REGION": WHERE["region_name"],
        "AWS_ACCESS_KEY_ID": WHERE["aws_access_key_id"],
        "AWS_SECRET_ACCESS_KEY": WHERE["aws_secret_access_key"],
        "AWS_PAGER": "",
    }
    sys.argv[0] = "aws"
    DRIVER = create_clidriver()
    commands = (
        Command(URL), Command(SLOW_URL), Command(SLOW_URL, again=True), Command(URL, "dynamodbstreams")
    )  # fmt: skip
    checks = LowLevel("awscli", *commands).checks()
    del checks["reasons"]
    tell("awscli", checks=checks, lacks={"reasons": "the message alone; `--debug` shows the whole answer"})
