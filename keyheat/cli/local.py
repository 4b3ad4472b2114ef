"""The verb local, a table to be loaded: apart from the others, since a test suite waits until it is ready."""

import click

from keyheat.endpoint.options import TRANSACTION_S, EndpointOptions, endpoint_options


@click.command(context_settings={"default_map": {"transaction_s": TRANSACTION_S}})
@endpoint_options
def local(options: EndpointOptions) -> int:
    """The local endpoint alone, for any DynamoDB client: it throttles as DynamoDB does.

    It prints one line when it answers (ready http://127.0.0.1:8000) and serves until SIGTERM or Ctrl-C.
    """
    from keyheat.endpoint.__main__ import serve

    return serve(options)
