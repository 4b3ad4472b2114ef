"""The verb local: serve tables. A module of its own, since test suites wait until it is ready."""

import click

from keyheat.cli.mistakes import CheckedCommand
from keyheat.endpoint.options import TRANSACTION_S, EndpointOptions, endpoint_options


@click.command(cls=CheckedCommand, context_settings={"default_map": {"transaction_s": TRANSACTION_S}})
@endpoint_options
def local(options: EndpointOptions) -> int:
    """Serve a local endpoint for any DynamoDB client; it throttles as DynamoDB does.

    It prints one line once it answers (ready http://127.0.0.1:8000) and serves until SIGTERM or Ctrl-C.
    """
    from keyheat.endpoint.__main__ import serve

    return serve(options)
