"""The clients that are tried on a local table: the program of each, how it is run, and what it tells.

client's program --two URLs--> checks --a line of JSON each--> `Told`
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from keyheat.endpoint.process import EndpointProcess
from tests.outside import a_readers_environment

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ENVIRONMENTS = ROOT / ".clients"
NODE_MODULES = HERE / "node_modules"
CHECKS: dict[str, str] = json.loads((HERE / "checks.json").read_text(encoding="utf-8"))
SLOW = 0.01
"""The rates of the endpoint that throttles, as a share of DynamoDB's."""
BOUND_S = 200


@dataclass(frozen=True, slots=True)
class Told:
    """What a program tells of one check: `yes`, `no`, `not in this client` or `not served`, and words."""

    check: str
    outcome: str
    words: str


@dataclass(frozen=True, slots=True)
class ClientProgram:
    """A client, the command that checks it, and what has to be installed for that."""

    name: str
    command: tuple[object, ...]
    needs: Path
    installs: str = "`make clients` installs it"

    @property
    def missing(self) -> str | None:
        """What to do where it cannot be run."""
        return None if self.needs.exists() else f"{self.name} is not installed: {self.installs}"


def _python(name: str, program: str, python: Path) -> ClientProgram:
    return ClientProgram(name, (python, HERE / program), python)


def _node(name: str, program: str) -> ClientProgram:
    return ClientProgram(name, ("node", "--no-warnings", HERE / program), NODE_MODULES)


GO = ClientProgram(
    "Go SDK v2",
    (ENVIRONMENTS / "go-client", HERE / "checks.json"),
    ENVIRONMENTS / "go-client",
    "it takes golang-go and golang-github-aws-aws-sdk-go-v2-dev of Debian, then `make clients`",
)
CLIENTS = (
    _python("boto3", "boto3_client.py", Path(sys.executable)),
    _python("aioboto3", "aioboto3_client.py", ENVIRONMENTS / "aioboto3" / "bin" / "python"),
    _python("PynamoDB", "pynamodb_models.py", ENVIRONMENTS / "pynamodb" / "bin" / "python"),
    _python("AWS CLI", "awscli_client.py", ENVIRONMENTS / "awscli" / "bin" / "python"),
    _node("JavaScript SDK v3", "sdk_v3.mjs"),
    _node("dynamodb-toolbox", "dynamodb_toolbox.mjs"),
    _node("ElectroDB", "electrodb.mjs"),
    _node("Dynamoose", "dynamoose.mjs"),
    GO,
)


@contextmanager
def two_endpoints() -> Iterator[tuple[str, str]]:
    """The URLs of a local table with DynamoDB's rates, and of one with a hundredth of them."""
    with EndpointProcess.start() as fast, EndpointProcess.start(scale=SLOW) as slow:
        yield fast.url, slow.url


def told_by(client: ClientProgram, urls: tuple[str, str]) -> list[Told]:
    """What a client's program tells, its versions first. Raises where it falls over, or lasts too long."""
    done = subprocess.run(
        [str(word) for word in (*client.command, *urls)],
        env=a_readers_environment(), cwd=ROOT, capture_output=True, text=True, timeout=BOUND_S, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"the program of {client.name} ended with {done.returncode}: {done.stderr}")
    return [Told(**json.loads(line)) for line in done.stdout.splitlines()]
