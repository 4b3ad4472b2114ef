"""The verb probe: what an endpoint can do, and what a run there can prove."""

from typing import TYPE_CHECKING

import click

from keyheat.cli.telling import in_json
from keyheat.terminal.console import confirmed, err, out, print_json
from keyheat.words import DONE, INVALID, REFUSED

if TYPE_CHECKING:
    from keyheat.load.transport.target import Target
    from keyheat.runs.capabilities import Capabilities


@click.command()
@click.argument("url")
@click.option("--yes", is_flag=True, help="do not ask before a table is made on another machine")
@in_json("what was found")
def probe(url: str, yes: bool, as_json: bool) -> int:
    """What the DynamoDB endpoint at URL can do, and what a run there can and cannot prove.

    It makes a small table of its own there, sends a few hundred requests to it, and deletes it. DynamoDB in
    AWS, and an endpoint of ours, are known and not asked.
    """
    from keyheat.load.probe.known import known
    from keyheat.load.probe.probe import DoesNotAnswer, capabilities_of
    from keyheat.load.transport.target import aws_target, credentials_for, target_at

    target = aws_target() if url == "aws" else target_at(url)
    found = known(target)
    if found is None:
        credentials_for(target)  # which says what is wrong with them before anything is sent
        if not (target.local or yes or _agreed(target)):
            return REFUSED
        try:
            found = capabilities_of(target, _say)
        except DoesNotAnswer as error:
            _say(str(error))
            return INVALID
    _show(target, found, as_json=as_json)
    return DONE


def _agreed(target: "Target") -> bool:
    """Whether somebody agrees to a table on another machine; asked on a terminal alone."""
    from keyheat.load.guard.consent import somebody_there

    if not somebody_there():
        _say(
            f"{target.url} is not on this machine: the probe makes a table there, sends a few hundred "
            "requests to it and deletes it. Say --yes to go on"
        )
        return False
    question = f"Make a table at {target.url}, send a few hundred requests to it, and delete it?"
    return confirmed(question)


def _show(target: "Target", found: "Capabilities", *, as_json: bool) -> None:
    from keyheat.pages.run.endpoint import endpoint_json, endpoint_text

    if as_json:
        print_json(endpoint_json(target.url, found))
    else:
        out.print(endpoint_text(target.url, found))


def _say(words: str) -> None:
    err.print(f"keyheat: {words}", markup=False)
