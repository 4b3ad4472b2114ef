"""The page docs/clients.md: what each client told when it was run on a local table.

python -m tests.clients.page --write    runs every client that is installed, and keeps what it tells
"""

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from tests.clients.programs import CHECKS, CLIENTS, HERE, ROOT, Told, told_by, two_endpoints

PAGE = ROOT / "docs" / "clients.md"
WORDS = (HERE / "page.md").read_text(encoding="utf-8")
KEPT = HERE / "told.json"
"""What each client told last, by its name; one that is not installed here keeps what it told elsewhere."""
THROTTLING = ("throttle", "reasons", "retries", "unprocessed")
REFUSING = ("conditions", "transactions")
MARKS = {"yes": "yes", "no": "**no**", "not in this client": "–", "not served": "not here"}

Everything = Mapping[str, Mapping[str, Told]]


def page_of(told: Everything) -> str:
    """The page, from what each client told of each check."""
    names = list(told)
    tried = [[name, *(MARKS[told[client][name].outcome] for client in names)] for name in CHECKS]
    not_served = any(one.outcome == "not served" for lines in told.values() for one in lines.values())
    rows = [[client, told[client]["client"].words] for client in names]
    return WORDS.format(
        made="<!-- Made by `make clients`. Change tests/clients/, not this page. -->",
        tried=table(["", *names], tried),
        not_here="; “not here” the local table says that it does not serve" if not_served else "",
        checks="\n".join(f"- **{name}**: {what}" for name, what in CHECKS.items()),
        throttling=table(
            ["client", "versions", "arrives as", "its reasons", "attempts", "the rest of a batch"],
            [
                [*row, *(words_of(told[row[0]][check]).removesuffix(" attempts") for check in THROTTLING)]
                for row in rows
            ],
        ),
        refusing=table(
            ["client", "a condition", "a transaction"],
            [[client, *(words_of(told[client][check]) for check in REFUSING)] for client in names],
        ),
        rest="\n".join(
            f"- {client}: {differs}." for client in names if (differs := differences(told[client]))
        ),
    )  # fmt: skip


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def words_of(told: Told) -> str:
    return told.words if told.outcome == "yes" else f"– {told.words}".strip()


def differences(told: Mapping[str, Told]) -> str:
    """What is missing, or done in a way of the client's own, apart from what the tables above say."""
    said: dict[str, list[str]] = {}
    for one in told.values():
        if one.words and one.check not in ("client", *THROTTLING, *REFUSING):
            said.setdefault(one.words, []).append(one.check)
    return "; ".join(f"{', '.join(checks)}: {words}" for words, checks in said.items())


def kept(path: Path = KEPT) -> dict[str, dict[str, Told]]:
    """What each client told last, in the order of the page."""
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


def main() -> int:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--write", action="store_true", help="run the clients first")
    good = run_all() if parser.parse_args().write else True
    PAGE.write_text(page_of(kept()), encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
