"""The verb local, a table to be loaded: apart from the others, since a test suite waits until it is ready."""

import click

from keyheat.endpoint.options import EndpointOptions, endpoint_options


@click.command()
@endpoint_options
def local(options: EndpointOptions) -> int:
    """The local endpoint alone, for any DynamoDB client: it throttles as DynamoDB does.

    It prints one line when it answers (ready http://127.0.0.1:8000) and serves until SIGTERM or Ctrl-C.
    """
    from keyheat.endpoint.__main__ import serve

    return serve(options)
