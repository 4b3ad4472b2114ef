"""docs/data/clients.json: what each client told when it was run on a local table.

python -m tests.clients.kept    run every client that is installed, and keep what it tells
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path

from tests.clients.programs import CLIENTS, ROOT, Told, told_by, two_endpoints

KEPT = ROOT / "docs" / "data" / "clients.json"
"""What each client told last, by its name; one that is not installed here keeps what it told elsewhere."""


def kept(path: Path = KEPT) -> dict[str, dict[str, Told]]:
    """What each client told last, in the order of `CLIENTS`."""
    lines = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    found = {name: [Told(**one) for one in told] for name, told in lines.items()}
    return {one.name: {told.check: told for told in found[one.name]} for one in CLIENTS if one.name in found}


def run_all() -> bool:
    """Run what is installed, and keep what it tells; whether every check was made as it should be."""
    told = kept()
    for client in CLIENTS:
        if client.missing is not None:
            print(client.missing)
            continue
        with two_endpoints() as urls:
            told[client.name] = {one.check: one for one in told_by(client, urls)}
        print(f"{client.name}: {told[client.name]['client'].words}", flush=True)
    lines = {client: [asdict(one) for one in of.values()] for client, of in told.items()}
    KEPT.write_text(json.dumps(lines, indent=1) + "\n", encoding="utf-8")
    failed = [one for of in told.values() for one in of.values() if one.outcome == "no"]
    for one in failed:
        print(f"{one.check}: {one.words}", file=sys.stderr)
    return not failed


if __name__ == "__main__":
    sys.exit(0 if run_all() else 1)
