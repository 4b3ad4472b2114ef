"""Tries the keyheat that Python finds: is its path of a request compiled, and does it serve?

    python .ci/compiled.py

What a release's wheels are tried with, each on its system. Exit code 1: it is not, or does not.
"""

import http.client
import sys
from importlib import import_module

from keyheat.endpoint.process import EndpointProcess

MODULES = ("keyheat.model.table", "keyheat.endpoint.items.single", "keyheat.endpoint.http")


def main() -> int:
    """Look at some of the modules, then ask a process that they make."""
    written = [str(import_module(name).__file__) for name in MODULES]
    if plain := [path for path in written if path.endswith(".py")]:
        raise SystemExit(f"not compiled: {', '.join(plain)}")
    with EndpointProcess.start() as endpoint:
        asked = http.client.HTTPConnection(endpoint.url.removeprefix("http://"), timeout=60)
        asked.request("GET", "/_keyheat/health")
        answer = asked.getresponse()
        print(answer.status, answer.read().decode())
    return 0 if answer.status == 200 else 1


if __name__ == "__main__":
    sys.exit(main())
